"""`AskForRelease`: a stopped version waits for a person."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.standard.exceptions import HITLTimeoutError
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param
from airflow.sdk.exceptions import AirflowFailException

from kgaudit.airflow.failures import airflow_failures
from kgaudit.airflow.links import DecisionLink

RELEASE, REJECT = "Release it all the same", "Reject"


class AskForRelease(HITLOperator):
    """Shows what the gate decided and waits, without a worker's slot, until a person releases the version or rejects it.

    Who answered, when, and the reason (which must be given) go to `approval.json` in the run folder. A rejection fails the task, and so
    does `response_timeout` when nobody answers.
    """

    template_fields = ("subject", "body", "run")
    operator_extra_links = (DecisionLink(),)

    def __init__(self, *, run: str | None = None, response_timeout: timedelta | None = None, **kwargs: Any) -> None:
        # Airflow puts the DAG's params into each operator's arguments; the form asks for the reason alone.
        kwargs["params"] = {"reason": Param("", type="string", title="Reason", description="It is kept with your name.", source="task")}
        super().__init__(
            subject="The gate has stopped this version. Release it all the same?",
            options=[RELEASE, REJECT],
            response_timeout=response_timeout,
            **kwargs,
        )
        self.run = run
        self.pages: dict[str, Path] = {}

    @property
    def serialized_params(self) -> dict[str, dict[str, Any]]:
        """As the form gets them. Only there the reason must be given: Airflow checks a param's default before anybody has answered."""
        params: dict[str, dict[str, Any]] = super().serialized_params
        params["reason"]["schema"] = {**params["reason"]["schema"], "minLength": 3}
        return params

    def execute(self, context: Mapping[str, Any]) -> None:
        """Asks, with the numbers of the decision."""
        from kgaudit.runs.files import read_json

        with airflow_failures():
            decision = read_json(self._folder(context) / "decision.json")
        self.body = _body(decision)
        super().execute(context)

    def execute_complete(self, context: Mapping[str, Any], event: dict[str, Any]) -> dict[str, Any]:
        """Keeps the answer. Raises `AirflowFailException` where it is a rejection, or where nobody answered."""
        from kgaudit.runs.files import read_json, write_json

        folder = self._folder(context)
        try:
            answer = super().execute_complete(context, event)
        except HITLTimeoutError:
            raise AirflowFailException(f"nobody answered within {self.response_timeout}: the version is not released") from None
        user = answer["responded_by_user"] or {}
        reason = str(answer["params_input"].get("reason") or "").strip()
        chosen = answer["chosen_options"] == [RELEASE]
        with airflow_failures():
            kept = {
                "approved": chosen and bool(reason),
                "author": str(user.get("name") or user.get("id") or "unknown"),
                "author_id": str(user.get("id") or ""),
                "reason": reason,
                "answered": answer["responded_at"].isoformat(timespec="seconds"),
                "decided": read_json(folder / "decision.json")["decided"],
            }
            write_json(folder / "approval.json", kept)
        if not chosen:
            raise AirflowFailException(f"{kept['author']} rejected the version: {reason or 'no reason was given'}")
        if not reason:
            raise AirflowFailException(f"{kept['author']} gave no reason: the version is not released")
        self.log.info("%s releases the version: %s", kept["author"], reason)
        return {"approval": str(folder / "approval.json")}

    def _folder(self, context: Mapping[str, Any]) -> Path:
        from kgaudit.airflow.folders import run_folder

        folder = Path(self.run) if self.run else run_folder(context["dag"].dag_id, context["run_id"])
        self.pages["Decision"] = folder
        return folder


def _body(decision: Mapping[str, Any]) -> str:
    """The decision in Markdown. Names of predicates and sources come from the graph: they stand in spans where nothing is markup.

    One span a line: Airflow's page runs the lines of a block together.
    """
    from kgaudit.text import one_line

    lines = [one_line(str(reason["text"])) for reason in decision["reasons"]]
    accuracy = decision["accuracy"]
    if accuracy:
        lines.append(
            f"accuracy {accuracy['value']:.1%} [{accuracy['low']:.1%}, {accuracy['high']:.1%}] of {accuracy['labels']:,} labels"
        )
    lines.append(f"threshold {decision['threshold']:.1%} for the lower end; {decision['triples']:,} triples")
    return "".join(f"- `{line}`\n" for line in (one.replace("`", "'") for one in lines))
