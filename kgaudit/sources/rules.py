"""Roles: which triples are claims, and which are schema, names, provenance or bookkeeping. People can see and change the rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

from kgaudit.errors import UsageError, storage_error

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDF_TYPE = RDF + "type"


class Role(IntEnum):
    """What a triple is to an audit. Only claims are verified; the others are used, and counted as left out."""

    CLAIM = 0
    TYPE = 1
    LABEL = 2
    ALIAS = 3
    DESCRIPTION = 4
    SCHEMA = 5
    SAME_AS = 6
    PROVENANCE = 7
    BOOKKEEPING = 8

    @property
    def word(self) -> str:
        """The name by which rules and messages call the role."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Table:
    """Roles by exact IRI and by the beginning of an IRI; an exact IRI wins, then the longest beginning."""

    exact: Mapping[str, Role]
    beginnings: tuple[tuple[str, Role], ...]

    def get(self, iri: str) -> Role | None:
        """The role of an IRI, or None where no rule speaks of it."""
        role = self.exact.get(iri)
        if role is not None:
            return role
        return next((role for beginning, role in self.beginnings if iri.startswith(beginning)), None)


@dataclass(frozen=True, slots=True)
class Rules:
    """Which predicates and which types have which role. Predicates that no rule speaks of make claims."""

    predicates: Table
    types: Table

    def role(self, predicate: str) -> Role:
        """The role of triples with this predicate (an IRI without brackets)."""
        role = self.predicates.get(predicate)
        return Role.CLAIM if role is None else role

    def type_role(self, type_iri: str) -> Role:
        """The role of a type statement with this type: `schema` for classes and properties, `provenance` for statements."""
        role = self.types.get(type_iri)
        return Role.TYPE if role is None else role

    @staticmethod
    def default() -> Rules:
        """The rules that ship with the package (`kgaudit/sources/rules.yaml`)."""
        return _default()

    @staticmethod
    def from_yaml(path: Path) -> Rules:
        """Rules from a file of the form of `rules.yaml`. Raises `UsageError` where it has another form, `StorageError` where it
        cannot be read."""
        import yaml

        try:
            values = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise storage_error(error, str(path)) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UsageError(f"this is no YAML: {' '.join(str(error).split())}", where=str(path)) from error
        return _rules_of(values, str(path))


@cache
def _default() -> Rules:
    return Rules.from_yaml(Path(__file__).with_name("rules.yaml"))


def _rules_of(values: Any, where: str) -> Rules:
    todo = "Copy kgaudit/sources/rules.yaml and edit the copy."
    if not isinstance(values, dict):
        raise UsageError(
            "a rules file is a mapping with the keys prefixes, roles, schema_types, provenance_types", where=where, todo=todo
        )
    unknown = sorted(set(values) - {"prefixes", "roles", "schema_types", "provenance_types"})
    if unknown:
        raise UsageError(f"unknown key {unknown[0]!r}", where=where, todo=todo)
    prefixes = values.get("prefixes") or {}
    words = {role.word: role for role in Role}
    entries: list[tuple[str, Role]] = []
    for word, names in (values.get("roles") or {}).items():
        if word not in words:
            raise UsageError(f"unknown role {word!r}; roles are {', '.join(words)}", where=where, todo=todo)
        entries += [(name, words[word]) for name in _expanded(names, prefixes, where)]
    types = [(name, Role.SCHEMA) for name in _expanded(values.get("schema_types"), prefixes, where)]
    types += [(name, Role.PROVENANCE) for name in _expanded(values.get("provenance_types"), prefixes, where)]
    return Rules(_table(entries), _table(types))


def _expanded(names: Any, prefixes: Mapping[str, str], where: str) -> list[str]:
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise UsageError("every role has a list of names", where=where)
    expanded = []
    for name in names or ():
        prefix, colon, rest = name.partition(":")
        if colon and prefix in prefixes:
            expanded.append(prefixes[prefix] + rest)
        elif colon and (rest.startswith("//") or prefix == "urn"):
            expanded.append(name)
        else:
            raise UsageError(f"{name!r} has a prefix that is not under `prefixes`, and is no full IRI", where=where)
    return expanded


def _table(entries: Iterable[tuple[str, Role]]) -> Table:
    pairs = list(entries)
    exact = {name: role for name, role in pairs if not name.endswith("*")}
    beginnings = sorted(((name[:-1], role) for name, role in pairs if name.endswith("*")), key=lambda pair: (-len(pair[0]), pair[0]))
    return Table(exact, tuple(beginnings))
