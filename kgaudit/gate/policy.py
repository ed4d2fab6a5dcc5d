"""The gate's policy file: validated as a whole, every mistake with its line.

`kgaudit/gate/example.yaml` shows every key with what it means.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from kgaudit.errors import UsageError, storage_error

if TYPE_CHECKING:
    import yaml

EstimatorChoice = Literal["auto", "wilson", "clopper_pearson", "jeffreys", "ppi"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Override:
    """A triple that a person accepts although it was refuted; it counts to the end of the day `expires`."""

    key: str
    author: str
    reason: str
    expires: dt.date
    line: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What a KG version must show to pass. Shares lie between 0 and 1; a limit that is None is not asked for."""

    threshold: float
    predicates: tuple[tuple[str, float], ...] = ()
    sources: tuple[tuple[str, float], ...] = ()
    confidence: float = 0.95
    estimator: EstimatorChoice = "auto"
    minimum_labels: int = 100
    minimum_labels_by_group: int = 30
    maximum_unsure: float = 0.2
    maximum_not_judged: float = 0.05
    maximum_not_enough_evidence: float | None = None
    maximum_refuted: float | None = None
    card_required: bool = True
    card_maximum_age_days: int | None = 180
    card_minimum_youden_j: float = 0.0
    overrides: tuple[Override, ...] = ()
    path: str = ""
    digest: str = ""


