"""The fence of a folder: random once, the same ever after, so that a resumed run asks its model in the same words."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from kgaudit.agent.policies.llm.use import new_fence
from kgaudit.errors import RunError, storage_error

_FORM = re.compile(r"[0-9a-f]{16}")
_WAIT = 2.0
"""Seconds in which another process that made the file must have written it."""


def keep_fence(folder: Path) -> str:
    """The fence kept in `folder`, made where there is none; several processes that come at once get the same.

    Raises `StorageError`, and `RunError` where the file holds something else.
    """
    path = folder / "fence"
    try:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return _read(path)
        with open(descriptor, "w", encoding="ascii") as stream:
            stream.write(new_fence())
            stream.flush()
            os.fsync(stream.fileno())
        return _read(path)
    except OSError as error:
        raise storage_error(error, str(path)) from error


def _read(path: Path) -> str:
    deadline = time.monotonic() + _WAIT
    while True:
        text = path.read_text(encoding="ascii", errors="replace")
        if _FORM.fullmatch(text):
            return text
        if time.monotonic() > deadline:
            todo = "Delete the file: a new one is made, and calls of the language model are made again."
            raise RunError("this file does not hold a fence", where=str(path), todo=todo)
        time.sleep(0.02)
