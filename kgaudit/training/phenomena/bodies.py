"""Offices handed on, first and second holders, names by which a thing also goes, seats and branches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from kgaudit.training.phenomena.made import Made
from kgaudit.training.phenomena.names import Name
from kgaudit.training.phenomena.predicates import Predicate, object_kind, predicates
from kgaudit.training.phenomena.scene import Scene, choose, made, pick_wording, surround, tidy, title

OFFICES = (
    ("mayor", "town"),
    ("editor", "newspaper"),
    ("director", "museum"),
    ("rector", "institution"),
    ("captain", "ship"),
    ("coach", "team"),
    ("leader", "party"),
    ("head", "agency"),
    ("chief executive", "company"),
    ("prime minister", "country"),
    ("governor", "region"),
    ("treasurer", "party"),
)
SUCCESSION = (
    "{B} [took over|took the office] from {A} in {y2}, and {A} had taken it from {S} in {y1}.",
    "{A} took the office from {S} in {y1} and left it to {B} in {y2}.",
    "{S}, {A}, {B}: in this order they held the office.",
    "First came {S}, then {A}, then {B}.",
    "[The last of the three|The latest of them] was {B}, preceded by {A}; before {A} there was {S}.",
    "{A} came after {S} and before {B}.",
    "{A} came before {B} and after {S}.",
    "{S} resigned in {y1}. {A} stepped in; {B} came next, in {y2}.",
    "When {B} was elected in {y2}, {A} had to go, who had defeated {S} in {y1}.",
    "{S} handed over to {A} in {y1}, {A} to {B} in {y2}.",
    "Between {S} and {B}, {A} held the office for [three|four|nine] years.",
    "Between {B} and {S}, who had it first, the office belonged to {A}.",
    "{B} was chosen to follow {A}. {A}, for {Apos2} part, had been chosen to follow {S}.",
    "Nobody expected {A} to be followed by {B}, just as nobody had expected {S} to be followed by {A}.",
    "The plaque lists, from top to bottom and by date, {S}, {A} and {B}.",
    "Reading the list of holders backwards, one finds {B}, {A}, {S}.",
    "{S} died in office in {y1}, which brought in {A}; {B} has held the post since {A} left.",
    "Since {A} left, {B} has held the post, into which the death of {S} had brought {A}.",
    "{A}'s time in office ended with the election of {B}; it had begun with the dismissal of {S}.",
    "Whereas {S} gave way to {A} without a fight, {A} fought to the end before {B} got in.",
)


def succession(scene: Scene, pair: str) -> list[Made]:
    """Three holders of one office: who came right after whom."""
    rng = scene.rng
    office, kind = rng.choice(OFFICES)
    body = scene.name(kind)
    s, a, b = (scene.name("person") for _ in range(3))
    place, template = pick_wording(rng, SUCCESSION, scene.held_out)
    template = choose(rng, template)
    extras = scene.extras()
    heading = rng.choice(("", body.label, f"{office.capitalize()} of {body.label}", s.label, a.label))
    before, after = surround(scene, "", body, (body,), None)
    intro = choose(rng, rng.choice(_INTRO)).format(office=office, body=body.text)
    after_label, before_label = rng.choice((("followed by", "follows"), ("replaced by", "replaces"), ("successor", "predecessor")))
    items = []
    for first, last in ((s, b), (b, s)):
        text = tidy(f"{before} {intro} {template.format(**extras, S=first.text, A=a.text, B=last.text, Apos2=a.possessive)} {after}")
        claims = [
            (first, after_label, a, "s"),
            (a, before_label, first, "s"),
            (a, after_label, last, "s"),
            (a, after_label, first, "r"),
            (first, before_label, a, "r"),
            (first, after_label, last, "r"),
        ]
        for subject, label, o, stance in claims:
            items.append(made(subject, label, o, stance, "succession", f"succession/{place}", (heading, text), pair))
    return items


_INTRO = (
    "{body} has had several [holders|occupants] of the office of {office}.",
    "Who was {office} of {body}, and when?",
    "The office of {office} of {body} changed hands more than once.",
    "This is about those who served as {office} of {body}.",
)

ORDINALS = (
    "The first {role} of {S} was {A}, the second {B}.",
    "The second {role} of {S} was {B}, the first {A}.",
    "{A} was the first {role} of {S}; {B} came second.",
    "{B} was the second {role} of {S}. {A} had been the first.",
    "{S} had two of them: {A} was {role} before anyone else, {B} after that.",
    "The title of {role} of {S} was given twice, to {B} the second time and to {A} the first.",
    "In {y1}, {S} got its first {role}, {A}; in {y2}, its second, {B}.",
    "In {y2}, {S} got its second {role}, {B}; the first, in {y1}, was {A}.",
    "Nobody was {role} of {S} before {A}. The next was {B}.",
    "{B} took over as {role} of {S} from {A}, who had been the first to hold that title.",
    "{A}, the first to be {role} of {S}, was followed by {B}.",
    "List of those who served as {role} of {S}: 1. {A}; 2. {B}.",
    "List of those who served as {role} of {S}, latest first: 2. {B}; 1. {A}.",
    "There was no {role} of {S} before {A} and but one between {A} and today, namely {B}.",
    "{B} is proud to be the second {role} of {S}, as {A} was proud to be the first.",
)


def ordinal(scene: Scene, pair: str) -> list[Made]:
    """The first holder and the second."""
    rng = scene.rng
    role, kind = rng.choice([office for place, office in enumerate(OFFICES) if (place % 4 == 3) == scene.held_out])
    s = scene.name(kind)
    a, b = scene.name("person"), scene.name("person")
    place, template = pick_wording(rng, ORDINALS, scene.held_out)
    template = choose(rng, template)
    extras, heading = scene.extras(), title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), None)
    items = []
    for first, second in ((a, b), (b, a)):
        text = tidy(f"{before} {template.format(**extras, role=role, S=s.text, A=first.text, B=second.text)} {after}")
        claims = [
            (s, f"first {role}", first, "s"),
            (s, f"second {role}", second, "s"),
            (s, f"first {role}", second, "r"),
            (s, f"second {role}", first, "r"),
        ]
        items += [made(x, label, o, stance, "ordinal", f"ordinal/{place}", (heading, text), pair) for x, label, o, stance in claims]
    return items


ALIASES = (
    "{S} ([in short|for short], {N}) {ms.v_fin}; {nu.fin}.",
    "{nu.fin}. {S}, [also called|known to everyone as] {N}, {ms.v_fin}.",
    "{N} is [the other|another] name of {S}. {mn.fin}, [while|whereas] {nu.fin}.",
    "{nu.fin}, [while|whereas] {mn.fin}. {N} is another name of {S}.",
    "[Everyone|Half the world] says {N} and means {S}. {mn.fin}. {nu.fin}.",
    "What {U} and {N} have in common is little. {nu.fin}. As for {N}, which stands for {S}, {ms.fin}.",
    "{S}, hereafter {N}, has dealings with {U}. {mn.fin}, {nu.fin}.",
    "Hereafter, {S} is called {N}. {nu.fin}; {mn.fin}.",
    "{N} (in full: {S}) and {U} are mentioned in one breath. {mn.fin}. {nu.fin}.",
    "{U} and {N} (in full: {S}) are mentioned in one breath. {nu.fin}. {mn.fin}.",
    "Until {y1} nobody called {S} by the name of {N}. Now everyone does: {mn.fin}. With {U}, things are otherwise: {nu.fin}.",
    "“{N}” is how {X} always spoke of {S}. In a letter {X} wrote that {mn.fin} and that {nu.fin}.",
    "In a letter {X} wrote that {nu.fin} and that {mn.fin}; by {N}, {X} meant {S}.",
    "{N}, {S} by its or their full name, {mn.v_fin}; {nu.fin}.",
    "{nu.fin}. {mn.fin}, {N} being {S} under another name.",
    "Those looking for {S} in the index must turn to {N}. {mn.fin}. Those looking for {U} will read that {nu.fin}.",
)


def aliases(scene: Scene, pair: str) -> list[Made]:
    """A name introduced in the passage for something that also has another; the claim uses one of the two."""
    rng = scene.rng
    pool = [p for p in predicates(scene.held_out) if p.starts("s") and any(kind in _OTHER_NAMES for kind in p.subjects)]
    predicate = rng.choice(pool)
    s = scene.name(rng.choice([kind for kind in predicate.subjects if kind in _OTHER_NAMES]))
    u = scene.name(s.kind)
    other = _OTHER_NAMES[s.kind](scene, s)
    kind = object_kind(rng, predicate, s)
    a, b = scene.name(kind), scene.name(kind)
    place, template = pick_wording(rng, ALIASES, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (u, a, b))
    before, after = surround(scene, "", u, (u, a), predicate)
    roll = rng.random()
    named = (
        replace(s, label=other, aliases=(s.label,) if roll < 0.2 else ())
        if roll < 0.6
        else replace(s, aliases=(other,) if roll > 0.8 else s.aliases)
    )
    items = []
    for first, second in ((a, b), (b, a)):
        clauses = {
            "ms": predicate.say(Random(seed), s.text, first.text, "s"),
            "mn": predicate.say(Random(seed), other, first.text, "s"),
            "nu": predicate.say(Random(seed), u.text, second.text, "s"),
        }
        text = tidy(f"{before} {template.format(**clauses, **extras, S=s.text, U=u.text, N=other)} {after}")
        wrong = "r" if predicate.functional else "n"
        claims = [(named, predicate.label, first, "s"), (named, predicate.label, second, wrong)]
        claims += [(u, predicate.label, second, "s"), (u, predicate.label, first, wrong)]
        items += [made(x, label, o, stance, "aliases", f"aliases/{place}", (heading, text), pair) for x, label, o, stance in claims]
    return items


def _initials(scene: Scene, s: Name) -> str:
    letters = "".join(word[0] for word in s.label.split() if word[0].isupper())
    return letters if len(letters) > 1 else _coin(scene, s)


def _nickname(scene: Scene, s: Name) -> str:
    given, family = s.label.split()[0], s.short
    return scene.rng.choice(
        (given[:3] + "o", f"Big {given}", f"{family[:4]}y", f"“{family[:3]}”".strip("“”") + "ster", f"Old {family}")
    )


def _coin(scene: Scene, s: Name) -> str:
    return scene.name("product").label.split()[0]


_OTHER_NAMES: dict[str, Callable[[Scene, Name], str]] = {
    "person": _nickname,
    "company": _initials,
    "institution": _initials,
    "agency": _initials,
    "party": _initials,
    "software": _coin,
    "drug": lambda scene, s: _coin(scene, s),
    "product": _coin,
    "ship": _coin,
    "gene": lambda scene, s: scene.name("gene").label,
    "team": lambda scene, s: (
        f"the {scene.rng.choice(('Reds', 'Greens', 'Foxes', 'Hammers', 'Sailors', 'Millers', 'Owls', 'Blues', 'Monks', 'Miners'))}"
    ),
}

SEATS = (
    "The head office of {S} is in {A}. [A plant|A warehouse|A training centre] was opened in {B}.",
    "[A plant|A warehouse|A training centre] of {S} was opened in {B}; the head office is in {A}.",
    "{S} keeps a laboratory in {B} but is run from {A}.",
    "{S} is run from {A} but keeps a laboratory in {B}.",
    "Most of the staff of {S} work in {B}, far from the head office in {A}.",
    "Far from the head office in {A}, most of the staff of {S} work in {B}.",
    "From its seat in {A}, {S} looks after a branch in {B}.",
    "{S} looks after a branch in {B} from its seat in {A}.",
    "The board of {S} meets in {A}, where the head office is; letters from customers go to {B}.",
    "Letters from customers of {S} go to {B}. The board meets in {A}, where the head office is.",
    "{B} is where {S} stores its goods and {A} where it has its headquarters.",
    "{A} is where {S} has its headquarters and {B} where it stores its goods.",
    "{S} was set up in {B}. It has its headquarters in {A}.",
    "With its headquarters in {A}, {S} also [rents rooms|runs a shop|holds its yearly meeting] in {B}.",
    "{S} also [rents rooms|runs a shop|holds its yearly meeting] in {B}, though its headquarters are in {A}.",
    "{S} of {A} (the address of its headquarters) is building a second site in {B}.",
    "A second site of {S} is being built in {B}; the headquarters stay in {A}.",
    "Its tax number gives {S} away as a body with its seat in {A}, whatever the telephone number in {B} suggests.",
    "The telephone number of {S} has the code of {B}, yet its seat is in {A}.",
    "{S} closed its office in {B} in {y1} and kept nothing but the head office, in {A}.",
)


def seats(scene: Scene, pair: str) -> list[Made]:
    """The town of the head office and the town of something else."""
    rng = scene.rng
    s = scene.name(rng.choice(("company", "institution", "agency", "party", "newspaper")))
    a, b = scene.name("town"), scene.name("town")
    place, template = pick_wording(rng, SEATS, scene.held_out)
    template = choose(rng, template)
    extras, heading = scene.extras(), title(scene, s, (a, b))
    headquarters = next(p for p in predicates(False) if p.label == "headquarters location")
    before, after = surround(scene, "", s, (a, b), headquarters)
    label = rng.choice(("headquarters location", "headquarters location", "headquarters", "seat"))
    items = []
    for first, second in ((a, b), (b, a)):
        text = tidy(f"{before} {template.format(**extras, S=s.text, A=first.text, B=second.text)} {after}")
        claims = ((s, label, first, "s"), (s, label, second, "r"))
        phenomenon = "headquarters and branches"
        items += [made(x, p, o, stance, phenomenon, f"{phenomenon}/{place}", (heading, text), pair) for x, p, o, stance in claims]
    return items


PLAIN = (
    "{a.fin}.",
    "{a.fin}, [as far as is known|according to {W}|{X} notes].",
    "[It is known that|According to {W},|In {T} people say with good reason that] {a.fin}.",
    "{a.fin}. {X} took a picture.",
    "{S}: {a.fin}.",
    "{W} portrays {S} at length. {pa.fin}.",
    "[In brief|In a word]: {a.fin}.",
    "One thing to know about {S} is that {pa.fin}.",
    "{a.fin}, which makes sense.",
    "As {X} [writes|remembers], {a.fin}.",
    "{a.fin}; that much is [certain|known|settled].",
    "Guides tell visitors that {a.fin}.",
    "That {a.fin} is no secret.",
    "To this day, people in {T} are proud that {a.fin}.",
    "For all that has changed since {y1}, {a.fin}.",
    "Few facts about {S} are as plain as this: {pa.fin}.",
    "“{a.fin},” {X} said, [and rightly so|which is true].",
    "From {W}: {a.fin}.",
)
BESIDE = (
    "{b_other.fin}.",
    "{X} adds that {b_other.fin}.",
    "[Elsewhere|By the way], {b_other.fin}.",
    "A note in {W} says that {b_other.fin}.",
    "On another page one learns that {b_other.fin}.",
)


@dataclass(frozen=True, slots=True)
class _Other:
    """A statement about the second object that has nothing to do with the subject."""

    predicate: Predicate
    bearer: Name


def plain(scene: Scene, pair: str) -> list[Made]:
    """Easy material: one thing said plainly; another name in a sentence of its own."""
    rng = scene.rng
    predicate = rng.choice(predicates(scene.held_out))
    s = scene.name(rng.choice(predicate.subjects))
    kind = object_kind(rng, predicate, s)
    a, b = scene.name(kind), scene.name(kind)
    about = [p for p in predicates(scene.held_out) if p.takes(kind)]
    other = _Other(rng.choice(about), s)
    alike = "same" in other.predicate.objects
    other = replace(other, bearer=scene.name(kind if alike else rng.choice(other.predicate.subjects)))
    place, template = pick_wording(rng, PLAIN, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    beside = choose(rng, rng.choice(BESIDE))
    behind = rng.random() < 0.5
    extras, heading = scene.extras(), title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), predicate)
    turn = bool(predicate.inverse) and rng.random() < 0.3
    items = []
    for first, second in ((a, b), (b, a)):
        clauses = {
            "a": predicate.say(Random(seed), s.text, first.text),
            "pa": predicate.say(Random(seed), s.short or s.definite, first.text),
            "b_other": other.predicate.say(Random(seed), other.bearer.text, second.text),
        }
        sentences = [template.format(**clauses, **extras, S=s.text), beside.format(**clauses, **extras)]
        text = tidy(" ".join([before, *(sentences if behind else reversed(sentences)), after]))
        for o, stance in ((first, "s"), (second, "r" if predicate.functional else "n")):
            x, label, y = (o, predicate.inverse, s) if turn else (s, predicate.label, o)
            items.append(made(x, label, y, stance, "plain", f"plain/{place}", (heading, text), pair))
    return items


BUILDERS: dict[str, Callable[[Scene, str], list[Made]]] = {
    "succession": succession,
    "ordinal": ordinal,
    "aliases": aliases,
    "headquarters and branches": seats,
    "plain": plain,
}
