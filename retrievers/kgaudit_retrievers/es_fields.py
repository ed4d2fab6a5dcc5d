"""An index that somebody else made, read-only: which of its fields hold what, and passages cut from what it returns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kgaudit.documents import Document, Passage, Query
from kgaudit.errors import InputError, SearchIndexError, UsageError, storage_error
from kgaudit_retrievers.passages import pieces, windows
from kgaudit_retrievers.terms import language_of, terms

_BOOSTED = re.compile(r"(.+?)(?:\^(\d+(?:\.\d+)?))?")


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Names of fields. `id` "" is the entry's own `_id`; `also` are further fields to search, each with a boost where it has one
    (`abstract^2`)."""

    text: str
    id: str = ""
    title: str = ""
    language: str = ""
    date: str = ""
    url: str = ""
    also: tuple[str, ...] = ()

    @classmethod
    def from_yaml(cls, path: Path) -> FieldMap:
        """Reads `text: body`, `title: headline`, ... Raises `InputError` and `UsageError`."""
        import yaml

        try:
            found = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise storage_error(error, str(path)) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            happened = f"this is no YAML ({str(error).splitlines()[0]})"
            raise InputError(happened, where=str(path), todo="Write `text: body` and so on.") from None
        known = [field.name for field in fields(cls)]
        values = dict(found) if isinstance(found, dict) else {}
        also = values.pop("also", ())
        wrong = [str(name) for name, value in values.items() if name not in known or not isinstance(value, str)]
        if wrong or not values.get("text") or not isinstance(also, list | tuple):
            raise UsageError(
                f"no such field: {', '.join(wrong)}" if wrong else "it does not say which field holds the text",
                where=str(path),
                todo=f"Give names of fields for {', '.join(known)}; text is needed.",
            )
        return cls(**values, also=tuple(map(str, also)))

    @property
    def searched(self) -> list[str]:
        """The fields that are searched, with their boosts."""
        return [self.text, *([self.title] if self.title else []), *self.also]

    @property
    def source(self) -> list[str]:
        """The fields that are read."""
        return [name for name in (self.text, self.id, self.title, self.language, self.date, self.url) if name]

    def check(self, mappings: Mapping[str, Any], where: str) -> None:
        """Raises `SearchIndexError` where a field is missing or cannot be searched, naming those that there are."""
        for index, mapping in mappings.items():
            there = dict(_flat(mapping["mappings"].get("properties", {})))
            for name in (*self.source, *(split_boost(one)[0] for one in self.also)):
                if name not in there:
                    raise SearchIndexError(f"{index} has no field {name}", where=where,
                                           todo=f"Its fields are {', '.join(sorted(there)[:30])}.")  # fmt: skip
            for name in (split_boost(one)[0] for one in self.searched):
                if there[name] not in ("text", "match_only_text", "keyword", "annotated_text", "search_as_you_type"):
                    raise SearchIndexError(f"the field {name} of {index} is of type {there[name]}, which words cannot be looked for in",
                                           where=where, todo="Name a text field.")  # fmt: skip
            if self.id and there[self.id] != "keyword":
                raise SearchIndexError(f"the field {self.id} of {index} is of type {there[self.id]}: it cannot tell documents apart",
                                       where=where, todo="Name a keyword field (perhaps with .keyword), or leave id out.")  # fmt: skip

    def document(self, hit: Mapping[str, Any]) -> Document:
        """The document of an entry; what is no string counts as absent, a list as its parts."""
        source = hit.get("_source", {})
        values = {name: _value(source, getattr(self, name)) for name in ("text", "title", "language", "date", "url")}
        return Document(id=_value(source, self.id) or hit["_id"], **values)

    def passage(self, hit: Mapping[str, Any], query: Query, score: float) -> Passage | None:
        """The window of the document that holds most of the query's names and words; None where the document has no text."""
        document = self.document(hit)
        spans = pieces(document.text)
        if not spans:
            return None
        language = (language_of(query.language or document.language),)
        asked = set(terms(query.text, language))
        names = [[set(terms(name, language)) for name in group if name] for group in query.names]

        def worth(window: tuple[int, int]) -> tuple[int, int]:
            held = set(terms(f"{document.title} {document.text[spans[window[0]][0] : spans[window[1] - 1][1]]}", language))
            return sum(any(name and name <= held for name in group) for group in names), len(asked & held)

        first, last = max(windows(spans), key=worth)
        start, end = spans[first][0], spans[last - 1][1]
        return Passage(document.id, start, end, document.text[start:end], document.title, document.language, document.date,
                       document.url, document.digest, score)  # fmt: skip


def split_boost(field: str) -> tuple[str, float]:
    """`abstract^2` as its name and its boost."""
    match = _BOOSTED.fullmatch(field)
    assert match is not None
    return match[1], float(match[2] or 1.0)


def _flat(properties: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for name, one in properties.items():
        if "type" in one:
            found.append((prefix + name, one["type"]))
        found += _flat(one.get("properties", {}), f"{prefix}{name}.")
        found += _flat(one.get("fields", {}), f"{prefix}{name}.")
    return found


def _value(source: Mapping[str, Any], name: str) -> str:
    value: Any = source
    for part in name.removesuffix(".keyword").split(".") if name else ():
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is source or value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n\n".join(str(part) for part in value)
    return str(value)
