"""Addresses, and errors that name their cause. Stand-ins answer where a real server is of no use; `test_es_secure` has the real one."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from proxy import ELASTIC, Answer, Proxy

from kgaudit.errors import KgauditError, ServiceError, UsageError
from kgaudit_retrievers.elasticsearch import ElasticsearchRetriever
from kgaudit_retrievers.es_connect import Access, Address, airflow_address, parse_address
from kgaudit_retrievers.es_index import index_documents

pytest.importorskip("elastic_transport")


def test_addresses() -> None:
    assert parse_address("https://es:9200/kb") == Address(("https://es:9200",), "kb")
    assert parse_address("http://es/kb/") == Address(("http://es:9200",), "kb")
    assert parse_address("https://es/a/b/kb") == Address(("https://es:443/a/b",), "kb")
    assert parse_address("https://a:1,b:2/kb") == Address(("https://a:1", "https://b:2"), "kb")
    assert parse_address("http://[::1]:9200/kb") == Address(("http://[::1]:9200",), "kb")
    assert parse_address("cloud://kb") == Address((), "kb")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://user:hunter2@es:9200/kb", "holds a user, a password"),
        ("https://es:9200/kb?apikey=hunter2", "holds a user, a password"),
        ("https://es?apikey=hunter2/kb", "holds a user, a password"),
        ("https://es:9200", "names no index"),
        ("https://es:9200/", "names no index"),
        ("https:///kb", "names no host"),
        ("https://es:port/kb", "no address"),
        ("ftp://es/kb", "not a kind of address"),
        ("https://es/KB", "cannot be the name"),
        ("https://es/a,b", "cannot be the name"),
        ("https://es/*", "cannot be the name"),
        ("https://es/_all", "cannot be the name"),
    ],
)
def test_addresses_that_cannot_be(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        parse_address(url)
    if "user" in message:
        assert "hunter2" not in str(error.value)


def test_where_credentials_come_from() -> None:
    access = Access.from_environment({"KGAUDIT_ES_API_KEY": "hunter2", "KGAUDIT_ES_PASSWORD": "hunter3", "KGAUDIT_ES_CA": "/ca"})
    assert (access.api_key, access.password, access.authority) == ("hunter2", "hunter3", "/ca")
    assert "hunter" not in repr(access)
    connection = SimpleNamespace(
        login="me",
        password="hunter2",
        host="es",
        port=9243,
        schema="https",
        conn_type="elasticsearch",
        extra_dejson={"ca_certs": "/ca"},
    )
    assert Access.from_airflow(connection) == Access(user="me", password="hunter2", authority="/ca")
    assert airflow_address(connection, "kb") == "https://es:9243/kb"


def test_a_file_of_an_authority_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="certificate authority"):
        ElasticsearchRetriever("https://127.0.0.1:1/kb", access=Access(authority=str(tmp_path / "ca.crt")))
    with pytest.raises(UsageError, match="needs a cloud id"):
        ElasticsearchRetriever("cloud://kb", access=Access())


def test_nobody_there() -> None:
    with pytest.raises(ServiceError, match="cannot connect"):
        ElasticsearchRetriever("http://127.0.0.1:1/kb")
    with pytest.raises(ServiceError, match="cannot connect"):
        ElasticsearchRetriever("http://no-such-host.invalid:9200/kb")


def answering(status: int, body: object, headers: dict[str, str]) -> Callable[[str, str, bytes], Answer]:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return lambda method, path, sent: Answer(status, content, headers)


JSON = {"Content-Type": "application/json"}
REFUSED = {"error": {"type": "security_exception", "reason": "no", "root_cause": []}, "status": 401}


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "message"),
    [
        (200, {"version": {"distribution": "opensearch", "number": "2.17.1"}}, JSON, UsageError, r"it is OpenSearch 2\.17\.1"),
        (200, {"version": {"number": "7.10.2"}}, JSON, UsageError, "from before 7.14"),
        (200, "<html>hello</html>", {"Content-Type": "text/html", "Server": "nginx"}, UsageError, "calls itself"),
        (200, {"version": {"number": "7.17.9"}}, ELASTIC, UsageError, r"7\.17\.9, which is too old"),
        (401, REFUSED, ELASTIC, UsageError, "does not accept the credentials"),
        (401, "", {"Content-Type": "text/html"}, UsageError, "does not accept the credentials"),
        (429, {}, ELASTIC, ServiceError, "overloaded"),
        (503, {}, ELASTIC, ServiceError, "cannot answer now"),
        (404, "not found", {"Content-Type": "text/plain"}, KgauditError, "no such index"),
    ],
)
def test_who_answers(status: int, body: object, headers: dict[str, str], kind: type[Exception], message: str) -> None:
    with Proxy(0, answering(status, body, headers)) as proxy:
        with pytest.raises(kind, match=message):
            ElasticsearchRetriever(f"{proxy.url}/kb", access=Access(api_key="hunter2"))
        with pytest.raises(kind, match=message):
            index_documents([Path(__file__)], f"{proxy.url}/kb", access=Access(user="me", password="hunter2"))


def test_a_server_that_is_older_than_the_client() -> None:
    import elasticsearch

    ours = elasticsearch.__version__[0]
    if ours == 8:
        pytest.skip("8 is the oldest")
    with (
        Proxy(0, answering(200, {"version": {"number": f"{ours - 1}.19.4"}}, ELASTIC)) as proxy,
        pytest.raises(UsageError, match=rf"Elasticsearch {ours - 1}\.19\.4; the client .* pip install"),
    ):
        ElasticsearchRetriever(f"{proxy.url}/kb")


@pytest.fixture
def silent_tls(tmp_path: Path) -> Iterator[int]:
    """A port on which TLS is spoken, with a certificate that nobody trusts; it never says anything else."""
    import socket
    import subprocess

    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "k", "-out", "c", "-days", "1", "-subj", "/CN=x"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c", tmp_path / "k")
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(2)
                with contextlib.suppress(OSError):
                    context.wrap_socket(connection, server_side=True).close()

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    stop.set()
    thread.join()
    listener.close()


def test_certificates_and_the_wrong_scheme(silent_tls: int) -> None:
    with pytest.raises(UsageError, match=r"not trusted.*KGAUDIT_ES_CA"):
        ElasticsearchRetriever(f"https://127.0.0.1:{silent_tls}/kb")
    with pytest.raises(ServiceError, match="cannot connect"):
        ElasticsearchRetriever(f"http://127.0.0.1:{silent_tls}/kb")
    with Proxy(0) as proxy, pytest.raises(UsageError, match="does not speak TLS"):
        ElasticsearchRetriever(f"{proxy.url.replace('http:', 'https:')}/kb")


def test_nothing_secret_is_said_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    messages: list[str] = []
    for access in (Access(api_key="hunter2-key"), Access(user="me", password="hunter2-word")):
        with Proxy(0, answering(401, REFUSED, ELASTIC)) as proxy:
            with pytest.raises(UsageError) as error:
                ElasticsearchRetriever(f"{proxy.url}/kb", access=access)
            messages.append(str(error.value))
    assert "hunter2" not in caplog.text + "".join(messages) + repr(error.value)
