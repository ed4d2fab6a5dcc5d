"""The predicates that the made material is about, each with several ways to say it.

One paragraph a predicate: label | label of the inverse (may be empty) | kinds of subjects | kinds of objects | flags | what the
object is to the subject ("owner": "the owner of S is O"; may be empty). Then the clauses: grammatical subject (s or o), verb, rest
with {s} or {o}. A line that starts with + has noun phrases for the same thing.

Flags: E an event, told in the past, else a state; F one object at a time (another one refutes it); P can be planned; L can end; D
people or bodies can deny it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

from kgaudit.training.phenomena.clauses import Clause
from kgaudit.training.phenomena.names import Name

_TEXT = """
employer | employee | person | company,institution,agency,newspaper | PLD | employer
s work for {o}; s be employed by {o}; o employ {s}; s be on the payroll of {o}; s hold a post at {o}; s be on the staff of {o}
+ the employment of {s} at {o}; {s}'s contract with {o}

place of birth | birthplace of | person | town | EF | birthplace
s be born in {o}; o be the birthplace of {s}; s come into the world in {o}
+ the birth of {s} in {o}

place of death | | person | town | EF |
s die in {o}; s pass away in {o}; s spend the last days of a long life in {o}

place of burial | | person | town | EF |
s be buried in {o}; s be laid to rest in {o}; o hold the grave of {s}

residence | | person | town | PLD |
s live in {o}; s reside in {o}; s have a home in {o}; o be home to {s}
+ {s}'s home in {o}

educated at | | person | institution | ED | alma mater
s study at {o}; s be educated at {o}; s graduate from {o}; s take a degree at {o}; o award a degree to {s}
+ {s}'s degree from {o}; {s}'s studies at {o}

field of work | | person | field | PLD |
s work on {o}; s specialise in {o}; s teach {o}; s do research in {o}

parent organization | subsidiary | company | company | FPLD | parent company
s be a subsidiary of {o}; o control {s}; s be controlled by {o}; s report to {o} as a subsidiary; o have {s} as a subsidiary
+ the control of {s} by {o}

owned by | owner of | company,building,ship,newspaper | company,person | FPLD | owner
s be owned by {o}; o own {s}; s belong to {o}; s be the property of {o}; s be in the hands of {o}
+ the ownership of {s} by {o}; {o}'s title to {s}

acquired by | acquired | company,newspaper | company | EFPD | buyer
o buy {s}; o acquire {s}; s be taken over by {o}; s be bought by {o}; s become the property of {o}
+ the purchase of {s} by {o}; {o}'s takeover of {s}; the sale of {s} to {o}

investor | invested in | company | company,person | EPD | backer
o invest in {s}; s receive money from {o}; o put capital into {s}; s raise funds from {o}
+ the investment of {o} in {s}

supplier | customer | company | company | PLD | supplier
o supply {s}; s buy components from {o}; s be supplied by {o}; s obtain parts from {o}; o deliver parts to {s}
+ the supply of {s} by {o}

founded by | founder of | company,institution,newspaper | person | ED | founder
o found {s}; s be founded by {o}; o establish {s}; s be set up by {o}; s owe its foundation to {o}
+ the foundation of {s} by {o}

chief executive officer | chief executive officer of | company | person | FPLD | chief executive
o run {s} as chief executive; s be led by {o} as chief executive; o be the chief executive of {s};
s have {o} as its chief executive; o manage {s}
+ {o}'s leadership of {s}

chairperson | chairperson of | company,institution,party,agency | person | FPLD | chair
o chair {s}; s be chaired by {o}; o be the chair of {s}; s have {o} in the chair
+ {o}'s chairmanship of {s}

headquarters location | | company,institution,agency | town | FPL |
s be headquartered in {o}; s keep its head office in {o}; s be run from offices in {o}; o be the seat of {s}; s be based in {o}
+ the seat of {s} in {o}

manufacturer | | product | company | FPLD | manufacturer
o make {s}; s be made by {o}; s be manufactured by {o}; o produce {s}; s come from the factories of {o}
+ the production of {s} by {o}

