"""Every error that kgaudit raises on purpose.

    KgauditError                what happened, to which input, what to do
    ├── PermanentError          trying again changes nothing
    │   ├── UsageError          an option, a configuration file or a combination of them
    │   ├── InputError          a graph, table, document or label file that cannot be read as what it claims to be
    │   │   └── EmptyInputError nothing in it to work on
    │   ├── SearchIndexError         an index that is missing, damaged or of another version
    │   ├── ModelError          a judge or chat model that is missing, damaged or does not fit
    │   ├── RunError            a run folder that cannot be used as asked
    │   │   ├── RunLockedError  another process holds the run
    │   │   └── SpecMismatchError the run was begun with another specification
    │   └── StorageError        the disk is full, or the folder cannot be written
    ├── TransientError          the same call may succeed later; carries how long to wait
    │   └── ServiceError        a server that is down, overloaded or too slow
    └── Interrupted             Ctrl-C or a termination signal; the ledger resumes

Permanent or transient decides whether a call is tried again: no other list of retryable errors exists.
"""

from __future__ import annotations

import errno


class KgauditError(Exception):
    """Root of the tree. `str(error)` is the whole message for a person: no traceback is needed to act on it."""

    exit_status = 2

    def __init__(self, happened: str, *, where: str | None = None, todo: str | None = None) -> None:
        self.happened = happened
        self.where = where
        self.todo = todo
        super().__init__(happened, where, todo)

    def __str__(self) -> str:
        text = f"{self.where}: {self.happened}" if self.where else self.happened
        return f"{text}. {self.todo}" if self.todo else text


class PermanentError(KgauditError):
    """Trying again changes nothing."""


class UsageError(PermanentError):
    """An option, a configuration file or a combination of them that cannot be."""


class InputError(PermanentError):
    """A graph, table, document or label file that cannot be read as what it claims to be."""


class EmptyInputError(InputError):
    """There is nothing in the input to work on."""


class SearchIndexError(PermanentError):
    """An index that is missing, damaged or of another version."""


class ModelError(PermanentError):
    """A judge or chat model that is missing, damaged or does not fit."""


class RunError(PermanentError):
    """A run folder that cannot be used as asked."""


class RunLockedError(RunError):
    """Another process holds the run."""


class SpecMismatchError(RunError):
    """The run was begun with another specification."""


class StorageError(PermanentError):
    """The disk is full, or the folder cannot be written."""


class TransientError(KgauditError):
    """The same call may succeed later."""

    def __init__(
        self,
        happened: str,
        *,
        where: str | None = None,
        todo: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(happened, where=where, todo=todo)
        self.retry_after = retry_after


class ServiceError(TransientError):
    """A server that is down, overloaded or too slow."""


class Interrupted(KgauditError):
    """Ctrl-C or a termination signal; the ledger resumes."""

    exit_status = 130


_STORAGE_ERRNOS = {
    errno.ENOSPC: ("the disk is full", "Free some space and run the same command again."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space and run the same command again."),
    errno.EACCES: ("no permission", "Choose a folder that you may write to, or change its permissions."),
    errno.EPERM: ("no permission", "Choose a folder that you may write to, or change its permissions."),
    errno.EROFS: ("the file system is read-only", "Choose a folder that you may write to."),
    errno.ENAMETOOLONG: ("the file system cannot take so long a name", "Choose a shorter name."),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "Choose another path."),
    errno.EISDIR: ("this is a folder, not a file", "Choose another path."),
    errno.EILSEQ: ("the file system cannot take this name", "Choose a name of ordinary characters."),
    errno.EINVAL: ("the file system cannot take this name", "Choose a name of ordinary characters."),
    errno.ENOENT: ("there is no such file or folder", "Check the path."),
}


def storage_error(error: OSError, where: str) -> StorageError:
    """Says what an operating-system error on `where` means and what to do about it."""
    happened, todo = _STORAGE_ERRNOS.get(error.errno or 0, (error.strerror or str(error), "Check the path and the disk."))
    return StorageError(happened, where=where, todo=todo)
