"""Recipes of judges: read whole, or refused with the field that is wrong."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from kgaudit.errors import StorageError, UsageError
from kgaudit.training.judge import mixture
from kgaudit.training.pairs import Pair, made_pairs, swapped_rows
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
    assert [stage.name for stage in recipe.student.stages] == ["reading", "triples"]


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
