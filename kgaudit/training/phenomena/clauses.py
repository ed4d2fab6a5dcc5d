"""English clauses: one statement in every tense, affirmed, denied, planned, asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

_IRREGULAR = {
    "have": "has had had having",
    "write": "writes wrote written writing",
    "make": "makes made made making",
    "buy": "buys bought bought buying",
    "sell": "sells sold sold selling",
    "run": "runs ran run running",
    "lead": "leads led led leading",
    "win": "wins won won winning",
    "go": "goes went gone going",
    "come": "comes came come coming",
    "become": "becomes became become becoming",
    "teach": "teaches taught taught teaching",
    "hold": "holds held held holding",
    "stand": "stands stood stood standing",
    "lie": "lies lay lain lying",
    "sing": "sings sang sung singing",
    "take": "takes took taken taking",
    "give": "gives gave given giving",
    "bear": "bears bore borne bearing",
    "set": "sets set set setting",
    "sit": "sits sat sat sitting",
    "bring": "brings brought brought bringing",
    "build": "builds built built building",
    "hang": "hangs hung hung hanging",
    "keep": "keeps kept kept keeping",
    "begin": "begins began begun beginning",
    "die": "dies died died dying",
    "rise": "rises rose risen rising",
    "draw": "draws drew drawn drawing",
    "grow": "grows grew grown growing",
    "do": "does did done doing",
    "star": "stars starred starred starring",
    "span": "spans spanned spanned spanning",
    "see": "sees saw seen seeing",
    "get": "gets got got getting",
    "control": "controls controlled controlled controlling",
    "spend": "spends spent spent spending",
    "lose": "loses lost lost losing",
    "beat": "beats beat beaten beating",
    "occur": "occurs occurred occurred occurring",
    "broadcast": "broadcasts broadcast broadcast broadcasting",
    "sink": "sinks sank sunk sinking",
    "cost": "costs cost cost costing",
    "speak": "speaks spoke spoken speaking",
    "know": "knows knew known knowing",
    "shoot": "shoots shot shot shooting",
    "let": "lets let let letting",
    "fight": "fights fought fought fighting",
    "cling": "clings clung clung clinging",
    "put": "puts put put putting",
    "pay": "pays paid paid paying",
}


def _forms(base: str) -> tuple[str, str, str, str]:
    """(third person, past, participle, -ing) of a verb."""
    if base in _IRREGULAR:
        third, past, participle, ing = _IRREGULAR[base].split()
        return third, past, participle, ing
    if re.search(r"[^aeiou]y\Z", base):
        return base[:-1] + "ies", base[:-1] + "ied", base[:-1] + "ied", base + "ing"
    third = base + ("es" if re.search(r"(s|x|ch|sh)\Z", base) else "s")
    stem = base[:-1] if base.endswith("e") else base
    return third, stem + "ed", stem + "ed", stem + "ing"


@dataclass(frozen=True, slots=True)
class Clause:
    """A statement: grammatical subject, verb (its base form), and what follows. `event` says that its natural tense is the past.

    Attributes, for use in `str.format`: `fin` (natural tense), `neg`, `pres`, `npres`, `past`, `npast`, `perf`, `nperf`, `never`,
    `will`, `wont`, `would`, `whave` (would have done), `nwhave`, `may`, `might`, `nolonger`, `still`, `used` (used to), `alleged`;
    `q`: as a question without its mark. With `v_` before it, the same without the grammatical subject. Without subject in any case:
    `v_inf`, `v_pinf` (have done), `v_ing`, `v_ping`. `pl`: natural tense, for a grammatical subject in the plural.
    """

    subject: str
    verb: str
    rest: str
    event: bool = False

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "q":
            return self._question()
        bare = name.startswith("v_")
        phrase = f"{self._verb(name.removeprefix('v_'))} {self.rest}".strip()
        return phrase if bare else f"{self.subject} {phrase}"

    def _verb(self, form: str) -> str:
        be = self.verb == "be"
        third, past, participle, ing = ("is", "was", "been", "being") if be else _forms(self.verb)
        base = self.verb
        adverb = {"nolonger": "no longer", "still": "still", "alleged": "reportedly"}.get(form)
        if adverb:
            finite = past if self.event else third
            return f"{finite} {adverb}" if be else f"{adverb} {finite}"
        forms = {
            "pres": third,
            "past": past,
            "pl": ("were" if be else past) if self.event else ("are" if be else base),
            "fin": past if self.event else third,
            "npres": "is not" if be else f"does not {base}",
            "npast": "was not" if be else f"did not {base}",
            "perf": f"has {participle}",
            "nperf": f"has never {participle}",
            "had": f"had {participle}",
            "never": "was never" if be else f"never {past}",
            "will": f"will {base}",
            "wont": f"will not {base}",
            "would": f"would {base}",
            "nwould": f"would not {base}",
            "whave": f"would have {participle}",
            "nwhave": f"would not have {participle}",
            "may": f"may {base}",
            "might": f"might {base}",
            "used": f"used to {base}",
            "inf": base,
            "pinf": f"have {participle}",
            "ing": ing,
            "ping": f"having {participle}",
        }
        if form == "neg":
            return forms["npast" if self.event else "npres"]
        return forms[form]

    def _question(self) -> str:
        if self.verb == "be":
            return f"{'was' if self.event else 'is'} {self.subject} {self.rest}".strip()
        return f"{'did' if self.event else 'does'} {self.subject} {self.verb} {self.rest}".strip()
