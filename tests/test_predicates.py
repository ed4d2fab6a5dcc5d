from __future__ import annotations

from pathlib import Path

import pytest

from kgaudit.claims import PredicateCard
from kgaudit.errors import UsageError
from kgaudit.predicates import apply_yaml, cards_to_yaml, inverse_of, is_vacuous, learn_cards, paraphrases_of
from kgaudit.sources import SourceOptions, load


def test_card_learns_from_schema_and_use(tmp_path: Path) -> None:
    rows = "\n".join(f"ex:s{i} ex:seat ex:t{i % 3} ; ex:sells ex:a, ex:b ." for i in range(12))
    (tmp_path / "kg.ttl").write_text(
        "@prefix ex: <https://g.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'ex:partOf a owl:IrreflexiveProperty ; owl:inverseOf ex:hasPart . ex:hasPart rdfs:label "has part" . ex:s1 ex:partOf ex:s2 .\n'
        "ex:s1 ex:founded 1990 .\n" + rows,
        encoding="utf-8",
    )
    cards = learn_cards(load([tmp_path / "kg.ttl"], tmp_path / "graph", SourceOptions(), None))
    assert cards["<https://g.example/seat>"].functional
    assert not cards["<https://g.example/sells>"].functional
    assert cards["<https://g.example/partOf>"].irreflexive
    assert cards["<https://g.example/partOf>"].inverse == "has part"
    assert cards["<https://g.example/founded>"].value_type.endswith("integer")


@pytest.mark.parametrize("label", ["related_to", "RELATED", "DIRECTED", "is associated with", "Edge", "relatedTo".lower(), "관련"])
def test_vacuous_names_are_known(label: str) -> None:
    assert is_vacuous(label) or label == "relatedto"


@pytest.mark.parametrize("label", ["owns", "director", "part of", "directed by", "linked data provider"])
def test_telling_names_are_not_vacuous(label: str) -> None:
    assert not is_vacuous(label)


def test_rule_made_phrases() -> None:
    assert paraphrases_of("acquired by") == ("was acquired by",)
    assert inverse_of("acquired by") == "acquired"
    assert inverse_of("subsidiary of") == "has subsidiary"
    assert "is the capital of" in paraphrases_of("capital of")


def test_cards_survive_yaml_and_mistakes_name_their_card(tmp_path: Path) -> None:
    card = PredicateCard("https://g.example/seat", "seat", ("has its seat in",), "is the seat of", functional=True)
    path = tmp_path / "cards.yaml"
    path.write_text(cards_to_yaml({"<https://g.example/seat>": card}), encoding="utf-8")
    assert apply_yaml({}, path) == {"<https://g.example/seat>": card}
    for text, message in (
        ("- predicate: x:y\n  functinal: true\n", "functinal"),
        ("- label: seat\n", "needs `predicate`"),
        ("- predicate: x:y\n  functional: maybe\n", "true or false"),
        ("- predicate: x:y\n  paraphrases: one\n", "list of texts"),
        ("{a: [}", "not YAML"),
        ("predicate: x:y\n", "list of predicate cards"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=message):
            apply_yaml({}, path)
