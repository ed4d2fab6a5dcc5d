"""The decision as text on one screen, and the verifier card as text and as a page."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from kgaudit.gate.card import Card, Share, Skill
from kgaudit.gate.decide import Decision, Group
from kgaudit.gate.estimators import Estimate
from kgaudit.gate.picture import STATUS_WORDS, calibration_svg
from kgaudit.reports.nodes import Node, element, isolated, to_html
from kgaudit.text import one_line

LINE = 110
SHOWN_REASONS, SHOWN_GROUPS, SHOWN_OVERRIDES = 8, 8, 4
_INDENT = 13


def decision_text(decision: Decision) -> str:
    """What was decided and why, on one screen."""
    return "\n".join(_decision_lines(decision)) + "\n"


def _decision_lines(decision: Decision) -> Iterator[str]:
    status = f"{STATUS_WORDS[decision.status]} (exit status {decision.exit_status})"
    yield f"{status}: {one_line(decision.run)}, policy {one_line(decision.policy)}"
    for reason in decision.reasons[:SHOWN_REASONS]:
        yield from textwrap.wrap(one_line(reason.text), LINE, initial_indent="  - ", subsequent_indent="    ")
    if len(decision.reasons) > SHOWN_REASONS:
        yield f"  - and {len(decision.reasons) - SHOWN_REASONS:,} more (decision.json lists all)"
    yield ""
    yield _row("accuracy", _accuracy(decision))
    if decision.accuracy:
        yield _row("", _basis(decision.accuracy))
        yield _row("", f"other estimators (they decide nothing): {'; '.join(map(_beside, decision.beside))}")
    for group in sorted(decision.groups, key=lambda group: group.status == "passed")[:SHOWN_GROUPS]:
        yield _row(group.kind, _group(group))
    if len(decision.groups) > SHOWN_GROUPS:
        yield _row("", f"and {len(decision.groups) - SHOWN_GROUPS:,} more")
    yield _row("labels", _labels(decision))
    yield _row("card", _card(decision))
    yield _row("verdicts", _verdicts(decision))
    yield from _override_lines(decision)


def _row(name: str, text: str) -> str:
    head = f"{name:<{_INDENT}}"
    return "\n".join(textwrap.wrap(text, LINE, initial_indent=head, subsequent_indent=" " * _INDENT)) or head.rstrip()


def _accuracy(decision: Decision) -> str:
    if decision.accuracy is None:
        return f"unknown: no labels; threshold {_percent(decision.threshold)}"
    return f"{_interval(decision.accuracy)}; threshold {_percent(decision.threshold)} for the lower end"


def _interval(found: Estimate | Share) -> str:
    return f"{_percent(found.value)} [{_percent(found.low)}, {_percent(found.high)}]"


def _basis(found: Estimate) -> str:
    worth = "" if math.isinf(found.effective_labels) else f", worth {found.effective_labels:,.0f} independent ones"
    clusters = f" of {found.clusters:,} subjects" if found.design == "cluster" else ""
    power = f", verdicts weigh {found.power:.2f}" if found.power is not None else ""
    level = _percent(found.confidence, 0)
    return f"{level} interval by {found.estimator}, design {found.design}: {found.labels:,} labels{clusters}{worth}{power}"


def _beside(found: Estimate) -> str:
    return f"{found.estimator} {_interval(found)}"


def _group(group: Group) -> str:
    found = f"{_interval(group.estimate)} of {group.estimate.labels:,} labels" if group.estimate else "no labels"
    return f"{one_line(group.name, 60)}: {found}; threshold {_percent(group.threshold)}; {STATUS_WORDS[group.status]}"


def _labels(decision: Decision) -> str:
    use = decision.labels
    if use is None:
        return "none given"
    parts = [f"{use.used:,} used ({use.true:,} true) of the sample {use.sample or '(none)'}"]
    for number, what in (
        (use.unsure, "unsure"),
        (use.missing, "missing"),
        (use.left, "beyond the first without a label"),
        (use.absent, "of triples not in the run"),
        (use.chosen, "not drawn at random"),
        (use.other, "of another sample"),
        (use.blank, "not filled in"),
    ):
        parts += [f"{number:,} {what}"] if number else []
    if use.shared:
        parts.append(f"{use.shared:,} by several people, who split on {use.split:,}")
    return "; ".join(parts)


def _card(decision: Decision) -> str:
    use = decision.card
    if use is None:
        return "none given"
    if use.youden_j is None or use.youden_low is None or use.youden_high is None:
        skill = "Youden's J unknown"
    else:
        skill = f"Youden's J {use.youden_j:.2f} [{use.youden_low:.2f}, {use.youden_high:.2f}]"
    return f"{skill} from {use.labels:,} labels, {use.age_days:,} days old; verifier {use.verifier[:12]}"


def _verdicts(decision: Decision) -> str:
    judged = decision.verdicts["supported"] + decision.verdicts["refuted"]
    of = f" of the {decision.universe:,} in the graph" if decision.universe > decision.triples else ""
    return (
        f"{decision.triples:,} triples{of}, run {decision.run_status}; pass rate {_percent(decision.pass_rate)} of {judged:,} judged "
        f"(decides nothing); not enough evidence {_percent(decision.not_enough_evidence)}, not judged {_percent(decision.not_judged)}"
    )


def _override_lines(decision: Decision) -> Iterator[str]:
    if not decision.overrides:
        return
    counting = [one for one in decision.overrides if one.counts]
    idle = [one for one in decision.overrides if not one.counts]
    yield _row("overrides", f"{len(counting):,} in force, {len(idle):,} that do not count")
    for one in [*idle, *counting][:SHOWN_OVERRIDES]:
        state = one.note or f"to {one.expires}"
        state = f"expired on {one.expires}" if one.note == "expired" else state
        yield _row("", f"{one.key[:12]} {state}: {one_line(one.author, 40)}, “{one_line(one.reason, 60)}”")


def card_text(card: Card) -> str:
    """The card on a few lines."""
    lines = [
        f"verifier {card.verifier[:12]}: judge {one_line(str(card.judge.get('name')))}, policy {one_line(str(card.policy.get('name')))}"
    ]
    lines += [_row(name, value) for name, value in _card_rows(card)]
    return "\n".join(lines) + "\n"


def _card_rows(card: Card) -> list[tuple[str, str]]:
    error = "unknown" if card.calibration_error is None else f"{card.calibration_error:.3f} (expected calibration error)"
    return [
        ("labels", f"{card.labels:,} ({card.true:,} true), {card.unsure:,} unsure; {card.design}; newest {card.measured[:10]}"),
        ("sensitivity", f"{_maybe(card.skill.sensitivity)}: true triples found supported, of those judged"),
        ("specificity", f"{_maybe(card.skill.specificity)}: false triples found refuted, of those judged"),
        ("Youden's J", _youden(card.skill)),
        ("abstention", f"{_interval(card.abstention)} not enough evidence; {_interval(card.not_judged)} not judged"),
        ("calibration", error),
        ("predicates", f"{len(card.predicates):,} with enough labels for figures of their own"),
    ]


def _maybe(share: Share | None) -> str:
    return "unknown" if share is None else f"{_interval(share)} ({share.labels:,} labels)"


def _youden(skill: Skill) -> str:
    if skill.youden is None:
        return "unknown"
    return f"{skill.youden.value:.2f} [{skill.youden.low:.2f}, {skill.youden.high:.2f}]"


def card_html(card: Card) -> str:
    """The card as one page without requests."""
    rows = [element("tr", element("th", name, scope="row"), element("td", value)) for name, value in _card_rows(card)]
    names = (
        ("verifier", card.verifier),
        ("judge", f"{card.judge.get('name')}, digest {card.judge.get('digest')}"),
        ("language model", str((card.model or {}).get("name") or "none")),
        ("policy", f"{card.policy.get('name')}, settings {card.policy.get('settings')}"),
        ("made", card.created),
    )
    rows += [element("tr", element("th", name, scope="row"), element("td", isolated(text))) for name, text in names]
    body = [element("h1", "Verifier card"), element("table", *rows), element("h2", "Calibration"), _calibration(card)]
    if card.predicates:
        body += [element("h2", "By predicate"), _predicates(card)]
    page = "".join(to_html(one) for one in body).replace(_PLACEHOLDER, calibration_svg(card) if card.calibration else "")
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    return f"{head}<title>Verifier card</title><style>{_STYLE}</style></head><body>{page}</body></html>\n"


def _calibration(card: Card) -> Node:
    if not card.calibration:
        return element("p", "No labelled triple was given a probability.")
    bins = [
        element(
            "tr", element("td", _percent(one.probability)), element("td", _interval(one.true)), element("td", f"{one.true.labels:,}")
        )
        for one in card.calibration
    ]
    head = element("tr", *(element("th", name, scope="col") for name in ("mean probability", "true", "labels")))
    return element("div", element("figure", _PLACEHOLDER), element("table", head, *bins))


def _predicates(card: Card) -> Node:
    head = element("tr", *(element("th", name, scope="col") for name in ("predicate", "sensitivity", "specificity", "Youden's J")))
    rows = [
        element(
            "tr",
            element("td", isolated(one.label, title=one.predicate)),
            element("td", _maybe(one.skill.sensitivity)),
            element("td", _maybe(one.skill.specificity)),
            element("td", _youden(one.skill)),
        )
        for one in card.predicates
    ]
    return element("table", head, *rows)


_PLACEHOLDER = "\ue000plot\ue000"
_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;background:#fbfaf7;color:#1d2024}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid #d9d6cf;"
    "vertical-align:top}th{white-space:nowrap}td{overflow-wrap:anywhere}figure{margin:0;max-width:22rem}"
)


def _percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f} %"