developer | | software | company,person,institution | ED | developer
o develop {s}; s be developed by {o}; s be written by {o}; o create {s}; o programme {s}
+ the development of {s} by {o}

copyright license | | software | licence | PL | licence
s be released under {o}; s be distributed under {o}; o govern the use of {s}; s be covered by {o}

depends on software | used by | software | software | PL |
s depend on {o}; s rely on {o}; s require {o}; o be required by {s}; s be built on {o}

author | author of | book | person | EFD | author
o write {s}; s be written by {o}; s be the work of {o}; o be the author of {s}
+ {o}'s authorship of {s}

translator | translator of | book | person | ED | translator
o translate {s}; s be translated by {o}; s be rendered into English by {o}; o provide the translation of {s}
+ {o}'s translation of {s}

illustrator | illustrator of | book | person | ED | illustrator
o illustrate {s}; s be illustrated by {o}; o draw the pictures for {s}; o be the illustrator of {s}
+ {o}'s drawings for {s}

editor | editor of | book,newspaper | person | PLD | editor
o edit {s}; s be edited by {o}; o be the editor of {s}

main subject | | book,film | person,town,company,ship | |
s be about {o}; s tell the story of {o}; s deal with {o}; o be the subject of {s}

director | director of | film | person | EFD | director
o direct {s}; s be directed by {o}; s be filmed under the direction of {o}; o be the director of {s}
+ {o}'s work as the director of {s}

screenwriter | screenwriter of | film | person | ED | screenwriter
o write the screenplay of {s}; s be scripted by {o}; o script {s}; s be based on a screenplay by {o}
+ {o}'s script for {s}

composer | composer of | film,song,show | person | ED | composer
o compose the music for {s}; s be set to music by {o}; o write the music for {s}; s owe its music to {o}
+ {o}'s music for {s}

producer | producer of | film,album | person | ED | producer
o produce {s}; s be produced by {o}; o be the producer of {s}

cast member | | film,show | person | ED |
o star in {s}; o play a part in {s}; s feature {o} in its cast; o act in {s}; s star {o}
+ {o}'s part in {s}; the appearance of {o} in {s}

performer | | song,album | person | ED | performer
o record {s}; s be recorded by {o}; o sing {s}; s be sung by {o}; o perform {s}
+ {o}'s recording of {s}

record label | | album | company | EFP | label
o release {s}; s be released by {o}; s come out with {o}; o issue {s}
+ the release of {s} by {o}

original broadcaster | | show | company | EFP | broadcaster
o broadcast {s} first; s be first shown by {o}; s premiere on the channel of {o}; o carry {s} first

painted by | painter of | painting | person | EFD | painter
o paint {s}; s be painted by {o}; s be the work of {o}; s come from the brush of {o}
+ {o}'s authorship of {s}

collection | | painting | museum | FPL |
s hang in {o}; o own {s}; s be kept in {o}; s be part of the collection of {o}; s be on permanent display in {o}
+ the place of {s} in {o}

architect | architect of | building,bridge | person | ED | architect
o design {s}; s be designed by {o}; o be the architect of {s}; o draw the plans of {s}
+ the design of {s} by {o}; {o}'s plans for {s}

main building contractor | | building,bridge | company | EPD | contractor
o build {s}; s be built by {o}; o carry out the construction of {s}; o erect {s}
+ the construction of {s} by {o}

operator | operator of | building,ship | company | PLD | operator
o operate {s}; s be operated by {o}; o run {s}; s be run by {o}
+ the operation of {s} by {o}

named after | namesake of | institution,building,bridge,ship | person | EF | namesake
s be named after {o}; s take its name from {o}; o give the name to {s}; s be called after {o}

capital | capital of | country,region | town | FPL | capital
o be the capital of {s}; s be governed from {o}; s have {o} as its capital; o be the seat of government of {s}

located in the administrative territorial entity | contains administrative territorial entity | town,building,institution | region | F |
s lie in {o}; s be located in {o}; s be situated in {o}; o contain {s}; s be found in {o}

country | | town,river,lake,mountain,institution | country | F |
s lie in {o}; s be located in {o}; s be found in {o}

