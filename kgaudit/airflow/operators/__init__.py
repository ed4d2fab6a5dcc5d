"""The operators. A DAG file imports them from here: each module is loaded when its operator is first named."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgaudit.airflow.operators.approval import AskForRelease
    from kgaudit.airflow.operators.gate import GateRelease
    from kgaudit.airflow.operators.index import IndexDocuments
    from kgaudit.airflow.operators.merge import MergeVerdicts
    from kgaudit.airflow.operators.publish import PublishReport
    from kgaudit.airflow.operators.release import AnnounceRelease
    from kgaudit.airflow.operators.select import SelectNewTriples
    from kgaudit.airflow.operators.validate import ValidateVerdicts
    from kgaudit.airflow.operators.verify import VerifyShard

__all__ = [
    "AnnounceRelease",
    "AskForRelease",
    "GateRelease",
    "IndexDocuments",
    "MergeVerdicts",
    "PublishReport",
    "SelectNewTriples",
    "ValidateVerdicts",
    "VerifyShard",
]

_HOMES = {
    "AnnounceRelease": "release",
    "AskForRelease": "approval",
    "GateRelease": "gate",
    "IndexDocuments": "index",
    "MergeVerdicts": "merge",
    "PublishReport": "publish",
    "SelectNewTriples": "select",
    "ValidateVerdicts": "validate",
    "VerifyShard": "verify",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
