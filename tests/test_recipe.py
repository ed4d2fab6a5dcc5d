"""Recipes of judges: read whole, or refused with the field that is wrong."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from kgaudit.errors import StorageError, UsageError
from kgaudit.training.judge import mixture
from kgaudit.training.pairs import Pair, made_pairs, swapped_rows, unlabelled_pairs
from kgaudit.training.phenomena import generate
from kgaudit.training.recipe import Stage, read_recipe

GOOD = """
data: data
made: 10
student:
  base: models/base
  layers: 6
  stages:
    - {name: one, learning_rate: 0.0001, shares: {made: 1}}
"""


def _write(folder: Path, text: str) -> Path:
    (folder / "recipe.yaml").write_text(text)
    return folder / "recipe.yaml"


def test_paths_are_beside_the_recipe_and_fields_have_defaults(tmp_path: Path) -> None:
    recipe = read_recipe(_write(tmp_path, GOOD))
    assert recipe.data == tmp_path / "data"
    assert recipe.student.base == tmp_path / "models" / "base"
    assert (recipe.seed, recipe.cue, recipe.teacher, recipe.student.stages[0].batch) == (0, "train", None, 32)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("data: data", "", "data is missing"),
        ("layers: 6", "layers: many", "student.layers: 'many' is not a int"),
        ("made: 10", "mode: 10", "mode: no such field"),
        ("{made: 1}", "{wikipedia: 1}", "no such source: wikipedia"),
        ("{made: 1}", "{made: 0}", "not a number above 0"),
        ("shares: {made: 1}", "keep: [3, 1], shares: {made: 1}", "not the numbers of layers"),
        ("made: 10", "cue: none", "neither train nor shipped"),
        ("student:", "student: [", "not YAML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_recipe(_write(tmp_path, GOOD.replace(old, new)))
    assert said in str(caught.value)
    assert "recipe.yaml" in str(caught.value)


def test_a_recipe_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        read_recipe(tmp_path / "none.yaml")


def test_the_recipe_that_ships_is_one() -> None:
    recipe = read_recipe(Path(str(files("kgaudit.training") / "judge.yaml")))
    assert [stage.name for stage in recipe.student.stages] == ["reading", "triples", "taught"]


TEACHER = """
teacher:
  base: models/base
  layers: 12
  grown: true
  stages:
    - {name: triples, learning_rate: 0.0001, shares: {made: 1}}
"""
TAUGHT = "    - {name: taught, learning_rate: 0.0001, taught: true, shares: {made: 1}}\n"


def test_a_teacher_and_taught_stages_need_one_another(tmp_path: Path) -> None:
    recipe = read_recipe(_write(tmp_path, GOOD + TAUGHT + TEACHER))
    assert recipe.teacher is not None
    assert (recipe.teacher.grown, [stage.taught for stage in recipe.student.stages]) == (True, [False, True])
    for text in (GOOD + TAUGHT, GOOD + TEACHER):
        with pytest.raises(UsageError, match="need one another"):
            read_recipe(_write(tmp_path, text))


def test_a_teacher_grows_only_from_what_was_trained(tmp_path: Path) -> None:
    only_taught = GOOD.replace("{name: one, learning_rate: 0.0001,", "{name: one, learning_rate: 0.0001, taught: true,")
    with pytest.raises(UsageError, match="nothing of the student yet"):
        read_recipe(_write(tmp_path, only_taught + TEACHER))
    with pytest.raises(UsageError, match="nothing of the student yet"):
        read_recipe(_write(tmp_path, GOOD.replace("  layers: 6", "  layers: 6\n  grown: true") + TAUGHT + TEACHER))


def test_a_mixture_takes_shares_and_is_the_same_again() -> None:
    pairs = {"made": [Pair(str(n), "", "supports", 1.0, "made", "", "") for n in range(100)]}
    twice = mixture(pairs, Stage("s", 1e-4, 8, (("made", 2.25),)), 3)
    assert len(twice) == 225
    assert twice == mixture(pairs, Stage("s", 1e-4, 8, (("made", 2.25),)), 3)
    with pytest.raises(UsageError, match="no pairs of reviewed"):
        mixture(pairs, Stage("s", 1e-4, 8, (("reviewed", 1.0),)), 3)


def test_made_material_becomes_pairs_with_both_names_marked() -> None:
    pairs = made_pairs(generate(5, 200))
    assert len(pairs) > 180
    assert all("@" in pair.claim and "#" in pair.claim for pair in pairs)
    assert {pair.target for pair in pairs} == {"supports", "refutes", "neither"}


def test_swaps_leave_alone_what_may_follow() -> None:
    def row(doc: int, p: str, s_type: str = "PER", o_type: str = "LOC") -> dict[str, object]:
        return {"doc_id": f"d{doc}", "s_label": f"s{doc}", "o_label": f"o{doc}", "s_aliases": [], "o_aliases": [], "s_type": s_type,
                "o_type": o_type, "p": f"urn:{p}", "p_label": p, "stated": "supports"}  # fmt: skip

    rows = [row(n, "born") for n in range(20)] + [row(n, "lives") for n in range(20)] + [row(n, "died") for n in range(20, 40)]
    made = swapped_rows(rows, 0, 1.0)
    assert made
    assert all(one["stated"] == "neither" for one in made)
    assert {(int(one["doc_id"][1:]) < 20, one["p_label"]) for one in made} <= {(True, "died"), (False, "born"), (False, "lives")}


def test_swapped_predicates_are_drawn_as_often_as_they_are_stated() -> None:
    def row(doc: int, p: str) -> dict[str, object]:
        return {"doc_id": f"d{doc}", "s_label": f"s{doc}", "o_label": f"o{doc}", "s_aliases": [], "o_aliases": [], "s_type": "PER",
                "o_type": "LOC", "p": f"urn:{p}", "p_label": p, "stated": "supports"}  # fmt: skip

    rows = [row(n, "born") for n in range(200)] + [row(n, "rare") for n in range(200, 210)] + [row(n, "lives") for n in range(210, 410)]
    made = [one["p_label"] for one in swapped_rows(rows, 0, 1.0)]
    assert made.count("born") > 150
    assert made.count("rare") < 40  # drawn evenly it would be 200


def _corpus(folder: Path) -> None:
    texts = [f"In the autumn Ada Quill went from Orvik to Tarn with Milo Brandt, {n} days in all." for n in range(30)]
    documents = [{"doc_id": f"d{n}", "title": "", "text": text, "lang": "en", "source": ""} for n, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    for split, first in (("train", 0), ("dev", 10), ("test", 20)):
        rows = [
            {"p": "urn:p", "p_label": "visited", "label": True, "evidence": [{"doc_id": f"d{n}"}]} for n in range(first, first + 10)
        ]
        (folder / f"triples-{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_unlabelled_pairs_leave_out_what_dev_and_test_stand_on(tmp_path: Path) -> None:
    _corpus(tmp_path)
    pairs = unlabelled_pairs(tmp_path, 100, 1)
    assert {pair.group for pair in pairs} == {f"d{n}" for n in range(10)}
    assert {pair.target for pair in pairs} == {"unlabelled"}
    assert all("visited" in pair.claim and "@" in pair.text and "#" in pair.text for pair in pairs)
    assert pairs == unlabelled_pairs(tmp_path, 100, 1)
    assert len(unlabelled_pairs(tmp_path, 4, 1)) == 4