located in or next to body of water | | town,building | river,lake | |
s lie on {o}; s stand on {o}; s be situated on the shore of {o}; s be built beside {o}

mouth of the watercourse | | river | lake,river | F |
s flow into {o}; s empty into {o}; s drain into {o}; s end in {o}; s join {o}

crosses | crossed by | bridge | river | F |
s cross {o}; s span {o}; s carry the road over {o}; o be crossed by {s}; o be spanned by {s}

head of government | head of government of | country | person | FPLD | head of government
o head the government of {s}; o govern {s}; s be governed by {o}; o lead the cabinet of {s}
+ {o}'s premiership in {s}

mayor | mayor of | town | person | FPLD | mayor
o be the mayor of {s}; o govern {s} as mayor; s have {o} as its mayor; o hold the office of mayor in {s}
+ the mayoralty of {o} in {s}

official language | | country,region | language | PL |
o be an official language of {s}; s use {o} in its courts and schools; o be recognised by {s} as an official language
+ the official rank of {o} in {s}

applies to jurisdiction | | law | country,region | PL |
s apply in {o}; s be in force in {o}; s bind the courts of {o}
+ the validity of {s} in {o}

signatory | signatory of | treaty | country | EPD | signatory
o sign {s}; s be signed by {o}; o put its name to {s}; o join {s}
+ the signature of {o} under {s}

member of political party | | person | party | FPLD |
s belong to {o}; s be a member of {o}; s sit in parliament for {o}; s represent {o}; o count {s} among its members
+ {s}'s membership in {o}

member of sports team | | person | team | FPLD |
s play for {o}; s be a player of {o}; s be under contract with {o}; s line up for {o}; o have {s} in its squad
+ {s}'s contract with {o}; the place of {s} in the squad of {o}

head coach | head coach of | team | person | FPLD | head coach
o coach {s}; s be coached by {o}; o train {s}; o be the head coach of {s}; s be trained by {o}
+ {o}'s work as the coach of {s}

sponsor | sponsor of | team,competition,museum | company | PLD | sponsor
o sponsor {s}; s be sponsored by {o}; o pay for {s} as its sponsor; s carry the logo of {o} as its sponsor
+ the sponsorship of {s} by {o}

winner | | competition | person,team | EFD | winner
o win {s}; s be won by {o}; o take first place in {s}; o be the winner of {s}
+ {o}'s victory at {s}; the triumph of {o} in {s}

award received | | person,book,film | award | E |
s win {o}; s receive {o}; s be honoured with {o}; o go to {s}; s take home {o}
+ the award of {o} to {s}

nominated for | | person,book,film | award | E |
s be nominated for {o}; s be shortlisted for {o}; s be put forward for {o}; s be a candidate for {o}
+ the nomination of {s} for {o}

mother | child | person | woman | EF | mother
o give birth to {s}; s be born to {o}

father | child | person | man | EF | father
s be the child of {o}; s have {o} as a parent; o be a parent of {s}

student of | teacher of | person | person | ED | teacher
o teach {s}; s be taught by {o}; s study under {o}; s be a pupil of {o}; s take lessons from {o}
+ {s}'s lessons with {o}

doctoral advisor | doctoral advisor of | person | person | EFD | doctoral advisor
o supervise the thesis of {s}; s write a thesis under {o}; s be supervised by {o} as a doctoral student

influenced by | influenced | person | person | E | model
o influence {s}; s be influenced by {o}; s be inspired by {o}; s draw ideas from {o}
+ the influence of {o} on {s}

defeated by | defeated | team | team | ED |
o beat {s}; s be beaten by {o}; s lose to {o}; o defeat {s}
+ the defeat of {s} by {o}; {o}'s victory over {s}

followed by | follows | product,album,law,show | same | EF | successor
o follow {s}; s be followed by {o}; s be succeeded by {o}; o succeed {s}; o come after {s}

replaced by | replaces | product,software,law | same | EFP | replacement
o replace {s}; s be replaced by {o}; o take the place of {s}; s give way to {o}; s be superseded by {o}
+ the replacement of {s} with {o}

