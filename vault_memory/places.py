"""Where the program keeps what is its own, from the environment alone. Loads nothing that takes time."""

import os
import sys
from collections.abc import Mapping

MARKER = ".vault-memory"
"""At the top of a vault: its marker"""
LONGEST_MARKER = 1 << 16
"""Bytes of a marker that are read"""
CONFIG = "vault-memory.toml"
"""In the state folder of a vault: its configuration"""
PHRASES = "phrases"
"""Folder in a state folder whose tables add phrases"""
SOCKET = "daemon.sock"
"""In the state folder of a vault: where its daemon listens"""
STARTS = "starts"
"""In the state folder of a vault: a file for each host, of the time when it last started us"""
FOLDERS = {"user": "Users", "channel": "Channels", "group": "groups"}
"""In a vault: kind of scope → the folder with a folder for each name"""
XDG = {"state": ("XDG_STATE_HOME", "~/.local/state"), "cache": ("XDG_CACHE_HOME", "~/.cache")}
"""On Linux: the variable that names a folder of the user, and the folder where it is not set"""


def state_root(environment: Mapping[str, str]) -> str:
    """The folder of all vaults' states: VAULT_MEMORY_STATE, else the user's state directory."""
    return environment.get("VAULT_MEMORY_STATE") or _folder_of_user(environment, "state")


def make_private(folder: str | os.PathLike[str]) -> None:
    """Makes a folder that only its owner can open, and the missing folders above it."""
    path = os.fspath(folder)
    try:
        os.mkdir(path, 0o700)
    except FileNotFoundError:
        parent = os.path.dirname(path)
        # Fault: below `/proc` a folder cannot be made although the one above it is there.
        if os.path.isdir(parent or "."):
            raise
        make_private(parent)
        make_private(path)
        return
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    # Fault: the umask takes rights away from the mode of `mkdir`, also those of the owner.
    os.chmod(path, 0o700)


def cache_root(environment: Mapping[str, str]) -> str:
    """Where downloaded models lie: VAULT_MEMORY_CACHE, else the user's cache directory."""
    return environment.get("VAULT_MEMORY_CACHE") or _folder_of_user(environment, "cache")


def _folder_of_user(environment: Mapping[str, str], kind: str) -> str:
    """The folder that platformdirs names; on Linux without importing it, which would cost every start 12 ms."""
    if sys.platform == "linux":
        variable, usual = XDG[kind]
        folder = environment.get(variable, "").strip() or usual
        return os.path.join(os.path.expanduser(folder), "vault-memory")
    import platformdirs

    find = platformdirs.user_state_dir if kind == "state" else platformdirs.user_cache_dir
    return find("vault-memory", appauthor=False)
