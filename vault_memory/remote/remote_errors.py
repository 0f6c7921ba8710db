"""Errors of a remote, one class per situation.

Unknown never counts as absent, and a write that may have happened never counts as undone.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from vault_memory.errors import VaultMemoryError

AGAIN = "run `vault-memory sync` again"
OWN_FOLDER = "it is the remote's own folder"
NO_TRASH = "the server has no trash for folders"
REFUSED = "choose another name or folder, or ask who runs the server"
AWS_KEYS = (
    "name a file with the right keys with `vault-memory remote add URL --credentials-file FILE`, "
    "or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
)
LATER = "try again in a while; a running `vault-memory run` does so by itself"


WRITTEN_LATER = 75
"""The exit code when something is kept, and a later pass writes it"""


class RemoteError(VaultMemoryError):
    """A problem with the folder on the server, or with the connection."""

    exit_code = 4
    http_status = 503

    def __init__(self, message: str, *, path: str = "", hint: str = "", **details: object) -> None:
        super().__init__(message, hint=hint, path=path, **details)
        self.path = path


@contextmanager
def without_retry() -> Iterator[None]:
    """Adapts the errors of a call that is made once, and that no later pass of sync makes again."""
    try:
        yield
    except RemoteError as error:
        if error.hint == LATER:
            error.hint = "check the address, and try again later"
        # Fault: 75 says that something is kept and will be written.
        if error.exit_code == WRITTEN_LATER:
            error.exit_code = VaultMemoryError.exit_code
        raise


class RemoteChanged(RemoteError):
    """The precondition failed: another device wrote, created or removed the file in the meantime (412, 405)."""

    exit_code = 5
    http_status = 409

    def __init__(self, path: str) -> None:
        super().__init__(f"`{path}` on the server is no longer as it was", path=path, hint=AGAIN)


class RemoteMissing(RemoteError):
    """The server reports that nothing is at this path (404, 410).

    Only a complete listing of its folder proves that it was deleted.
    """

    http_status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"there is no `{path}` on the server", path=path, hint=AGAIN)


class RootMissing(RemoteError):
    """The server reports that the remote's own folder is missing: a wrong address, a revoked share, a proxy."""

    def __init__(self, url: str, reason: str = "", *, hint: str = "") -> None:
        cause = f": {reason}" if reason else ""
        super().__init__(
            f"the folder {url} is not there{cause}",
            hint=hint or "check `remote.url`, and that the account still sees that folder",
        )


class ParentMissing(RemoteError):
    """The folder of the path is missing (409, or 404 to a write)."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the folder of `{path}` is not on the server", path=path, hint=AGAIN)


class FolderNotEmpty(RemoteError):
    """The folder cannot be removed, since it is not empty."""

    exit_code = 5
    http_status = 409

    def __init__(self, path: str) -> None:
        super().__init__(f"the folder `{path}` on the server is not empty", path=path, hint=AGAIN)


class RemoteLocked(RemoteError):
    """Another program has locked the file, or is writing it (423)."""

    exit_code = WRITTEN_LATER

    def __init__(self, path: str) -> None:
        super().__init__(f"`{path}` is locked on the server", path=path, hint=LATER)


class RemoteFull(RemoteError):
    """The account has no space left (507)."""

    exit_code = WRITTEN_LATER

    def __init__(self, path: str) -> None:
        super().__init__(
            "the server has no space left for this account",
            path=path,
            hint="free some space on the server",
        )


class RemoteBusy(RemoteError):
    """The server asks to wait: maintenance, overload, too many requests (503, 429)."""

    exit_code = WRITTEN_LATER

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
        """the seconds that the server asks to wait; None when it does not say"""
        self.everywhere = everywhere
        """whether it concerns the server or the account, and not perhaps only this path"""


class Unauthorised(RemoteError):
    """The server refuses the account (401). No more requests are sent: the server could lock the address out."""

    exit_code = 3
    http_status = 401

    def __init__(
        self, message: str = "the server refuses this user and password", *, hint: str = ""
    ) -> None:
        super().__init__(
            message,
            hint=hint
            or "make a new app password there and store it with `vault-memory remote add`",
        )


class Refused(RemoteError):
    """The server refuses the request for this path (400, 403, 413 …): an invalid name, a read-only folder."""

    http_status = 403

    def __init__(self, path: str, reason: str, *, lasting: bool = False) -> None:
        super().__init__(f"the server refuses `{path}`: {reason}", path=path, hint=REFUSED)
        self.reason = reason
        self.lasting = lasting
        """whether it concerns the name, size or kind, so that another try does not help"""


class RemoteUnreachable(RemoteError):
    """The server did not get the request, and nothing was written."""

    def __init__(self, reason: str, *, hint: str = "") -> None:
        super().__init__(f"the server cannot be reached: {reason}", hint=hint or LATER)
        self.reason = reason


class NotUnderstood(RemoteError):
    """An unreliable answer came: cut off, HTML, a redirect, another kind of content. It proves nothing."""

    def __init__(
        self, reason: str, *, path: str = "", hint: str = "", is_silence: bool = False
    ) -> None:
        super().__init__(
            f"the server's answer cannot be relied on: {reason}",
            path=path,
            hint=hint
            or "a proxy or a login page may stand between; try `vault-memory remote test`",
        )
        self.reason = reason
        self.is_silence = is_silence
        """whether there was no answer at all, or only the server's word that it has a fault"""


class AnsweredByProxy(NotUnderstood):
    """A proxy refused in place of the server: the answer does not have the server's form."""


class OutcomeUnknown(RemoteError):
    """A write was sent and no clear answer came: it may be done completely, in part or not at all."""

    exit_code = WRITTEN_LATER

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"it is not known whether `{path}` was written: {reason}", path=path, hint=AGAIN
        )
        self.reason = reason


class PreconditionsIgnored(RemoteError):
    """The store, or a proxy before it, ignores the preconditions of writes. No note is written there."""

    exit_code = 3

    def __init__(self) -> None:
        super().__init__(
            "the store ignores `If-Match` or `If-None-Match`, so one device could overwrite another's"
            " edit unseen",
            hint="choose a store with conditional writes, or take away the proxy that removes them",
        )


class ClocksDiffer(RemoteError):
    """The clocks of this machine and of the server differ too much for a signature."""

    def __init__(self) -> None:
        super().__init__(
            "the clocks of this machine and of the server differ by more than the server accepts",
            hint="set the clock of this machine, e.g. with `timedatectl set-ntp true`",
        )


class WrongRegion(RemoteError):
    """The bucket is in another region than the configuration says."""

    exit_code = 3

    def __init__(self, region: str) -> None:
        place = f"the region `{region}`" if region else "another region"
        super().__init__(
            f"the bucket is in {place}",
            hint=f"run `vault-memory remote add` with `--region {region or 'REGION'}`",
        )
