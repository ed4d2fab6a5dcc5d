"""The way to an Elasticsearch cluster: address, credentials, TLS, and errors that name their cause.

Everything secret comes from the environment or from an Airflow connection; it stands in no address, message or file.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import re
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from kgaudit.errors import KgauditError, PermanentError, SearchIndexError, ServiceError, UsageError
from kgaudit.retries import RETRY_DEADLINE, with_retries

Out = TypeVar("Out")

TIMEOUT = 30.0
"""Seconds after which an unanswered request counts as failed."""

CONNECTIONS = 32
"""Connections a node at most."""

OLDEST = 8
"""Major version of the oldest server that is spoken to."""

_INDEX_NAME = re.compile(r"(?![-_+.])[^A-Z\\/*?\"<>| ,#:]{1,200}")
_HOW = "Write it as https://host:9200/index (several hosts: https://a:9200,b:9200/index)."


@dataclass(frozen=True, slots=True)
class Address:
    """Where a cluster is and which index or alias is meant. `hosts` is empty for a cloud id (`cloud://index`)."""

    hosts: tuple[str, ...]
    index: str

    @property
    def where(self) -> str:
        """For messages and run files; it never holds a secret."""
        return f"{','.join(self.hosts) or 'cloud:/'}/{self.index}"


def is_address(text: str) -> bool:
    """Whether this is meant as the address of an index on a server, not as a folder."""
    return "://" in text


def parse_address(url: str) -> Address:
    """`https://host:9200/index`; several hosts of one cluster are set apart by commas. Raises `UsageError`."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if "@" in authority or "?" in rest or "#" in rest:
        raise UsageError(
            "the address holds a user, a password or parameters, which would end up in logs and run files",
            where=f"{scheme}://...",
            todo="Give credentials by KGAUDIT_ES_API_KEY, or KGAUDIT_ES_USER and KGAUDIT_ES_PASSWORD.",
        )
    prefix, _, index = path.rstrip("/").rpartition("/")
    index = unquote(index)
    if scheme == "cloud":
        index, authority = authority or index, ""
    elif scheme not in ("http", "https"):
        raise UsageError(f"{scheme}:// is not a kind of address that is known", where=url, todo=_HOW)
    elif not slash or not index:
        raise UsageError("the address names no index", where=url, todo=_HOW)
    if not _INDEX_NAME.fullmatch(index):
        raise UsageError(f"{index!r} cannot be the name of an index (lower case, no spaces, commas or stars)", where=url, todo=_HOW)
    hosts = []
    for host in authority.split(",") if authority else ():
        try:
            parts = urlsplit(f"{scheme}://{host.removeprefix(f'{scheme}://')}")
            port = parts.port or (443 if scheme == "https" else 9200)
        except ValueError as error:
            raise UsageError(f"this is no address ({error})", where=url, todo=_HOW) from None
        if not parts.hostname:
            raise UsageError("the address names no host", where=url, todo=_HOW)
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        hosts.append(f"{scheme}://{name}:{port}" + (f"/{prefix}" if prefix else ""))
    if not hosts and scheme != "cloud":
        raise UsageError("the address names no host", where=url, todo=_HOW)
    return Address(tuple(hosts), index)


@dataclass(frozen=True, slots=True)
class Access:
    """How to prove who one is. `authority` is the file of the certificate authority to trust, "" for those of the system."""

    api_key: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    authority: str = ""
    cloud_id: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Access:
        """From KGAUDIT_ES_API_KEY, or KGAUDIT_ES_USER and KGAUDIT_ES_PASSWORD; KGAUDIT_ES_CA; KGAUDIT_ES_CLOUD_ID."""
        values = os.environ if environment is None else environment
        return cls(
            api_key=values.get("KGAUDIT_ES_API_KEY", ""),
            user=values.get("KGAUDIT_ES_USER", ""),
            password=values.get("KGAUDIT_ES_PASSWORD", ""),
            authority=values.get("KGAUDIT_ES_CA", ""),
            cloud_id=values.get("KGAUDIT_ES_CLOUD_ID", ""),
        )

    @classmethod
    def from_airflow(cls, connection: Any) -> Access:
        """From an Airflow connection: login and password; `api_key`, `ca_certs` and `cloud_id` of its extra."""
        extra = connection.extra_dejson
        return cls(
            api_key=extra.get("api_key", ""),
            user=connection.login or "",
            password=connection.password or "",
            authority=extra.get("ca_certs", ""),
            cloud_id=extra.get("cloud_id", ""),
        )


