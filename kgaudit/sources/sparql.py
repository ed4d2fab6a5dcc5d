"""Triples from a SPARQL endpoint: the answer of a SELECT or CONSTRUCT query, page by page, into an N-Quads file.

Protocol: https://www.w3.org/TR/sparql11-protocol/. A query without an ORDER BY, GROUP BY, LIMIT or OFFSET of its own is asked for in
pages, in the order of its variables, until a page is empty. An endpoint that cuts answers shorter than a page is read to its end
where the query is a SELECT: its rows are counted. User and password or a token come from KGAUDIT_SPARQL_USER,
KGAUDIT_SPARQL_PASSWORD and KGAUDIT_SPARQL_TOKEN.
"""

from __future__ import annotations

import asyncio
import base64
import http.client
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kgaudit.errors import InputError, PermanentError, ServiceError, TransientError, UsageError, storage_error
from kgaudit.retries import retry_after, with_retries
from kgaudit.sources.ntriples import term_text

PAGE = 10_000
TIMEOUT_SECONDS = 120.0
RETRY_SECONDS = 60.0
_CONSTRUCT_TYPES = "application/n-triples, text/turtle;q=0.5, application/rdf+xml;q=0.3"
_SELECT_TYPES = "application/sparql-results+json, application/sparql-results+xml;q=0.5"

Row = tuple[str, str, str, str | None]


def fetch_triples(
    endpoint: str,
    query: str,
    to: Path,
    *,
    page: int = PAGE,
    progress: Callable[[int, int | None], None] | None = None,
) -> int:
    """Writes the triples that a query gives to the N-Quads file `to`, whole or not at all; returns how many statements they are.

    SELECT binds `?s`, `?p`, `?o` (or `?subject`, `?predicate`, `?object`) and perhaps `?g` (`?graph`). Blank nodes are distinct from
    page to page, since endpoints do not promise lasting labels. Raises `UsageError` on a query of another form and an address that is
    none, `ServiceError` where the endpoint is down or overloaded after some tries, `PermanentError` where it refuses, `InputError`
    where its answer is none.
    """
    asked = _Endpoint(endpoint)
    kind, paged = query_form(query)
    temporary = to.with_name(f".writing-{os.getpid()}-{to.name}")
    try:
        with open(temporary, "wb") as stream:
            written = received = number = 0
            while True:
                text = paged_query(query, kind, page, received) if paged else query
                rows, solutions = asked.answer(kind, text, number)
                for row in rows:
                    stream.write(_line(row, endpoint))
                written, number = written + len(rows), number + 1
                # Of a CONSTRUCT only its triples are seen, not the solutions that they come from.
                received += page if kind == "CONSTRUCT" else solutions
                if progress:
                    progress(written, None)
                if not solutions or not paged:
                    break
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, to)
    except OSError as error:
        raise storage_error(error, str(to)) from error
    finally:
        temporary.unlink(missing_ok=True)
    return written


def _line(row: Row, endpoint: str) -> bytes:
    s, p, o, g = row
    if not (s.startswith(("<", "_:")) and p.startswith("<") and (g or "<").startswith("<")):
        raise InputError(f"the query gives what is no triple: {s} {p} {o}", where=endpoint, todo="Select ?s ?p ?o.")
    return f"{s} {p} {o} {g + ' ' if g else ''}.\n".encode()


_COMMENT_OR_TEXT = re.compile(
    r"""<[^<>"{}|^`\\\s]*>|\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#[^\n]*""", re.DOTALL
)


def query_form(query: str) -> tuple[str, bool]:
    """`SELECT` or `CONSTRUCT`, and whether the query may be asked for in pages. Raises `UsageError` where it is neither."""
    bare = _bare(query)
    form = re.search(r"\b(SELECT|CONSTRUCT|ASK|DESCRIBE|INSERT|DELETE|LOAD|CLEAR|DROP)\b", bare, re.IGNORECASE)
    kind = form[1].upper() if form else ""
    if kind not in ("SELECT", "CONSTRUCT"):
        raise UsageError(f"a query that gives triples is a SELECT or CONSTRUCT, not {kind or 'this'}", todo="Select ?s ?p ?o.")
    tail = bare[bare.rfind("}") + 1 :]
    return kind, not re.search(r"\b(LIMIT|OFFSET|ORDER|GROUP|HAVING|VALUES)\b", tail, re.IGNORECASE)


def paged_query(query: str, kind: str, page: int, offset: int) -> str:
    """The query with an order, since pages of an answer without one may overlap, and with the bounds of a page."""
    names = dict.fromkeys(re.findall(r"[?$](\w+)", _bare(query)))
    if kind == "SELECT":
        names = dict.fromkeys(name for name in names if name in _SELECTED)
    order = f"ORDER BY {' '.join('?' + name for name in names)}\n" if names else ""
    return f"{query.rstrip()}\n{order}LIMIT {page} OFFSET {offset}"


def _bare(query: str) -> str:
    """The query without what only looks like syntax: IRIs, texts and comments."""
    return _COMMENT_OR_TEXT.sub(lambda match: " " * len(match[0]), query)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirection could carry the password to another computer."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        fp.close()
        raise PermanentError(
            f"the endpoint redirects to {newurl}", where=req.full_url, todo="Name that address, if it is the one you want."
        )


