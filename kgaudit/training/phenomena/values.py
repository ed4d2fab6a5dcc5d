"""Numbers, quantities with units, dates: several values in one passage, of another year, part, bearer or event, in several formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from kgaudit.training.phenomena.clauses import Clause
from kgaudit.training.phenomena.made import Made
from kgaudit.training.phenomena.names import Name
from kgaudit.training.phenomena.scene import Scene, choose, made, pick_wording, surround, tidy, title

_MONTHS = "January February March April May June July August September October November December".split()


@dataclass(frozen=True, slots=True)
class Measure:
    """A predicate with a number for its object. `clauses`: (grammatical subject, verb, rest) with {s} and {v}; `part`: what a share
    of it belongs to (empty where shares make no sense); `low` and `high` bound the values; `unit` follows the number."""

    label: str
    kinds: tuple[str, ...]
    clauses: tuple[tuple[str, str, str], ...]
    unit: str
    low: int
    high: int
    part: str = ""
    apart: bool = False


MEASURES = (
    Measure(
        "population",
        ("town", "country", "region"),
        (("{s}", "have", "{v} inhabitants"), ("{s}", "be", "home to {v} people"), ("the population of {s}", "be", "{v}")),
        "",
        2_000,
        9_000_000,
        "on the far side of the river",
    ),
    Measure(
        "number of employees",
        ("company", "agency"),
        (("{s}", "employ", "{v} people"), ("{s}", "have", "{v} employees"), ("the workforce of {s}", "number", "{v}")),
        "",
        30,
        90_000,
        "in sales",
    ),
    Measure(
        "students count",
        ("institution",),
        (("{s}", "have", "{v} students"), ("{s}", "teach", "{v} students"), ("the student body of {s}", "number", "{v}")),
        "",
        200,
        60_000,
        "from abroad",
    ),
    Measure(
        "area",
        ("lake", "region", "country"),
        (("{s}", "cover", "{v}"), ("{s}", "have", "an area of {v}"), ("the area of {s}", "be", "{v}")),
        "square kilometres",
        20,
        400_000,
        "under protection",
    ),
    Measure("elevation above sea level", ("mountain",), (("{s}", "rise", "to {v}"), ("{s}", "be", "{v} high")), "metres", 900, 7_900),
    Measure(
        "length",
        ("river", "bridge"),
        (("{s}", "be", "{v} long"), ("the length of {s}", "be", "{v}")),
        "metres",
        300,
        900_000,
        "in a tunnel or under roofs",
    ),
    Measure(
        "total revenue",
        ("company",),
        (("{s}", "report", "revenue of {v}"), ("the revenue of {s}", "be", "{v}"), ("{s}", "take", "in {v} a year")),
        "euros",
        400_000,
        9_000_000_000,
        "abroad",
    ),
    Measure(
        "height",
        ("building",),
        (("{s}", "be", "{v} tall"), ("{s}", "rise", "to {v}"), ("the height of {s}", "be", "{v}")),
        "metres",
        30,
        400,
        "",
        True,
    ),
    Measure(
        "maximum capacity",
        ("building", "ship"),
        (("{s}", "have", "room for {v} people"), ("{s}", "hold", "{v} people"), ("the capacity of {s}", "be", "{v}")),
        "",
        80,
        60_000,
        "standing",
    ),
    Measure(
        "number of pages", ("book",), (("{s}", "have", "{v} pages"), ("{s}", "run", "to {v} pages")), "", 80, 1_400, "of notes", True
    ),
    Measure(
        "duration",
        ("film", "album", "song"),
        (("{s}", "last", "{v}"), ("{s}", "run", "for {v}"), ("the running time of {s}", "be", "{v}")),
        "minutes",
        3,
        240,
    ),
    Measure("mass", ("product",), (("{s}", "weigh", "{v}"), ("the weight of {s}", "be", "{v}")), "grams", 90, 90_000, "in the battery"),
    Measure(
        "member count",
        ("party",),
        (("{s}", "have", "{v} members"), ("{s}", "count", "{v} members"), ("the membership of {s}", "be", "{v}")),
        "",
        300,
        800_000,
        "below the age of thirty",
    ),
    Measure(
        "number of episodes",
        ("show",),
        (("{s}", "have", "{v} episodes"), ("{s}", "consist", "of {v} episodes")),
        "",
        6,
        400,
        "in black and white",
    ),
    Measure(
        "maximum depth", ("lake",), (("{s}", "be", "{v} deep"), ("the greatest depth of {s}", "be", "{v}")), "metres", 12, 900, "", True
    ),
    Measure(
        "elimination half-life",
        ("drug",),
        (("{s}", "have", "a half-life of {v}"), ("the half-life of {s}", "be", "{v}")),
        "hours",
        2,
        90,
    ),
    Measure(
        "price", ("product", "painting"), (("{s}", "cost", "{v}"), ("the price of {s}", "be", "{v}")), "euros", 20, 900_000, "in tax"
    ),
    Measure(
        "recommended dose",
        ("drug",),
        (("the daily dose of {s}", "be", "{v}"), ("patients' daily intake of {s}", "be", "{v}")),
        "milligrams",
        5,
        1_800,
    ),
)

YEARS = (
    "In {y1}, {n.past}; [today|now] {m.pres}.",
    "[Today|Now] {m.pres}; in {y1}, {n.past}.",
    "{m.pres}, [up or down from|compared with|as against] {w} in {y1}.",
    "{n.past} in {y1}. Since then the figure has changed to {v}.",
    "{W} gives {v} as the latest figure: {m.pres}. The figure of {w} dates from {y1}.",
    "The figure of {w} dates from {y1}. {W} gives {v} as the latest one: {m.pres}.",
    "After {w} in {y1}, it is {v} at present: {m.pres}.",
    "{m.pres}. An old brochure, from {y1}, says {w}.",
    "An old brochure, from {y1}, says {w}. The new one says {v}: {m.pres}.",
    "From {w} in {y1} to {v} today: that is how it went with {S}. {m.pres}.",
    "{v} today, {w} in {y1}: that is how it went with {S}. {m.pres}.",
    "Those who went by the count of {y1} still believe that {n.pres}. By the latest count, {m.pres}.",
    "By the latest count, {m.pres}. Those who went by the count of {y1} still believe that {n.pres}.",
    "In {y1} the figure was {w}. {X} checked again last year and found that {m.pres}.",
    "When {X} first wrote about {S}, in {y1}, the figure stood at {w}; as of this year, {m.pres}.",
)
PARTS = (
    "{m.pres}, of which {low} [belong|are] {part}.",
    "{m.pres}. Of these, {low} are {part}.",
    "{m.pres}, {low} of them {part}.",
    "With {low} {part}, {m.pres} in all.",
    "{low} are {part}; altogether {m.pres}.",
    "Counting the {low} {part}, {m.pres}.",
    "{m.pres} (including {low} {part}).",
    "The share {part} comes to {low}. In total, {m.pres}.",
    "In total, {m.pres}. The share {part} comes to {low}.",
    "{X} counted {low} {part}, out of a total that makes it true that {m.pres}.",
    "A mere {low} {part}: that is little, given that {m.pres}.",
    "Given that {m.pres}, {low} {part} is little.",
    "All told, {m.pres}; {low} {part}, the rest elsewhere.",
    "The {low} {part} are a small share, for {m.pres}.",
    "{W} singled out the {low} {part}. The whole is larger: {m.pres}.",
)
WRONG = (
    "{m.pres}. An earlier estimate of {w} [was far off|proved wrong].",
    "An earlier estimate of {w} proved wrong: {m.pres}.",
    "{W} printed {w} by mistake; {m.pres}.",
    "{m.pres}, not {w}, as {W} printed.",
    "{m.pres}. Some [day|year] it may be {w}, or so {X} hopes.",
    "It may be {w} some day, or so {X} hopes; at present {m.pres}.",
    "The target is {w}. As things are, {m.pres}.",
    "As things are, {m.pres}. The target is {w}.",
    "{X} guessed {w} and lost the bet: {m.pres}.",
    "{m.pres}: {X}, who had guessed {w}, lost the bet.",
    "It takes a misprint to turn {v} into {w}. {m.pres}.",
    "It takes a misprint to arrive at {w}. The right figure is {v}: {m.pres}.",
    "Permission was given for {w}, but in practice {m.pres}.",
    "In practice {m.pres}, though permission was given for {w}.",
    "{m.pres}; the figure {w} in the same table is the number of the row.",
)
OTHERS = (
    "{m.pres}, [while|whereas] {o.pres}.",
    "{o.pres}, [while|whereas] {m.pres}.",
    "{m.pres}. {o.pres}.",
    "{o.pres}. {m.pres}.",
    "[Unlike|In contrast to] {U} ({w}), the figure for {S} is {v}: {m.pres}.",
    "The figure for {S} is {v}, unlike that for {U} ({w}): {m.pres}.",
    "Table: {S}, {v}; {U}, {w}. {m.pres}.",
    "Table: {U}, {w}; {S}, {v}. {o.pres}.",
    "{X} compared two cases: {m.pres}, and {o.pres}.",
    "{X} compared two cases: {o.pres}, and {m.pres}.",
    "{U} and {S} are often named together. {o.pres}, but {m.pres}.",
    "{S} and {U} are often named together. {m.pres}, but {o.pres}.",
    "If {o.pres}, then {m.pres}: so runs a line in a counting rhyme, and both halves are true.",
    "If {m.pres}, then {o.pres}: so runs a line in a counting rhyme, and both halves are true.",
    "For {S} and {U}, the figures are {v} and {w}, respectively. {m.pres}.",
)


def _value(rng: Random, measure: Measure, near: int = 0) -> int:
    """A value within the bounds, evenly by magnitude, rounded as texts do now and then; with `near`, one that could be taken for it."""
    if near:
        digits = list(str(near))
        roll = rng.random()
        if roll < 0.4 and len(digits) > 2:
            at = rng.randrange(len(digits) - 1)
            digits[at], digits[at + 1] = digits[at + 1], digits[at]
        elif roll < 0.6:
            return near * 10
        else:
            at = rng.randrange(len(digits))
            digits[at] = str((int(digits[at]) + rng.randint(1, 8)) % 10 or 1)
        other = int("".join(digits).lstrip("0") or "7")
        return other if other != near else near + 1
    value = int(measure.low * (measure.high / measure.low) ** rng.random())
    keep = rng.choice((2, 3, 3, 4, 7))
    step: int = 10 ** max(0, len(str(value)) - keep)
    return max(1, value // step * step)


def _number(rng: Random, value: int, spread: bool) -> str:
    """The number in one of the ways that texts write it; `spread` allows all of them."""
    plain = f"{value:,}"
    if not spread:
        return plain
    ways = [plain, str(value), plain.replace(",", " ")]
    for power, word in ((9, "billion"), (6, "million"), (3, "thousand")):
        unit = 10**power
        if value >= unit and value % (unit // 1000 if power > 3 else unit) == 0 and (value / unit) * 100 % 1 == 0:
            ways += [f"{value / unit:g} {word}"] * 3
            break
    if value <= 20:
        ways.append(_WORDS[value])
    return rng.choice(ways)


_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty"
).split()


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}".strip()


def _quantity(label: str, value: int) -> Name:
    return Name(label, "value", "NUM", "figure", value=str(value), datatype="integer")


def numbers(scene: Scene, pair: str, phenomenon: str) -> list[Made]:
    """Two numbers in one passage, one of which is what the predicate asks for."""
    rng = scene.rng
    kind = rng.choice(("year", "year", "part", "wrong", "other"))
    pool = [m for m in MEASURES if m.apart == scene.held_out and (kind != "part" or m.part)] or [
        m for m in MEASURES if m.apart == scene.held_out
    ]
    measure = rng.choice(pool)
    if kind == "part" and not measure.part:
        kind = "wrong"
    subject_kind = rng.choice(measure.kinds)
    s, u = scene.name(subject_kind), scene.name(subject_kind)
    values = [_value(rng, measure), _value(rng, measure)]
    if rng.random() < 0.3:
        values[1] = _value(rng, measure, near=values[0])
    while values[1] == values[0]:
        values[1] = _value(rng, measure)
    values.sort(reverse=kind == "part")
    frames = {"year": YEARS, "part": PARTS, "wrong": WRONG, "other": OTHERS}[kind]
    place, template = pick_wording(rng, frames, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    spread = phenomenon == "formats"
    written = [_with_unit(_number(rng, value, spread), measure.unit) for value in values]
    labels = [_quantity(_with_unit(_number(rng, value, spread), measure.unit if rng.random() < 0.6 else ""), value) for value in values]
    extras, heading = scene.extras(), title(scene, s, (u,))
    before, after = surround(scene, "", s, (u,), None)
    items = []
    for v, w in ((0, 1), (1, 0)) if kind != "part" else ((0, 1),):
        given = {
            "m": _clause(Random(seed), measure, s.text, written[v]),
            "n": _clause(Random(seed), measure, s.text, written[w]),
            "o": _clause(Random(seed), measure, u.text, written[w]),
        }
        body = template.format(**given, **extras, S=s.text, U=u.text, v=written[v], w=written[w], low=written[1], part=measure.part)
        passage = (heading, tidy(f"{before} {body} {after}"))
        claims = [(s, measure.label, labels[v], "s"), (s, measure.label, labels[w], "r")]
        if kind == "year":
            then = f"{measure.label} in {extras['y1']}"
            claims += [(s, then, labels[w], "s"), (s, then, labels[v], "r")]
        if kind == "other":
            claims += [(u, measure.label, labels[w], "s"), (u, measure.label, labels[v], "r")]
        items += [made(a, label, o, stance, phenomenon, f"numbers/{kind}/{place}", passage, pair) for a, label, o, stance in claims]
    return items


def _clause(rng: Random, measure: Measure, s: str, v: str) -> Clause:
    subject, verb, rest = rng.choice(measure.clauses)
    return Clause(subject.format(s=s), verb, rest.format(s=s, v=v))


UNITS = {
    "metres": (("feet", 3.2808), ("yards", 1.0936)),
    "square kilometres": (("square miles", 0.3861), ("hectares", 100.0)),
    "grams": (("ounces", 0.03527),),
    "euros": (("dollars", 1.08), ("francs", 0.96), ("yen", 162.0)),
    "minutes": (("seconds", 60.0),),
    "hours": (("minutes", 60.0),),
    "milligrams": (("micrograms", 1000.0),),
}
IN_UNITS = (
    "{m.pres} ({w}).",
    "{m.pres}, [or|that is,] {w}.",
    "{w}: that is what {v} comes to. {m.pres}.",
    "[Expressed|Put] otherwise, as {w}, it sounds like something else, but {m.pres}.",
    "{m.pres}, which is the same as {w}.",
    "{W} writes {w}, {X} writes {v}, and both are right: {m.pres}.",
    "{X} writes {v}, {W} writes {w}, and both are right: {n.pres}.",
    "{n.pres} ({v}).",
    "{n.pres}, [or|that is,] {v}.",
    "{v}: that is what {w} comes to. {n.pres}.",
    "{n.pres}, which is the same as {v}.",
    "In one system {m.pres}; in another, {n.pres}.",
    "In one system {n.pres}; in another, {m.pres}.",
    "Those who reckon in other units will find that {n.pres}, since {v} equals {w}.",
    "Do not mix up the units. {m.pres}, and {w} is the same thing in other words.",
)


def units(scene: Scene, pair: str) -> list[Made]:
    """One quantity in two units. Wrong is the number of one with the unit of the other, or the quantity of something else."""
    rng = scene.rng
    measure = rng.choice([m for m in MEASURES if m.unit in UNITS and m.apart == scene.held_out])
    kind = rng.choice(measure.kinds)
    s, u = scene.name(kind), scene.name(kind)
    other_unit, factor = rng.choice(UNITS[measure.unit])
    value, rival = _value(rng, measure), _value(rng, measure)
    other, other_rival = max(1, round(value * factor)), max(1, round(rival * factor))
    if len({value, rival, other, other_rival}) < 4:
        return units(Scene(rng, scene.held_out), pair)
    place, template = pick_wording(rng, IN_UNITS, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (u,))
    before, after = surround(scene, "", s, (u,), None)
    swapped = rng.random() < 0.3
    sentences = []
    for bearer, v, w in ((s, value, other),) if swapped else ((s, value, other), (u, rival, other_rival)):
        texts = {"v": f"{v:,} {measure.unit}", "w": f"{w:,} {other_unit}"}
        clauses = {
            "m": _clause(Random(seed), measure, bearer.text, texts["v"]),
            "n": _clause(Random(seed), measure, bearer.text, texts["w"]),
        }
        sentences.append(template.format(**clauses, **extras, **texts))
    if rng.random() < 0.5:
        sentences.reverse()
    passage = (heading, tidy(" ".join([before, *sentences, after])))
    wrong = ((value, other_unit), (other, measure.unit)) if swapped else ((rival, measure.unit), (other_rival, other_unit))
    claims = [(value, measure.unit, "s"), (other, other_unit, "s"), *((number, unit, "r") for number, unit in wrong)]
    return [
        made(s, measure.label, _quantity(f"{number:,} {unit}", number), stance, "units", f"units/{place}", passage, pair)
        for number, unit, stance in claims
    ]


@dataclass(frozen=True, slots=True)
class Dated:
    """Two events in the life of one kind of thing, in the order of time: (label, verb, rest) each, rest with {d} for the date."""

    kinds: tuple[str, ...]
    first: tuple[str, str, str]
    second: tuple[str, str, str]
    span: int
    apart: bool = False


DATED = (
    Dated(("person",), ("date of birth", "be", "born {d}"), ("date of death", "die", "{d}"), 80),
    Dated(("person",), ("date of birth", "be", "born {d}"), ("date of marriage", "get", "married {d}"), 40),
    Dated(
        ("company", "institution", "newspaper"),
        ("inception", "be", "founded {d}"),
        ("dissolved, abolished or demolished", "be", "dissolved {d}"),
        60,
    ),
    Dated(("building", "bridge"), ("construction start", "be", "begun {d}"), ("date of official opening", "be", "opened {d}"), 12),
    Dated(
        ("building",),
        ("date of official opening", "be", "opened {d}"),
        ("dissolved, abolished or demolished", "be", "torn down {d}"),
        70,
    ),
    Dated(("book",), ("completion date", "be", "finished {d}"), ("publication date", "be", "published {d}"), 9),
    Dated(("film", "show"), ("date filmed", "be", "filmed {d}"), ("publication date", "be", "first shown {d}"), 4),
    Dated(("law",), ("date of enactment", "be", "passed by parliament {d}"), ("start time", "enter", "into force {d}"), 4),
    Dated(("law",), ("start time", "enter", "into force {d}"), ("end time", "be", "repealed {d}"), 50),
    Dated(("competition",), ("start time", "begin", "{d}"), ("end time", "come", "to an end {d}"), 1),
    Dated(("ship",), ("date of launch", "be", "launched {d}"), ("date of loss", "sink", "{d}"), 40, True),
    Dated(("product", "software"), ("announcement date", "be", "announced {d}"), ("service entry", "go", "on sale {d}"), 3, True),
    Dated(("treaty",), ("date negotiated", "be", "negotiated {d}"), ("start time", "take", "effect {d}"), 4),
    Dated(
        ("mountain",),
        ("date of first ascent", "be", "first climbed {d}"),
        ("date of first winter ascent", "be", "first climbed in winter {d}"),
        60,
        True,
    ),
    Dated(("drug",), ("date of synthesis", "be", "first made {d}"), ("date of approval", "be", "approved {d}"), 20),
)
DATES = (
    "{m.past} and {n.v_past}.",
    "{m.past}; {n.past}.",
    "{n.past}; {m.past}.",
    "{m.past}. It was not until later that {n.past}.",
    "{n.past}, having {m_pp}.",
    "Before {n.past}, there was another date to remember: {m.past}.",
    "Two dates stand on the plaque. {m.past}. {n.past}.",
    "Two dates stand on the plaque. {n.past}. {m.past}.",
    "{X} gives the dates: {m.past}, {n.past}.",
    "{X} gives the dates: {n.past}, {m.past}.",
    "It is known that {m.past} and that {n.past}.",
    "It is known that {n.past} and that {m.past}.",
    "{W} reported when {n.past}; a look at older issues shows that {m.past}.",
    "{W} reported that {m.past}, and later that {n.past}.",
    "{S}: {m.past}; {n.past}. More is not known.",
    "{S}: {n.past}; {m.past}. More is not known.",
)


@dataclass(frozen=True, slots=True)
class _Day:
    year: int
    month: int
    day: int

    def written(self, rng: Random, precision: str, spread: bool) -> str:
        """The date as a sentence has it, with its preposition."""
        month = _MONTHS[self.month - 1]
        if precision == "year":
            return f"in {self.year}"
        if precision == "month":
            return f"in {month} {self.year}"
        ways = [f"on {self.day} {month} {self.year}"]
        if spread:
            ways += [
                f"on {month} {self.day}, {self.year}",
                f"on the {self.day}{_th(self.day)} of {month} {self.year}",
                f"on {self.day} {month[:3]} {self.year}",
            ]
            ways += [f"on {self.day}. {self.month}. {self.year}"] if self.day > 12 else []
        return rng.choice(ways)

    def name(self, rng: Random, precision: str, spread: bool) -> Name:
        """The date as an object, as exact as `precision` or, with `spread`, less exact."""
        month, year = f"{_MONTHS[self.month - 1]} {self.year}", str(self.year)
        exact = f"{self.day} {month}"
        of_year, of_month = (year, year, "gYear"), (month, f"{year}-{self.month:02}", "gYearMonth")
        of_day = (exact, f"{year}-{self.month:02}-{self.day:02}", "date")
        label, value, datatype = {"year": of_year, "month": of_month, "day": of_day}[precision]
        if spread and rng.random() < 0.3:
            label, value, datatype = of_year
        elif spread:
            american = f"{_MONTHS[self.month - 1]} {self.day}, {self.year}" if precision == "day" else label
            label = rng.choice((label, value, value, american))
        return Name(label, "date", "TIME", "date", value=value, datatype=datatype)


def _th(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def dates(scene: Scene, pair: str, phenomenon: str) -> list[Made]:
    """Two dates of one thing; each belongs to its own event."""
    rng = scene.rng
    dated = rng.choice([d for d in DATED if d.apart == scene.held_out])
    s = scene.name(rng.choice(dated.kinds))
    year = rng.randint(1820, 2020 - dated.span)
    early = _Day(year, rng.randint(1, 12), rng.randint(1, 28))
    late = _Day(year + rng.randint(1, dated.span), rng.randint(1, 12), rng.randint(1, 28))
    if rng.random() < 0.3:
        late = replace(early, year=year + rng.choice((1, 10)) if dated.span >= 10 else year + 1)
    precision, spread = rng.choice(("day", "day", "month", "year")), phenomenon == "formats"
    if spread:
        precision = "day" if precision == "year" else precision
    written = [day.written(rng, precision, spread) for day in (early, late)]
    seed = rng.getrandbits(32)
    labels = [day.name(Random(seed), precision, spread) for day in (early, late)]
    place, template = pick_wording(rng, DATES, scene.held_out)
    template = choose(rng, template)
    extras, heading = scene.extras(), title(scene, s, (s,))
    before, after = surround(scene, "", s, (s,), None)
    m = Clause(s.text, dated.first[1], dated.first[2].format(d=written[0]), True)
    again = s.text if rng.random() < 0.4 or "{X}" in template else (s.pronoun if s.type == "PER" else s.definite)
    n = Clause(
        again if template.index("{n.") > template.index("{m") else s.text, dated.second[1], dated.second[2].format(d=written[1]), True
    )
    body = template.format(m=m, n=n, m_pp=m.v_pinf.split(" ", 1)[1], **extras, S=s.text)
    passage = (heading, tidy(f"{before} {body} {after}"))
    claims = [
        (dated.first[0], labels[0], "s"),
        (dated.second[0], labels[1], "s"),
        (dated.first[0], labels[1], "r"),
        (dated.second[0], labels[0], "r"),
    ]
    return [made(s, label, o, stance, phenomenon, f"dates/{place}", passage, pair) for label, o, stance in claims]


def formats(scene: Scene, pair: str) -> list[Made]:
    """Numbers or dates that the claim writes otherwise than the text."""
    return numbers(scene, pair, "formats") if scene.rng.random() < 0.5 else dates(scene, pair, "formats")


BUILDERS: dict[str, Callable[[Scene, str], list[Made]]] = {
    "numbers": lambda scene, pair: numbers(scene, pair, "numbers"),
    "units": units,
    "dates": lambda scene, pair: dates(scene, pair, "dates"),
    "formats": formats,
}
