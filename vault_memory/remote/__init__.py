"""A folder on a server: what is in it, and writes that never overwrite what was not read."""

from importlib import import_module
from typing import TYPE_CHECKING

from vault_memory.remote.base import Earlier, Entry, Fetched, Identity, Listing, Remote, Stored, Traffic, Traits
from vault_memory.remote.errors import (
    FolderNotEmpty,
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
)

if TYPE_CHECKING:
    from vault_memory.remote.login import Granted, Login
    from vault_memory.remote.nextcloud import Nextcloud
    from vault_memory.remote.opening import find, is_account_root, open_remote
    from vault_memory.remote.probe import is_scratch
    from vault_memory.remote.ram import RamRemote, RamServer
    from vault_memory.remote.transport import Account
    from vault_memory.remote.webdav import WebDav

__all__ = [
    "Account",
    "Earlier",
    "Entry",
    "Fetched",
    "FolderNotEmpty",
    "Granted",
    "Identity",
    "Listing",
    "Login",
    "Nextcloud",
    "NotUnderstood",
    "OutcomeUnknown",
    "ParentMissing",
    "RamRemote",
    "RamServer",
    "Refused",
    "Remote",
    "RemoteBusy",
    "RemoteChanged",
    "RemoteError",
    "RemoteFull",
    "RemoteLocked",
    "RemoteMissing",
    "RemoteUnreachable",
    "RootMissing",
    "Stored",
    "Traffic",
    "Traits",
    "Unauthorised",
    "WebDav",
    "find",
    "is_account_root",
    "is_scratch",
    "open_remote",
]

_HOMES = {
    "Account": "transport",
    "Granted": "login",
    "Login": "login",
    "Nextcloud": "nextcloud",
    "RamRemote": "ram",
    "RamServer": "ram",
    "WebDav": "webdav",
    "find": "opening",
    "is_account_root": "opening",
    "is_scratch": "probe",
    "open_remote": "opening",
}


def __getattr__(name: str) -> object:
    """The HTTP and XML libraries cost a tenth of a second: only what is used is loaded."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
