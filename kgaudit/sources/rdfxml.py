"""RDF/XML before a parser sees it: entities that shorten namespaces pass, bombs and files do not; and whether the file is whole."""

from __future__ import annotations

import re

from kgaudit.errors import InputError
from kgaudit.sources.opening import SourceStream

ENTITY_LIMIT = 10_000
"""Bytes that one entity may expand to."""
GROWTH_LIMIT = 16
GROWTH_FREE = 1 << 24
"""All entities together may grow to this many bytes, and to `GROWTH_LIMIT` times what has been read of the file."""
PROLOGUE_LIMIT = 1 << 25

_SKIPPED = re.compile(rb"\s+|<\?.*?\?>|<!--.*?-->", re.DOTALL)
_ROOT = re.compile(rb"<([A-Za-z_][^\s/>]*)")
_DOCTYPE = re.compile(rb"""<!DOCTYPE(?:[^\[>"']|"[^"]*"|'[^']*')*(?:\[(?:[^\]"'<]|"[^"]*"|'[^']*'|<!--.*?-->|<)*\]\s*)?>""", re.DOTALL)
_ENTITY = re.compile(
    rb"""<!ENTITY\s+(?P<parameter>%\s+)?(?P<name>[^\s%"'<>]+)\s+(?:"(?P<a>[^"]*)"|'(?P<b>[^']*)'|(?P<outside>SYSTEM|PUBLIC)\b)"""
)
_REFERENCE = re.compile(rb"&([^#;\s&<>]{1,200});")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


def prologue(stream: SourceStream) -> tuple[bytes, bytes, bytes]:
    """Reads up to the first element: everything that was read, the name of the element, the document type declaration.

    Raises `InputError` where that takes more than `PROLOGUE_LIMIT` bytes.
    """
    head, doctype = b"", b""
    at = 0
    while True:
        if match := _ROOT.match(head, at):
            if match.end() < len(head):
                return head, match[1], doctype
        elif match := _SKIPPED.match(head, at):
            at = match.end()
            continue
        elif match := _DOCTYPE.match(head, at):
            doctype += match[0]
            at = match.end()
            continue
        chunk = stream.read(1 << 18)
        if not chunk:
            return head, b"", doctype or head[at:]
        head += chunk
        if len(head) > PROLOGUE_LIMIT:
            raise InputError(
                f"no element begins within the first {PROLOGUE_LIMIT >> 20} MiB, before which comments and entity declarations stand",
                where=str(stream.source.path),
                todo="Check that it is RDF/XML.",
            )


class EntityGuard:
    """Refuses entities that read a file or address, and those that grow beyond measure, alone or by their number.

    Raises `InputError` from the constructor and from `saw`, to which the file is shown as it is read.
    """

    def __init__(self, doctype: bytes, where: str) -> None:
        self._where = where
        self._read = self._grown = 0
        self._rest = b""
        declared: dict[bytes, bytes] = {}
        for match in _ENTITY.finditer(_COMMENT.sub(b"", doctype)):
            name = match["name"]
            if match["outside"]:
                self._refuse(f"the entity {_text(name)} would be read from a file or an address outside")
            if match["parameter"]:
                self._refuse(f"{_text(name)} is a parameter entity")
            declared.setdefault(name, match["a"] if match["a"] is not None else match["b"])
        self._declared = declared
        self._sizes: dict[bytes, int] = {}
        for name in declared:
            if self._size(name, ()) > ENTITY_LIMIT:
                self._refuse(f"the entity {_text(name)} grows to more than {ENTITY_LIMIT:,} characters, or holds itself")

    def saw(self, data: bytes) -> None:
        """Counts what the entities in the next piece of the file grow to."""
        if not self._sizes:
            return
        self._read += len(data)
        piece = self._rest + data
        end = 0
        for match in _REFERENCE.finditer(piece):
            self._grown += self._sizes.get(match[1], 0)
            end = match.end()
        begin = piece.rfind(b"&", end)
        self._rest = piece[begin:] if begin >= 0 and len(piece) - begin <= 200 else b""
        if self._grown > GROWTH_FREE + GROWTH_LIMIT * self._read:
            self._refuse(f"its entities grow to more than {GROWTH_LIMIT} times what the file holds")

    def plain_doctype(self, doctype: bytes) -> bytes:
        """The same declarations as pyoxigraph reads them (double quotes only, no comments), on as many lines."""
        entities = b"".join(b'<!ENTITY %s "%s">' % (name, value.replace(b'"', b"&#34;")) for name, value in self._declared.items())
        return b"<!DOCTYPE rdf:RDF [" + entities + b"\n" * doctype.count(b"\n") + b"]>" if entities else doctype

    def _size(self, name: bytes, above: tuple[bytes, ...]) -> int:
        if name in above or len(above) > 50:
            return ENTITY_LIMIT + 1
        if name not in self._sizes:
            value = self._declared[name]
            references = (match[1] for match in _REFERENCE.finditer(value) if match[1] in self._declared)
            self._sizes[name] = len(value) + sum(self._size(one, (*above, name)) for one in references)
        return self._sizes[name]

    def _refuse(self, happened: str) -> None:
        raise InputError(f"{happened}, which is refused", where=self._where, todo="Write out what the entity stands for.")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def is_whole(end: bytes, root: bytes) -> bool:
    """Whether the end of a file closes its first element, which pyoxigraph does not ask."""
    tail = re.sub(rb"<!--.*?-->|<\?.*?\?>", b"", end, flags=re.DOTALL).rstrip()
    if re.search(rb"</" + re.escape(root) + rb"\s*>\Z", tail):
        return True
    return tail.endswith(b"/>") and tail.rfind(b"<") == tail.find(b"<" + root)
