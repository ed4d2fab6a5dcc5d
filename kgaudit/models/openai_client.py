"""The client of OpenAI-compatible endpoints: pooled connections, many requests in flight, retries, several servers.

aiohttp carries it: measured beside httpx and raw streams, it has the throughput of neither bottleneck nor hand-made protocol
(`benchmarks/client.py`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kgaudit.errors import ModelError, ServiceError, TransientError, UsageError
from kgaudit.models import wire
from kgaudit.models.address import ModelAddress, is_loopback, key_for, model_digest
from kgaudit.models.chat import ChatAnswer, ChatRequest, Choice, Usage
from kgaudit.models.pressure import AdaptiveLimit, Endpoint, Endpoints
from kgaudit.retries import FIRST_PAUSE, with_retries
from kgaudit.text import visible

if TYPE_CHECKING:
    import aiohttp

CONNECT_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 4.0
"""Shorter than the 5 s after which uvicorn, below vLLM, closes idle connections: none is used in the moment it is closed."""

LARGEST_ANSWER = 64 << 20
"""Bytes. What is longer is no answer."""

OVERLOADED = (429, 502, 503, 504, 529)

NEVER_THERE_SECONDS = 15.0
"""An endpoint that never spoke HTTP is given up after so long: more likely the address is wrong than that it is about to start."""

SAY_EVERY = 15.0
"""Seconds between two messages that an endpoint is in trouble."""

_log = logging.getLogger(__name__)


class OpenAIChat:
    """A model behind one endpoint or several that serve the same.

    Transient faults (429, 5xx, resets, timeouts, broken answers) are tried again until the address's deadline; on overload fewer
    requests are sent at once, so that the rest waits here and not in the server's queue. What a server refuses by name (structured
    output, log-probabilities, `n`, `seed`) is left out from then on and noted in `usage.notes`. Safe for one event loop at a time.
    """

    def __init__(self, address: ModelAddress, environment: Mapping[str, str] = os.environ) -> None:
        if not address.name:
            todo = "Write openai:URL#NAME; `kgaudit doctor openai:URL` lists what the endpoint serves."
            raise UsageError("the address names no model", where=address.where, todo=todo)
        self._address = address
        self._authority = environment.get("KGAUDIT_MODEL_CA")
        self._keys = {url: key_for(url, environment) for url in address.urls}
        self._endpoints = Endpoints([Endpoint(url) for url in address.urls])
        self._limit = AdaptiveLimit(address.in_flight)
        self._without: set[str] = set()
        self._session: aiohttp.ClientSession | None = None
        self._first_asked: float | None = None
        self._was_reached = False
        self._last_said = time.monotonic()
        self.name = address.name
        self.digest = model_digest(address.name)
        self.settings: dict[str, object] = {
            "endpoints": list(address.urls),
            "in_flight": address.in_flight,
            "timeout": address.timeout,
            "deadline": address.deadline,
        }
        self.usage = Usage(cost=None if address.input_price is None and address.output_price is None else 0.0)

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """The answer to one request. Raises `ServiceError` when the deadline is over, `ModelError`, `PromptTooLongError`."""
        async with self._limit:
            begun = time.monotonic()
            choices, prompt, completion, model = await self._tried(request)
            for seed in range(1, request.samples - len(choices) + 1):  # a server that gives one choice whatever `n` says
                self._without.add("n")
                self.usage.note("the endpoint gives one answer a request (n is not honoured): samples are drawn one by one")
                more = await self._tried(_another(request, seed))
                choices, prompt, completion = (*choices, *more[0][:1]), prompt + more[1], completion + more[2]
        return ChatAnswer(choices[: request.samples], prompt, completion, time.monotonic() - begun, model or self.name)

    async def _tried(self, request: ChatRequest) -> tuple[tuple[Choice, ...], int, int, str]:
        until = time.monotonic() + self._address.deadline
        answer = await with_retries(lambda: self._once(request, until), self._address.deadline, self._retried)
        self._count(answer[1], answer[2])
        return answer

    def _retried(self, error: TransientError) -> None:
        self.usage.retries += 1
        if time.monotonic() - self._last_said >= SAY_EVERY:
            self._last_said = time.monotonic()
            what = visible(f"{error.where}: {error.happened}")
            _log.warning("%s; trying again (%d tries so far)", what, self.usage.retries)

    def _count(self, prompt: int, completion: int) -> None:
        usage, address = self.usage, self._address
        usage.calls += 1
        usage.prompt_tokens += prompt
        usage.completion_tokens += completion
        if usage.cost is not None:
            usage.cost += (prompt * (address.input_price or 0.0) + completion * (address.output_price or 0.0)) / 1e6

    async def _once(self, request: ChatRequest, until: float) -> tuple[tuple[Choice, ...], int, int, str]:
        """One try, at the endpoint whose turn it is, after the pause that all of them asked for; none is begun after `until`."""
        while pause := self._endpoints.pause():
            if time.monotonic() + pause > until:
                happened = f"the endpoint answered 429 or 503 and asks for a pause of {pause:,.0f} s"
                todo = "Run the same command again when the endpoint has room: what is done is kept."
                raise ServiceError(happened, where=self._address.where, todo=todo, retry_after=pause)
            await asyncio.sleep(pause + random.random() * FIRST_PAUSE)  # not all in the same moment
        endpoint = self._endpoints.next()
        try:
            raw = await self._posted(endpoint, request)
            answer = wire.read_body(raw, request, endpoint.url)
        except ServiceError as error:
            self._give_up_if_never_there(error)
            endpoint.failed(error.retry_after)
            if error.retry_after is not None:
                error.retry_after = self._endpoints.pause() or None  # another endpoint may be free
            raise
        endpoint.served()
        self._limit.served()
        return answer

    def _give_up_if_never_there(self, error: ServiceError) -> None:
        now = time.monotonic()
        self._first_asked = self._first_asked or now
        if not self._was_reached and now - self._first_asked >= NEVER_THERE_SECONDS:
            raise ModelError(error.happened, where=error.where, todo=error.todo) from error

    async def _posted(self, endpoint: Endpoint, request: ChatRequest) -> bytes:
        """The body of the answer; what the server refuses by name is left out and the request sent once more."""
        while True:
            body = wire.request_body(request, self._address.name, self._without)
            status, headers, raw = await self._exchange("POST", f"{endpoint.url}/chat/completions", endpoint.url, body)
            if status == 200:
                return raw
            option = wire.refused_option(body, raw) if status in (400, 422) else None
            if option is None:
                if status in OVERLOADED:
                    self._limit.overloaded()
                raise wire.fault_of(status, raw, headers, endpoint.url)
            self._without.add(option)
            self.usage.note(f"the endpoint refuses {option}: requests go without it")

    @property
    def refused(self) -> frozenset[str]:
        """What the server was found not to take or not to honour (`kgaudit.models.wire.OPTIONAL`)."""
        return frozenset(self._without)

    async def get(self, url: str, path: str) -> tuple[int, bytes]:
        """Status and body of a GET at one of the endpoints, tried once; for `kgaudit doctor`."""
        status, _, raw = await self._exchange("GET", f"{url}{path}", url, None)
        return status, raw

    async def _exchange(self, method: str, target: str, url: str, body: dict[str, Any] | None) -> tuple[int, Mapping[str, str], bytes]:
        import aiohttp

        session = self._open()
        key = self._keys[url]
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode("ascii")
        todo = "Start the server, or check address and network; then run the same command again: what is done is kept."
        try:
            async with (
                asyncio.timeout(self._address.timeout),
                session.request(method, target, data=data, headers=headers, allow_redirects=False) as response,
            ):
                self._was_reached = True
                raw = await _bounded(response.content, url)
                return response.status, response.headers, raw.replace(key.encode(), b"[key]") if key else raw
        except aiohttp.ServerTimeoutError as error:  # a TimeoutError too
            raise ServiceError(_in_words(error), where=url, todo=todo) from error
        except TimeoutError as error:
            self._was_reached = True
            self._limit.overloaded()
            happened = f"the endpoint did not answer within {self._address.timeout:g} s"
            raise ServiceError(happened, where=url, todo="Look at the server, or give it more time (?timeout=SECONDS).") from error
        except aiohttp.ClientConnectorCertificateError as error:
            todo = "Give the file of the authority that signed the certificate by KGAUDIT_MODEL_CA."
            raise ModelError("the certificate of the endpoint is not trusted", where=url, todo=todo) from error
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise UsageError("this is no address of an endpoint", where=url, todo="Write openai:http://host:8000/v1#model.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ServiceError(_in_words(error), where=url, todo=todo) from error

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None or self._session.closed:
            local = all(map(is_loopback, self._address.urls))
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS, ssl=self._tls()),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                trust_env=not local,  # proxies of the environment, never for this machine
            )
        return self._session

    def _tls(self) -> ssl.SSLContext | bool:
        if self._authority is None:
            return True
        try:
            return ssl.create_default_context(cafile=self._authority)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(
                "this is no file of certificates", where=f"KGAUDIT_MODEL_CA={self._authority}", todo="Give a PEM file."
            ) from error

    async def aclose(self) -> None:
        """Closes the connections; the next call opens new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _another(request: ChatRequest, seed: int) -> ChatRequest:
    return replace(request, samples=1, seed=None if request.seed is None else request.seed + seed)


async def _bounded(stream: aiohttp.StreamReader, url: str) -> bytes:
    """The whole body. Raises `ServiceError` where it does not end."""
    parts, size = [], 0
    async for part in stream.iter_any():
        size += len(part)
        if size > LARGEST_ANSWER:
            raise ServiceError(
                f"the answer is longer than {LARGEST_ANSWER >> 20} MB", todo="Look at the server and what stands before it."
            )
        parts.append(part)
    return b"".join(parts)


def _in_words(error: Exception) -> str:
    """What a fault of the connection was, for people."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the host of the endpoint is not known"
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = os.strerror(error.os_error.errno) if error.os_error.errno else str(error.os_error)
        return f"the endpoint cannot be reached ({reason})"
    if isinstance(error, aiohttp.ServerTimeoutError):
        return f"the endpoint did not take the connection within {CONNECT_SECONDS:g} s"
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return "the endpoint closed the connection before it answered"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the answer of the endpoint broke off"
    return f"the exchange with the endpoint failed ({type(error).__name__}: {error})"
