"""`GateRelease`: may this version of the graph be released?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow.sdk import BranchMixIn
from airflow.sdk.exceptions import AirflowFailException

from kgaudit.airflow.failures import airflow_failures
from kgaudit.airflow.links import DecisionLink
from kgaudit.airflow.operators.base import KgOperator, lines_of
from kgaudit.errors import UsageError


class GateRelease(KgOperator, BranchMixIn):
    """Decides on the state of a graph, or on `subject`, another state or run folder, by the policy, labels and card of the connection.

    On its state only where the graph is the one that was audited last: a version that nobody looked at is no basis to decide.

    Where the version passes the task succeeds. Where it is stopped, or there is no basis to decide, it fails at once, with the numbers
    in the exception. With `stopped_task_id` a stopped version lets the task succeed and goes on with that task, a passing one with
    `passed_task_id`; without a basis to decide it fails all the same.

    `decision.json` and `decision.svg` lie in the run folder. Gives status, bounds and their paths.
    """

    template_fields = (*KgOperator.template_fields, "subject", "policy", "labels", "card", "passed_task_id", "stopped_task_id")
    operator_extra_links = (DecisionLink(),)
    inherits_from_skipmixin = True
    ui_color = "#f6e3b4"

    def __init__(
        self,
        *,
        subject: str | None = None,
        policy: str | None = None,
        labels: list[str] | str | None = None,
        card: str | None = None,
        passed_task_id: str | None = None,
        stopped_task_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.subject = subject
        self.policy = policy
        self.labels = labels
        self.card = card
        self.passed_task_id = passed_task_id
        self.stopped_task_id = stopped_task_id

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Decides, and keeps the decision. Raises `AirflowFailException` with the numbers."""
        from kgaudit.airflow.current import check_audited
        from kgaudit.gate.keep import decide_and_keep, forget_decision
        from kgaudit.gate.render import decision_text

        folder = self.folder(context)
        with airflow_failures():
            forget_decision(folder)
            self.follow_event(context)
            kg = self.kg()
            policy = Path(self.policy) if self.policy else kg.gate_policy
            if policy is None:
                raise UsageError("its field gate_policy names no release policy", where=f"connection {kg.conn_id}",
                                 todo="`kgaudit gate --example` prints one to edit.")  # fmt: skip
            labels = [Path(one) for one in lines_of(self.labels)]
            card = Path(self.card) if self.card else kg.gate_card
            subject = Path(self.subject) if self.subject else kg.state
            if not self.subject:
                check_audited(kg)
            decision = decide_and_keep(folder, subject, policy, labels or kg.gate_labels, card)
        self.pages["Decision"] = folder
        text = decision_text(decision)
        self.log.info("%s", text)
        if decision.status != "passed" and not (decision.status == "stopped" and self.stopped_task_id):
            raise AirflowFailException(text)
        following = self.passed_task_id if decision.status == "passed" else self.stopped_task_id
        if following:
            self.do_branch(context, following)
        return {
            "status": decision.status,
            "decision": str(folder / "decision.json"),
            "low": decision.accuracy.low if decision.accuracy else None,
            "threshold": decision.threshold,
            "triples": decision.triples,
        }
