"""Where the program keeps what is its own, from the environment alone. Loads nothing that takes time."""

import os
import sys
from collections.abc import Mapping

SOCKET = "daemon.sock"
"""In the state folder of a vault: where its daemon listens"""


def state_root(environment: Mapping[str, str]) -> str:
    """The folder of all vaults' states: VAULT_MEMORY_STATE, else the user's state directory."""
    if given := environment.get("VAULT_MEMORY_STATE"):
        return given
    if sys.platform == "linux":
        return _xdg(environment, "XDG_STATE_HOME", "~/.local/state")
    import platformdirs

    return platformdirs.user_state_dir("vault-memory", appauthor=False)


def cache_root(environment: Mapping[str, str]) -> str:
    """Where downloaded models lie: VAULT_MEMORY_CACHE, else the user's cache directory."""
    if given := environment.get("VAULT_MEMORY_CACHE"):
        return given
    if sys.platform == "linux":
        return _xdg(environment, "XDG_CACHE_HOME", "~/.cache")
    import platformdirs

    return platformdirs.user_cache_dir("vault-memory", appauthor=False)


def _xdg(environment: Mapping[str, str], variable: str, usual: str) -> str:
    """As platformdirs has it; importing that would cost every start 12 ms."""
    folder = environment.get(variable, "").strip() or usual
    return os.path.join(os.path.expanduser(folder), "vault-memory")
