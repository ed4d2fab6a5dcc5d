"""What training writes is what the judge reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from kgaudit.errors import InputError, StorageError
from kgaudit.models.cue import read_model
from kgaudit.models.embedded import EmbeddedJudge, Found
from kgaudit.models.features import predicate_words, see
from kgaudit.models.mentions import find_mentions
from kgaudit.models.reading import read
from kgaudit.models.trees import Trees
from kgaudit.training.cue import Calibration, Example, _fit_trees, claim_of, export_trees, fit, save, train

_PEOPLE = "Ada Bo Cai Dag Eva Finn Gro Hal Ivo Jon".split()
_TOWNS = "Orvik Tarn Halden Norrby Sund Pecs Alder Marn Strand Umby".split()


def _examples() -> list[Example]:
    """Births (supported) and visits (not) of invented people, as many of each."""
    out = []
    for n in range(200):
        person, town = f"{_PEOPLE[n % 10]} {_PEOPLE[n // 10 % 10]}sen", _TOWNS[(n + n // 10) % 10]
        born = n % 2 == 0
        row = {
            "s_label": person,
            "s_aliases": [],
            "p": "",
            "p_label": ("place of birth", "born in")[n % 4 // 2],
            "o_label": town,
            "o_aliases": [],
        }
        reading = read(f"{person} was born in {town}." if born else f"{person} once paid {town} a visit.", "en")
        out.append(Example(claim_of(row), reading, find_mentions(claim_of(row), reading, None), born, ("t", n), f"d{n}"))
    return out


def test_exported_trees_score_as_the_fitted_ones_do() -> None:
    random = np.random.RandomState(0)
    x = np.round(random.normal(size=(600, 5)), 1)  # ties on thresholds
    model = _fit_trees(x, x[:, 0] + x[:, 1] * x[:, 2] > 0, np.ones(len(x)), 0, max_iter=20)
    arrays, numbers = export_trees(model)
    assert Trees(**arrays, **numbers).score(x) == pytest.approx(model.decision_function(x), abs=1e-4)


def test_what_is_fitted_is_saved_read_back_and_the_same_for_a_seed(tmp_path: Path) -> None:
    examples = _examples()
    code = predicate_words("place of birth").label_code
    calibration = Calibration(
        ((1.0, 0.0), (1.0, 0.5), (1.0, -0.5)),
        {code: 1},
        0.07,
        0.7,
        {"gap": -0.4, "subject_first": 0.4, "label": 1.0, "shift": 1.0, "title": 0.7},
    )
    for name in ("one", "two"):
        fitted = fit(examples, seed=3)
        save([fitted, fitted], calibration, tmp_path / name)
    assert read_model(tmp_path / "one").digest == read_model(tmp_path / "two").digest
    pairs = [(example.claim, example.reading, example.mentions) for example in examples[:20]]
    found = [Found(i, claim, text, mentions, "") for i, (claim, text, mentions) in enumerate(pairs)]
    read_back = EmbeddedJudge(read_model(tmp_path / "one"))._scores(found)
    shift = np.array([0.5 if claim.predicate.label == "place of birth" else 0.0 for claim, _, _ in pairs])
    codes = [predicate_words(claim.predicate.label).label_code for claim, _, _ in pairs]
    assert read_back == pytest.approx(1 / (1 + np.exp(-(fitted.raw(see(pairs), codes) + shift))), abs=0.05)
    model = read_model(tmp_path / "one")
    assert [model.line_of(one) for one in (code, 1)] == [1, 2]
    assert read_back[[example.label for example in examples[:20]]].min() > 0.5


def test_data_that_is_missing_or_no_json_is_named(tmp_path: Path) -> None:
    with pytest.raises((InputError, StorageError)):
        train(tmp_path, tmp_path / "out")
    folder = tmp_path / "wiki-triples"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"doc_id": "d", "text": "Words."}\n')
    (folder / "triples-train.jsonl").write_text("not json\n")
    with pytest.raises(InputError, match=r"triples-train\.jsonl"):
        train(tmp_path, tmp_path / "out")
