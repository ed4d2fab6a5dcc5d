"""What the cue model sees of a (claim, passage) pair: hashed word n-grams around and between the names, and position features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from kgaudit.claims import Claim
from kgaudit.models.mentions import TITLE, Link, Mentions, Place, object_rivals, subject_rivals
from kgaudit.models.reading import CUE_CODE, EDGE_CODE, NAME_CODE, OBJECT_CODE, SUBJECT_CODE, Reading, stem
from kgaudit.text import fold_name

HASH_BITS = 22
_MASK64 = 0xFFFFFFFFFFFFFFFF
_M1, _M2 = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
_SMALL_WORDS = frozenset("of the a an in on at by to for with from is was are be as and or has have had it its s".split())

# Predicates and sentences often use different words for one thing. General English, by stem.
_RELATED_GROUPS = (
    "birth born bear native", "death die dead kill decease", "spous marri wife husband wed widow marriag",
    "child son daughter children", "father son daughter dad", "mother son daughter mum",
    "parent son daughter father mother child", "sibl brother sister twin", "author write wrote written writer novel book by",
    "compos compose music score written wrote", "director direct directori film",
    "perform sing sang singer song album record releas artist band", "own owner belong acquir bought buy purchas sold",
    "employ work staff job hire serv", "educ educat graduat studi attend alumnus alumni degre univers school colleg student",
    "locat situat lie lay in near stand base", "capit capitol seat", "member join belong part", "team play club sign footbal",
    "manufactur made produc build built make maker", "product made produc make manufactur",
    "charact role play fiction protagonist", "citizenship citizen nation", "languag speak spoken spoke",
    "publicat releas publish issu", "dissolv abolish end disband demolish", "incept found establish creat form open",
    "follow succeed success after next replac", "replac succeed success follow",
    "parti democrat republican labour conserv socialist polit", "government minist premier presid mayor governor",
    "legisl parliament assembl senat council congress", "chief execut ceo head chair",
    "chairperson chair chairman chairwoman presid", "resid live dwell home settl", "genr style music",
    "screenwrit screenplay script write wrote written", "subsidiari subsidi owned own divis parent unit",
    "continent in europ asia africa america", "inhibitor inhibit block suppress", "activ activat stimul induc",
    "agonist agon activ stimul", "antagonist antagon block blocker", "substrat metabol transport hydrolyz oxid",
    "upregul increas induc enhanc elev express", "downregul decreas reduc suppress inhibit attenu", "area cover squar",
    "popul inhabit peopl resid", "revenu turnov sale earn", "employe employ staff peopl", "sign signatur treati",
    "univers colleg", "produc product film", "oper run operat", "organ organis organiz compani",
    "work novel book song album film paint",
)  # fmt: skip


@lru_cache(maxsize=1)
def _related() -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for line in _RELATED_GROUPS:
        head, *rest = (stem(word) for word in line.split())
        groups.setdefault(head, set()).update(rest)
        groups[head].add(head)
    return {head: frozenset(words) for head, words in groups.items()}


@dataclass(frozen=True, slots=True)
class PredicateWords:
    """A predicate's label as the model uses it: code of the whole label, codes of its content stems, stems and those related."""

    label_code: int
    stem_codes: tuple[int, ...]
    stems: frozenset[int]
    related: frozenset[int]


@lru_cache(maxsize=8192)
def predicate_words(label: str, paraphrases: tuple[str, ...] = ()) -> PredicateWords:
    """Reads a predicate label ("place of birth"); paraphrases add to the words looked for."""
    folded = fold_name(label).replace("_", " ").replace("/", " ").replace(",", " ")
    content = [stem(word) for word in folded.split() if word not in _SMALL_WORDS][:4]
    phrases = [stem(word) for phrase in paraphrases for word in fold_name(phrase).split() if word not in _SMALL_WORDS]
    related = {other for word in (*content, *phrases) for other in _related().get(word, ())}
    code = {word: crc32(word.encode("utf-8", "surrogatepass")) for word in {*content, *phrases, *related}}
    return PredicateWords(
        label_code=crc32(("p:" + " ".join(folded.split())).encode("utf-8", "surrogatepass")),
        stem_codes=tuple(crc32(("w:" + word).encode("utf-8", "surrogatepass")) for word in dict.fromkeys(content)),
        stems=frozenset(code[word] for word in (*content, *phrases)),
        related=frozenset(code.values()),
    )


