"""A server with TLS and passwords: who may do what, and what is said where he may not."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract import TOWNS, ask, ids

from kgaudit.errors import UsageError
from kgaudit_retrievers.elasticsearch import Access, ElasticsearchRetriever, index_documents


@pytest.fixture(scope="module")
def secure(servers: Any) -> Iterator[Any]:
    server = servers.start(secure=True, heap="512m")
    yield server
    server.stop()


def key(server: Any, rights: list[str], names: list[str], expiration: str | None = None, cluster: list[str] | None = None) -> str:
    role = {"cluster": cluster or [], "indices": [{"names": names, "privileges": rights}]}
    body: dict[str, Any] = {"name": "k", "role_descriptors": {"r": role}}
    if expiration:
        body["expiration"] = expiration
    made = server.request("POST", "/_security/api_key", body)
    encoded: str = made["encoded"]
    return encoded


def test_who_may_do_what(secure: Any, servers: Any, write: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    address, authority = f"{secure.url}/kb", str(secure.authority)
    admin = Access(user="elastic", password=servers.PASSWORD, authority=authority)
    expiring = key(secure, ["read"], ["kb*"], "1s")
    report = index_documents([write(TOWNS)], address, access=admin)
    assert report.documents == 8

    # A key that may do no more than read, and not even ask who the server is.
    reader = Access(api_key=key(secure, ["read", "view_index_metadata"], ["kb*"]), authority=authority)
    retriever = ElasticsearchRetriever(address, access=reader)
    assert ids(ask(retriever, "Kestrel"))
    assert retriever.snapshot == report.snapshot
    assert retriever.document("d1") == TOWNS[0]
    retriever.close()
    with pytest.raises(UsageError, match=r"lack a right \(403"):
        index_documents([write(TOWNS[:3])], address, access=reader)

    # A key with the rights that the message names.
    writer = Access(api_key=key(secure, ["all"], ["kb", "kb-*"]), authority=authority)
    assert index_documents([write(TOWNS[:5])], address, access=writer).removed == 3

    time.sleep(1)
    for access, message in (
        (Access(user="elastic", password="hunter2", authority=authority), r"does not accept the credentials.*\(401\)"),
        (Access(authority=authority), r"does not accept the credentials, or wants some \(401\)"),
        (Access(api_key="aHVudGVyMjpodW50ZXIy", authority=authority), "does not accept the credentials"),
        (Access(api_key=expiring, authority=authority), "does not accept the credentials"),
        (Access(user="elastic", password=servers.PASSWORD), r"not trusted.*KGAUDIT_ES_CA"),
        (Access(api_key=key(secure, ["read"], ["else*"]), authority=authority), r"lack a right \(403"),
        (Access(api_key=key(secure, ["view_index_metadata"], ["kb*"]), authority=authority), r"lack a right \(403"),
    ):
        with pytest.raises(UsageError, match=message) as error:
            ElasticsearchRetriever(address, access=access)
        assert "hunter2" not in str(error.value)
    assert not any(secret and secret in caplog.text for secret in (servers.PASSWORD, reader.api_key, writer.api_key, "hunter2"))

    # The command line takes all of it from the environment, and nothing of it is left in the run.
    kg = tmp_path / "kg.csv"
    kg.write_text("subject,predicate,object\nNorrby Pumps,has its seat in,Orvik\n")
    environment = {"KGAUDIT_ES_API_KEY": reader.api_key, "KGAUDIT_ES_CA": authority, "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "kgaudit", "audit", str(kg), "--index", address, "--run", str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert address in (tmp_path / "run/spec.json").read_text()
    for file in (tmp_path / "run").rglob("*"):
        assert file.is_dir() or reader.api_key.encode() not in file.read_bytes()
    done = subprocess.run([*command[:-1], str(tmp_path / "other")], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "not trusted" in done.stderr
    assert "Traceback" not in done.stderr
