"""What can be wrong about an edit that somebody asks for."""

from collections.abc import Sequence

from vault_memory.errors import UsageError, VaultError


class NoteChanged(VaultError):
    """The note is no longer the revision that an edit was made from; nothing was changed."""

    exit_code = 5
    http_status = 409

    def __init__(self, path: str, expected: str, found: str | None) -> None:
        super().__init__(
            f"`{path}` changed since it was read",
            hint="read it again and retry, or say `--merge` to carry the ops out on the newer text",
            path=path,
            expected=expected,
            found=found,
        )


class NotCurated(UsageError):
    """A file that ops never touch: a transcript, an audit, the persona, or none of the vault's notes."""

    def __init__(self, path: str, kind: str) -> None:
        about = f"it is kept as {kind}" if kind else "no layout names it as memory"
        super().__init__(
            f"`{path}` is no note that ops may change: {about}",
            hint="`vault-memory notes` lists those that they may",
            path=path,
        )


class UnclearId(UsageError):
    """What was given as an id or a revision stands for none, or for several; nothing was changed."""

    def __init__(
        self, what: str, given: str, candidates: Sequence[str], hint: str
    ) -> None:
        several = f"{given!r} may be any of these {what}s: {', '.join(candidates)}"
        super().__init__(
            several if candidates else f"there is no {what} {given!r}",
            hint=hint,
            candidates=list(candidates),
        )


class TurnNotRecorded(VaultError):
    """A transcript cannot be written now; what was said is not recorded."""

    exit_code = 75
    http_status = 503

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be written: {reason}",
            hint="is the disk full or read-only? try again later, or put it into the drop folder",
            path=path,
            reason=reason,
        )


class NotRecorded(VaultError):
    """The audit takes no record now, so nothing was done."""

    exit_code = 75
    http_status = 503

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"the audit of `{path}` cannot be written: {reason}",
            hint="is the disk full or read-only? try again later",
            path=path,
            reason=reason,
        )
