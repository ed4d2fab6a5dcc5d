"""A stub of an OpenAI-compatible server on loopback, in a thread: answers by a function, with any fault one likes."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Reply:
    """What the server does with a request: `body` as it is, or as JSON. `cut`: half of it, then the connection closes; `reset`: nothing
    at all; `delay` in seconds."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    reset: bool = False
    delay: float = 0.0


def completion(content: str | None, finish: str = "stop", n: int = 1, **message: Any) -> dict[str, Any]:
    """The envelope of an answer."""
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish, "logprobs": None}
    usage = {"prompt_tokens": 100, "completion_tokens": 10 * n}
    return {"object": "chat.completion", "model": "stub", "choices": [{**choice, "index": i} for i in range(n)], "usage": usage}


def say(value: Any, **options: Any) -> Reply:
    """A good answer: a text, or an object as JSON."""
    return Reply(body=completion(value if isinstance(value, str) else json.dumps(value), **options))


@dataclass
class Seen:
    """A request: when it came (monotonic), path, headers and JSON body."""

    time: float
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Stub:
    """The running server."""

    def __init__(self, script: Callable[[dict[str, Any], int], Reply]) -> None:
        self.script = script
        self.seen: list[Seen] = []
        self.most_at_once = 0
        self.now = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        body = json.loads(raw) if raw else {}
        self.seen.append(Seen(time.monotonic(), head[0].split()[1], headers, body))
        self.now += 1
        self.most_at_once = max(self.most_at_once, self.now)
        try:
            reply = self.script(body, len(self.seen) - 1)
            await asyncio.sleep(reply.delay)
        finally:
            self.now -= 1
        if reply.reset:
            writer.transport.abort()
            return False
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        lines = [f"HTTP/1.1 {reply.status} -", "Content-Type: application/json", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + (data[: len(data) // 2] if reply.cut else data))
        await writer.drain()
        return not reply.cut


@contextmanager
def stub(script: Callable[[dict[str, Any], int], Reply], port: int = 0) -> Iterator[Stub]:
    """Runs a stub; `script` gets each request's body and number."""
    server = Stub(script)
    started, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", port)
        server.port = listening.sockets[0].getsockname()[1]
        loops.append(asyncio.get_running_loop())
        started.set()
        async with listening:
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    started.wait(10)
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(10)