discoverer or inventor | discoverer of | species,microbe,gene,mountain | person | E | discoverer
o discover {s}; s be discovered by {o}; o describe {s} first; s be first described by {o}
+ the discovery of {s} by {o}

parent taxon | | species | genus | F |
s belong to {o}; s be placed in {o}; s be a member of {o}; o include {s}

made from material | | product,building,bridge | material | |
s be made of {o}; s consist of {o}; s be built of {o}

inhibits | inhibited by | drug | gene | | target
s inhibit {o}; s block {o}; s suppress {o}; o be inhibited by {s}; s reduce the activity of {o}; s be an inhibitor of {o}
+ the inhibition of {o} by {s}; {s}'s effect on {o} as an inhibitor

activates | activated by | drug,gene | gene | | target
s activate {o}; s stimulate {o}; s increase the activity of {o}; o be activated by {s}; s be an activator of {o}
+ the activation of {o} by {s}

is a substrate of | | drug | gene | |
s be a substrate of {o}; s be metabolised by {o}; o metabolise {s}; s be converted by {o}

expressed in | | gene | tissue | |
s be expressed in {o}; s be found in {o}; s be produced in {o}; o express {s}
+ the expression of {s} in {o}

medical condition treated | drug or therapy used for treatment | drug | disease | |
s treat {o}; s be effective against {o}; s be used against {o}; o respond to {s}
+ the use of {s} against {o}

side effect | | drug | effect | |
s cause {o}; s produce {o} in patients; o be caused by {s}; s lead to {o}

has cause | cause of | disease | microbe,gene | |
o cause {s}; s be caused by {o}; s be brought about by {o}; o be the cause of {s}
+ the role of {o} as the cause of {s}

significant drug interaction | | drug | drug | |
s interact with {o}; s interfere with {o}; s change the level of {o} in the blood

work location | | person | town | PL |
s work in {o}; s practise in {o}; s have an office in {o}; s ply a trade in {o}
+ {s}'s office in {o}

place of marriage | | person | town | EF |
s marry in {o}; s be married in {o}; s have a wedding in {o}

languages spoken, written or signed | | person | language | |
s speak {o}; s be fluent in {o}; s know {o}

language taught | | person | language | PL |
s teach {o}; s give lessons in {o}; s hold classes in {o}

original language of work | | book,film | language | EF |
s be written in {o}; s be composed in {o}; o be the language of {s}

language of the translation | | book | language | EP |
s be translated into {o}; s appear in {o} translation; s be rendered into {o}
+ the translation of {s} into {o}

narrative location | | book,film,show | town,country | |
s be set in {o}; s take place in {o}; o be the scene of {s}

filming location | | film,show | town,country | EP |
s be filmed in {o}; s be shot in {o}; o serve as the location for {s}
+ the filming of {s} in {o}

country of origin | | film,album,show | country | EF |
s be produced in {o}; s be made in {o}; s come from {o}

location of formation | | company,team,party,institution | town | EF |
s be founded in {o}; s be set up in {o}; s be started in {o}

location of factory | | company | town | PL |
s have a factory in {o}; s operate a plant in {o}; s make goods in {o}
+ {s}'s factory in {o}

country of export | | company | country | PL |
s export to {o}; s sell goods in {o}; o import goods from {s}
+ the exports of {s} to {o}

competitor | | company | company | |
s compete with {o}; s be a rival of {o}; s fight with {o} for customers

auditor | auditor of | company,agency | company | PLD | auditor
o audit the books of {s}; s be audited by {o}; o examine the accounts of {s}
+ the audit of {s} by {o}

tenant | tenant of | building | company,agency | PL | tenant
o rent {s}; s be rented by {o}; s be let to {o}; o occupy {s} as tenant

opponent of | | person | law,party | PL |
s oppose {o}; s speak against {o}; s fight {o}; s campaign against {o}

supporter of | | person | law,party | PL |
s support {o}; s campaign for {o}; s speak up for {o}

home venue | | team | building | FPL |
s play home games at {o}; o be the home ground of {s}; s use {o} as its ground

