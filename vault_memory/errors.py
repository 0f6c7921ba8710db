"""Everything that can go wrong, as data: what happened, where, and what to do next.

Each class carries the exit code of the command line and the status of the HTTP face.
A face prints ``str(error)`` and ``error.hint``, or ``error.as_json()``; it never prints a traceback.
"""

import re


class VaultMemoryError(Exception):
    """The root of all errors that are meant for a person."""

    exit_code = 1
    http_status = 500

    def __init__(self, message: str, *, hint: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    @property
    def code(self) -> str:
        """The stable name of the situation: the class name in snake case, e.g. ``note_not_found``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def as_json(self) -> dict[str, object]:
        """The value under ``error`` in the JSON contract."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            **self.details,
        }


class UsageError(VaultMemoryError):
    """The command or call itself is wrong: an unknown mode, a date that is none."""

    exit_code = 2
    http_status = 400


class CannotAsk(UsageError):
    """Nobody is there to be asked, because there is no terminal."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}, and there is no terminal to ask on", hint=hint)


class ConfigError(VaultMemoryError):
    """The configuration, or the lack of one, does not say what to do."""

    exit_code = 3
    http_status = 500


class NoVault(ConfigError):
    """No vault was named, and none lies above the current folder."""

    def __init__(self) -> None:
        super().__init__(
            "no vault was named, and no folder above this one is a vault",
            hint="name one with `--vault PATH` or VAULT_MEMORY_VAULT, or make one with `vault-memory init PATH`",
        )


class VaultError(VaultMemoryError):
    """Something about the vault's folder or one of its notes."""


class VaultUnreachable(VaultError):
    """The vault's folder is not there, cannot be read, or is not the folder it was."""

    exit_code = 4
    http_status = 503


class NoteNotFound(VaultError):
    """There is no such note."""

    http_status = 404

    def __init__(self, path: str) -> None:
        super().__init__(
            f"there is no note `{path}`",
            hint="`vault-memory notes` lists them",
            path=path,
        )
        self.path = path


class NoteUnreadable(VaultError):
    """The note is there and cannot be read now; that is not the same as absent."""

    http_status = 503

    def __init__(self, path: str, reason: str, *, hint: str = "") -> None:
        super().__init__(
            f"`{path}` cannot be read: {reason}", hint=hint, path=path, reason=reason
        )
        self.path = path
        self.reason = reason


class BadPath(VaultError):
    """A name that would lead out of the vault, or that no file system should carry."""

    exit_code = 2
    http_status = 400

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path!r} is no path in a vault: {reason}",
            hint="use a path relative to the vault, with `/`",
        )
        self.reason = reason


class Locked(VaultMemoryError):
    """Another process holds what this one needs."""

    exit_code = 6
    http_status = 409


class IndexTooNew(VaultMemoryError):
    """The index was written by a newer version of the program."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"the index has format {found}, and this version knows up to {known}",
            hint="use the newer version, or rebuild with `vault-memory index --rebuild` (the notes are not touched)",
            found=found,
            known=known,
        )


class EmbedderUnavailable(VaultMemoryError):
    """There is no embedder to be had now; search goes on by keywords and says so."""


class BrainUnavailable(VaultMemoryError):
    """There is no language model to be had now, or it gives no usable answer; the rules of phrases go on without."""

    http_status = 503
