"""Files that are whole or not there: written under a temporary name, synced, renamed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from kgaudit.errors import InputError, storage_error

TEMPORARY_PREFIX = ".writing-"


def make_folder(folder: Path) -> None:
    """Makes the folder and those above it. Raises `StorageError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise storage_error(NotADirectoryError(20, "not a folder"), str(folder)) from error
    except OSError as error:
        raise storage_error(error, str(folder)) from error


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears at `path` only when the block ends without an error. Raises `StorageError`."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}"[-250:])
    try:
        with open(temporary, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise storage_error(error, str(path)) from error
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Makes a rename in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file, whole or not at all."""
    with whole_file(path) as stream:
        stream.write(json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace"))


def read_json(path: Path) -> Any:
    """Reads a JSON file of ours. Raises `InputError` where it is damaged and `StorageError` where it cannot be read."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise storage_error(error, str(path)) from error
    except ValueError as error:
        raise InputError(f"damaged: {error}", where=str(path), todo="Restore the file, or begin a new run.") from error


def remove_leftovers(folder: Path, *names: str) -> None:
    """Removes what killed processes left half-written: of files of these names (patterns), or of any. Only under the run's lock."""
    for name in names or ("",):
        for leftover in folder.glob(f"{TEMPORARY_PREFIX}*{name}"):
            leftover.unlink(missing_ok=True)