_M3, _M4 = 0x165667B19E3779F9, 0x27D4EB2F165667C5
_SLOT_NAMES = "b1 b2 b3 ball oL oR oL2 oR2 sL sR sL2 sR2 kind oLpos oRpos sRpos sLpos oHead oLen sHead".split()
_SLOTS = {name: crc32(name.encode()) * _M1 & _MASK64 for name in _SLOT_NAMES}


def _masked(reading: Reading, s_places: Sequence[Place], o_places: Sequence[Place], link: Link) -> tuple[int, list[int]]:
    """The first word that a link's n-grams look at, and the codes from there to the last, with the names masked."""
    places = [place for place in (link.s, link.o) if place.kind != TITLE]  # they may overlap
    begin = max(0, min(place.first for place in places) - _AROUND)
    end = min(len(reading.codes), max(place.last for place in places) + _AROUND)
    if len(places) == 1:
        begin = min(begin, codes_start(reading, places[0]))
    codes = list(reading.codes[begin:end])
    masks = [(place, SUBJECT_CODE) for place in s_places] + [(place, OBJECT_CODE) for place in o_places]
    masks += [(place, code) for place, code in ((link.s, SUBJECT_CODE), (link.o, OBJECT_CODE)) if place.kind != TITLE]
    for place, code in masks:
        first, last = max(place.first, begin), min(place.last, end)
        if first < last:
            codes[first - begin : last - begin] = [code] * (last - first)
    return begin, codes


def _collapsed(codes: list[int], begin: int, start: int, end: int, name_words: frozenset[int]) -> list[int]:
    """Codes from word `start` to `end` with runs of a mask or of other names as one; `codes[0]` is that of word `begin`."""
    out: list[int] = []
    last = -1
    for i in range(start, end):
        code = codes[i - begin]
        if i in name_words and code != SUBJECT_CODE and code != OBJECT_CODE:
            code = NAME_CODE
        if code == last and code in _RUNS:
            continue
        out.append(code)
        last = code
    return out


_RUNS = frozenset((SUBJECT_CODE, OBJECT_CODE, NAME_CODE))
_AROUND = 6


def ngram_codes(
    reading: Reading, s_places: Sequence[Place], o_places: Sequence[Place], link: Link, related: frozenset[int]
) -> tuple[list[int], list[int]]:
    """64-bit codes of the word n-grams of one link, not yet crossed with the predicate; and the same with words of the predicate masked
    as well, where there are any: templates that hold for any predicate. `s_places` and `o_places` are masked."""
    begin, codes = _masked(reading, s_places, o_places, link)
    plain = _ngrams(reading, codes, begin, link)
    if not related:
        return plain, []
    if related.isdisjoint(codes):
        return plain, plain
    return plain, _ngrams(reading, [CUE_CODE if code in related else code for code in codes], begin, link)


