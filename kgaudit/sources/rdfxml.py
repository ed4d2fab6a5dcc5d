"""RDF/XML entities are looked at before a parser sees them: small ones that shorten namespaces pass, bombs and files do not."""

from __future__ import annotations

import re

from kgaudit.errors import InputError

ENTITY_LIMIT = 10_000
"""Bytes that an entity may expand to."""

_ENTITY = re.compile(
    rb"""<!ENTITY\s+(?P<parameter>%\s+)?(?P<name>[^\s%"'<>]+)\s+(?:"(?P<a>[^"]*)"|'(?P<b>[^']*)'|(?P<outside>SYSTEM|PUBLIC)\b)"""
)
_REFERENCE = re.compile(rb"&([^#;\s&][^;\s&]*);")


def check_entities(head: bytes, where: str) -> None:
    """Raises `InputError` where the document type in `head`, the beginning of an RDF/XML file, declares an entity that reads a
    file or address, or one that grows beyond `ENTITY_LIMIT`."""
    declared: dict[bytes, bytes] = {}
    for match in _ENTITY.finditer(head):
        name = match["name"]
        if match["outside"]:
            raise InputError(
                f"the entity {_text(name)} would be read from a file or an address outside, which is refused",
                where=where,
                todo="Remove the external entity.",
            )
        if match["parameter"]:
            raise InputError(f"the parameter entity {_text(name)} is refused", where=where, todo="Write out what it stands for.")
        declared.setdefault(name, match["a"] if match["a"] is not None else match["b"])
    sizes: dict[bytes, int] = {}
    for name in declared:
        if _size(name, declared, sizes, ()) > ENTITY_LIMIT:
            raise InputError(
                f"the entity {_text(name)} grows to more than {ENTITY_LIMIT:,} characters, or holds itself, which is refused",
                where=where,
                todo="Write out what it stands for.",
            )


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _size(name: bytes, declared: dict[bytes, bytes], sizes: dict[bytes, int], above: tuple[bytes, ...]) -> int:
    if name in above or len(above) > 50:
        return ENTITY_LIMIT + 1
    if name not in sizes:
        value = declared[name]
        inner = sum(_size(match[1], declared, sizes, (*above, name)) for match in _REFERENCE.finditer(value) if match[1] in declared)
        sizes[name] = len(value) + inner
    return sizes[name]
