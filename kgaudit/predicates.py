"""Predicate cards: what a predicate is called, between what it stands and how many objects a subject has.

Cards are learnt from the graph's schema and from how the predicate is used, and people can edit them as YAML:

    - predicate: https://graph.example/seat
      label: seat
      paraphrases: [has its seat in, is headquartered in]
      functional: true
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgaudit.claims import PredicateCard
from kgaudit.errors import UsageError, storage_error
from kgaudit.text import fold_name
from kgaudit.triples import iri_of, iri_term, name_of
from kgaudit.wording import local_name

if TYPE_CHECKING:
    from kgaudit.sources import LoadedGraph

FUNCTIONAL_SHARE = 0.95
FUNCTIONAL_SUBJECTS = 10
"""A predicate counts as functional where the schema says so, or where at least this many subjects use it and this share of them
has one object."""

_VACUOUS = frozenset(
    "related to|related|relates to|is related to|relation|has relation|relationship|has relationship|directed|undirected|edge|link|"
    "links|linked to|is linked to|links to|associated with|is associated with|association|connected to|is connected to|connection|"
    "see also|mentions|mentioned with|co occurs with|cooccurs with|other|unknown|misc|none|null|na|has|involves|interacts|"
    "关联|相关|관련|관련됨".split("|")
)
_OF_ENDING = re.compile(r"^(?:is |are |was )?(.+) of$")
_BY_ENDING = re.compile(r"^(?:is |are |was )?(\w+ed|made|built|led|owned|run|held|sold|written) by$")
_AGENTS = {
    "owner": ("owned by", "belongs to"), "proprietor": ("owned by", "belongs to"), "founder": ("founded by",),
    "creator": ("created by",),
    "manufacturer": ("made by", "manufactured by"), "maker": ("made by",), "producer": ("produced by",), "builder": ("built by",),
    "designer": ("designed by",), "developer": ("developed by",), "operator": ("operated by", "run by"), "publisher": ("published by",),
    "author": ("written by",), "writer": ("written by",), "composer": ("composed by",), "director": ("directed by",),
    "employer": ("employed by", "works for"), "supplier": ("supplied by",), "buyer": ("bought by",), "acquirer": ("acquired by",),
    "sponsor": ("sponsored by",), "inventor": ("invented by",), "discoverer": ("discovered by",), "editor": ("edited by",),
}  # fmt: skip
"""What is said of a thing whose owner, founder, ... the object is."""


def is_vacuous(label: str) -> bool:
    """Whether a predicate of this name says nothing that could be checked."""
    return " ".join(re.split(r"[\W_]+", fold_name(label))).strip() in _VACUOUS


def paraphrases_of(label: str) -> tuple[str, ...]:
    """Phrases that say the same as a predicate's label, made by rule; the label itself is not among them."""
    folded = " ".join(label.split())
    if match := _BY_ENDING.match(folded):
        return (f"was {match[1]} by",)
    if match := _OF_ENDING.match(folded):
        return (f"is the {match[1]} of", f"as {match[1]} of")
    if folded.startswith("has "):
        return (folded[4:], *paraphrases_of(folded[4:]))
    return _AGENTS.get(folded.rpartition(" ")[2].casefold(), ())


def inverse_of(label: str) -> str:
    """The phrase that says the same from object to subject, made by rule, or ""."""
    folded = " ".join(label.split())
    if match := _BY_ENDING.match(folded):
        return match[1]
    if match := _OF_ENDING.match(folded):
        return f"has {match[1]}"
    return (
        f"is {folded} of"
        if re.fullmatch(r"[\w ]+", folded) and not folded.endswith((" in", " at", " to", " from", " with", "s"))
        else ""
    )


