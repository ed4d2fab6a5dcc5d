"""How sources are read: format, base, columns, rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from kgaudit.sources.rules import Role, Rules

__all__ = ["ColumnMapping", "Role", "Rules", "SourceOptions"]


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Which column of a table holds what. None: found by its common names (`COMMON_NAMES`), or not there.

    `object_is_entity`: whether objects are things (True), values (False), or the name of a column that says so for each row
    (`true`, `1`, `yes`, `entity`, `iri`, `uri` for a thing).
    """

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    statement: str | None = None
    document: str | None = None
    span: str | None = None
    extractor: str | None = None
    extracted_at: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    subject_label: str | None = None
    predicate_label: str | None = None
    object_label: str | None = None
    graph: str | None = None
    object_is_entity: bool | str = False


COMMON_NAMES: dict[str, tuple[str, ...]] = {
    "subject": ("subject", "subj", "s", "head", "source", "subject_id", "head_id", "entity1", "from"),
    "predicate": ("predicate", "pred", "p", "relation", "relationship", "property", "rel", "edge", "label", "type"),
    "object": ("object", "obj", "o", "tail", "target", "value", "object_id", "tail_id", "entity2", "to"),
    "statement": ("statement", "sentence", "evidence", "description", "text"),
    "document": ("document", "document_id", "doc_id", "docid", "doc", "document_ids", "source_document", "source_doc"),
    "span": ("span", "evidence_span", "offsets"),
    "extractor": ("extractor", "extracted_by", "model"),
    "extracted_at": ("extracted_at", "extraction_time", "extracted", "created_at"),
    "valid_from": ("valid_from", "start_date", "valid_at", "from_date"),
    "valid_until": ("valid_until", "valid_to", "end_date", "invalid_at", "to_date"),
    "subject_label": ("subject_label", "subject_name", "head_label", "head_name", "s_label"),
    "predicate_label": ("predicate_label", "predicate_name", "relation_label", "relation_name", "p_label"),
    "object_label": ("object_label", "object_name", "tail_label", "tail_name", "o_label"),
    "graph": ("graph", "named_graph", "g"),
}
"""Names under which columns are found, compared without case, spaces and hyphens taken for underscores; the first that is there."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How to read graphs.

    `format` overrides what the suffix says (`FORMATS` in `kgaudit.sources.opening`). `base`: the IRI that relative IRIs are
    resolved against. `strict`: the first bad line stops. `labels`: a file of further labels (TSV, CSV or JSONL with id and label,
    or RDF). `seed` fixes the random order of the candidates.
    """

    format: str | None = None
    base: str | None = None
    mapping: ColumnMapping = ColumnMapping()
    rules: Rules = field(default_factory=Rules.default)
    strict: bool = False
    labels: Path | None = None
    seed: int = 0
