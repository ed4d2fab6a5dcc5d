"""The embedded judge: what it must get right whatever its weights are, and a few plain sentences that any weights must get right."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from kgaudit.claims import Claim, Entity, PredicateCard
from kgaudit.documents import Passage
from kgaudit.errors import ModelError
from kgaudit.models.cue import read_model
from kgaudit.models.embedded import load_default, load_judge
from kgaudit.models.features import HASH_BITS, Hashed, dot
from kgaudit.models.mentions import find_mentions
from kgaudit.models.reading import read
from kgaudit.models.trees import Trees
from kgaudit.models.values import XSD
from kgaudit.triples import Triple
from kgaudit.verdicts import Stance


def _claim(s: str, p: str, o: str, *, s_aliases: tuple[str, ...] = (), kind: str = "", symmetric: bool = False) -> Claim:
    subject = Entity("", s, s_aliases)
    thing = Entity("", o, datatype=XSD + kind, value=o) if kind else Entity("", o)
    return Claim("", Triple("", "", ""), subject, PredicateCard("", p, symmetric=symmetric), thing)


def _passage(text: str, title: str = "", language: str = "en") -> Passage:
    return Passage("d", 0, len(text), text, title, language)


def _stance(claim: Claim, text: str, title: str = "", language: str = "en") -> Stance:
    return load_default().judge([(claim, _passage(text, title, language))])[0]


def test_every_stance_sums_to_one_and_is_the_same_again_in_any_batch() -> None:
    texts = ["Ada Quist was born in Pecs.", "Pecs lies far off.", "Ada Quist and Lars Holt met in Pecs. Later they left.", ""]
    pairs = [(_claim("Ada Quist", "place of birth", "Pecs"), _passage(text)) for text in texts]
    judge = load_default()
    together = judge.judge(pairs)
    assert all(stance.supports + stance.refutes + stance.neither == pytest.approx(1.0) for stance in together)
    fresh = load_judge()
    assert [fresh.judge([pair])[0] for pair in reversed(pairs)][::-1] == together
    assert judge.judge([]) == []


def test_a_plain_sentence_supports_and_the_other_place_does_not() -> None:
    text = "Ada Quist was born in Pecs, grew up in Szeged and died in Trieste."
    born, died = _claim("Ada Quist", "place of birth", "Pecs"), _claim("Ada Quist", "place of birth", "Trieste")
    assert _stance(born, text).supports > 0.6
    assert _stance(born, text).supports > _stance(died, text).supports + 0.1


def test_a_passage_without_both_names_supports_nothing() -> None:
    stance = _stance(_claim("Ada Quist", "place of birth", "Pecs"), "Ada Quist was born in Trieste.")
    assert stance.supports < 0.2
    assert stance.neither > 0.8
    assert (stance.start, stance.end) == (0, 0)
    assert _stance(_claim("Studiolo", "located in", "Orvik"), "The What? Studio* lies in Orvik.").supports < 0.2


@pytest.mark.parametrize(
    ("text", "title", "quote"),
    [
        ("It rained. Ada Quist was born in Pecs. It was cold.", "", "Ada Quist was born in Pecs."),
        ("It rained. Ada Quist was a painter. She was born in Pecs. Fin.", "", "She was born in Pecs."),
        ("A painter of note. The family lived in Pecs.", "Ada Quist", "The family lived in Pecs."),
        ("Ada Quist painted. Many came. The town was Pecs. Fin.", "", "Ada Quist painted. Many came. The town was Pecs."),
    ],
)
def test_the_span_holds_the_deciding_sentences(text: str, title: str, quote: str) -> None:
    stance = _stance(_claim("Ada Quist", "place of birth", "Pecs"), text, title)
    assert text[stance.start : stance.end] == quote


def test_spans_fit_texts_whose_folding_changes_their_length() -> None:
    text = "Straße\u0301 am ﬁnster\u200ben Tor. Ada\u00a0Quist was born in Pe\u0301cs. Ende."
    stance = _stance(_claim("Ada Quist", "place of birth", "Pécs"), text)
    assert text[stance.start : stance.end] == "Ada\u00a0Quist was born in Pe\u0301cs."


def test_a_denied_fact_is_refuted_and_its_neighbour_is_not() -> None:
    text = "Ada Quist works for Venn Labs; she was never employed by Hartwell Systems."
    denied = _stance(_claim("Ada Quist", "employer", "Hartwell Systems"), text)
    assert denied.refutes > 0.5
    assert "never" in denied.note
    assert _stance(_claim("Ada Quist", "employer", "Venn Labs"), text).refutes < 0.5


def test_what_has_ended_denies_only_a_claim_about_the_present() -> None:
    text = "Until 2009 Kelda Harbour had belonged to Aakre Shipping."
    assert _stance(_claim("Kelda Harbour", "current owner", "Aakre Shipping"), text).refutes > 0.5
    assert _stance(_claim("Kelda Harbour", "owned by", "Aakre Shipping"), text).refutes < 0.5


def test_nothing_is_refuted_without_a_positive_reason() -> None:
    stance = _stance(
        _claim("Orvik Shipping", "owned by", "Tarn Holdings"), "Orvik Shipping and Tarn Holdings both exhibited at the fair."
    )
    assert stance.refutes < 0.5


def test_symmetric_relations_are_never_turned_round() -> None:
    text = "Ada Quist is married to Lars Holt."
    for s, o in (("Ada Quist", "Lars Holt"), ("Lars Holt", "Ada Quist")):
        assert _stance(_claim(s, "spouse", o), text).refutes == 0.0
        assert _stance(_claim(s, "knows", o, symmetric=True), text).refutes == 0.0


def test_a_self_loop_needs_two_mentions_and_a_text_that_relates_them() -> None:
    lists = "Norrby Pumps includes three works, at Orvik and Tarn; Norrby Pumps is a subsidiary of Sund Group."
    for predicate in ("includes", "subsidiary of"):
        stance = _stance(_claim("Norrby Pumps", predicate, "Norrby Pumps"), lists)
        assert stance.supports < 0.1
        assert "same" in stance.note
    assert _stance(_claim("Norrby Pumps", "includes", "Norrby Pumps"), "Norrby Pumps includes three works.").supports < 0.2
    stated = _stance(_claim("Alder Trust", "trustee", "Alder Trust"), "The Alder Trust acts as trustee of the Alder Trust.")
    assert "same" not in stated.note


def test_an_acronym_that_the_text_explains_as_another_body_is_no_mention() -> None:
    claim = _claim("NMA", "dissolved", "1998", s_aliases=("Norrby Marine Authority",), kind="gYear")
    assert _stance(claim, "The National Mapping Agency (NMA) was dissolved in 1998.").supports < 0.2
    assert _stance(claim, "NMA (National Mapping Agency) was dissolved in 1998.").supports < 0.2
    assert _stance(claim, "The Norrby Marine Authority (NMA) was dissolved in 1998.").end > 0


def test_literals_are_matched_by_value() -> None:
    text = "Norrby Pumps reported revenue of 4,523,000 euros and employs 4,523 people."
    assert _stance(_claim("Norrby Pumps", "revenue in euros", "4523000", kind="integer"), text).end > 0
    assert _stance(_claim("Norrby Pumps", "employees", "4532", kind="integer"), text).supports < 0.2
    german = "Orvik hat 12.500 Einwohner."
    assert _stance(_claim("Orvik", "inhabitants", "12500", kind="integer"), german, language="de").supports > 0.5
    assert _stance(_claim("Orvik", "inhabitants", "12", kind="integer"), german, language="de").supports < 0.2


def test_other_languages_go_by_position_alone() -> None:
    claim = _claim("윤석화", "직업", "배우")
    near = _stance(claim, "윤석화는 배우다.", language="ko")
    far = _stance(
        claim, "윤석화는 서울에서 태어나 오랫동안 많은 사람과 함께 일하며 여러 곳을 다녔고 그의 친구는 배우다.", language="ko"
    )
    assert near.supports > far.supports
    assert near.supports < 0.9
    assert near.refutes == 0.0


def test_weighing_takes_the_strongest_and_names_it_first() -> None:
    judge = load_default()
    claim = _claim("Ada Quist", "place of birth", "Pecs")
    passages = [_passage("Nothing here."), _passage("Ada Quist saw Pecs from afar once."), _passage("Ada Quist was born in Pecs.")]
    stances = judge.judge([(claim, passage) for passage in passages])
    weighing = judge.weigh(claim, passages, stances)
    assert weighing.p_supported == max(stance.supports for stance in stances)
    assert weighing.deciding[0] == 2
    assert 0 not in weighing.deciding
    nothing = judge.weigh(claim, [], [])
    assert nothing.p_supported < 0.2
    assert nothing.deciding == ()


def test_trees_agree_with_a_walk_by_hand() -> None:
    trees = Trees(
        feature=np.array([[0, 0, 1, 0, 0]], np.int16), threshold=np.array([[0.5, 0, 2.0, 0, 0]], np.float32),
        left=np.array([[1, 1, 3, 3, 4]], np.int16), right=np.array([[2, 1, 4, 3, 4]], np.int16),
        value=np.array([[0, -1.0, 0, 2.0, 3.0]], np.float32), base=0.25, depth=2,
    )  # fmt: skip
    rows = np.array([[0.5, 9.0], [0.6, 2.0], [0.6, 2.1]])
    assert trees.score(rows).tolist() == [-0.75, 2.25, 3.25]


def test_sparse_products_agree_with_dense_ones() -> None:
    weights = np.zeros(1 << HASH_BITS, np.float32)
    weights[[3, 7]] = 2.0, -1.0
    rows = Hashed(np.array([3, 7, 7]), np.array([1.0, 0.5, 2.0], np.float32), np.array([0, 2, 2, 3]))
    assert dot(rows, weights).tolist() == [1.5, 0.0, -2.0]


def test_surnames_and_pronouns_count_only_where_the_full_name_stands() -> None:
    claim = _claim("Rudolph Palm", "place of birth", "Orvik")
    assert find_mentions(claim, read("Palm was born in Orvik.", "en"), None).links == ()
    linked = find_mentions(claim, read("Rudolph Palm wrote songs. Palm was born in Orvik.", "en"), None).links
    assert linked[0].s.kind == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Stuart John Findlay was born in Orvik.", False),  # another John
        ("John was born in Orvik.", True),
        ("John MacDonald met Stuart John Findlay. John was born in Orvik.", True),
    ],
)
def test_a_first_name_inside_another_name_is_another_person(text: str, named: bool) -> None:
    claim = _claim("John MacDonald", "place of birth", "Orvik", s_aliases=("John",))
    assert bool(find_mentions(claim, read(text, "en"), None).links) == named


def test_weights_that_are_missing_damaged_or_of_another_version_say_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_model(tmp_path)
    shipped = Path(str(files("kgaudit.models") / "data"))
    for name in ("cue.npz", "cue.json"):
        shutil.copy(shipped / name, tmp_path / name)
    settings = json.loads((tmp_path / "cue.json").read_text())
    (tmp_path / "cue.json").write_text(json.dumps(settings | {"format": 999}))
    with pytest.raises(ModelError, match="another version"):
        read_model(tmp_path)
    (tmp_path / "cue.json").write_text(json.dumps(settings))
    (tmp_path / "cue.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(ModelError, match="cannot be read"):
        read_model(tmp_path)


def test_the_shipped_weights_are_small_and_described() -> None:
    folder = Path(str(files("kgaudit.models") / "data"))
    assert sum(path.stat().st_size for path in folder.iterdir()) < 80e6
    assert load_default().digest in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
