"""Errors of edits."""

from collections.abc import Sequence

from vault_memory.errors import UsageError, VaultError


class NoteChanged(VaultError):
    """The note is no longer the revision that an edit was made from; nothing was changed."""

    exit_code = 5
    http_status = 409

    def __init__(self, path: str, expected: str, found: str | None) -> None:
        super().__init__(
            f"`{path}` changed since it was read",
            hint="read it again and retry, or add `--merge` to apply the ops to the newer text",
            path=path,
            expected=expected,
            found=found,
        )


class NotCurated(UsageError):
    """The file is not a note that ops may change: a transcript, an audit log, the persona, or no memory at all."""

    def __init__(self, path: str, kind: str) -> None:
        about = f"it is kept as {kind}" if kind else "no layout names it as memory"
        super().__init__(
            f"`{path}` is not a note that ops may change: {about}",
            hint="choose a note; `vault-memory notes` lists them",
            path=path,
        )


class NotSavable(UsageError):
    """The note cannot be edited as a whole text; ops can change it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be edited as a whole: {reason}",
            hint="change single items with `append`, `replace` and `remove`",
            path=path,
            reason=reason,
        )


class SaveConflict(VaultError):
    """A person and somebody else changed the same lines of a note; nothing was written."""

    exit_code = 5
    http_status = 409
    problem = "changed on disk in the lines that you changed, too"
    advice = "edit the text that is on disk now, and save again"

    def __init__(
        self, path: str, *, on_disk: bytes, yours: bytes, base: bytes, merged: bytes | None = None
    ) -> None:
        super().__init__(
            f"`{path}` {self.problem}; nothing was written", hint=self.advice, path=path
        )
        self.on_disk = on_disk
        self.yours = yours
        self.base = base
        self.merged = merged
        """Both texts in one, with marks where they differ; None where that is impossible"""


class NoteExists(SaveConflict):
    """A save was to make a new note, and there is one of this name already."""

    problem = "exists already"


class NoteGone(VaultError):
    """The note was moved or deleted since a person opened it; nothing was written."""

    exit_code = 5
    http_status = 409

    def __init__(self, path: str, *, yours: bytes, base: bytes) -> None:
        super().__init__(
            f"`{path}` was moved or deleted since you opened it; nothing was written",
            hint="save it as a new note, or restore the deleted one from the trash",
            path=path,
        )
        self.yours = yours
        self.base = base


class UnclearId(UsageError):
    """The id or revision matches nothing, or several things; nothing was changed."""

    def __init__(self, kind: str, start: str, candidates: Sequence[str], hint: str) -> None:
        message = f"there is no {kind} {start!r}"
        if candidates:
            listed = ", ".join(map(_escaped, candidates))
            message = f"{start!r} may be any of these {kind}s: {listed}"
        super().__init__(message, hint=hint, candidates=list(candidates))


def _escaped(name: str) -> str:
    """Returns a name that any terminal and any encoding can show."""
    # Fault: the name of a conversation may have control characters, or half of a
    # surrogate pair, which UTF-8 cannot encode.
    return name if name.isprintable() else repr(name)[1:-1]


class TurnNotRecorded(VaultError):
    """The transcript cannot be written now, so the turn is not recorded."""

    http_status = 503

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be written: {reason}",
            hint="make sure that the disk is not full or read-only and try again, or put it into the drop folder",
            path=path,
            reason=reason,
        )


class NotRecorded(VaultError):
    """The audit log cannot be written now, so nothing was done."""

    http_status = 503

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"the audit of `{path}` cannot be written: {reason}",
            hint="make sure that the disk is not full or read-only, and try again",
            path=path,
            reason=reason,
        )
