"""A proxy before a server, for tests of faults: it delays, refuses, drops or changes what passes through."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """What a rule says instead of the server, or does with what the server says."""

    status: int = 0
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    change: Callable[[bytes], bytes] | None = None


Rule = Callable[[str, str, bytes], Answer | None]


class Proxy:
    """Passes everything on to `host:port` unless `rule` says otherwise. `seen` holds method and path of what came."""

    def __init__(self, port: int, rule: Rule | None = None) -> None:
        self.rule: Rule = rule or (lambda method, path, body: None)
        self.seen: list[tuple[str, str]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def _pass(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                proxy.seen.append((self.command, self.path))
                answer = proxy.rule(self.command, self.path, body) or Answer()
                time.sleep(answer.delay)
                if answer.drop:
                    self.close_connection = True
                    return
                status, headers, content = answer.status, answer.headers, answer.body
                if not status:
                    upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                    try:
                        sent = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                        upstream.request(self.command, self.path, body, sent)
                        got = upstream.getresponse()
                        status, content = got.status, got.read()
                        headers = {
                            name: value for name, value in got.getheaders() if name.lower() in ("content-type", "x-elastic-product")
                        }
                    except OSError:  # the server is away
                        self.close_connection = True
                        return
                    finally:
                        upstream.close()
                    if answer.change:
                        content = answer.change(content)
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True  # the client went away

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


ELASTIC = {"X-Elastic-Product": "Elasticsearch", "Content-Type": "application/json"}