def airflow_address(connection: Any, index: str) -> str:
    """The address of an index on the host of an Airflow connection."""
    if connection.extra_dejson.get("cloud_id"):
        return f"cloud://{index}"
    scheme = connection.schema if connection.schema in ("http", "https") else "https" if connection.conn_type == "https" else "http"
    return f"{scheme}://{connection.host}:{connection.port or 9200}/{index}"


class RefusedError(PermanentError):
    """The server does not take what a request holds; `status` is that of its answer (400, 413)."""

    def __init__(self, happened: str, *, where: str, status: int, todo: str | None = None) -> None:
        super().__init__(happened, where=where, todo=todo)
        self.status = status


class Cluster:
    """A pool of connections that lives in a thread of its own, so that any thread may call and `close` ends what is under way."""

    def __init__(
        self, address: Address, access: Access | None = None, *, timeout: float = TIMEOUT, patience: float = RETRY_DEADLINE
    ) -> None:
        """Connects and looks at what answers. Raises `UsageError` (credentials, certificate, version) and `ServiceError`.

        `timeout` is for an answer; `patience` is how long `ask` tries again, both in seconds.
        """
        self.where = address.where
        self.patience = patience
        self._timeout = timeout
        self._client = _make_client(address, access or Access.from_environment(), timeout)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="elasticsearch", daemon=True)
        self._closing = threading.Lock()
        self._closed = False
        self._thread.start()
        try:
            self.run(self._greet())
        except BaseException:
            self.close()
            raise

    def run(self, coroutine: Coroutine[Any, Any, Out]) -> Out:
        """Carries the coroutine out in the thread of the connections. Raises what it raises, `SearchIndexError` after `close`."""
        return self.wait(self.start(coroutine))

    def start(self, coroutine: Coroutine[Any, Any, Out]) -> concurrent.futures.Future[Out]:
        """Begins the coroutine; `wait` gives its result."""
        with self._closing:
            if self._closed:
                coroutine.close()
                raise self._was_closed()
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def wait(self, future: concurrent.futures.Future[Out]) -> Out:
        """The result of what was started; an interrupt while waiting cancels it."""
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise self._was_closed() from None
        except BaseException:
            future.cancel()
            raise

    def _was_closed(self) -> SearchIndexError:
        return SearchIndexError("the index has been closed", where=self.where, todo="Open it again.")

    async def once(self, what: str, *, ignore: int = 0, seconds: float = 0.0, **arguments: Any) -> Any:
        """One call of the client, by the name of its method; what it raises is translated. An answer of status `ignore` is no error.

        `seconds` to wait for the answer, where this one takes longer than others.
        """
        options: dict[str, Any] = {}
        if ignore:
            options["ignore_status"] = ignore
        if seconds:
            options["request_timeout"] = seconds
        client = self._client.options(**options) if options else self._client
        try:
            answer = await attrgetter(what)(client)(**arguments)
        except Exception as error:
            raise translate(error, self.where, self._timeout) from error
        if isinstance(answer.body, str):
            raise _not_elasticsearch(self.where)
        return answer

    async def ask(self, what: str, **arguments: Any) -> Any:
        """`once`, tried again after transient errors."""
        return await with_retries(lambda: self.once(what, **arguments), self.patience)

    async def _greet(self) -> None:
        from elasticsearch import AuthorizationException, UnsupportedProductError, __version__

        try:
            # Not `info()`: its headers ask for a version of the protocol that older servers refuse without saying who they are.
            found = await self._client.perform_request("GET", "/", headers={"accept": "*/*"})
        except AuthorizationException as error:
            if error.meta.headers.get("x-elastic-product") == "Elasticsearch":
                return  # a key with rights on an index only may not ask this
            raise translate(error, self.where, self._timeout) from error
        except UnsupportedProductError as error:
            raise UsageError(
                f"this server is not Elasticsearch: it is {_describe(error)}", where=self.where, todo="Check the address."
            ) from error
        except Exception as error:
            raise translate(error, self.where, self._timeout) from error
        number = str(found.body["version"]["number"])
        server, ours = int(number.split(".")[0]), int(__version__[0])
        if server < OLDEST:
            raise UsageError(f"this server is Elasticsearch {number}, which is too old: {OLDEST} is the oldest that is spoken to",
                             where=self.where, todo="Upgrade the cluster.")  # fmt: skip
        if server < ours:
            raise UsageError(f"this server is Elasticsearch {number}; the client that is installed (version {ours}) cannot speak to it",
                             where=self.where, todo=f"pip install 'elasticsearch[async]>=8.19,<{ours}'")  # fmt: skip

    def close(self) -> None:
        """Ends what is under way and lets go of the connections. Closing twice is allowed."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut(self) -> None:
        own = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not own]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()
        await asyncio.sleep(0)


def _make_client(address: Address, access: Access, timeout: float) -> Any:
    try:
        from elasticsearch import AsyncElasticsearch
    except ImportError as error:
        raise UsageError(f"the Elasticsearch client is not installed ({error})", where=address.where,
                         todo="pip install 'kgaudit[elasticsearch]'") from error  # fmt: skip
    # A client that logs each request at INFO would fill the log of an audit.
    logging.getLogger("elastic_transport").setLevel(logging.WARNING)
    options: dict[str, Any] = {
        "request_timeout": timeout,
        "connections_per_node": CONNECTIONS,
        "max_retries": max(0, len(address.hosts) - 1),  # another node of the cluster; waiting is up to the caller
        "retry_on_status": (),
    }
    if access.authority:
        if not os.path.isfile(access.authority):
            raise UsageError("there is no such file of a certificate authority", where=access.authority, todo="Check KGAUDIT_ES_CA.")
        options["ca_certs"] = access.authority
    if access.api_key:
        options["api_key"] = access.api_key
    elif access.user:
        options["basic_auth"] = (access.user, access.password)
    if address.hosts:
        options["hosts"] = list(address.hosts)
        if address.hosts[0].startswith("http://"):
            options.pop("ca_certs", None)
    elif access.cloud_id:
        options["cloud_id"] = access.cloud_id
    else:
        raise UsageError("a cloud:// address needs a cloud id", where=address.where, todo="Set KGAUDIT_ES_CLOUD_ID.")
    try:
        return AsyncElasticsearch(**options)
    except ValueError as error:
        raise UsageError(f"the client does not take these settings ({error})", where=address.where,
                         todo="Check the address and the variables KGAUDIT_ES_*.") from None  # fmt: skip


def _describe(error: Any) -> str:
    """What a server that is not Elasticsearch says that it is."""
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("version"), dict):
        name = body["version"].get("distribution") or "an Elasticsearch from before 7.14, or a copy of it"
        version = f"{str(name).replace('opensearch', 'OpenSearch')} {body['version'].get('number', '')}".strip()
        return f"{version} (its search interface differs, so it is not supported)"
    server = error.meta.headers.get("server")
    return f"a web server that calls itself {str(server)[:60]}" if server else "something that does not say what"


_TRANSIENT = frozenset([408, 425, 429, 502, 503, 504])
_RIGHTS = "Searching needs read and view_index_metadata on the index; indexing needs all on NAME and NAME-*."
_CREDENTIALS = "KGAUDIT_ES_API_KEY, or KGAUDIT_ES_USER and KGAUDIT_ES_PASSWORD"


def translate(error: Exception, where: str, timeout: float = TIMEOUT) -> KgauditError:
    """What a failed call means: transient or permanent, and what to do about it."""
    import elastic_transport
    from elasticsearch import ApiError

    if isinstance(error, KgauditError):
        return error
    if isinstance(error, ApiError):
        return error_of_answer(error.meta.status, error.body, where, error.meta.headers.get("retry-after"))
    if isinstance(error, elastic_transport.ConnectionTimeout):
        return ServiceError(f"the server did not answer within {timeout:g} s", where=where, todo="Look at its load and try again.")
    if isinstance(error, elastic_transport.TlsError):
        return _tls_error(" ".join(map(str, (*error.errors, error.message))), where)
    if isinstance(error, elastic_transport.ConnectionError):
        hint = "Check the address, and that the server runs."
        if "disconnected" in str(error).lower() and where.startswith("http://"):
            hint = "If the server speaks TLS, write https:// in the address."
        return ServiceError(f"cannot connect ({_short(str(error))})", where=where, todo=hint)
    if isinstance(error, elastic_transport.SerializationError):
        return _not_elasticsearch(where)
    raise error


def _not_elasticsearch(where: str) -> ServiceError:
    return ServiceError("the answer is not what Elasticsearch answers", where=where, todo="Check what stands between (a proxy?).")


def _tls_error(said: str, where: str) -> UsageError:
    if "WRONG_VERSION_NUMBER" in said or "record layer failure" in said.lower():
        return UsageError("the server does not speak TLS", where=where, todo="Write http:// in the address, or turn TLS on.")
    if "hostname" in said.lower() or "ip address mismatch" in said.lower():
        return UsageError("the certificate of the server is for another host name", where=where,
                          todo="Use the name that the certificate is for.")  # fmt: skip
    if "expired" in said:
        return UsageError("the certificate of the server has expired", where=where, todo="Renew it.")
    return UsageError(f"the certificate of the server is not trusted ({_short(said)})", where=where,
                      todo="Name the file of its certificate authority by KGAUDIT_ES_CA.")  # fmt: skip


def error_of_answer(status: int, body: Any, where: str, retry_after: str | None = None) -> KgauditError:
    """The error for an answer of this status, of a whole request or of one part of it."""
    kind, reason = reason_of(body)
    if status == 401:
        return UsageError("the server does not accept the credentials, or wants some (401)", where=where, todo=f"Check {_CREDENTIALS}.")
    if "cluster_block" in kind and "flood" in reason:
        return ServiceError("a disk of the cluster is nearly full, so it takes no writes", where=where, todo="Free disk space there.")
    if status in _TRANSIENT or "too_many" in kind or "rejected" in kind or "circuit_breaking" in kind:
        wait = float(retry_after) if retry_after and retry_after.isdigit() else None
        what = {429: "the server is overloaded (429)"}.get(status, f"the server cannot answer now ({status}: {reason or kind})")
        return ServiceError(what, where=where, todo="Look at the health of the cluster and try again.", retry_after=wait)
    if status == 403 and "cluster_block" not in kind:
        return UsageError(f"these credentials lack a right (403: {reason})", where=where, todo=_RIGHTS)
    if status == 404 and "search_context_missing" in kind:
        return ServiceError("the server no longer holds the state of the search", where=where, todo="Try again.")
    if status == 404:
        return SearchIndexError("there is no such index", where=where, todo="Build it with `kgaudit index`, or check the name.")
    if status == 413:
        return RefusedError("the request is larger than the server takes (413)", where=where, status=status,
                            todo="Raise http.max_content_length.")  # fmt: skip
    return RefusedError(f"the server refused the request ({status} {kind.split(' ')[0]}: {reason})", where=where, status=status)


def reason_of(body: Any) -> tuple[str, str]:
    """The kinds of an error in an answer and of its causes, and the reasons, those of the innermost cause first."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return "", _short(str(error or ""))
    kinds, reasons = [str(error.get("type", ""))], [str(error.get("reason", ""))]
    for cause in (*error.get("root_cause", ()), error.get("caused_by"), *(f.get("reason") for f in error.get("failed_shards", ()))):
        while isinstance(cause, dict):
            kinds.append(str(cause.get("type", "")))
            reasons.append(str(cause.get("reason", "")))
            cause = cause.get("caused_by")
    distinct = [_short(reason, 160) for reason in dict.fromkeys(reversed(reasons)) if reason]
    return " ".join(dict.fromkeys(kinds)), _short("; ".join(distinct))


def _short(text: str, most: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