programming language | | software | codelang | EP |
s be implemented in {o}; s be coded in {o}; o be the implementation language of {s}

downregulates | downregulated by | drug,gene | gene | |
s downregulate {o}; s lower the level of {o}; o be downregulated by {s}; s reduce the expression of {o}
+ the downregulation of {o} by {s}

located on terrain feature | | town,building | mountain | |
s lie at the foot of {o}; s stand on the slopes of {o}; s cling to the flank of {o}

tributary | | river | river | |
o flow into {s}; s take up {o}; s receive the waters of {o}
"""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate and its wordings: see the module's text. `clauses` holds (grammatical subject, verb, rest)."""

    label: str
    inverse: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    event: bool
    functional: bool
    plannable: bool
    ending: bool
    deniable: bool
    role: str
    clauses: tuple[tuple[str, str, str], ...]
    nouns: tuple[str, ...]

    def say(self, rng: Random, s: str, o: str, first: str = "") -> Clause:
        """One of the wordings, with these texts for subject and object. `first`: "s" or "o" must be the grammatical subject."""
        fitting = [clause for clause in self.clauses if not first or clause[0] == first]
        place, verb, rest = fitting[rng.randrange(len(fitting))]
        year = f" in {rng.randint(1890, 2024)}" if self.event and not rest.startswith("the ") and rng.random() < 0.15 else ""
        return Clause(s if place == "s" else o, verb, rest.format(s=s, o=o) + year, self.event)

    def noun(self, rng: Random, s: str, o: str) -> str:
        """A noun phrase that says the same, or "" where there is none."""
        return self.nouns[rng.randrange(len(self.nouns))].format(s=s, o=o) if self.nouns else ""

    def starts(self, place: str) -> bool:
        return any(clause[0] == place for clause in self.clauses)

    def takes(self, kind: str) -> bool:
        """Whether things of this kind can be its objects."""
        return kind in self.objects or ("same" in self.objects and kind in self.subjects)

    def role_of(self, s: str) -> str:
        return f"the {self.role} of {s}"


def _split(text: str, mark: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(mark) if part.strip())


def _parse(paragraph: str) -> Predicate:
    head, body = paragraph.strip().split("\n", 1)
    label, inverse, subjects, objects, flags, role = (part.strip() for part in head.split("|"))
    body, _, nouns = body.partition("\n+")
    clauses = []
    for wording in _split(body.replace("\n", " "), ";"):
        place, verb, *rest = wording.split(" ", 2)
        clauses.append((place, verb, rest[0] if rest else ""))
    return Predicate(
        label,
        inverse,
        _split(subjects, ","),
        _split(objects, ","),
        "E" in flags,
        "F" in flags,
        "P" in flags,
        "L" in flags,
        "D" in flags,
        role,
        tuple(clauses),
        _split(nouns.replace("\n", " "), ";"),
    )


_APART = {
    "supplier",
    "translator",
    "illustrator",
    "record label",
    "copyright license",
    "chairperson",
    "operator",
    "member of political party",
    "named after",
    "doctoral advisor",
    "mouth of the watercourse",
    "place of death",
    "place of burial",
    "replaced by",
    "activates",
    "side effect",
    "auditor",
    "place of marriage",
    "filming location",
    "tributary",
    "programming language",
}
"""Labels of the predicates that only the material kept apart uses."""

PREDICATES = tuple(_parse(paragraph) for paragraph in _TEXT.strip().split("\n\n"))


_CLOSE = (
    {"owned by", "acquired by", "parent organization", "investor"},
    {"chief executive officer", "chairperson"},
    {"student of", "doctoral advisor", "influenced by"},
    {"followed by", "replaced by"},
    {"inhibits", "activates", "is a substrate of"},
    {"author", "painted by"},
    {"winner", "award received"},
    {"sponsor", "owned by", "operator"},
    {"country", "capital"},
    {"manufacturer", "main building contractor"},
    {"employer", "founded by"},
    {"award received", "nominated for"},
    {"mother", "father"},
    {"employer", "auditor"},
    {"opponent of", "supporter of", "member of political party"},
    {"country of origin", "filming location"},
    {"country of origin", "narrative location"},
    {"languages spoken, written or signed", "language taught"},
    {"inhibits", "activates", "downregulates"},
    {"mouth of the watercourse", "tributary"},
    {"competitor", "supplier"},
    {"head coach", "member of sports team"},
)
"""Predicates that too often hold together, or exclude each other, for one sentence to tell them apart."""


