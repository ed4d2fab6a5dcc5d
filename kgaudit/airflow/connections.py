"""What stands in the connections `kgaudit_kg` and `kgaudit_model`, read into records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kgaudit.airflow import settings
from kgaudit.errors import UsageError
from kgaudit.models.address import ModelAddress, parse_model

DEFAULT_KG = "kgaudit_kg"


@dataclass(frozen=True, slots=True)
class KgConnection:
    """A knowledge graph and what belongs to it. `graph` is a path or the address of a SPARQL endpoint.

    `index` is a folder, or with `elasticsearch_conn_id` the name of an index on that cluster; "" where none is named.
    """

    conn_id: str
    graph: str
    state: Path
    index: str = ""
    elasticsearch_conn_id: str = ""
    documents: tuple[Path, ...] = ()
    format: str | None = None
    mapping: Mapping[str, str | bool] = field(default_factory=dict)
    rules: Path | None = None
    labels: Path | None = None
    cards: Path | None = None
    judge: Path | None = None
    trusted: tuple[Path, ...] = ()
    query: str = ""
    gate_policy: Path | None = None
    gate_labels: tuple[Path, ...] = ()
    gate_card: Path | None = None
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def is_endpoint(self) -> bool:
        """Whether the graph is behind a SPARQL endpoint."""
        return "://" in self.graph

    @classmethod
    def read(cls, connection: Any) -> KgConnection:
        """Reads a connection of type `kgaudit_kg`, or an object like one. Raises `UsageError` naming the field that is wrong."""
        fields = _Fields(connection)
        graph = (connection.host or "").strip()
        if not graph:
            raise fields.error("Graph", "names no graph", "Give a file, a folder or the address of a SPARQL endpoint.")
        if "://" not in graph:
            graph = str(fields.absolute("Graph", graph))
        index, cluster = fields.text("index"), fields.text("elasticsearch_conn_id")
        if index and not cluster and "://" not in index:
            index = str(fields.absolute("index", index))
        return cls(
            conn_id=connection.conn_id,
            graph=graph,
            state=fields.path("state") or settings.runs_folder() / "states" / quote(connection.conn_id, safe=""),
            index=index,
            elasticsearch_conn_id=cluster,
            documents=fields.paths("documents"),
            format=fields.text("format") or None,
            mapping=fields.mapping(),
            rules=fields.path("rules"),
            labels=fields.path("labels"),
            cards=fields.path("cards"),
            judge=fields.path("judge"),
            trusted=fields.paths("trusted"),
            query=fields.text("query"),
            gate_policy=fields.path("gate_policy"),
            gate_labels=fields.paths("gate_labels"),
            gate_card=fields.path("gate_card"),
            user=connection.login or "",
            password=connection.password or "",
        )


@dataclass(frozen=True, slots=True)
class ModelConnection:
    """A chat model behind one or more endpoints that speak OpenAI's protocol. `spec` is as `kgaudit audit --model` takes it: no key."""

    conn_id: str
    spec: str
    calibration: Path | None = None
    key: str = field(default="", repr=False)

    @classmethod
    def read(cls, connection: Any) -> ModelConnection:
        """Reads a connection of type `kgaudit_model`, or an object like one. Raises `UsageError` naming the field that is wrong."""
        fields = _Fields(connection)
        host, model = (connection.host or "").strip(), fields.text("model")
        if not host:
            raise fields.error("Endpoints", "names no address", "Write it as http://host:8000/v1.")
        if not model:
            raise fields.error("model", "names no model", "Give the name that the endpoint lists.")
        spec = f"openai:{host}#{quote(model, safe='/')}"
        parse_model(spec)
        return cls(connection.conn_id, spec, fields.path("calibration"), connection.password or "")

    @property
    def address(self) -> ModelAddress:
        """The address, taken apart."""
        return parse_model(self.spec)


class _Fields:
    """The fields of a connection's extra, checked."""

    def __init__(self, connection: Any) -> None:
        self._conn_id = connection.conn_id
        self._extra: Mapping[str, Any] = connection.extra_dejson

    def error(self, name: str, happened: str, todo: str) -> UsageError:
        return UsageError(f"its field {name} {happened}", where=f"connection {self._conn_id}", todo=todo)

    def text(self, name: str) -> str:
        value = self._extra.get(name)
        if value is not None and not isinstance(value, str):
            raise self.error(name, f"is no text but {type(value).__name__}", "Write it as text.")
        return (value or "").strip()

    def absolute(self, name: str, text: str) -> Path:
        path = Path(text).expanduser()
        if not path.is_absolute():
            # Each worker runs in a folder of its own, so a relative path would mean another file on each.
            raise self.error(name, f"is a relative path ({text})", "Write the whole path.")
        return path

    def path(self, name: str) -> Path | None:
        text = self.text(name)
        return self.absolute(name, text) if text else None

    def paths(self, name: str) -> tuple[Path, ...]:
        value = self._extra.get(name)
        lines = value if isinstance(value, list) else self.text(name).splitlines()
        return tuple(self.absolute(name, str(line).strip()) for line in lines if str(line).strip())

    def mapping(self) -> dict[str, str | bool]:
        value = self._extra.get("mapping")
        if isinstance(value, dict):
            return value
        pairs = [pair.partition("=") for pair in self.text("mapping").split(",") if pair.strip()]
        if not all(equals for _, equals, _ in pairs):
            raise self.error("mapping", "is no list of FIELD=COLUMN", "Write it as subject=head,predicate=rel,object=tail.")
        return {name.strip(): column.strip() for name, _, column in pairs}
