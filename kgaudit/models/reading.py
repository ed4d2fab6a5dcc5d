"""A passage as the cue model reads it: words, stems, sentences, capitalised names and values, all with their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from kgaudit.documents import Passage
from kgaudit.models.values import FoundValue, find_values
from kgaudit.text import Folded, fold, guess_language, sentences

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]|_")
_NAME_JOINS = frozenset("of de la le du des van von der den del di da al el bin ibn and & the for".split())
_COMMON_STARTS = frozenset(
    "the a an in on at of for from by with to as it its he his she her they their this that these those there when while after before "
    "during since until although though however but and or if because both each all some many most no not one two three other another "
    "also among under over between into upon within without through who which what where then thus so such i we you our your my".split()
)
PRONOUNS = frozenset("he she it they his her its their him them".split())


@lru_cache(maxsize=1)
def _stemmer() -> object:
    import Stemmer

    return Stemmer.Stemmer("english")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The English stem of a folded word."""
    return str(_stemmer().stemWord(word)) if word.isalpha() else word  # type: ignore[attr-defined]


@lru_cache(maxsize=131072)
def word_code(word: str) -> int:
    """A 32-bit code of a word's stem, the same on every machine."""
    return crc32(stem(word).encode("utf-8", "surrogatepass"))


NUMBER_CODE, DATE_CODE, NAME_CODE, SUBJECT_CODE, OBJECT_CODE, EDGE_CODE, CUE_CODE = (crc32(f"<{i}>".encode()) for i in range(7))


@dataclass(frozen=True, slots=True)
class Reading:
    """What a passage (or title) holds. Word places are indices into `words`; `starts` and `ends` are offsets into `folded.text`.

    `codes` are stem codes, with numbers and dates masked. `sentence_of[i]` is the index of word i's sentence in `sentence_spans`, which
    are offsets into the original text. `names` are word ranges of capitalised names, `values` pairs of word range and value.
    """

    text: str
    language: str
    folded: Folded
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    codes: tuple[int, ...]
    sentence_of: tuple[int, ...]
    sentence_spans: tuple[tuple[int, int], ...]
    names: tuple[tuple[int, int], ...]
    name_words: frozenset[int]
    values: tuple[tuple[int, int, FoundValue], ...]
    pronouns: tuple[int, ...]

    def words_between(self, start: int, end: int) -> tuple[int, int]:
        """The range of words that offsets into the folded text touch."""
        first = max(0, bisect_right(self.starts, start) - 1)
        if first < len(self.ends) and self.ends[first] <= start:
            first += 1
        last = bisect_right(self.starts, end - 1)
        return first, max(first + 1, last)

    def place(self, first: int, last: int) -> tuple[int, int]:
        """The offsets into the original text of the words from `first` up to (not including) `last`."""
        return self.folded.original(self.starts[first], self.ends[last - 1])


def _looks_like_code(word: str) -> bool:
    """5-HT1A, mTOR, COX-2: letters with digits, or capitals inside (asked of the original word)."""
    return any(c.isupper() for c in word[1:]) or (any(c.isdigit() for c in word) and any(c.isalpha() for c in word))


def _names(words: list[str], originals: list[str], sentence_of: list[int]) -> list[tuple[int, int]]:
    names: list[tuple[int, int]] = []
    i, n = 0, len(words)
    while i < n:
        original = originals[i]
        first_of_sentence = i == 0 or sentence_of[i] != sentence_of[i - 1]
        capital = original[0].isupper()
        if not (capital or _looks_like_code(original)) or (words[i] in _COMMON_STARTS and (first_of_sentence or len(original) == 1)):
            i += 1
            continue
        j = i + 1
        while j < n and sentence_of[j] == sentence_of[i]:
            numbered = j == i + 1 and words[j].isdigit() and len(words[j]) <= 2
            initial = words[j] == "." and len(words[j - 1]) == 1 and j + 1 < n and originals[j + 1][0].isupper()
            if originals[j][0].isupper() or numbered or initial:
                j += 1
            elif (
                words[j] in _NAME_JOINS
                and words[j] != "and"
                and j + 1 < n
                and originals[j + 1][0].isupper()
                and sentence_of[j + 1] == sentence_of[i]
            ):
                j += 2
            else:
                break
        names.append((i, j))
        i = j
    return names


def read(text: str, language: str) -> Reading:
    """Reads a text; `language` is a two-letter code or "" (see `language_of`)."""
    folded = fold(text)
    matches = list(_WORD.finditer(folded.text))
    words = [match.group() for match in matches]
    starts = [match.start() for match in matches]
    ends = [match.end() for match in matches]
    spans = sentences(text) or ([(0, len(text))] if text else [])
    span_starts = [span[0] for span in spans]
    places = starts if folded.starts is None else [folded.starts[start] for start in starts]
    last_places = ends if folded.ends is None else [folded.ends[end - 1] for end in ends]
    originals = [text[start:end] for start, end in zip(places, last_places, strict=True)]
    sentence_of = [max(0, bisect_right(span_starts, place) - 1) for place in places]
    codes = [word_code(word) for word in words]
    values: list[tuple[int, int, FoundValue]] = []
    for value in find_values(text, language):
        first, last = bisect_right(places, value.start) - 1, bisect_right(places, value.end - 1)
        first = max(first, 0)
        if last > first:
            values.append((first, last, value))
            for i in range(first, last):
                codes[i] = DATE_CODE if value.is_date else NUMBER_CODE
    value_words = {i for first, last, value in values if value.is_date for i in range(first, last)}
    names = [span for span in _names(words, originals, sentence_of) if span[0] not in value_words]
    return Reading(
        text=text,
        language=language,
        folded=folded,
        words=tuple(words),
        starts=tuple(starts),
        ends=tuple(ends),
        codes=tuple(codes),
        sentence_of=tuple(sentence_of),
        sentence_spans=tuple(spans),
        names=tuple(names),
        name_words=frozenset(i for first, last in names for i in range(first, last)),
        values=tuple(values),
        pronouns=tuple(i for i, word in enumerate(words) if word in PRONOUNS),
    )


def language_of(passage: Passage) -> str:
    """The passage's language, guessed from its text where it is not given; a short text in Latin letters that tells nothing is "en"."""
    if passage.language:
        return passage.language[:2].lower()
    return guess_language(passage.text) or ("en" if passage.text.isascii() else "")
