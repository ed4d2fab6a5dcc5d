"""Sources: triples in. RDF files, tables and GraphRAG output become candidate triples, with what names them and what is left out."""

from kgaudit.sources.graph import FileCounts, LoadCounts, LoadedGraph, load
from kgaudit.sources.names import Label, Names
from kgaudit.sources.options import ColumnMapping, Role, Rules, SourceOptions
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.reading import read_batches
from kgaudit.sources.schema import PredicateFacts, Schema
from kgaudit.sources.statements import STATEMENT_SCHEMA
from kgaudit.sources.uses import PredicateUse

__all__ = [
    "STATEMENT_SCHEMA", "ColumnMapping", "FileCounts", "Label", "LoadCounts", "LoadedGraph", "Names", "PredicateFacts", "PredicateUse",
    "Quarantine", "Role", "Rules", "Schema", "SourceOptions", "load", "read_batches",
]  # fmt: skip