def read_policy(path: Path) -> Policy:
    """The policy of a file. Raises `UsageError` that lists every mistake with its line, and `StorageError`."""
    import yaml

    try:
        content = path.read_bytes()
    except OSError as error:
        raise storage_error(error, str(path)) from error
    todo = "`kgaudit gate --example` prints a policy with every key."
    try:
        node = yaml.compose(content.decode("utf-8-sig"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise UsageError(f"not UTF-8 (byte {error.start:,})", where=str(path), todo=todo) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"line {line}: this is no YAML: {error.problem}", where=str(path), todo=todo) from error
    except yaml.YAMLError as error:
        raise UsageError(f"this is no YAML: {' '.join(str(error).split())}", where=str(path), todo=todo) from error
    reader = _Reader()
    policy = reader.policy(node, str(path), sha256(content).hexdigest())
    if reader.mistakes:
        ordered = [f"line {line}: {text}" for line, text in sorted(reader.mistakes)]
        raise UsageError("; ".join(ordered), where=str(path), todo=todo)
    assert policy is not None
    return policy


class _Reader:
    """Walks the nodes of a document and keeps every mistake, so that one call tells them all."""

    def __init__(self) -> None:
        self.mistakes: list[tuple[int, str]] = []

    def policy(self, node: yaml.Node | None, path: str, digest: str) -> Policy | None:
        if node is None:
            self.mistakes.append((1, "the file is empty; `accuracy: {threshold: 0.9}` is the shortest policy"))
            return None
        top = self.mapping(node, "the policy", ("accuracy", "labels", "limits", "verifier_card", "overrides"))
        accuracy = self.part(top, "accuracy", ("threshold", "predicates", "sources", "confidence", "estimator"))
        labels = self.part(top, "labels", ("minimum", "minimum_by_group", "maximum_unsure"))
        limits = self.part(top, "limits", ("not_judged", "not_enough_evidence", "refuted"))
        card = self.part(top, "verifier_card", ("required", "maximum_age_days", "minimum_youden_j"))
        if "threshold" not in accuracy:
            line = _line(top.get("accuracy", node))
            self.mistakes.append((line, "accuracy.threshold is missing: the accuracy below which no version passes"))
        default = Policy(threshold=1.0)
        age = self.value(card, "maximum_age_days", self.count_or_none, default.card_maximum_age_days)
        return Policy(
            threshold=self.value(accuracy, "threshold", self.threshold, default.threshold),
            predicates=self.value(accuracy, "predicates", self.thresholds, ()),
            sources=self.value(accuracy, "sources", self.thresholds, ()),
            confidence=self.value(accuracy, "confidence", self.confidence, default.confidence),
            estimator=self.value(accuracy, "estimator", self.estimator, default.estimator),
            minimum_labels=self.value(labels, "minimum", self.count, default.minimum_labels),
            minimum_labels_by_group=self.value(labels, "minimum_by_group", self.count, default.minimum_labels_by_group),
            maximum_unsure=self.value(labels, "maximum_unsure", self.share, default.maximum_unsure),
            maximum_not_judged=self.value(limits, "not_judged", self.share, default.maximum_not_judged),
            maximum_not_enough_evidence=self.value(limits, "not_enough_evidence", self.share, None),
            maximum_refuted=self.value(limits, "refuted", self.share, None),
            card_required=self.value(card, "required", self.truth, default.card_required),
            card_maximum_age_days=age,
            card_minimum_youden_j=self.value(card, "minimum_youden_j", self.share, default.card_minimum_youden_j),
            overrides=self.overrides(top.get("overrides")),
            path=path,
            digest=digest,
        )

    def mapping(self, node: yaml.Node, what: str, known: Sequence[str] | None = None) -> dict[str, yaml.Node]:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            self.mistakes.append((_line(node), f"{what} must be a mapping" + (f" with {', '.join(known)}" if known else "")))
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if not name:
                self.mistakes.append((_line(key), f"a key of {what} is no name"))
            elif known is not None and name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f" (do you mean {near[0]!r}?)" if near else ""
                self.mistakes.append((_line(key), f"{what} has no key {name!r}{hint}; its keys are {', '.join(known)}"))
            elif name in found:
                self.mistakes.append((_line(key), f"{name!r} stands twice in {what}"))
            else:
                found[name] = value
        return found

    def part(self, top: dict[str, yaml.Node], name: str, known: Sequence[str]) -> dict[str, yaml.Node]:
        return self.mapping(top[name], name, known) if name in top else {}

    def value(self, part: dict[str, yaml.Node], name: str, read: Callable[[yaml.Node, str], T], default: T) -> T:
        if name not in part:
            return default
        try:
            return read(part[name], name)
        except _Mistake as mistake:
            self.mistakes.append((_line(part[name]), str(mistake)))
            return default

    def thresholds(self, node: yaml.Node, name: str) -> tuple[tuple[str, float], ...]:
        found = self.mapping(node, name)
        return tuple((one, self.value(found, one, self.threshold, 1.0)) for one in found)

    def overrides(self, node: yaml.Node | None) -> tuple[Override, ...]:
        import yaml

        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            self.mistakes.append((_line(node), "overrides must be a list"))
            return ()
        read = [self.override(one) for one in node.value]
        found = [one for one in read if one is not None]
        keys = [one.key for one in found]
        self.mistakes += [(one.line, f"the key {one.key[:12]}... stands twice") for i, one in enumerate(found) if one.key in keys[:i]]
        return tuple(found)

    def override(self, node: yaml.Node) -> Override | None:
        names = ("key", "author", "reason", "expires")
        before = len(self.mistakes)
        found = self.mapping(node, "an override", names)
        if len(self.mistakes) == before and (missing := [name for name in names if name not in found]):
            self.mistakes.append((_line(node), f"an override needs {', '.join(missing)}"))
        key = self.value(found, "key", self.key, "")
        author, reason = self.value(found, "author", self.text, ""), self.value(found, "reason", self.text, "")
        expires = self.value(found, "expires", self.date, dt.date.min)
        return Override(key, author, reason, expires, _line(node)) if len(self.mistakes) == before else None

    def number(self, node: yaml.Node, name: str) -> float:
        # YAML's other numbers (.nan, 1:30, 0x1F) are no shares that anybody meant.
        if node.tag not in ("tag:yaml.org,2002:float", "tag:yaml.org,2002:int") or not re.fullmatch(r"[-+]?[\d.]+", node.value):
            raise _Mistake(f"{name} is {_shown(node)}, and not a number")
        return float(node.value)

    def share(self, node: yaml.Node, name: str) -> float:
        number = self.number(node, name)
        if not 0 <= number <= 1:
            raise _Mistake(f"{name} is {node.value}, and not a share between 0 and 1 (write 0.9 for 90 %)")
        return number

    def threshold(self, node: yaml.Node, name: str) -> float:
        what = "the threshold" if name == "threshold" else f"the threshold of {name}"
        number = self.number(node, what)
        if not 0 < number < 1:
            raise _Mistake(f"{what} is {node.value}, and not between 0 and 1 (write 0.9 for 90 %)")
        return number

    def confidence(self, node: yaml.Node, name: str) -> float:
        number = self.number(node, name)
        if not 0.5 <= number <= 0.999:
            raise _Mistake(f"confidence is {node.value}, and not between 0.5 and 0.999")
        return number

    def count(self, node: yaml.Node, name: str) -> int:
        if node.tag != "tag:yaml.org,2002:int" or not re.fullmatch(r"[1-9][\d_]{0,11}", node.value):
            raise _Mistake(f"{name} is {_shown(node)}, and not a whole number above 0")
        return int(node.value.replace("_", ""))

    def count_or_none(self, node: yaml.Node, name: str) -> int | None:
        return None if node.tag == "tag:yaml.org,2002:null" else self.count(node, name)

    def truth(self, node: yaml.Node, name: str) -> bool:
        if node.tag != "tag:yaml.org,2002:bool":
            raise _Mistake(f"{name} is {_shown(node)}, and not true or false")
        return node.value.lower() in ("true", "yes", "on")

    def estimator(self, node: yaml.Node, name: str) -> EstimatorChoice:
        for choice in get_args(EstimatorChoice):
            if node.value == choice:
                return choice  # type: ignore[no-any-return]
        raise _Mistake(f"estimator is {_shown(node)}, and not one of {', '.join(get_args(EstimatorChoice))}")

    def key(self, node: yaml.Node, name: str) -> str:
        if not re.fullmatch(r"[0-9a-f]{64}", str(node.value)):
            raise _Mistake(f"key is {_shown(node)}, and not 64 hexadecimal digits (`kgaudit export` lists keys)")
        return str(node.value)

    def text(self, node: yaml.Node, name: str) -> str:
        if node.tag != "tag:yaml.org,2002:str" or not node.value.strip():
            raise _Mistake(f"{name} is {_shown(node)}, and not a text")
        return str(node.value).strip()

    def date(self, node: yaml.Node, name: str) -> dt.date:
        try:
            return dt.date.fromisoformat(node.value)
        except (ValueError, TypeError):
            raise _Mistake(f"{name} is {_shown(node)}, and not a date like 2027-01-31") from None


class _Mistake(ValueError):
    pass


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _shown(node: yaml.Node) -> str:
    return (
        repr(node.value)
        if isinstance(node.value, str) and node.value
        else "empty"
        if isinstance(node.value, str)
        else "a list or mapping"
    )
