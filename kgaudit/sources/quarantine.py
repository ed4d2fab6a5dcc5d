"""Lines and rows that cannot be read are kept apart, each with where it stood and why."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import TextIO

from kgaudit.errors import InputError, storage_error

# Characters that many readers take for the end of a line.
_LINE_ENDS = str.maketrans({char: f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"})

TEXT_LIMIT = 2000
"""Characters of a quarantined text that are kept."""


class Quarantine:
    """Writes `quarantine.jsonl`: one object a line with `file`, `line`, `last_line`, `text`, `reason`.

    With `strict` the first bad line raises `InputError` instead. The file exists only where something is in it.
    """

    def __init__(self, folder: Path, *, strict: bool = False) -> None:
        self.path = folder / "quarantine.jsonl"
        self.strict = strict
        self.count = 0
        self._file: TextIO | None = None
        self.path.unlink(missing_ok=True)

    def add(self, file: str, line: int, text: str | bytes, reason: str, *, last_line: int | None = None) -> None:
        """Keeps one bad line or row. `text` that is no UTF-8 or holds half characters is kept with escapes.

        Raises `InputError` with `strict`, `StorageError` where it cannot be written.
        """
        if isinstance(text, bytes):
            text = text[: TEXT_LIMIT * 4].decode("utf-8", "backslashreplace")
        text = text[:TEXT_LIMIT].encode("utf-8", "backslashreplace").decode("utf-8")
        reason = reason.encode("utf-8", "backslashreplace").decode("utf-8")
        span = f"line {line}" if last_line in (None, line) else f"lines {line} to {last_line}"
        if self.strict:
            raise InputError(
                f"{span}: {reason}" if line else reason,
                where=file,
                todo="Mend it, or leave out --strict to keep such lines apart in a quarantine file.",
            )
        try:
            if self._file is None:
                self._file = open(self.path, "w", encoding="utf-8")  # noqa: SIM115 (closed by close)
            record = {"file": file, "line": line, "last_line": last_line or line, "text": text, "reason": reason}
            self._file.write(json.dumps(record, ensure_ascii=False).translate(_LINE_ENDS) + "\n")
        except OSError as error:
            raise storage_error(error, str(self.path)) from error
        self.count += 1

    def close(self) -> None:
        """Writes what is still in memory. Raises `StorageError` where that fails."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                raise storage_error(error, str(self.path)) from error
            self._file = None

    def __enter__(self) -> Quarantine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
