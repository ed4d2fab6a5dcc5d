from __future__ import annotations

from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

from kgaudit.errors import StorageError, UsageError
from kgaudit.gate.policy import Policy, read_policy

KEY = "a" * 64


def policy_of(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "gate.yaml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path)


def mistakes(tmp_path: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        policy_of(tmp_path, text)
    return str(caught.value)


def test_example_that_ships_is_a_policy_that_shows_the_defaults(tmp_path: Path) -> None:
    text = (files("kgaudit.gate") / "example.yaml").read_text(encoding="utf-8")
    found, default = policy_of(tmp_path, text), Policy(threshold=0.9)
    assert found.threshold == 0.9
    assert found.predicates == (("https://graph.example/seat", 0.85),)
    assert found.overrides[0].expires == date(2027, 1, 31)
    for name in ("confidence", "estimator", "minimum_labels", "minimum_labels_by_group", "maximum_unsure", "maximum_not_judged",
                 "card_required", "card_maximum_age_days", "card_minimum_youden_j"):  # fmt: skip
        assert getattr(found, name) == getattr(default, name), name


def test_threshold_is_all_that_is_needed(tmp_path: Path) -> None:
    found = policy_of(tmp_path, "accuracy: {threshold: 0.9}")
    assert (found.threshold, found.card_required, found.minimum_labels) == (0.9, True, 100)
    assert len(found.digest) == 64
    assert policy_of(tmp_path, "accuracy: {threshold: 0.9}\nverifier_card: {maximum_age_days: null}").card_maximum_age_days is None


def test_every_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    text = f"""accuracy:
  treshold: 0.9
  confidence: 95
  estimator: best
  predicates:
    seat: 90
    owner: high
labels:
  minimum: 0
  minimum: 50
limits: [1]
verifier_card:
  required: maybe
  maximum_age_days: 1.5
overrides:
  - key: {KEY}
    author: Ada
    reason: ""
    expires: 31.01.2027
  - key: {KEY[:10]}
    author: Ada
    reason: why
  - accepted
extra: 1
"""
    told = mistakes(tmp_path, text)
    for line, words in [
        (
            2,
            "accuracy has no key 'treshold' (do you mean 'threshold'?); its keys are threshold, predicates, sources,",
        ),
        (2, "accuracy.threshold is missing"),
        (3, "confidence is 95"),
        (4, "estimator is 'best', and not one of auto, wilson, clopper_pearson, jeffreys, ppi"),
        (6, "the threshold of seat is 90, and not between 0 and 1 (write 0.9 for 90 %)"),
        (7, "the threshold of owner is 'high', and not a number"),
        (9, "minimum is '0', and not a whole number above 0"),
        (10, "'minimum' stands twice in labels"),
        (11, "limits must be a mapping with not_judged, not_enough_evidence, refuted"),
        (13, "required is 'maybe', and not true or false"),
        (14, "maximum_age_days is '1.5'"),
        (18, "reason is empty, and not a text"),
        (19, "expires is '31.01.2027', and not a date like 2027-01-31"),
        (20, "an override needs expires"),
        (20, f"key is '{KEY[:10]}', and not 64 hexadecimal digits"),
        (23, "an override must be a mapping"),
        (24, "the policy has no key 'extra'"),
    ]:
        assert f"line {line}: {words}" in told, (line, words, told)
    assert told.index("line 2:") < told.index("line 24:")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the file is empty"),
        ("accuracy:\n  threshold: [", "this is no YAML"),
        ("- 1", "line 1: the policy must be a mapping"),
        ("accuracy: {threshold: 1.0}", "not between 0 and 1"),
        ("accuracy: {threshold: yes}", "not a number"),
        ("accuracy: {threshold: .nan}", "the threshold is '.nan', and not a number"),
        ("accuracy: {threshold: 0.9}\nlimits: {refuted: -0.1}", "line 2: refuted is -0.1, and not a share"),
        ("accuracy: {threshold: 0.9}\n? [a]\n: 1", "line 2: a key of the policy is no name"),
        ("a: &x 1\nb: *y", "alias"),
        ("accuracy: 0.9", "line 1: accuracy must be a mapping"),
    ],
)
def test_what_is_no_policy_says_why(tmp_path: Path, text: str, words: str) -> None:
    assert words in mistakes(tmp_path, text)


def test_override_twice_is_a_mistake(tmp_path: Path) -> None:
    one = f"  - {{key: {KEY}, author: Ada, reason: why, expires: 2027-01-31}}\n"
    assert "line 4: the key aaaaaaaaaaaa... stands twice" in mistakes(tmp_path, f"accuracy: {{threshold: 0.9}}\noverrides:\n{one}{one}")


def test_policy_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"none\.yaml"):
        read_policy(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(UsageError, match="UTF-8"):
        read_policy(tmp_path / "bad.yaml")
