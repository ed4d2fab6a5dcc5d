"""The hooks behind the connection types: they read a connection and say whether it works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook

from kgaudit.airflow.connections import DEFAULT_KG, KgConnection, ModelConnection
from kgaudit.errors import KgauditError, storage_error

ANSWER_SECONDS = 10.0


class KgHook(BaseHook):
    """A knowledge graph: `get_conn` gives its `KgConnection`."""

    conn_name_attr = "kg_conn_id"
    default_conn_name = DEFAULT_KG
    conn_type = "kgaudit_kg"
    hook_name = "Knowledge graph (kgaudit)"

    def __init__(self, kg_conn_id: str = DEFAULT_KG) -> None:
        super().__init__()
        self.kg_conn_id = kg_conn_id

    def get_conn(self) -> KgConnection:
        """The connection, read. Raises `UsageError` where a field cannot be used, Airflow's error where there is no such connection."""
        return KgConnection.read(self.get_connection(self.kg_conn_id))

    def test_connection(self) -> tuple[bool, str]:
        """Whether graph, index, state folder and policy can be used from the machine that asks, and what is wrong otherwise."""
        from kgaudit.airflow.search import open_search

        try:
            kg = self.get_conn()
            said = [_endpoint_answers(kg) if kg.is_endpoint else _graph_is_there(kg)]
            if kg.index:
                retriever = open_search(kg)
                retriever.close()
                said.append(f"index {kg.index} opens")
            if kg.gate_policy:
                from kgaudit.gate.policy import read_policy

                read_policy(kg.gate_policy)
                said.append("the release policy is valid")
            _writable(kg.state)
        except (KgauditError, OSError, ValueError) as error:
            return False, _said(error)
        return True, "; ".join(said)


class ModelHook(BaseHook):
    """A chat model: `get_conn` gives its `ModelConnection`."""

    conn_name_attr = "model_conn_id"
    default_conn_name = "kgaudit_model"
    conn_type = "kgaudit_model"
    hook_name = "Chat model (kgaudit)"

    def __init__(self, model_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.model_conn_id = model_conn_id

    def get_conn(self) -> ModelConnection:
        """The connection, read. Raises `UsageError` where a field cannot be used, Airflow's error where there is no such connection."""
        return ModelConnection.read(self.get_connection(self.model_conn_id))

    def test_connection(self) -> tuple[bool, str]:
        """Whether every endpoint answers with this key and lists the model."""
        try:
            model = self.get_conn()
            address = model.address
            for url in address.urls:
                listed = _models(url, model.key)
                if address.name not in listed:
                    names = ", ".join(sorted(listed)[:10]) or "none"
                    return False, f"{url}: it lists no model {address.name}. It lists: {names}"
        except (KgauditError, OSError, ValueError) as error:
            return False, _said(error)
        return True, f"{address.where}: lists {address.name}"


def _said(error: Exception) -> str:
    return str(storage_error(error, str(error.filename))) if isinstance(error, OSError) and error.filename else str(error)


def _graph_is_there(kg: KgConnection) -> str:
    path = Path(kg.graph)
    if path.is_dir():
        next(path.iterdir(), None)
        return f"folder {path} is there"
    with open(path, "rb") as stream:
        stream.read(1)
    return f"{path} is there ({path.stat().st_size:,} bytes)"


def _writable(folder: Path) -> None:
    """Raises `OSError` where the folder, or the first one above it that is there, cannot be written."""
    import os

    there = next(one for one in (folder, *folder.parents) if one.exists())
    if not os.access(there, os.W_OK):
        raise PermissionError(13, "no permission", str(there))


def _endpoint_answers(kg: KgConnection) -> str:
    from urllib.parse import urlencode

    headers = {"Accept": "application/sparql-results+json"}
    if kg.user:
        from base64 import b64encode

        headers["Authorization"] = "Basic " + b64encode(f"{kg.user}:{kg.password}".encode()).decode("ascii")
    answer = _get_json(f"{kg.graph}?{urlencode({'query': 'ASK {}'})}", headers)
    if not isinstance(answer, dict) or "boolean" not in answer:
        raise ValueError(f"{kg.graph}: the answer is not what a SPARQL endpoint answers")
    return f"{kg.graph} answers"


def _models(endpoint: str, key: str) -> set[str]:
    answer = _get_json(f"{endpoint.rstrip('/')}/models", {"Authorization": f"Bearer {key}"} if key else {})
    try:
        return {one["id"] for one in answer["data"]}
    except (KeyError, TypeError) as error:
        raise ValueError(f"{endpoint}: the answer is not what an endpoint of OpenAI's protocol answers") from error


def _get_json(url: str, headers: dict[str, str]) -> Any:
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    shown = url.partition("?")[0]
    try:
        with urlopen(Request(url, headers=headers), timeout=ANSWER_SECONDS) as answer:
            return json.load(answer)
    except HTTPError as error:
        hint = " Check the key." if error.code in (401, 403) else ""
        raise ValueError(f"{shown}: the server answers {error.code} {error.reason}.{hint}") from None
    except URLError as error:
        raise ValueError(f"{shown}: cannot connect ({error.reason})") from None
    except ValueError:
        raise ValueError(f"{shown}: the answer is no JSON") from None
