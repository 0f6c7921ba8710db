"""What a remote can answer instead of doing what it was asked, one class per situation.

The rule behind them: what is not known is never taken for absent, and what may have happened is never taken for undone.
"""

from vault_memory.errors import VaultMemoryError

AGAIN = "run `vault-memory sync` again"
REFUSED = "choose another name or folder, or ask who runs the server"
LATER = "try again in a while; a running `vault-memory run` does so by itself"


class RemoteError(VaultMemoryError):
    """Something about the folder on the server, or the way to it."""

    exit_code = 4
    http_status = 503

    def __init__(
        self, message: str, *, path: str = "", hint: str = "", **details: object
    ) -> None:
        super().__init__(message, hint=hint, path=path, **details)
        self.path = path


class RemoteChanged(RemoteError):
    """The precondition did not hold: somebody else wrote, made or removed it meanwhile (412, 405)."""

    exit_code = 5
    http_status = 409

    def __init__(self, path: str) -> None:
        super().__init__(
            f"`{path}` on the server is no longer as it was", path=path, hint=AGAIN
        )


class RemoteMissing(RemoteError):
    """The server says that nothing is at this path (404, 410).

    Not a proof that it was deleted: only a complete listing of its folder is.
    """

    http_status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"there is no `{path}` on the server", path=path, hint=AGAIN)


class RootMissing(RemoteError):
    """The folder that everything lies in is said to be gone: a wrong address, a revoked share, a proxy."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"the folder {url} is not there",
            hint="check `remote.url`, and that the account still sees that folder",
        )


class ParentMissing(RemoteError):
    """The folder that should hold it is not there (409, or 404 to a write)."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the folder of `{path}` is not on the server", path=path, hint=AGAIN
        )


class FolderNotEmpty(RemoteError):
    """The folder was to be removed and holds something."""

    exit_code = 5
    http_status = 409

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the folder `{path}` on the server is not empty", path=path, hint=AGAIN
        )


class RemoteLocked(RemoteError):
    """Somebody holds a lock on it, or writes it just now (423)."""

    exit_code = 75

    def __init__(self, path: str) -> None:
        super().__init__(f"`{path}` is locked on the server", path=path, hint=LATER)


class RemoteFull(RemoteError):
    """The account has no room left (507)."""

    exit_code = 75

    def __init__(self, path: str) -> None:
        super().__init__(
            "the server has no room left for this account",
            path=path,
            hint="free some space there",
        )


class RemoteBusy(RemoteError):
    """The server asks to wait: maintenance, overload, too many requests (503, 429)."""

    exit_code = 75

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        everywhere: bool = False,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint or LATER, retry_after=retry_after)
        self.retry_after = retry_after
        """Seconds, as the server asks; None when it does not say"""
        self.everywhere = everywhere
        """True: it is about the server or the account; False: perhaps only about this path"""


class Unauthorised(RemoteError):
    """The account is refused (401): nothing more is asked, lest the server lock the whole address out."""

    exit_code = 3
    http_status = 401

    def __init__(
        self, message: str = "the server refuses this user and password"
    ) -> None:
        super().__init__(
            message,
            hint="make a new app password there and store it with `vault-memory remote add`",
        )


class Refused(RemoteError):
    """The server will not do this with this path (400, 403, 413 …): a name it does not take, a read-only folder."""

    http_status = 403

    def __init__(self, path: str, reason: str, *, lasting: bool = False) -> None:
        super().__init__(
            f"the server refuses `{path}`: {reason}", path=path, hint=REFUSED
        )
        self.reason = reason
        self.lasting = lasting
        """True: it is about the name, the size or the kind, so that trying again does not help"""


class RemoteUnreachable(RemoteError):
    """No answer came, and nothing was written."""

    def __init__(self, reason: str, *, hint: str = "") -> None:
        super().__init__(f"the server cannot be reached: {reason}", hint=hint or LATER)
        self.reason = reason


class NotUnderstood(RemoteError):
    """An answer came that cannot be relied on: cut, HTML, a redirect, another kind of content. It says nothing."""

    def __init__(self, reason: str, *, path: str = "", hint: str = "") -> None:
        super().__init__(
            f"the server's answer cannot be relied on: {reason}",
            path=path,
            hint=hint
            or "a proxy or a login page may stand between; try `vault-memory remote test`",
        )
        self.reason = reason


class AnsweredByProxy(NotUnderstood):
    """A proxy refused in place of the server: the answer is not in the server's own form."""


class OutcomeUnknown(RemoteError):
    """A write was sent and no clear answer came: it may have happened, in whole, in part or not at all."""

    exit_code = 75

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"it is not known whether `{path}` was written: {reason}",
            path=path,
            hint=AGAIN,
        )
        self.reason = reason
