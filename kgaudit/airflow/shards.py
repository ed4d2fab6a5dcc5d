"""One shard, verified: in the worker, or in a process of its own that a trigger watches. Imports nothing of Airflow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgaudit.airflow.environment import secrets_in_environment
from kgaudit_retrievers.es_connect import Access

if TYPE_CHECKING:
    from kgaudit.runs.engine import Stop


@dataclass(frozen=True, slots=True)
class ShardJob:
    """What is to be done, with what is secret about it: it is never logged, and goes to another process by its standard input.

    `index` is a folder or an address; `judge` the folder of a judge, "" for the one that ships; `model` the address of a chat model, ""
    for the judge alone.
    """

    run: str
    shard: str
    index: str
    access: Access | None = field(default=None, repr=False)
    judge: str = ""
    model: str = ""
    key: str = field(default="", repr=False)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> ShardJob:
        """From JSON values."""
        return cls(**{**values, "access": Access(**values["access"]) if values["access"] else None})


def verify(job: ShardJob, stop: Stop, progress: Callable[[int, int | None], None]) -> dict[str, Any]:
    """Verifies the triples of the shard that its ledger does not hold, and gives its summary.

    Raises what `verify_shard` raises; the ledger is valid after each of these, and the same call goes on.
    """
    from kgaudit.models.embedded import load_judge
    from kgaudit.models.opening import open_model
    from kgaudit.runs.nightly import verify_shard
    from kgaudit_retrievers.opening import open_retriever

    retriever = open_retriever(job.index, access=job.access)
    try:
        with secrets_in_environment({"KGAUDIT_MODEL_KEY": job.key}):
            run, judge = Path(job.run), load_judge(Path(job.judge) if job.judge else None)
            chat = open_model(job.model, run / "calls") if job.model else None
            return verify_shard(run, job.shard, retriever, judge, index=job.index, chat=chat, stop=stop, progress=progress)
    finally:
        retriever.close()
