"""Text as written and text as compared: folding with offsets, names in text, sentences, script and language.

Everything that looks for something in a document goes through `fold`, so that composed and decomposed letters, no-break spaces,
curly quotes and case make no difference, while every offset still points into the document as it was given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
_QUOTES = {ord("’"): "'", ord("‘"): "'", ord("‛"): "'", ord("“"): '"', ord("”"): '"', ord("„"): '"', ord("«"): '"', ord("»"): '"'}
_INVISIBLE = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD, *range(0x200E, 0x2010), *range(0x202A, 0x202F),
                            *range(0x2066, 0x206A), *range(0xFE00, 0xFE10)])  # fmt: skip
_SIMPLE = {**_DASHES, **_QUOTES}
_WHITESPACE = re.compile(r"\s")
_ASCII_SPACES = str.maketrans("\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f", " " * 9)


@dataclass(frozen=True, slots=True)
class Folded:
    """A text as it is compared. `starts[i]` and `ends[i]` bound the piece of the original behind `text[i]`; None: one to one."""

    text: str
    starts: tuple[int, ...] | None = None
    ends: tuple[int, ...] | None = None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original behind `text[start:end]` (not empty)."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0903\u093a-\u094f"
    "\u0951-\u0957\u0962\u0963\u0980-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a51\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82"
    "\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf\u1dc0-\u1dff\u20d0-\u20ff"
)
"""For a character class: accents and vowel signs, which belong to the letter before them but are no letters to `\\w`."""

# Blocks that hold combining marks or the vowels and tails of Hangul in pieces; most texts have none of them.
_MAY_CONTINUE = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0590-\u0dff\u0e30-\u0e4f\u0eb0-\u0ecf\u0f00-\u109f\u1160-\u11ff\u135d-\u135f\u1700-\u1cff"
    "\u1dc0-\u1dff\u20d0-\u20ff\u2cef-\u2dff\u302a-\u302f\u3099\u309a\ua66f-\uabff\ufb1e\ufe20-\ufe2f\U00010000-\U0001efff]"
)


def _continues(char: str) -> bool:
    return bool(unicodedata.combining(char)) or "\u1160" <= char <= "\u11ff"


@lru_cache(maxsize=8192)
def _fold_cluster(cluster: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster).casefold()).translate(_SIMPLE)
    return _WHITESPACE.sub(" ", folded).translate(_INVISIBLE)


def fold(text: str) -> Folded:
    """Folds case, composition, compatibility forms, spaces, dashes and quotes; drops invisible characters."""
    if text.isascii():
        return Folded(text.lower().translate(_ASCII_SPACES))
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    one_to_one = True
    i, n = 0, len(text)
    while i < n:
        j = i + 1
        while j < n and text[j] >= "\u0300" and _continues(text[j]):
            j += 1
        piece = _fold_cluster(text[i:j])
        if len(piece) != 1 or j != i + 1:
            one_to_one = False
        for char in piece:
            out.append(char)
            starts.append(i)
            ends.append(j)
        i = j
    return Folded("".join(out)) if one_to_one else Folded("".join(out), tuple(starts), tuple(ends))


def fold_text(text: str) -> str:
    """`fold(text).text`, without the offsets and faster."""
    if text.isascii():
        return text.lower().translate(_ASCII_SPACES)
    if _MAY_CONTINUE.search(text):
        return fold(text).text
    return "".join(map(_fold_cluster, text))


@lru_cache(maxsize=65536)
def fold_name(name: str) -> str:
    """A name as it is compared: folded, spaces collapsed."""
    return " ".join(fold_text(name).split())


def _stands_alone(char: str) -> bool:
    """Whether words that begin or end with this letter are set apart by spaces or punctuation."""
    return not (
        "\u0e00" <= char <= "\u0eff"  # Thai, Lao
        or "\u1000" <= char <= "\u109f"  # Burmese
        or "\u1780" <= char <= "\u17ff"  # Khmer
        or "\u3040" <= char <= "\u30ff"  # Kana
        or "\u3400" <= char <= "\u9fff"  # Han
        or "\uf900" <= char <= "\ufaff"
        or char >= "\U00020000"
    )


def _is_hangul(char: str) -> bool:
    return "\uac00" <= char <= "\ud7a3" or "\u1100" <= char <= "\u11ff" or "\u3130" <= char <= "\u318f"


def _is_acronym(name: str) -> bool:
    return 2 <= len(name) <= 5 and name.isupper() and name.isalpha() and name.isascii()


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a name stands: offsets into the folded text, and which name it was."""

    start: int
    end: int
    name: str


