"""The address of a chat model: `openai:http://host:8000/v1#model`.

Further endpoints that serve the same model follow after commas, before or after the name; options stand as a query:
`openai:http://a/v1,http://b/v1?in_flight=32&timeout=60#model`. A key never stands in an address: it comes from the environment.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from kgaudit.errors import UsageError

IN_FLIGHT = 64
TIMEOUT = 120.0
DEADLINE = 180.0

_HOW = "Write openai:http://host:8000/v1#model; `kgaudit doctor openai:http://host:8000/v1` lists the models of a server."
_OPTIONS = ("in_flight", "timeout", "deadline", "input_price", "output_price")


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """Where a chat model is and how it is asked.

    `urls`: endpoints up to `/v1`. `name` is empty where the address names no model. `in_flight`: requests at a time, over all
    endpoints. `timeout`: seconds after which one request is given up and tried again; `deadline`: seconds after which no further try
    is begun. Prices are per million tokens, None where not given.
    """

    urls: tuple[str, ...]
    name: str
    in_flight: int = IN_FLIGHT
    timeout: float = TIMEOUT
    deadline: float = DEADLINE
    input_price: float | None = None
    output_price: float | None = None

    @property
    def where(self) -> str:
        """For messages."""
        return ",".join(self.urls)


def parse_model(text: str) -> ModelAddress:
    """The address behind what a user names. Raises `UsageError`; no message repeats a password that stood in an address."""
    kind, _, rest = text.partition(":")
    if kind != "openai" or "://" not in rest:
        raise UsageError("this is no address of a model", where=_without_secrets(text), todo=_HOW)
    before, _, fragment = rest.partition("#")
    name, *after = re.split(r",(?=https?://)", fragment)
    before, _, query = before.partition("?")
    urls = tuple(_url(url) for url in (*before.split(","), *after))
    return ModelAddress(urls, unquote(name.strip()), **_options(query, text))  # type: ignore[arg-type]


def _url(url: str) -> str:
    parts = urlsplit(url.strip())
    if "@" in parts.netloc:
        raise UsageError(
            "the address holds a user or a password, which would end up in logs and run files",
            where=f"openai:{parts.scheme}://...",
            todo="Give the key by KGAUDIT_MODEL_KEY.",
        )
    try:
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        usable = False
    if not usable or parts.query:
        raise UsageError(f"{url.strip()!r} is no address of an endpoint", where="openai:", todo=_HOW)
    return SplitResult(parts.scheme, parts.netloc, parts.path.rstrip("/").removesuffix("/chat/completions"), "", "").geturl()


def _options(query: str, text: str) -> dict[str, object]:
    options: dict[str, object] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS:
            todo = f"Options are {', '.join(_OPTIONS)}. Give a key by KGAUDIT_MODEL_KEY, never in the address."
            raise UsageError(f"the address of a model has no option {name!r}", where="openai:", todo=todo)
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        least = 0.0 if name.endswith("price") else 1.0 if name == "in_flight" else 0.1
        if not least <= number <= 1e6 or (name == "in_flight" and number % 1):
            raise UsageError(
                f"{name}={value} is not a number that fits", where=_without_secrets(text), todo=f"{name} is at least {least:g}."
            )
        options[name] = int(number) if name == "in_flight" else number
    return options


def _without_secrets(text: str) -> str:
    return re.sub(r"//[^/#?]*@", "//...@", text)


def model_digest(name: str) -> str:
    """sha256 of what tells a model behind an endpoint from others: its name, as weights cannot be seen from here. The address does not
    belong to it, so that a run goes on when the server has moved."""
    return sha256(json.dumps(["openai", name]).encode()).hexdigest()


def key_for(url: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The key for an endpoint: `KGAUDIT_MODEL_KEY`; else `OPENAI_API_KEY`, which never travels unencrypted to another machine."""
    key = environment.get("KGAUDIT_MODEL_KEY")
    if not key and (url.startswith("https://") or is_loopback(url)):
        key = environment.get("OPENAI_API_KEY")
    return key.strip() if key and key.strip() else None


def is_loopback(url: str) -> bool:
    """Whether the endpoint is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
