"""Invented names of people, organisations, places, works, products, substances: put together from parts, so that thousands arise."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Name:
    """A name with what a text needs to go on speaking of its bearer.

    `label` is the name as a graph has it; `text` as a sentence has it ("the" before rivers and the like). `short` is how a text
    shortens it (a surname, a stem), `noun` what it is ("company"), `pronoun` he, she or it. `value` and `datatype` (the XSD type's
    local name): of dates and numbers.
    """

    label: str
    kind: str
    type: str
    noun: str
    pronoun: str = "it"
    short: str = ""
    article: bool = False
    aliases: tuple[str, ...] = ()
    value: str = ""
    datatype: str = ""

    @property
    def text(self) -> str:
        return f"the {self.label}" if self.article else self.label

    @property
    def possessive(self) -> str:
        return {"he": "his", "she": "her"}.get(self.pronoun, "its")

    @property
    def definite(self) -> str:
        return f"the {self.noun}"


_WOMEN = (
    "Amara Beatriz Celeste Daniela Edith Farida Gabriela Helga Ingrid Jana Katrin Leonor Mabel Nadia Odile Paloma Renata "
    "Selma Teresa Ulrike Vera Wanda Xenia Yasmin Zelda Agnes Bronagh Chiara Dagny Elodie Fiona Gisela Hanneke Iris Judith "
    "Kamala Lucia Meera Noemi Olga Priya Rosalind Sigrid Thandi Ursula Violeta Wilma Yuki Zofia Aiko Bettina Carmen Dilara "
    "Eszter Freya Guadalupe Hye-jin Imogen Joan Keiko Lin Maren Nneka Ottilie Pilar Rania Saskia Tamar Una Vesna Winifred "
    "Ayse"
).split()
_MEN = (
    "Anselm Bernard Casper Damian Edgar Felipe Gustav Hamid Ivan Joaquin Kofi Lorenz Magnus Nikhil Oskar Pavel Quentin "
    "Rafael Stefan Tariq Umberto Viktor Walter Xavier Yusuf Zoltan Arjun Benedikt Cedric Dmitri Emil Fergus Gianni Henrik "
    "Ismael Jerome Kenji Laszlo Mateus Norbert Olivier Patrick Roland Samuel Tobias Uwe Vincent Wilhelm Yannick Ziad "
    "Alistair Bruno Colm Diego Ewan Franz Goran Hiroshi Igor Jamal Kwame Luca Milan Nathan Obinna Pieter Rui Sandor Theo "
    "Vasil Wes Yonas"
).split()
_SURNAME_HEADS = (
    "Abra Bel Cald Dra Ebel Fara Gal Hav Imr Jas Kor Lam Mont Nav Orl Pel Quar Ros Sand Tav Ulm Ver Wex Yar Zim Arm Bor "
    "Chal Dev Eng Fel Gor Hest Ill Jur Kass Lind Mar Neu Opp Prim Rav Stav Thal Und Vol Wern Zab Ash Brig Cor Dol Ett Fro "
    "Grim Hol Kel Loch Mel Nor"
).split()
_SURNAME_TAILS = (
    "ano berg cott dorf ensen ford gard hoff inho jeva kamp lund mann nikov ova pont quist rath stad tello ulan vik wood "
    "yama zetti agne bury chuk elli fsson gate hurst ishi karo lar mara nell oni pard rero shaw tier urri vanni wick escu "
    "ides ashvili oja stra"
).split()
_TOWN_HEADS = (
    "Ald Bray Cast Dorn East Fair Glen Hart Ivel Jarl Kirk Long Mel North Over Pern Quen Roth Stan Thorn Up Vell West Yarl "
    "Zell Ambar Bosc Cara Dalm Esk Fonte Gran Haz Isol Jezer Kam Lago Monte Nov Orto Pala Ribe Sant Torre Ust Vila Wiel "
    "Yok Zar Ake Bor Chi Dan Eld Fle Gru Hok Ish Jun Kos Lim Mun Nag Ost Pol Ras Sel Tak Ura Vest Wro"
).split()
_TOWN_TAILS = (
    "by combe dale etta field grad ham ino jarvi kirk leigh mouth nitz ovo pool quay rode stedt thorpe una villa wick yama "
    "zano brück chester dorf eira furt gawa holm ingen kow lanta marca nes orra pilis ravik sund tura vank worth beck "
    "cester hult inga mura nova"
).split()
_LAND_HEADS = (
    "Ab Bar Cas Dun Er Fal Gar Hel Is Jor Kal Lo Mar Nir Om Pet Ran Sev Tal Ul Var Wen Zan Bel Cor Dar Est Gal Kor Lur Mol Nor Tor Ver"
).split()
_LAND_TAILS = "avia enia istan ora umbra egia andia osia uria evia onia asque elland aria otia imara undia itania".split()
_SYLLABLES = (
    "ba ce da el fo ga hi jo ka lu mi no or pa qui ra si to ul va xe yo zu bri cla dre fli gro kro lan mer nex pra sol tri vel".split()
)
_SECTORS = (
    "Systems Logistics Pharma Energy Foods Software Robotics Airlines Mining Textiles Optics Insurance Media Motors "
    "Chemicals Steel Shipping Capital Telecom Biotech Instruments Plastics Semiconductors Water Timber Diagnostics Studios "
    "Engineering Payments Seeds"
).split()
_SUFFIXES = ("Group", "Inc.", "Ltd", "AG", "S.A.", "Corporation", "Partners", "International", "Industries", "GmbH", "plc", "Labs")
_ADJECTIVES = (
    "Hollow Silent Crimson Distant Broken Golden Paper Last Second Northern Burning Quiet Iron Glass Wandering Blue "
    "Borrowed Hidden Winter Velvet Electric Forgotten Slow Amber Bitter Copper Narrow Pale Restless Scarlet Tender "
    "Unfinished Violet Wild"
).split()
_NOUNS = (
    "Orchard Harvest Staircase Mirror Voyage Garden Letters Kingdom Lantern Station Promise Carousel Hour Island Machine "
    "River Song Threshold Window Archive Bell Cathedral Desert Echo Feather Horizon Jury Kite Labyrinth Meridian Needle "
    "Oath Pilgrim Quarry Ribbon Summer Tower Umbrella Visitor Weather"
).split()
_FIELDS = (
    "immunology botany glaciology linguistics topology toxicology seismology metallurgy neurology economics archaeology "
    "acoustics virology cartography epidemiology hydrology musicology entomology oncology criminology"
).split()
_MATERIALS = (
    "titanium bamboo basalt cork copper graphite linen nylon porcelain rubber walnut zinc aluminium felt limestone leather wool oak"
).split()
_TISSUES = (
    "liver|kidney|spleen|retina|pancreas|heart muscle|bone marrow|small intestine|thyroid gland|cerebellum|skin|"
    "placenta|lung|adrenal gland"
).split("|")
_CONDITIONS = (
    "chronic migraine|plaque psoriasis|type 2 diabetes|bacterial pneumonia|ulcerative colitis|atrial fibrillation|"
    "osteoporosis|asthma|gout|epilepsy|glaucoma|iron deficiency|sleep apnoea|rheumatoid arthritis|hepatitis C|"
    "Crohn's disease|anaemia|hypertension|eczema|malaria|tuberculosis|endometriosis|narcolepsy|sarcoidosis|cystic fibrosis|"
    "pancreatitis|schizophrenia|dengue fever|leprosy|sepsis".split("|")
)
_EFFECTS = (
    "nausea|dizziness|insomnia|hair loss|dry mouth|skin rash|fatigue|blurred vision|weight gain|tremor|constipation|"
    "headache|fever|drowsiness"
).split("|")


def _pick(rng: Random, parts: list[str] | tuple[str, ...]) -> str:
    return parts[rng.randrange(len(parts))]


def _coined(rng: Random, low: int = 2, high: int = 3) -> str:
    return "".join(_pick(rng, _SYLLABLES) for _ in range(rng.randint(low, high))).capitalize()


def surname(rng: Random) -> str:
    """An invented surname."""
    return _pick(rng, _SURNAME_HEADS) + _pick(rng, _SURNAME_TAILS)


def _person(rng: Random, kind: str) -> Name:
    woman = kind == "woman" or (kind == "person" and rng.random() < 0.5)
    given, family = _pick(rng, _WOMEN if woman else _MEN), surname(rng)
    middle = f" {chr(65 + rng.randrange(26))}." if rng.random() < 0.12 else ""
    double = f"-{surname(rng)}" if rng.random() < 0.06 else ""
    label = f"{given}{middle} {family}{double}"
    trade = _pick(rng, _TRADES)
    return Name(label, "person", "PER", trade, "she" if woman else "he", family + double, aliases=(family + double,))


_TRADES = (
    "engineer biologist lawyer economist chemist historian journalist physicist surgeon geologist programmer diplomat "
    "designer entrepreneur mathematician pharmacist librarian"
).split()


def _company(rng: Random, kind: str) -> Name:
    roll = rng.random()
    if roll < 0.4:
        stem = _coined(rng)
        label, short = f"{stem} {_pick(rng, _SECTORS)}", stem
    elif roll < 0.6:
        stem = _coined(rng)
        label, short = f"{stem} {_pick(rng, _SUFFIXES)}", stem
    elif roll < 0.75:
        stem = surname(rng)
        label, short = f"{stem} & {_pick(rng, ('Sons', 'Daughters', 'Partners', surname(rng)))}", stem
    elif roll < 0.9:
        stem = surname(rng)
        label, short = f"{stem} {_pick(rng, _SECTORS)}", stem
    else:
        label = short = _coined(rng, 3, 4)
    return Name(label, kind, "ORG", _pick(rng, ("company", "firm", "group")), short=short, aliases=(short,) if short != label else ())


def _institution(rng: Random, kind: str) -> Name:
    place = _town_word(rng)
    body, noun = rng.choice(
        (
            ("University", "university"),
            ("Institute of Technology", "institute"),
            ("Conservatory", "conservatory"),
            ("Medical College", "college"),
            ("Academy of Sciences", "academy"),
            ("School of Economics", "school"),
        )
    )
    return Name(f"{place} {body}", kind, "ORG", noun, article=body.startswith("Academy"))


def _museum(rng: Random, kind: str) -> Name:
    return Name(
        f"{_pick(rng, (_town_word(rng), surname(rng)))} {_pick(rng, ('Museum', 'Gallery', 'Collection'))}",
        kind,
        "ORG",
        "museum",
        article=True,
    )


def _town_word(rng: Random) -> str:
    return _pick(rng, _TOWN_HEADS) + _pick(rng, _TOWN_TAILS)


def _town(rng: Random, kind: str) -> Name:
    word = _town_word(rng)
    roll = rng.random()
    label = f"{_pick(rng, ('New', 'Upper', 'Saint', 'Old', 'Bad', 'San'))} {word}" if roll < 0.12 else word
    return Name(label, kind, "LOC", _pick(rng, ("town", "city")))


def _country(rng: Random, kind: str) -> Name:
    return Name(_pick(rng, _LAND_HEADS) + _pick(rng, _LAND_TAILS), kind, "LOC", "country")


def _region(rng: Random, kind: str) -> Name:
    word = _pick(rng, _LAND_HEADS) + _pick(rng, ("shire", "mark", "eth", "ana", "olm", "ingia", "wold", "mere"))
    label = _pick(rng, (word, f"{word} Province", f"{word} County", f"{word} District"))
    return Name(label, kind, "LOC", "region")


def _river(rng: Random, kind: str) -> Name:
    return Name(
        _pick(rng, _TOWN_HEADS) + _pick(rng, ("a", "en", "ava", "ine", "ow", "ir", "essa", "ule")), kind, "LOC", "river", article=True
    )


def _lake(rng: Random, kind: str) -> Name:
    return Name(f"Lake {_pick(rng, _TOWN_HEADS)}{_pick(rng, ('a', 'en', 'or', 'umi', 'ik', 'enza'))}", kind, "LOC", "lake")


def _mountain(rng: Random, kind: str) -> Name:
    return Name(f"Mount {_pick(rng, _LAND_HEADS)}{_pick(rng, ('ak', 'uru', 'esk', 'ion', 'olt', 'amba'))}", kind, "LOC", "mountain")


def _title(rng: Random) -> str:
    roll = rng.random()
    adjective, noun, other = _pick(rng, _ADJECTIVES), _pick(rng, _NOUNS), _pick(rng, _NOUNS)
    if roll < 0.4:
        return f"The {adjective} {noun}"
    if roll < 0.6:
        return f"{adjective} {noun}"
    if roll < 0.8:
        return f"The {noun} of {_town_word(rng)}"
    return f"{noun} and {other}" if other != noun else f"{noun} in {_town_word(rng)}"


def _work(noun: str, rng: Random, kind: str) -> Name:
    return Name(_title(rng), kind, "MISC", noun)


def _product(rng: Random, kind: str) -> Name:
    label = _coined(rng)
    if rng.random() < 0.6:
        number = rng.choice(("", str(rng.randint(1, 9)), str(rng.randint(10, 90) * 10)))
        label += f" {_pick(rng, ('X', 'S', 'Pro', 'Mini', 'GT', 'T', 'Z'))}{number}"
    return Name(label, kind, "MISC", _pick(rng, ("device", "model", "machine")), article=rng.random() < 0.5)


def _software(rng: Random, kind: str) -> Name:
    stem = _coined(rng)
    return Name(
        stem + _pick(rng, ("", "DB", "Kit", "Flow", "OS", "Hub", "lang")), kind, "MISC", _pick(rng, ("program", "library", "tool"))
    )


def _drug(rng: Random, kind: str) -> Name:
    stem = "".join(_pick(rng, _SYLLABLES) for _ in range(rng.randint(2, 3)))
    return Name(
        stem + _pick(rng, ("nib", "mab", "pril", "statin", "zole", "vir", "cillin", "olol", "tide", "xaban")), kind, "chemical", "drug"
    )


def _gene(rng: Random, kind: str) -> Name:
    letters = "".join(chr(65 + rng.randrange(26)) for _ in range(rng.randint(2, 4)))
    return Name(letters + str(rng.randint(1, 29)), kind, "gene", "protein")


def _disease(rng: Random, kind: str) -> Name:
    if rng.random() < 0.4:
        return Name(f"{surname(rng)} {_pick(rng, ('syndrome', 'disease'))}", kind, "MISC", "condition")
    return Name(_pick(rng, _CONDITIONS), kind, "MISC", "condition")


def _microbe(rng: Random, kind: str) -> Name:
    genus = _coined(rng) + _pick(rng, ("ella", "bacter", "coccus", "virus", "monas"))
    return Name(genus, kind, "MISC", "pathogen")


def _species(rng: Random, kind: str) -> Name:
    genus = _coined(rng) + _pick(rng, ("us", "ia", "is", "ops"))
    return Name(f"{genus} {_coined(rng, 2, 2).lower()}{_pick(rng, ('ensis', 'atus', 'icola', 'oides'))}", kind, "MISC", "species")


def _genus(rng: Random, kind: str) -> Name:
    return Name(_coined(rng) + _pick(rng, ("us", "ia", "is", "ops")), kind, "MISC", "genus")


def _team(rng: Random, kind: str) -> Name:
    place = _town_word(rng)
    label = _pick(
        rng,
        (
            f"FC {place}",
            f"{place} United",
            f"{place} Rovers",
            f"{place} {_pick(rng, ('Falcons', 'Wolves', 'Comets', 'Rams'))}",
            f"Dynamo {place}",
        ),
    )
    return Name(label, kind, "ORG", "club")


def _party(rng: Random, kind: str) -> Name:
    first = _pick(rng, ("Liberal", "Labour", "National", "Reform", "Civic", "Progressive", "Rural", "Social", "Centre", "Federal"))
    second = _pick(rng, ("Democratic Party", "Alliance", "Movement", "Front", "Union", "Coalition", "Bloc"))
    return Name(
        f"{_pick(rng, _LAND_HEADS)}ian {first} {second}" if rng.random() < 0.5 else f"{first} {second}",
        kind,
        "ORG",
        "party",
        article=True,
    )


def _language(rng: Random, kind: str) -> Name:
    return Name(_pick(rng, _LAND_HEADS) + _pick(rng, ("ish", "ese", "ian", "ic", "aic", "ari")), kind, "MISC", "language")


def _award(rng: Random, kind: str) -> Name:
    label = f"{surname(rng)} {_pick(rng, ('Prize', 'Medal', 'Award', 'Fellowship', 'Cup'))}"
    return Name(label, kind, "MISC", "award", article=True)


def _ship(rng: Random, kind: str) -> Name:
    return Name(
        f"{_pick(rng, ('MV', 'SS', 'RV', 'MS'))} {_pick(rng, (_coined(rng), surname(rng)))}",
        kind,
        "MISC",
        "ship",
        article=rng.random() < 0.4,
    )


def _bridge(rng: Random, kind: str) -> Name:
    return Name(
        f"{_pick(rng, (_town_word(rng), surname(rng)))} {_pick(rng, ('Bridge', 'Viaduct', 'Footbridge'))}",
        kind,
        "LOC",
        "bridge",
        article=True,
    )


def _building(rng: Random, kind: str) -> Name:
    what, noun = rng.choice(
        (
            ("Airport", "airport"),
            ("Hospital", "hospital"),
            ("Tower", "tower"),
            ("Power Station", "plant"),
            ("Concert Hall", "hall"),
            ("Hotel", "hotel"),
            ("Dam", "dam"),
            ("Library", "library"),
        )
    )
    return Name(
        f"{_pick(rng, (_town_word(rng), surname(rng)))} {what}",
        kind,
        "LOC",
        noun,
        article=what not in ("Airport", "Hospital", "Power Station"),
    )


def _law(rng: Random, kind: str) -> Name:
    topic = _pick(rng, ("Data", "Fisheries", "Tenancy", "Water", "Banking", "Forestry", "Labour", "Packaging", "Transport", "Pensions"))
    return Name(
        f"{topic} {_pick(rng, ('Act', 'Ordinance', 'Directive', 'Code'))} {rng.randint(1950, 2024)}", kind, "MISC", "law", article=True
    )


def _treaty(rng: Random, kind: str) -> Name:
    return Name(
        f"{_pick(rng, ('Convention', 'Accord', 'Protocol', 'Pact'))} of {_town_word(rng)}", kind, "MISC", "agreement", article=True
    )


def _competition(rng: Random, kind: str) -> Name:
    label = f"{_pick(rng, (_town_word(rng), surname(rng)))} {_pick(rng, ('Open', 'Cup', 'Regatta', 'Marathon', 'Grand Prix'))}"
    return Name(label, kind, "MISC", "competition", article=True)


def _show(rng: Random, kind: str) -> Name:
    return Name(_title(rng), kind, "MISC", "series")


def _word(words: list[str], noun: str, rng: Random, kind: str) -> Name:
    return Name(_pick(rng, words), kind, "MISC", noun)


def _licence(rng: Random, kind: str) -> Name:
    return Name(
        f"{_coined(rng)} {_pick(rng, ('Public License', 'Licence', 'Community License'))}", kind, "MISC", "licence", article=True
    )


def _newspaper(rng: Random, kind: str) -> Name:
    return Name(
        f"{_town_word(rng)} {_pick(rng, ('Gazette', 'Courier', 'Tribune', 'Herald', 'Observer'))}",
        kind,
        "ORG",
        "newspaper",
        article=True,
    )


def _department(rng: Random, kind: str) -> Name:
    topic = _pick(
        rng, ("Fisheries", "Roads", "Public Health", "Statistics", "Civil Aviation", "Food Safety", "Energy", "Patents", "Customs")
    )
    return Name(
        f"{_pick(rng, _LAND_HEADS)}ian {_pick(rng, ('Agency', 'Office', 'Authority', 'Board'))} for {topic}",
        kind,
        "ORG",
        "agency",
        article=True,
    )


_MAKERS: dict[str, Callable[[Random, str], Name]] = {
    "person": _person,
    "woman": _person,
    "man": _person,
    "company": _company,
    "institution": _institution,
    "museum": _museum,
    "town": _town,
    "country": _country,
    "region": _region,
    "river": _river,
    "lake": _lake,
    "mountain": _mountain,
    "product": _product,
    "software": _software,
    "drug": _drug,
    "gene": _gene,
    "disease": _disease,
    "microbe": _microbe,
    "species": _species,
    "genus": _genus,
    "team": _team,
    "party": _party,
    "language": _language,
    "codelang": lambda rng, kind: Name(_coined(rng) + _pick(rng, ("", "Script", "++", "ML")), kind, "MISC", "language"),
    "award": _award,
    "ship": _ship,
    "bridge": _bridge,
    "building": _building,
    "law": _law,
    "treaty": _treaty,
    "competition": _competition,
    "show": _show,
    "licence": _licence,
    "newspaper": _newspaper,
    "agency": _department,
    "film": lambda rng, kind: _work("film", rng, kind),
    "book": lambda rng, kind: _work("novel", rng, kind),
    "song": lambda rng, kind: _work("song", rng, kind),
    "album": lambda rng, kind: _work("album", rng, kind),
    "painting": lambda rng, kind: _work("painting", rng, kind),
    "field": lambda rng, kind: _word(_FIELDS, "subject", rng, kind),
    "material": lambda rng, kind: _word(_MATERIALS, "material", rng, kind),
    "tissue": lambda rng, kind: Name(_pick(rng, _TISSUES), kind, "MISC", "tissue", article=True),
    "effect": lambda rng, kind: _word(_EFFECTS, "side effect", rng, kind),
}
KINDS = tuple(_MAKERS)
_REAL = {"Estonia", "Gallia", "Polish", "Carish", "Arabic", "Maltese"}
_TRIPLE = re.compile(r"([a-zA-Z])\1\1", re.IGNORECASE)


def name(rng: Random, kind: str, taken: set[str]) -> Name:
    """A new name of this kind (one of `KINDS`), none of whose words are among those already `taken` by the passage; it joins them."""
    while True:
        made = _MAKERS[kind](rng, kind)
        if _TRIPLE.search(made.label) or made.label in _REAL:
            continue
        words = {made.label.lower(), made.short.lower() or made.label.lower()}
        if not any(word in old or old in word for word in words for old in taken):
            taken.update(words)
            return made
