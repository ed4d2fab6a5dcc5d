"""Sources: triples in. RDF files, tables and GraphRAG output become candidate triples, with what names them and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from kgaudit.sources.opening import SourceFile, source_files
from kgaudit.sources.options import ColumnMapping, Role, Rules, SourceOptions
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.reading import read_batches
from kgaudit.sources.statements import STATEMENT_SCHEMA

__all__ = ["STATEMENT_SCHEMA", "ColumnMapping", "Quarantine", "Role", "Rules", "SourceOptions", "read_batches"]