def find_name(original: str, folded: Folded, name: str) -> Iterator[Mention]:
    """Every place in which `name` stands as a whole, offsets into `folded.text`. Short acronyms must agree in case."""
    key = fold_name(name)
    # A cheap test first: most names are not in most passages, and making a pattern costs more than looking.
    if not key or (key not in folded.text and not (" " in key and "  " in folded.text)):
        return
    for first, last in _places_of(key, folded.text):
        if _is_acronym(name):
            start, end = folded.original(first, last)
            if original[start:end] != name:
                continue
        yield Mention(first, last, name)


def _places_of(key: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a folded name stands as a whole. Looked for without a pattern of its own: compiling one costs more than looking."""
    before, after = _edges(key[0], key[-1])
    taken = 0
    for start, end in _spaced(key, text) if " " in key and "  " in text else _literal(key, text):
        if start < taken or (before and before.match(text[max(0, start - 2) : start])) or (after and after.match(text, end)):
            continue
        yield start, end
        taken = end


def _literal(key: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(key)
    while start >= 0:
        yield start, start + len(key)
        start = text.find(key, start + 1)


def _spaced(key: str, text: str) -> Iterator[tuple[int, int]]:
    """As `_literal`, where one space of the name may be several in the text."""
    body = re.escape(key).replace(r"\ ", " ").replace(" ", " +")
    for match in re.finditer(f"(?=({body}))", text):
        yield match.span(1)


@lru_cache(maxsize=4096)
def _edges(first: str, last: str) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """What may not stand before (of the two characters there) and after a name that begins and ends with these characters."""
    before = r".?\w\Z" if first.isalnum() and _stands_alone(first) else ""
    # Korean particles are glued to the end of a name, never to its beginning. `U.S.` does not stand in `U.S.A.`
    whole = last == "." or ((last.isalnum() or _continues(last)) and _stands_alone(last) and not _is_hangul(last))
    after = rf"[\w{MARKS}]" if whole else ""
    if first.isdigit():
        before = r".?\w\Z|\d[.,]\Z"
    if last.isdigit():
        after = r"\w|[.,]\d"
    return re.compile(before, re.DOTALL) if before else None, re.compile(after) if after else None


def find_names(original: str, folded: Folded, names: Iterable[str]) -> list[Mention]:
    """Every mention of any of the names, in order of place; a mention inside a longer one is left out.

    Where none stands as a whole, one that a list spreads out counts: "works at Orvik, Halden and Tarn" names the Halden works, at
    "Halden".
    """
    asked = list(dict.fromkeys(names))
    mentions = [mention for name in asked for mention in find_name(original, folded, name)]
    if not mentions:
        mentions = [mention for name in asked for mention in _find_listed(original, folded, name)]
    found = sorted(mentions, key=lambda mention: (mention.start, -mention.end))
    kept: list[Mention] = []
    for mention in found:
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_ITEM = rf"(?!(?:The|Die) ){_CAPITAL}[\w'’-]*(?: {_CAPITAL}[\w'’-]*){{0,4}}"
_ITEMS = re.compile(_ITEM)
_LIST = rf"{_ITEM}(?:, {_ITEM})*,? (?:and|or|und|oder|&) {_ITEM}"


@lru_cache(maxsize=65536)
def spread_name(name: str) -> tuple[str, str] | None:
    """A name that a list may spread out, such as "Halden works", as its own part and its noun without the plural's `s`, both folded;
    None: none such."""
    own, _, noun = name.rpartition(" ")
    if not own[:1].isupper() or not (noun.isalpha() and noun.islower() and len(noun) > 3):
        return None
    return fold_name(own), fold_name(noun).removesuffix("s")


def _find_listed(original: str, folded: Folded, name: str) -> Iterator[Mention]:
    parts = spread_name(name)
    if parts is None or any(part not in folded.text for part in parts):
        return
    own, noun = parts
    head = rf"(?i:\b{re.escape(noun)}e?s)\b"  # several things, so the plural
    items = set[tuple[int, int]]()
    for pattern in (rf"{head},? (?:at|in|of|near|for|from|bei) ({_LIST})", rf"({_LIST}) {head}"):
        for match in re.finditer(pattern, original):
            items |= {item.span() for item in _ITEMS.finditer(original, *match.span(1))}
    for mention in find_name(original, folded, own):
        if folded.original(mention.start, mention.end) in items:
            yield Mention(mention.start, mention.end, name)


_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st jr sr vs etc inc ltd co corp llc plc dept no nos vol fig figs al eds ed rev gen col lt sgt capt cmdr "
    "gov sen rep hon pres adm maj bros approx est ca cf e.g i.e u.s u.k u.n a.m p.m jan feb mar apr jun jul aug sep sept oct nov dec "
    "bzw z.b d.h u.a usw nr str abs art bd ggf inkl mio mrd tel geb gest vgl ph.d b.sc m.sc d.c".split()
)
# Possessive, and runs of marks are only entered at their head: a page of dots must not take minutes.
_BREAK = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？]++[”’」』）]*+"
    r"|\n[ \t\r]*+\n|\n(?=[ \t]*+(?:[-*•‣]|\d++[.)])[ \t])|[\n\u2028\u2029]"
)
# Words that begin a sentence after an abbreviation that may end one ("Norrby Pumps Inc. It makes ...").
_OPENERS = frozenset(
    "It Its He His She Her They Their The This These That A An In On At As After Before Since When While Er Sie Es Der Die Das".split()
)
_MAY_END = frozenset("inc ltd co corp llc plc etc jr sr bros u.s u.k u.n u.a a.m p.m d.c usw ph.d m.sc b.sc".split())
_WORD_BEFORE = re.compile(r"([^\s(\[\"'“‘]+)\Z")


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences, without the white space around them. An empty line ends a sentence; a
    single line break only where the line is a heading, a list item or a cell: one after which a lower-case word follows is
    wrapped prose."""
    spans: list[tuple[int, int]] = []
    start, n = 0, len(text)

    def close(end: int) -> None:
        nonlocal start
        left, right = start, end
        while left < right and text[left].isspace():
            left += 1
        while right > left and text[right - 1].isspace():
            right -= 1
        if right > left:
            spans.append((left, right))
        start = end

    for match in _BREAK.finditer(text):
        end = match.end()
        mark = match.group()
        rest = text[end : end + 40].lstrip()
        following = rest[:1]
        if mark in "\n\u2028\u2029":
            before = text[max(start, match.start() - 1) : match.start()]
            if following.islower() or (before == "," and following):
                continue
            close(end)
            continue
        if mark[0] in "\n。！？":
            close(end)
            continue
        if mark[0] == "." and len(mark.rstrip("\"'”’»)]")) == 1:
            word = _WORD_BEFORE.search(text, max(start, match.start() - 30), match.start())
            token = word.group(1).lower() if word else ""
            if following.islower():
                continue
            if token in _MAY_END and _first_word(rest) in _OPENERS:
                close(end)
                continue
            if following and (token in _ABBREVIATIONS or (len(token) == 1 and token.isalpha() and not _is_hangul(token))):
                continue
            if token.isdigit() and text[start : match.start()].strip() == token:  # the number of a list item
                continue
            if "." in token and token.replace(".", "").isalpha() and len(token) <= 6:  # U.S.A., z.B.
                continue
            if token.isdigit() and len(token) <= 2 and following.isalpha() and _day_of_month(rest):
                continue
        elif following.islower():
            continue
        close(end)
    close(n)
    return spans


_MONTHS = frozenset(
    "januar jänner februar märz april mai juni juli august september oktober november dezember "
    "january february march may june july october december".split()
)


def _first_word(rest: str) -> str:
    return re.split(r"\W", rest, maxsplit=1)[0]


def _day_of_month(rest: str) -> bool:
    return _first_word(rest).casefold() in _MONTHS


_SCRIPTS: tuple[tuple[str, str, str], ...] = (
    ("\u1100", "\u11ff", "ko"), ("\u3130", "\u318f", "ko"), ("\uac00", "\ud7a3", "ko"),
    ("\u3040", "\u30ff", "ja"), ("\u3400", "\u9fff", "zh"), ("\u0400", "\u04ff", "ru"), ("\u0370", "\u03ff", "el"),
    ("\u0590", "\u05ff", "he"), ("\u0600", "\u06ff", "ar"), ("\u0900", "\u097f", "hi"), ("\u0e00", "\u0e7f", "th"),
)  # fmt: skip
_FUNCTION_WORDS = {
    "en": "the of and to in is was for on that by with as at from his her its which were are be has had it an this or not will",
    "de": "der die das und den von zu mit ist im des dem ein eine nicht wurde auf für sich auch als bei nach hat werden am aus wird",
    "fr": "le la les de des et du est une un dans en pour par sur que qui au aux avec il elle son sa ses été plus ne pas",
    "es": "el la los las de del y en un una que es por con para su fue se al como más entre desde son sus",
    "it": "il la di e del della che in un una è per con da nel al dei le gli si sono alla come dal fu",
    "pt": "o a os as de do da e em um uma que é por com para seu sua foi no na ao dos das como mais",
    "nl": "de het een van en in is op te dat voor met zijn door aan werd bij als ook naar uit die niet wordt",
    "sv": "och i att en av som är på det den för med till var har ett om från vid efter under sin",
    "pl": "i w z na do się jest nie że od po jako przez był za oraz o dla był jego",
}
_WORDS_BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_TOKEN = re.compile(r"[^\W\d_]+")


def guess_language(text: str) -> str:
    """A two-letter code from script and function words, or "" where neither tells. Only the first 2,000 characters are read."""
    sample = text[:2000]
    if not sample.isascii():
        counts: dict[str, int] = {}
        letters = 0
        for char in sample:
            if char.isalpha():
                letters += 1
                for low, high, language in _SCRIPTS:
                    if low <= char <= high:
                        counts[language] = counts.get(language, 0) + 1
                        break
        if counts and sum(counts.values()) * 3 > letters:
            if counts.get("ja") and counts.get("zh"):
                return "ja"
            return max(sorted(counts), key=lambda language: counts[language])
    words = [word.casefold() for word in _TOKEN.findall(sample)]
    scores = {language: sum(word in known for word in words) for language, known in _WORDS_BY_LANGUAGE.items()}
    best = max(sorted(scores), key=lambda language: scores[language])
    return best if scores[best] >= max(2, len(words) // 12) else ""


_HIDDEN = {
    **{code: f"[U+{code:04X}]" for code in (*range(0x200E, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x061C)},
    **{code: f"[U+{code:04X}]" for code in (*range(0x00, 0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0))},
    **{code: f"[U+{code:04X}]" for code in (0x180E, 0x200B, *range(0x2060, 0x2065), 0xFEFF, 0xE0001, *range(0xE0020, 0xE0080))},
}


def visible(text: str) -> str:
    """The text with control, direction and other characters that no reader sees as visible marks, for terminals and pages. Data files
    keep the original."""
    return text.translate(_HIDDEN)


def one_line(text: str, width: int = 0) -> str:
    """`visible` on one line, cut to `width` characters where that is given."""
    line = " ".join(visible(text.replace("\r", " ").replace("\n", " ").replace("\t", " ")).split())
    return line if not width or len(line) <= width else line[: width - 1] + "…"
