"""Versions of an index behind an alias: `kb` is an alias of `kb-000003`, say. A version is never changed once searches see it.

The next one begins as a clone of the last (hard links, no copying), so that only what changed is written; the alias moves in one step
when the new version is whole and verified.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgaudit.errors import KgauditError, PermanentError, TransientError, UsageError
from kgaudit_retrievers.es_connect import Cluster, RefusedError
from kgaudit_retrievers.es_schema import FORMAT, Analysers, index_body

BEAT_SECONDS = 3.0
STALE_SECONDS = 12.0
"""A version in the making whose lock has not beaten for so long was left by a process that died."""

LOCK = "lock"
_NO_SUCH_ANALYSER = re.compile(r"nknown analyzer type \[[^\]]+\] for \[kg_(\w+)\]")


@dataclass(frozen=True, slots=True)
class Version:
    """An index of ours. `meta` is what its mapping says of it."""

    name: str
    uuid: str
    number: int
    meta: Mapping[str, Any]
    is_live: bool

    @property
    def is_whole(self) -> bool:
        """Whether it was finished. A clone that was only just made still carries the name of the version it was made from."""
        return bool(self.meta.get("whole")) and self.meta.get("name") == self.name


async def find_versions(cluster: Cluster, alias: str) -> list[Version]:
    """The versions behind an alias or left over from one, in order. Raises `UsageError` where the name is that of an index itself."""
    found = await cluster.ask("indices.get", index=f"{alias},{alias}-*", ignore_unavailable=True, expand_wildcards="open")
    versions = []
    pattern = re.compile(re.escape(alias) + r"-(\d{6})")
    for name, known in found.items():
        match = pattern.fullmatch(name)
        is_live = alias in known.get("aliases", {})
        meta = known["mappings"].get("_meta", {}).get("kgaudit")
        if match and meta is not None:
            versions.append(Version(name, known["settings"]["index"]["uuid"], int(match[1]), meta, is_live))
        elif name == alias or is_live:
            raise UsageError(f"{name} is an index that `kgaudit index` did not make, and is left as it is", where=cluster.where,
                             todo="Choose another name.")  # fmt: skip
    return sorted(versions, key=lambda version: version.number)


def version_name(alias: str, number: int) -> str:
    """The name of a version's index."""
    return f"{alias}-{number:06d}"


async def create(cluster: Cluster, name: str, meta: Mapping[str, Any], dimensions: int, shards: int, replicas: int | None) -> Analysers:
    """A new, empty index with the best analysers that the server has; gives which they are."""
    analysers = Analysers.best()
    while True:
        body = index_body(analysers, {**meta, "analysers": {code: chain[0] for code, chain in analysers.chains.items()}}, dimensions,
                          shards, replicas)  # fmt: skip
        try:
            await cluster.ask("indices.create", index=name, **body)
            return analysers
        except RefusedError as error:
            lacking = _NO_SUCH_ANALYSER.search(str(error))
            if lacking is None:
                if "resource_already_exists" in str(error):  # the answer to the first try was lost, or another process was faster
                    return analysers
                raise
            analysers = analysers.without(lacking[1])


async def clone(cluster: Cluster, source: str, name: str, meta: Mapping[str, Any]) -> None:
    """A new index with everything that `source` holds, open for writing."""
    settings = {"index.blocks.write": None, "index.refresh_interval": "-1"}
    try:
        await cluster.ask("indices.clone", index=source, target=name, settings=settings)
    except RefusedError as error:
        if "resource_already_exists" not in str(error):
            raise
    await set_meta(cluster, name, meta)


async def set_meta(cluster: Cluster, name: str, meta: Mapping[str, Any]) -> None:
    """Writes what the mapping says of the index."""
    await cluster.ask("indices.put_mapping", index=name, meta={"kgaudit": dict(meta)})


class Lock:
    """Keeps two processes from making the same version. It is an entry of that version, so it goes where the version goes."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster, self._name = cluster, name
        self._owner = secrets.token_hex(8)
        self._beat = 0
        self._at: dict[str, int] = {}
        self.lost = False

    async def take(self) -> None:
        """Takes the lock, or that of a process that died. Raises `ServiceError` where another process is at work."""
        held = await self._read()
        if held is not None:
            waited = 0.0
            while waited < STALE_SECONDS:
                await asyncio.sleep(1.0)
                waited += 1.0
                now = await self._read()
                if now is None:
                    break
                if now["_source"]["beat"] != held["_source"]["beat"] or now["_source"]["owner"] != held["_source"]["owner"]:
                    raise self._busy()
            self._at = {"if_seq_no": held["_seq_no"], "if_primary_term": held["_primary_term"]} if now is not None else {}
        await self._write()
        if self.lost:
            raise self._busy()

    def _busy(self) -> UsageError:
        happened = "another process is indexing into this index now"
        return UsageError(happened, where=self._cluster.where, todo="Wait until it has ended.")

    async def keep(self) -> None:
        """Beats until it is cancelled or the lock is lost."""
        while not self.lost:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self._write()
            except TransientError:
                continue
            except PermanentError:  # the index is gone, or is closed for writing
                self.lost = True

    async def release(self) -> None:
        """Gives the lock back."""
        await self._cluster.ask("delete", index=self._name, id=LOCK, ignore=404)

    async def let_go(self) -> None:
        """Gives the lock back if the server is there to take it; where it is not, the lock goes stale."""
        with contextlib.suppress(KgauditError):
            await self._cluster.once("delete", index=self._name, id=LOCK, ignore=404)

    async def _read(self) -> Any:
        found = await self._cluster.ask("get", index=self._name, id=LOCK, ignore=404)
        return found if found.get("found") else None

    async def _write(self) -> None:
        self._beat += 1
        entry = {"kind": "lock", "owner": self._owner, "beat": self._beat}
        guard: dict[str, Any] = dict(self._at) or {"op_type": "create"}
        answer = await self._cluster.once("index", index=self._name, id=LOCK, document=entry, ignore=409, **guard)
        if answer.meta.status == 409:
            held = await self._read()
            # A beat whose answer was lost is our own.
            self.lost = held is None or held["_source"]["owner"] != self._owner
            if held is None or self.lost:
                return
            answer = held
        self._at = {"if_seq_no": answer["_seq_no"], "if_primary_term": answer["_primary_term"]}


async def discard(cluster: Cluster, version: Version) -> None:
    """Deletes a version that was begun and never finished. Raises `UsageError` where another process is still at work on it."""
    await Lock(cluster, version.name).take()
    await cluster.ask("indices.delete", index=version.name, ignore_unavailable=True)


def begin_meta(name: str, generation: int, embedder: str, dimensions: int, base: Version | None) -> dict[str, Any]:
    """What the mapping of a version says while it is being made."""
    history = [*base.meta["history"], [base.meta["generation"], base.meta["snapshot"]]] if base else []
    return {
        "format": FORMAT, "name": name, "whole": False, "generation": generation, "embedder": embedder, "dimensions": dimensions,
        "base": base.uuid if base else "", "history": history[-100:],
        "analysers": dict(base.meta["analysers"]) if base else {},
    }  # fmt: skip