def close(first: str, second: str) -> bool:
    """Whether the two labels are of predicates that are too close to tell apart."""
    return any(first in group and second in group for group in _CLOSE)


@cache
def predicates(held_out: bool) -> tuple[Predicate, ...]:
    """The predicates of the training material, or those kept apart."""
    return tuple(predicate for predicate in PREDICATES if (predicate.label in _APART) == held_out)


def object_kind(rng: Random, predicate: Predicate, s: Name) -> str:
    """A kind for the object that suits this subject."""
    kind = predicate.objects[rng.randrange(len(predicate.objects))]
    return s.kind if kind == "same" else kind


OTHER_LABELS = {
    label: _split(others, ",")
    for label, others in (
        line.split(": ")
        for line in """
employer: works for, employed by, works at
place of birth: born in, birthplace
place of death: died in, deathPlace
place of burial: buried in
residence: lives in, home town
educated at: alma mater, studied at, graduated from
field of work: works on, research field
parent organization: subsidiary of, parent company
subsidiary: parent company of, has subsidiary
owned by: owner, belongs to
owner of: owns
acquired by: bought by, taken over by
acquired: bought, took over
investor: backed by, funded by
supplier: supplied by
founded by: founder, established by
founder of: founded
chief executive officer: CEO, led by
chief executive officer of: CEO of, leads
chairperson: chaired by
headquarters location: headquarters, based in, seat
manufacturer: made by, producer
developer: developed by, created by
copyright license: licence, released under
depends on software: depends on, requires
author: written by, writer
author of: wrote
translator: translated by
illustrator: illustrated by
director: directed by
director of: directed
screenwriter: written by, screenplay by
composer: music by
producer: produced by
cast member: starring, stars
performer: sung by, recorded by
record label: released by
painted by: creator, artist
painter of: created
collection: kept in, part of the collection of
architect: designed by
architect of: designed
main building contractor: built by
operator: operated by, run by
named after: namesake
located in the administrative territorial entity: located in, lies in
contains administrative territorial entity: contains
country: located in country, lies in
located in or next to body of water: lies on, situated on
mouth of the watercourse: flows into, mouth
crosses: spans, bridge over
head of government: governed by
official language: language
applies to jurisdiction: in force in, jurisdiction
signatory: signed by
member of political party: party, member of
member of sports team: plays for, team
head coach: coached by, trainer
head coach of: coaches
sponsor: sponsored by
winner: won by
award received: won, awards
nominated for: nominee for
mother: born to, parent
father: parent
child: parent of
student of: taught by, pupil of
teacher of: taught
influenced by: inspired by
influenced: inspired
defeated by: lost to, beaten by
defeated: beat
followed by: next, succeeded by
follows: previous, successor of
replaced by: superseded by
replaces: supersedes
discoverer or inventor: discovered by
parent taxon: genus
made from material: made of, material
inhibits: inhibitor of, blocks
activates: activator of
downregulates: lowers the expression of
medical condition treated: treats, indication
side effect: causes
has cause: caused by
cause of: causes
significant drug interaction: interacts with
work location: works in
filming location: filmed in, shot in
narrative location: set in
country of origin: produced in
location of formation: founded in
country of export: exports to
competitor: competes with
auditor: audited by
tenant: rented by
opponent of: opposes, opposed to
supporter of: supports
home venue: home ground, stadium
languages spoken, written or signed: speaks
original language of work: written in, language
language of the translation: translated into
date of birth: born, birthDate
date of death: died, deathDate
inception: founded on, foundation date
publication date: released, published on
population: inhabitants, number of inhabitants
number of employees: employees, workforce
total revenue: revenue
elevation above sea level: elevation, height
""".strip().split("\n")
    )
}
"""Other names that graphs give to the same predicates, for the claims."""