def _ngrams(reading: Reading, codes: list[int], begin: int, link: Link) -> list[int]:
    names = reading.name_words
    s, o = link.s, link.o
    n = len(reading.codes)
    s_first = s.last <= o.first
    order = 1 if s_first else 2
    left, right = (s, o) if s_first else (o, s)
    apart = left.kind == TITLE or reading.sentence_of[left.first] != reading.sentence_of[right.first]
    if apart:
        start = codes_start(reading, right)
        between = _collapsed(codes, begin, max(start, left.last), right.first, names)[-8:]
    else:
        between = _collapsed(codes, begin, left.last, right.first, names)
        if len(between) > 16:
            between = between[:8] + between[-8:]
    b1, b2, b3 = (_SLOTS[name] ^ apart for name in ("b1", "b2", "b3"))
    row = [EDGE_CODE, *between, EDGE_CODE]
    out = [_SLOTS["kind"] + ((s.kind * 4 + o.kind) * 2 + apart) * _M2]
    out += [b1 + code * _M2 for code in between]
    out += [b2 + a * _M2 + b * _M3 for a, b in pairwise(row)]
    out += [b3 + a * _M2 + b * _M3 + c * _M4 for a, b, c in zip(row, row[1:], row[2:], strict=False)]
    if len(between) <= 6 and not apart:
        total = 0
        for code in between:
            total = (total * _M1 + code) & _MASK64
        out.append(_SLOTS["ball"] + total * _M2)
    sides = ("sL", "sR", "oL", "oR") if s_first else ("oL", "oR", "sL", "sR")
    for place, before, after in ((left, sides[0], sides[1]), (right, sides[2], sides[3])):
        if place.kind == TITLE:
            continue
        near = _collapsed(codes, begin, max(0, place.first - _AROUND), place.first, names)[:-5:-1]  # the nearest first
        out += _beside(near, before)
        if len(near) >= 2:
            out.append(_SLOTS[before + "2"] + near[1] * _M2 + near[0] * _M3)
        near = _collapsed(codes, begin, place.last, min(n, place.last + _AROUND), names)[:4]
        out += _beside(near, after)
        if len(near) >= 2:
            out.append(_SLOTS[after + "2"] + near[0] * _M2 + near[1] * _M3)
    if o.kind != TITLE:
        out.append(_SLOTS["oHead"] + reading.codes[o.last - 1] * _M2)
        out.append(_SLOTS["oLen"] + (min(o.last - o.first, 4) * 2 + (o.first in names)) * _M2)
    if s.kind in (0, 1):
        out.append(_SLOTS["sHead"] + reading.codes[s.last - 1] * _M2)
    return [(code + order) & _MASK64 for code in out]


def _beside(near: list[int], slot: str) -> list[int]:
    slot_code = _SLOTS[slot]
    return [*([_SLOTS[slot + "pos"] + near[0] * _M2] if near else []), *(slot_code + code * _M2 for code in near)]


def codes_start(reading: Reading, place: Place) -> int:
    """The first word of the sentence in which a place stands."""
    sentence = reading.sentence_of[place.first]
    i = place.first
    while i > 0 and reading.sentence_of[i - 1] == sentence:
        i -= 1
    return i


def codes_end(reading: Reading, place: Place) -> int:
    """The word after the last one of the sentence in which a place stands."""
    sentence = reading.sentence_of[place.first]
    i, n = place.last, len(reading.words)
    while i < n and reading.sentence_of[i] == sentence:
        i += 1
    return i


ALONE, LABEL, STEMS, TEMPLATE = 0.3, 1.0, 0.5, 0.5
"""How much n-grams weigh alone, crossed with the predicate's label, with its stems, and as templates."""


