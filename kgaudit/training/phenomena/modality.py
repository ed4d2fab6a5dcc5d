"""Builds the groups for the wordings of `stated`: two objects of one kind, one stated and one not, by turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from kgaudit.training.phenomena.idioms import IDIOMS
from kgaudit.training.phenomena.made import Made
from kgaudit.training.phenomena.names import Name
from kgaudit.training.phenomena.predicates import Predicate, object_kind, predicates
from kgaudit.training.phenomena.scene import Scene, choose, claim, fields, made, pick_wording, surround, tidy, title, voice
from kgaudit.training.phenomena.stated import ALL, Wordings

_MIRROR = {"ss": ("rr", "nn"), "rr": ("ss",), "nn": ("ss",)}


def _labels(scene: Scene, wordings: Wordings, predicate: Predicate) -> str:
    """How the claim names the predicate: of an ended role, sometimes as the current one, sometimes as the former one."""
    roll = scene.rng.random()
    plain = not predicate.role and predicate.label.split()[0] in ("located", "applies", "depends", "country", "works")
    if wordings.phenomenon != "ended role" or roll < 0.4 or plain:
        return predicate.label
    return f"{'current' if roll < 0.75 else 'former'} {predicate.role or predicate.label}"


def _pick(scene: Scene, wordings: Wordings) -> tuple[Predicate, list[tuple[str, str, str]]]:
    """A predicate and (frame, stances, template): one, or two that mirror each other (both objects stated, neither stated)."""
    rng = scene.rng
    own = [
        (predicate, f"{wordings.phenomenon}/{predicate.label}/{place}", codes, template)
        for predicate in predicates(scene.held_out)
        for place, (phenomenon, codes, template) in enumerate(IDIOMS.get(predicate.label, ()))
        if phenomenon == wordings.phenomenon
    ]
    if rng.random() * (len(own) + len(wordings.templates)) < len(own):
        predicate, frame, codes, template = rng.choice(own)
        return predicate, [(frame, codes, template)]
    place, (codes, template) = pick_wording(rng, wordings.templates, scene.held_out)
    predicate = scene.predicate(*wordings.needs, *(("nouns",) if "{na}" in template else ()))
    picked = [(f"{wordings.phenomenon}/{place}", codes, template)]
    if codes in _MIRROR:
        while predicate.functional:
            predicate = scene.predicate(*wordings.needs)
        mirrors = [
            (f"{wordings.phenomenon}/{place}", *wording)
            for place, wording in enumerate(wordings.templates)
            if wording[0] in _MIRROR[codes] and (place % 5 == 4) == scene.held_out
        ]
        if not mirrors:
            return _pick(scene, wordings)
        picked.append(rng.choice(mirrors))
    return predicate, picked


def _stated(wordings: Wordings, scene: Scene, pair: str) -> list[Made]:
    rng = scene.rng
    predicate, picked = _pick(scene, wordings)
    s = scene.name(rng.choice(predicate.subjects))
    kind = object_kind(rng, predicate, s)
    a, b = scene.name(kind), scene.name(kind)
    label = _labels(scene, wordings, predicate)
    turn = label == predicate.label and rng.random() < 0.25
    extras = scene.extras()
    extras["Voice"], extras["VoiceP"] = voice(scene, s)
    seed, choices = rng.getrandbits(32), rng.getrandbits(32)
    heading = title(scene, s, (a, b))
    hidden = heading == s.label and s.type != "PER" and rng.random() < 0.3
    before, after = surround(scene, "", s, (a, b), predicate, before=not hidden)
    items = []
    orders: list[tuple[tuple[str, str, str], Name, Name]] = (
        [(picked[0], a, b), (picked[0], b, a)] if len(picked) == 1 else [(picked[0], a, b), (picked[1], a, b)]
    )
    for (frame, codes, template), first, second in orders:
        given = fields(scene, predicate, s, first, second, seed, extras, s.definite if hidden else s.text, template)
        body = choose(Random(choices), template).format(**given)
        text = tidy(f"{before} {body} {after}")
        for o, code in ((first, codes[0]), (second, codes[1])):
            code = "r" if code == "n" and "s" in codes and predicate.functional else code
            if label.startswith("former "):
                code = "s" if code == "r" else "n"
            subject, name, target = claim(rng, predicate, s, o, turn)
            items.append(
                made(
                    subject, label if name == predicate.label else name, target, code, wordings.phenomenon, frame, (heading, text), pair
                )
            )
    return items


BUILDERS: dict[str, Callable[[Scene, str], list[Made]]] = {wordings.phenomenon: partial(_stated, wordings) for wordings in ALL}
