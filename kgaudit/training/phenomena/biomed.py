"""What abstracts say of substances, proteins and conditions: raised, lowered, unchanged; caused or merely found together."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kgaudit.training.phenomena.made import Made
from kgaudit.training.phenomena.scene import Scene, choose, made, pick_wording, surround, tidy, title

DOWN = ("inhibits", "is an inhibitor of", "downregulates", "is an antagonist of")
UP = ("activates", "is an activator of", "upregulates", "is an agonist of")
WORDS = {
    "inhibits": ("inhibit", "inhibited", "inhibition", "inhibitor"),
    "is an inhibitor of": ("inhibit", "inhibited", "inhibition", "inhibitor"),
    "downregulates": ("downregulate", "downregulated", "downregulation", "suppressor"),
    "is an antagonist of": ("antagonise", "antagonised", "antagonism", "antagonist"),
    "activates": ("activate", "activated", "activation", "activator"),
    "is an activator of": ("activate", "activated", "activation", "activator"),
    "upregulates": ("upregulate", "upregulated", "upregulation", "inducer"),
    "is an agonist of": ("stimulate", "stimulated", "stimulation", "agonist"),
}
"""Verb, past, noun of the act, noun of the agent."""

TWO_TARGETS = (
    ("n", "{S} [strongly |markedly |]{past} {A} but had no effect on {B}."),
    ("n", "{S} had no effect on {B}, whereas it {past} {A}."),
    ("n", "{A}, but not {B}, was {past} by {S}."),
    ("n", "Not {B} but {A} was {past} by {S}."),
    ("n", "In [cultured cells|rats|liver slices], {S} {past} {A}; {B} remained unchanged."),
    ("n", "{B} remained unchanged in cells treated with {S}, while {A} was {past}."),
    ("n", "We found {act} of {A} by {S}; for {B}, no such effect was seen."),
    ("n", "No effect of {S} on {B} was seen. We did find {act} of {A}."),
    ("n", "{S} is a selective {agent} of {A} over {B}, on which it does not act."),
    ("n", "{S} acts as {an_agent} of {A}. {B} was used as a control protein."),
    ("n", "With {B} as the control protein, {S} proved to be {an_agent} of {A}."),
    ("n", "{S} {past} {A}, which is known to bind {B}."),
    ("n", "{A}, which is known to bind {B}, was {past} by {S}."),
    ("n", "The {act} of {A} by {S} was [dose-dependent|reversible]. Levels of {B} were measured as well, without a clear result."),
    ("n", "Levels of {B} correlated with those of {S} but were not altered by it; {A} was {past}."),
    ("n", "Whether {S} can {verb} {B} has not been tested. It did {verb} {A} at [5|20|100] nM."),
    ("n", "{S} did {verb} {A} at [5|20|100] nM. Whether it can {verb} {B} has not been tested."),
    ("n", "It was thought that {S} might {verb} {B}; this could not be reproduced, unlike the {act} of {A}."),
    ("n", "The {act} of {A} by {S} could be reproduced, unlike that of {B}."),
    ("n", "{S} {past} {A}. A second compound, {Z}, {past} {B}."),
    ("n", "{Z} {past} {B}, while {S} {past} {A}."),
    ("n", "{A} and {B} were {past} by {S} and {Z}, respectively."),
    ("n", "{B} and {A} were {past} by {Z} and {S}, respectively."),
    ("n", "{S} {past} {A} even in cells that lack {B}."),
    ("n", "Even in cells that lack {B}, {S} {past} {A}."),
)
TWO_SIGNS = (
    "{S} {up} {A} and {down} {B}.",
    "{S} {down} {B} and {up} {A}.",
    "{A} was {up} by {S}, [while|whereas] {B} was {down}.",
    "{B} was {down} by {S}, [while|whereas] {A} was {up}.",
    "[Treatment|Incubation] with {S} {up} {A} in [mice|neurons]; the same dose {down} {B}.",
    "The same dose of {S} that {down} {B} {up} {A}.",
    "{S} had opposite effects: it {up} {A} but {down} {B}.",
    "{S} had opposite effects: it {down} {B} but {up} {A}.",
    "Far from having one effect, {S} {down} {B}, and it {up} {A}.",
    "{A} ({up}) and {B} ({down}) both responded to {S}.",
    "{B} ({down}) and {A} ({up}) both responded to {S}.",
    "Contrary to our expectation, {S} {up} {A}; as expected, it {down} {B}.",
    "As expected, {S} {down} {B}; contrary to our expectation, it {up} {A}.",
    "That {S} {down} {B} had been shown before. Here we show that it {up} {A}.",
    "Here we show that {S} {up} {A}. That it {down} {B} had been shown before.",
)
CAUSES = (
    "{A} causes {S}; {B} is merely found more often in those who have it.",
    "{B} is merely found more often in those who have {S}, which {A} causes.",
    "{S} is caused by {A}. An association with {B} was noted, which does not prove a causal role.",
    "An association of {S} with {B} was noted, which does not prove a causal role; {A} was shown to be the cause.",
    "{A} was shown to cause {S}, while {B} showed no such effect.",
    "Of two suspects, {B} and {A}, the latter was shown to cause {S}; the former was cleared.",
    "Of two suspects, {A} and {B}, the former was shown to cause {S}; the latter was cleared.",
    "Removing {A} prevented {S}; removing {B} did not, so that {A} alone is held to cause it.",
    "Removing {B} did not prevent {S}; removing {A} did, so that {A} alone is held to cause it.",
    "Infection with {A} leads to {S}. Patients with {S} are often carriers of {B}, for unknown reasons.",
    "Patients with {S} are often carriers of {B}, for unknown reasons. It is infection with {A} that leads to {S}.",
    "{S}, the result of exposure to {A}, is rarely seen together with {B}.",
    "{S} is rarely seen together with {B}; it is the result of exposure to {A}.",
    "{A} is the agent of {S}. {B} may protect against it.",
    "{B} may protect against {S}, of which {A} is the agent.",
)


def targets(scene: Scene, pair: str) -> list[Made]:
    """One substance, two proteins: it acts on one of them."""
    rng = scene.rng
    label = rng.choice([w for place, w in enumerate(WORDS) if (place % 4 == 3) == scene.held_out])
    s, z = scene.name("drug"), scene.name("drug")
    a, b = scene.name("gene"), scene.name("gene")
    place, (stance, template) = pick_wording(rng, TWO_TARGETS, scene.held_out)
    template = choose(rng, template)
    verb, past, act, agent = WORDS[label]
    words = {"verb": verb, "past": past, "act": act, "agent": agent, "an_agent": f"{'an' if agent[0] in 'aeiou' else 'a'} {agent}"}
    heading = title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), None) if rng.random() < 0.4 else ("", "")
    items = []
    for first, second in ((a, b), (b, a)):
        text = tidy(f"{before} {template.format(**words, S=s.text, Z=z.text, A=first.text, B=second.text)} {after}")
        for o, code in ((first, "s"), (second, stance)):
            items.append(made(s, label, o, code, "causal", f"causal/targets/{place}", (heading, text), pair))
    return items


def signs(scene: Scene, pair: str) -> list[Made]:
    """One substance raises one protein and lowers another."""
    rng = scene.rng
    pick = slice(3, 4) if scene.held_out else slice(0, 3)
    up, down = rng.choice(UP[pick]), rng.choice(DOWN[pick])
    s, a, b = scene.name("drug"), scene.name("gene"), scene.name("gene")
    place, template = pick_wording(rng, TWO_SIGNS, scene.held_out)
    template = choose(rng, template)
    heading = title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), None) if rng.random() < 0.4 else ("", "")
    items = []
    for first, second in ((a, b), (b, a)):
        words = {"up": WORDS[up][1], "down": WORDS[down][1]}
        text = tidy(f"{before} {template.format(**words, S=s.text, A=first.text, B=second.text)} {after}")
        for label, o, code in ((up, first, "s"), (down, second, "s"), (up, second, "r"), (down, first, "r")):
            items.append(made(s, label, o, code, "causal", f"causal/signs/{place}", (heading, text), pair))
    return items


def causes(scene: Scene, pair: str) -> list[Made]:
    """A condition with a cause and something that only goes with it."""
    rng = scene.rng
    s = scene.name("disease")
    a, b = scene.name("microbe"), scene.name("microbe")
    place, template = pick_wording(rng, CAUSES, scene.held_out)
    heading = title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), None) if rng.random() < 0.4 else ("", "")
    turn = rng.random() < 0.5
    items = []
    for first, second in ((a, b), (b, a)):
        text = tidy(f"{before} {template.format(S=s.text, A=first.text, B=second.text)} {after}")
        for o, code in ((first, "s"), (second, "n")):
            x, label, y = (o, "causes", s) if turn else (s, "has cause", o)
            items.append(made(x, label, y, code, "causal", f"causal/causes/{place}", (heading, text), pair))
    return items


def causal(scene: Scene, pair: str) -> list[Made]:
    return Random(scene.rng.getrandbits(32)).choice((targets, targets, signs, causes))(scene, pair)


BUILDERS: dict[str, Callable[[Scene, str], list[Made]]] = {"causal": causal}