def _mixed(codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    with np.errstate(over="ignore"):
        mixed = codes ^ (codes >> np.uint64(29))
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return (mixed & np.uint64((1 << HASH_BITS) - 1)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Hashed:
    """Sparse rows: `indices[offsets[i]:offsets[i + 1]]` are row i's features (below 2**HASH_BITS), `values` their weights."""

    indices: NDArray[np.int64]
    values: NDArray[np.float32]
    offsets: NDArray[np.int64]


def _lengths(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))


def _flat(rows: Sequence[Sequence[int]], total: int) -> NDArray[np.uint64]:
    return np.fromiter((code for row in rows for code in row), dtype=np.uint64, count=total)


def crossed(rows: Sequence[Sequence[int]], predicates: Sequence[PredicateWords]) -> Hashed:
    """Every row's n-grams crossed with the predicate's label and with its stems."""
    counts = _lengths(rows)
    flat = _flat(rows, int(counts.sum()))
    times = np.fromiter((1 + len(p.stem_codes) for p in predicates), dtype=np.int64, count=len(rows))
    salts = np.fromiter((salt for p in predicates for salt in (p.label_code, *p.stem_codes)), dtype=np.uint64, count=int(times.sum()))
    weights = np.fromiter(
        (w for p in predicates for w in (LABEL, *([STEMS / max(1, len(p.stem_codes)) ** 0.5] * len(p.stem_codes)))),
        dtype=np.float32,
        count=int(times.sum()),
    )
    row_of_salt = np.repeat(np.arange(len(rows)), times)
    length = counts[row_of_salt]
    begin = np.concatenate(([0], np.cumsum(counts)))[row_of_salt]
    ends = np.cumsum(length)
    inner = np.arange(int(length.sum())) - np.repeat(ends - length, length) + np.repeat(begin, length)
    with np.errstate(over="ignore"):
        indices = _mixed(flat[inner] ^ np.repeat(salts * np.uint64(_M1), length))
    values = np.repeat(weights / np.sqrt(np.maximum(length, 1)).astype(np.float32), length)
    return Hashed(indices, values.astype(np.float32), np.concatenate(([0], np.cumsum(counts * times))))


def uncrossed(rows: Sequence[Sequence[int]], templates: Sequence[Sequence[int]]) -> Hashed:
    """Every row's n-grams alone and as templates, whatever the predicate."""
    counts, more = _lengths(rows), _lengths(templates)
    first = _mixed(_flat(rows, int(counts.sum())))
    second = _mixed(_flat(templates, int(more.sum())) ^ np.uint64(_M2))
    total = counts + more
    offsets = np.concatenate(([0], np.cumsum(total)))
    indices = np.empty(int(total.sum()), dtype=np.int64)
    values = np.empty(len(indices), dtype=np.float32)
    row = np.repeat(np.arange(len(rows)), counts)
    at = np.arange(len(first)) - np.concatenate(([0], np.cumsum(counts)))[row] + offsets[row]
    indices[at], values[at] = first, ALONE / np.sqrt(np.maximum(counts, 1))[row]
    row = np.repeat(np.arange(len(rows)), more)
    at = np.arange(len(second)) - np.concatenate(([0], np.cumsum(more)))[row] + offsets[row] + counts[row]
    indices[at], values[at] = second, TEMPLATE / np.sqrt(np.maximum(more, 1))[row]
    return Hashed(indices, values, offsets)


POSITION_NAMES = (
    "gap sentences s_first s_kind o_kind apart cost cost_second links s_full o_full s_in_title o_in_title sentence words "
    "names_between names_in_sentence nearer_to_s nearer_to_o commas brackets stems_between related_between stems_sentence "
    "related_sentence related_o_left related_o_right related_s_left related_s_right agreement literal negation value_rivals "
    "o_words s_words o_in_brackets related_gap rank_o_from_cue names_before_s verb_like "
    "all_sentences sentences_with_both sentences_with_s sentences_with_o first_s first_o last_o share_s share_o "
).split()

_NEGATIONS = frozenset(
    crc32(stem(w).encode()) for w in "not no never nor without neither former formerly denied deny until unlike instead".split()
)
_COMMA, _OPEN = crc32(b","), crc32(b"(")
_AGREEMENTS = {"equal": 0.0, "finer": 1.0, "coarser": 2.0, "differs": 3.0}


def position_features(claim: Claim, reading: Reading, mentions: Mentions, words: PredicateWords) -> list[float]:
    """The features named in `POSITION_NAMES`, of the best link."""
    link = mentions.links[0]
    s, o = link.s, link.o
    s_first = s.last <= o.first
    left, right = (s, o) if s_first else (o, s)
    codes = reading.codes
    title_link = left.kind == TITLE
    s_sentence = reading.sentence_of[s.first] if s.kind != TITLE else -1
    o_sentence = reading.sentence_of[o.first] if o.kind != TITLE else -1
    anchor = o if o.kind != TITLE else s
    low, high = codes_start(reading, anchor), codes_end(reading, anchor)
    begin = low if title_link else left.last
    between = codes[begin : right.first]
    sentence = codes[low:high]
    s_words = {i for place in mentions.s for i in range(place.first, place.last)}
    o_words = {i for place in mentions.o for i in range(place.first, place.last)}
    others = [
        (a, b) for a, b in reading.names if a not in s_words and a not in o_words and b - 1 not in s_words and b - 1 not in o_words
    ]
    distance_s = right.first - begin if title_link else right.first - left.last
    nearer_s = nearer_o = 0
    for a, b in others:
        if s.kind != TITLE and reading.sentence_of[a] == s_sentence:
            away = a - s.last if a >= s.last else s.first - b
            nearer_s += away < distance_s
        if o.kind != TITLE and reading.sentence_of[a] == o_sentence:
            away = a - o.last if a >= o.last else o.first - b
            nearer_o += away < distance_s
    related = words.related
    cue_gap, cue_rank = 40.0, 9.0
    if o.kind != TITLE:
        cues = [i for i in range(low, high) if codes[i] in related and i not in s_words and i not in o_words]
        if cues:
            cue = min(cues, key=lambda i: (o.first - i) if i < o.first else (i - o.last + 1))
            cue_gap = float(o.first - cue if cue < o.first else cue - o.last + 1)
            cue_rank = float(sum(1 for a, b in others if low <= a < high and min(abs(a - cue), abs(b - 1 - cue)) < cue_gap))
    value_rivals = sum(1 for first, _, value in reading.values if claim.object.is_literal and first not in o_words and value.is_date)
    return [
        float(min(distance_s, 60)),
        float(min(abs(s_sentence - o_sentence), 30)) if not title_link else 31.0,
        float(s_first),
        float(s.kind),
        float(o.kind),
        float(s_sentence != o_sentence),
        min(link.cost, 90.0),
        min(mentions.links[1].cost, 90.0) if len(mentions.links) > 1 else 99.0,
        float(len(mentions.links)),
        float(min(len(mentions.s), 20)),
        float(min(len(mentions.o), 20)),
        float(mentions.s_in_title),
        float(mentions.o_in_title),
        float(min(o_sentence, 30)),
        float(min(len(reading.words), 1500)),
        float(sum(1 for a, b in others if begin <= a < right.first)),
        float(min(sum(1 for a, b in others if low <= a < high), 12)),
        float(min(nearer_s, 8)),
        float(min(nearer_o, 8)),
        float(min(between.count(_COMMA), 6)),
        float(_OPEN in between),
        float(sum(1 for code in between if code in words.stems)),
        float(sum(1 for code in between if code in related)),
        float(sum(1 for code in sentence if code in words.stems)),
        float(sum(1 for code in sentence if code in related)),
        float(any(code in related for code in codes[max(0, o.first - 4) : max(0, o.first)])),
        float(any(code in related for code in codes[max(0, o.last) : o.last + 4])),
        float(any(code in related for code in codes[max(0, s.first - 4) : max(0, s.first)])),
        float(any(code in related for code in codes[max(0, s.last) : s.last + 4])),
        _AGREEMENTS[o.agreement],
        float(claim.object.is_literal),
        float(any(code in _NEGATIONS for code in sentence)),
        float(min(value_rivals, 6)),
        float(min(len(claim.object.label.split()), 6)),
        float(min(len(claim.subject.label.split()), 6)),
        float(o.first > 0 and reading.words[o.first - 1] == "("),
        min(cue_gap, 40.0),
        min(cue_rank, 9.0),
        float(min(sum(1 for a, b in others if low <= a < (s.first if s.kind != TITLE else low)), 6)),
        float(len(sentence)),
        *_document_features(reading, mentions),
    ]


def _document_features(reading: Reading, mentions: Mentions) -> list[float]:
    """How the two names are spread over all that was read: what one sentence does not tell."""
    s = [reading.sentence_of[place.first] for place in mentions.s if place.kind != TITLE]
    o = [reading.sentence_of[place.first] for place in mentions.o if place.kind != TITLE]
    count = len(reading.sentence_spans)
    return [
        float(min(count, 60)),
        float(len(set(s) & set(o))),
        float(len(set(s))),
        float(len(set(o))),
        float(min(s, default=-1)),
        float(min(o, default=-1)),
        float(max(o, default=-1)),
        len(set(s)) / max(1, count),
        len(set(o)) / max(1, count),
    ]


BEST, SECOND, SWAPPED, OBJECT_RIVAL, SUBJECT_RIVAL = range(5)
_OBJECT_RIVALS, _SUBJECT_RIVALS = 3, 2


@dataclass(frozen=True, slots=True)
class Seen:
    """A batch of pairs as features.

    Every pair has several variants (rows of `crossed` and `uncrossed`): its best link, the second, the two names swapped, and other
    names of the passage in the object's and in the subject's place. `owner[r]` is the pair of row r, `variant[r]` what it is.
    `positions` has a row a pair (`POSITION_NAMES`).
    """

    crossed: Hashed
    uncrossed: Hashed
    owner: NDArray[np.int64]
    variant: NDArray[np.int64]
    positions: NDArray[np.float32]


def see(pairs: Sequence[tuple[Claim, Reading, Mentions]]) -> Seen:
    """The features of pairs that have links."""
    words = [predicate_words(claim.predicate.label, claim.predicate.paraphrases) for claim, _, _ in pairs]
    plain: list[list[int]] = []
    templates: list[list[int]] = []
    owner: list[int] = []
    variant: list[int] = []
    for n, (claim, reading, mentions) in enumerate(pairs):
        best = mentions.links[0]
        rows: list[tuple[int, tuple[Place, ...], tuple[Place, ...], Link]] = [(BEST, mentions.s, mentions.o, best)]
        rows += [(SECOND, mentions.s, mentions.o, link) for link in mentions.links[1:2]]
        rows.append((SWAPPED, mentions.o, mentions.s, Link(best.o, best.s, best.cost)))
        rows += [
            (OBJECT_RIVAL, mentions.s, (rival,), Link(best.s, rival, 0.0))
            for rival in object_rivals(claim, reading, mentions, _OBJECT_RIVALS)
        ]
        rows += [
            (SUBJECT_RIVAL, (rival,), mentions.o, Link(rival, best.o, 0.0))
            for rival in subject_rivals(reading, mentions, _SUBJECT_RIVALS)
        ]
        related = words[n].related
        for what, s_places, o_places, link in rows:
            alone, template = ngram_codes(reading, s_places, o_places, link, related)
            plain.append(alone)
            templates.append(template)
            owner.append(n)
            variant.append(what)
    return Seen(
        crossed=crossed(plain, [words[n] for n in owner]),
        uncrossed=uncrossed(plain, templates),
        owner=np.array(owner, dtype=np.int64),
        variant=np.array(variant, dtype=np.int64),
        positions=np.array([position_features(*pair, w) for pair, w in zip(pairs, words, strict=True)], dtype=np.float32),
    )


def dot(rows: Hashed, weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Each sparse row times dense weights."""
    products = rows.values * weights[rows.indices]
    sums = np.concatenate(([0.0], np.cumsum(products, dtype=np.float64)))
    return sums[rows.offsets[1:]] - sums[rows.offsets[:-1]]


def tree_features(
    seen: Seen, full: NDArray[np.float64], general: NDArray[np.float64], known: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What the trees see: positions, both scores of every variant beside those of the claim itself, how well known the predicate is.

    `full` and `general` are a score a variant; `known` is a number a pair.
    """
    n = len(seen.positions)
    columns: list[NDArray[np.float64]] = [seen.positions.astype(np.float64), known[:, None]]
    for scores in (full, general):
        by = {}
        for what, fill in ((BEST, 0.0), (SECOND, -3.0), (SWAPPED, 0.0)):
            by[what] = np.full(n, fill)
            chosen = seen.variant == what
            by[what][seen.owner[chosen]] = scores[chosen]
        columns += [v[:, None] for v in (by[BEST], by[SECOND], np.maximum(by[BEST], by[SECOND]), by[SWAPPED], by[BEST] - by[SWAPPED])]
        for what in (OBJECT_RIVAL, SUBJECT_RIVAL):
            chosen = seen.variant == what
            owners = seen.owner[chosen]
            highest, better, count = np.full(n, -4.0), np.zeros(n), np.zeros(n)
            np.maximum.at(highest, owners, scores[chosen])
            np.add.at(better, owners, scores[chosen] > by[BEST][owners])
            np.add.at(count, owners, 1.0)
            columns += [v[:, None] for v in (highest, by[BEST] - highest, better, count)]
    return np.concatenate(columns, axis=1)
