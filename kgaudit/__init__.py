"""kgaudit finds false triples in knowledge graphs: it verifies each against documents and quotes the evidence.

The public names are few and are loaded when they are first used, so that `import kgaudit` costs nothing:

    audit(options, retriever, judge, index=...)     one audit, resumable          (kgaudit.runs.audit)
    AuditOptions, Budget, SourceOptions, ColumnMapping, Rules
    RunReader                                       reads a run folder            (kgaudit.runs.reader)
    write_report, export_verdicts                   what comes out of a run       (kgaudit.reports)
    load_judge                                      the embedded judge            (kgaudit.models.embedded)
    open_model                                      a language model by its address (kgaudit.models.opening)
    Triple, Claim, Document, Passage, Query, Stance, Verdict, Trajectory          records
    Retriever, Judge, Policy, ChatModel             protocols to implement
    KgauditError                                    root of all errors            (kgaudit.errors)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "AuditOptions": "kgaudit.runs.audit",
    "Budget": "kgaudit.runs.audit",
    "ChatModel": "kgaudit.models.chat",
    "Claim": "kgaudit.claims",
    "ColumnMapping": "kgaudit.sources.options",
    "Document": "kgaudit.documents",
    "Judge": "kgaudit.models.judge",
    "KgauditError": "kgaudit.errors",
    "Passage": "kgaudit.documents",
    "Policy": "kgaudit.agent.loop",
    "Query": "kgaudit.documents",
    "Retriever": "kgaudit.documents",
    "Rules": "kgaudit.sources.options",
    "RunReader": "kgaudit.runs.reader",
    "SourceOptions": "kgaudit.sources.options",
    "Stance": "kgaudit.verdicts",
    "Trajectory": "kgaudit.verdicts",
    "Triple": "kgaudit.triples",
    "Verdict": "kgaudit.verdicts",
    "audit": "kgaudit.runs.audit",
    "export_verdicts": "kgaudit.reports.export",
    "load_judge": "kgaudit.models.embedded",
    "open_model": "kgaudit.models.opening",
    "write_report": "kgaudit.reports.html",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kgaudit' has no attribute {name!r}")
    return getattr(import_module(home), name)
