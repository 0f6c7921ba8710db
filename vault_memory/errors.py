"""Errors for people: what happened, where, and what to do next.

Each class has the exit code of the command line and the status of HTTP. The command line, HTTP and MCP print
``str(error)`` and ``error.hint``, or ``error.as_json()``; they never print a traceback.
"""

import re


class VaultMemoryError(Exception):
    """The base class of all errors for people."""

    exit_code = 1
    http_status = 500

    def __init__(self, message: str, *, hint: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    @property
    def code(self) -> str:
        """Return the stable name of the error: the class name in snake case, e.g. ``note_not_found``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def as_json(self) -> dict[str, object]:
        """Return the value under ``error`` in the JSON contract."""
        return {"code": self.code, "message": self.message, "hint": self.hint, **self.details}


class UsageError(VaultMemoryError):
    """The command or call itself is wrong, such as an unknown mode or an invalid date."""

    exit_code = 2
    http_status = 400


class CannotAsk(UsageError):
    """The command has to ask a question, and there is no terminal."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}, and there is no terminal to ask on", hint=hint)


class ConfigError(VaultMemoryError):
    """The configuration is missing, incomplete or invalid."""

    exit_code = 3
    http_status = 500


class AddonMissing(ConfigError):
    """This installation lacks an add-on."""

    def __init__(self, offers: str) -> None:
        super().__init__(
            f"this installation has no add-on for {offers}",
            hint="install all of it with `pip install --force-reinstall vault-memory`",
        )


class SystemUnsupported(VaultMemoryError):
    """The operating system lacks calls that the program needs to keep notes safe."""

    exit_code = 3

    def __init__(self) -> None:
        super().__init__(
            "vault-memory does not run on Windows itself, which lacks system calls that keep"
            " notes safe while people edit them",
            hint="install it in WSL, the Linux inside Windows; drive C: is the folder /mnt/c there",
        )


class NoVault(ConfigError):
    """No vault was named, and the current folder is not in one."""

    def __init__(self, folder: str = "PATH") -> None:
        """`folder` is what `init` should set up."""
        super().__init__(
            "no vault was named, and the current folder is not in one",
            hint="name one with `--vault PATH` or VAULT_MEMORY_VAULT, or make one with"
            f" `vault-memory init {folder}`",
        )


class VaultError(VaultMemoryError):
    """The folder of the vault or one of its notes cannot be used."""


class VaultUnreachable(VaultError):
    """The folder of the vault is missing, cannot be read, or was replaced by another one."""

    exit_code = 4
    http_status = 503


class NoteNotFound(VaultError):
    """The vault has no such note."""

    http_status = 404

    def __init__(self, path: str) -> None:
        super().__init__(
            f"there is no note `{path}`",
            hint="run `vault-memory notes` to list the notes",
            path=path,
        )
        self.path = path


class NoteUnreadable(VaultError):
    """The note exists, and cannot be read now. It is not treated as deleted."""

    http_status = 503

    def __init__(self, path: str, reason: str, *, hint: str = "") -> None:
        super().__init__(
            f"`{path}` cannot be read: {reason}",
            hint=hint or "run `vault-memory doctor` for what keeps notes from being read",
            path=path,
            reason=reason,
        )
        self.path = path
        self.reason = reason


class NoteNotWritable(VaultError):
    """The note cannot be replaced until a person changes it or its folder."""

    http_status = 503

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be written here: {reason}",
            hint="make it writable, such as with `chmod u+w`",
            path=path,
            reason=reason,
        )
        self.path = path
        self.reason = reason


class BadPath(VaultError):
    """The path leads out of the vault, or contains characters that a note may not have."""

    exit_code = 2
    http_status = 400

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path!r} is not a path in a vault: {reason}",
            hint="use a path relative to the vault, with `/`",
        )
        self.reason = reason


class Locked(VaultMemoryError):
    """Another process holds a lock that this one needs."""

    exit_code = 6
    http_status = 409


class IndexTooNew(VaultMemoryError):
    """The index was written by a newer version of the program."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"the index has format {found}, and this version reads formats up to {known}",
            hint="use the newer version, or run `vault-memory index --rebuild` (it does not change notes)",
            found=found,
            known=known,
        )


class EmbedderUnavailable(VaultMemoryError):
    """The embedder is not available. Search uses keywords and reports that."""


class BrainUnavailable(VaultMemoryError):
    """The language model is not available, or its answer is not usable. Phrase rules replace it."""

    http_status = 503