def learn_cards(graph: LoadedGraph) -> dict[str, PredicateCard]:
    """A card for each predicate that a claim of the graph uses; keys are predicate terms (`<...>`)."""
    cards: dict[str, PredicateCard] = {}
    for term, use in graph.uses.items():
        facts = graph.schema.predicates.get(term)
        label, other = _labels(graph, term)
        inverses = facts.inverse_of if facts else ()
        inverse = next((_labels(graph, one)[0] for one in inverses), "") or inverse_of(label)
        share = use.subjects_with_one_object / use.subjects if use.subjects else 0.0
        learnt = use.subjects >= FUNCTIONAL_SUBJECTS and share >= FUNCTIONAL_SHARE
        cards[term] = PredicateCard(
            iri=iri_of(term),
            label=label,
            paraphrases=tuple(dict.fromkeys((*other, *paraphrases_of(label)))),
            inverse=inverse,
            inverse_of=tuple(inverses),
            domain=tuple(facts.domain) if facts else (),
            range=tuple(facts.range) if facts else (),
            functional=bool(facts and facts.functional) or learnt,
            inverse_functional=bool(facts and facts.inverse_functional),
            temporal=bool(re.search(r"\b(current|present|since|former)\b", label)),
            symmetric=bool(facts and facts.symmetric),
            asymmetric=bool(facts and facts.asymmetric),
            irreflexive=bool(facts and facts.irreflexive),
            vacuous=is_vacuous(label),
            value_type=max(use.datatypes, key=lambda kind: (use.datatypes[kind], kind)) if use.datatypes else "",
        )
    return cards


def _labels(graph: LoadedGraph, term: str) -> tuple[str, tuple[str, ...]]:
    found = sorted(
        graph.names.labels(term),
        key=lambda name: (name.kind == "skos:altLabel", name.language.split("-")[0] not in ("en", ""), name.language, name.value),
    )
    values = tuple(dict.fromkeys(name.value for name in found))
    if values:
        return values[0], values[1:]
    name = name_of(term)
    return (local_name(iri_of(term)) if name is None else local_name(name) if re.fullmatch(r"\w+", name) else name), ()


_EDITABLE = {field.name for field in fields(PredicateCard)} - {"iri", "inverse_of"}


def cards_to_yaml(cards: Mapping[str, PredicateCard]) -> str:
    """The cards as YAML for people to edit; what is at its default is left out."""
    import yaml

    rows: list[dict[str, Any]] = []
    for card in sorted(cards.values(), key=lambda card: card.iri):
        row: dict[str, Any] = {"predicate": card.iri, "label": card.label}
        for field in fields(card):
            value = getattr(card, field.name)
            if field.name in _EDITABLE - {"label"} and value != field.default:
                row[field.name] = list(value) if isinstance(value, tuple) else value
        rows.append(row)
    return str(yaml.safe_dump(rows, sort_keys=False, allow_unicode=True, width=120))


def apply_yaml(cards: Mapping[str, PredicateCard], path: Path) -> dict[str, PredicateCard]:
    """The cards with what people wrote in a YAML file. Raises `UsageError` naming the entry that is wrong."""
    import yaml

    try:
        rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise storage_error(error, str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"not YAML: {error}", where=str(path)) from error
    if not isinstance(rows, list):
        raise UsageError("a list of predicate cards is expected", where=str(path), todo="See `kgaudit cards --help`.")
    merged = dict(cards)
    for number, row in enumerate(rows, 1):
        where = f"{path}, card {number}"
        if not isinstance(row, dict) or not isinstance(row.get("predicate"), str):
            raise UsageError("a card needs `predicate`, an IRI", where=where)
        values = {name: value for name, value in row.items() if name != "predicate"}
        if unknown := sorted(set(values) - _EDITABLE):
            raise UsageError(f"unknown field {unknown[0]!r}", where=where, todo=f"Fields are {', '.join(sorted(_EDITABLE))}.")
        term = iri_term(row["predicate"])
        base = merged.get(term) or PredicateCard(iri=row["predicate"], label=local_name(row["predicate"]))
        merged[term] = replace(base, **{name: _checked(base, name, value, where) for name, value in values.items()})
    return merged


def _checked(base: PredicateCard, name: str, value: Any, where: str) -> Any:
    current = getattr(base, name)
    if isinstance(current, tuple):
        if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise UsageError(f"{name} must be a list of texts", where=where)
        return tuple(value)
    if type(value) is not type(current):
        kinds = {bool: "true or false", str: "a text"}
        raise UsageError(f"{name} must be {kinds[type(current)]}", where=where)
    return value