class _Endpoint:
    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("a SPARQL endpoint is an address that begins with http:// or https://", where=address)
        if parts.username or parts.password:
            raise UsageError(
                "the address holds a password, which would end up in logs",
                where=parts.hostname,
                todo="Set KGAUDIT_SPARQL_USER and KGAUDIT_SPARQL_PASSWORD.",
            )
        self._address = address
        self._opener = urllib.request.build_opener(_NoRedirects)

    def answer(self, kind: str, query: str, page: int) -> tuple[list[Row], int]:
        """The triples of one page, held in memory: it is bounded, and a broken one can be asked for again. And how many solutions gave
        them (of a CONSTRUCT only whether there were any)."""
        body, media = asyncio.run(with_retries(lambda: self._ask(kind, query), RETRY_SECONDS))
        try:
            if kind == "CONSTRUCT":
                rows = list(_constructed(body, media, page))
                return rows, len(rows)
            solutions = list(_selected(body, media, page))
            return [row for row in solutions if row is not None], len(solutions)
        except (SyntaxError, ValueError) as error:
            raise InputError(
                f"the answer cannot be read ({str(error)[:200]})", where=self._address, todo="Check the query and the endpoint."
            ) from error

    async def _ask(self, kind: str, query: str) -> tuple[bytes, str]:
        request = urllib.request.Request(
            self._address,
            data=urllib.parse.urlencode({"query": query}).encode(),
            headers={
                "Accept": _CONSTRUCT_TYPES if kind == "CONSTRUCT" else _SELECT_TYPES,
                "Content-Type": "application/x-www-form-urlencoded",
                "User-Agent": "kgaudit",
                **_credentials(),
            },
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                body: bytes = response.read()
                return body, response.headers.get_content_type()
        except urllib.error.HTTPError as error:
            raise self._refused(error) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise ServiceError(
                f"the endpoint cannot be reached ({reason})", where=self._address, todo="Check it and try again."
            ) from error

    def _refused(self, error: urllib.error.HTTPError) -> TransientError | PermanentError:
        with error:
            said = " ".join(error.read(500).decode("utf-8", "replace").split())[:200]
        happened = f"the endpoint answers {error.code} {error.reason}" + (f" ({said})" if said else "")
        if error.code in (401, 403):
            todo = "Set KGAUDIT_SPARQL_USER and KGAUDIT_SPARQL_PASSWORD, or KGAUDIT_SPARQL_TOKEN."
            return PermanentError(happened, where=self._address, todo=todo)
        if error.code in (408, 425, 429) or error.code >= 500:
            wait = retry_after(error.headers.get("Retry-After"), error.headers.get("Date"))
            return ServiceError(happened, where=self._address, todo="Try again later, or ask for less.", retry_after=wait)
        return PermanentError(happened, where=self._address, todo="Check the query and the address.")


def _credentials() -> dict[str, str]:
    token = os.environ.get("KGAUDIT_SPARQL_TOKEN")
    if token:
        return {"Authorization": f"Bearer {token}"}
    user = os.environ.get("KGAUDIT_SPARQL_USER")
    if user:
        pair = f"{user}:{os.environ.get('KGAUDIT_SPARQL_PASSWORD', '')}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}


_MEDIA = {"text/plain": "application/n-triples", "application/x-turtle": "text/turtle"}


def _constructed(body: bytes, media: str, page: int) -> Iterator[Row]:
    import pyoxigraph

    form = pyoxigraph.RdfFormat.from_media_type(_MEDIA.get(media, media))
    if form is None:
        raise ValueError(f"it is {media}, not RDF")
    for quad in pyoxigraph.parse(body, format=form):
        graph = None if isinstance(quad.graph_name, pyoxigraph.DefaultGraph) else str(quad.graph_name)
        yield _term(quad.subject, page), str(quad.predicate), _term(quad.object, page), graph


def _selected(body: bytes, media: str, page: int) -> Iterator[Row | None]:
    """A row for each solution; None for one that leaves a part of the triple unbound."""
    import pyoxigraph

    form = pyoxigraph.QueryResultsFormat.from_media_type(media)
    if form is None:
        raise ValueError(f"it is {media}, not a table of results")
    found = pyoxigraph.parse_query_results(body, form)
    if not isinstance(found, pyoxigraph.QuerySolutions):
        raise ValueError("it is no table of results")
    known = {variable.value: position for position, variable in enumerate(found.variables)}
    places = [next((known[name] for name in names if name in known), None) for names in _VARIABLES]
    if None in places[:3]:
        raise ValueError("it binds no ?s, ?p and ?o")
    for solution in found:
        s, p, o, g = (None if at is None else solution[at] for at in places)
        unbound = s is None or p is None or o is None
        yield None if unbound else (_term(s, page), str(p), _term(o, page), None if g is None else str(g))


_VARIABLES = (("s", "subject"), ("p", "predicate"), ("o", "object"), ("g", "graph"))
_SELECTED = [name for names in _VARIABLES for name in names]


def _term(term: Any, page: int) -> str:
    """A term as N-Triples text; blank nodes by page."""
    text = term_text(term)
    return f"_:p{page}x{text[2:]}" if text.startswith("_:") else text
