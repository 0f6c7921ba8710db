"""Why a vault is not synced at all."""

from vault_memory.errors import VaultMemoryError


class AnotherClient(VaultMemoryError):
    """Another program syncs this folder already; the two would undo each other's changes."""

    exit_code = 3

    def __init__(self, folder: str, trace: str, client: str) -> None:
        super().__init__(
            f"`{folder}` is already synced by {client} (it contains `{trace}`)",
            hint="remove [remote] from the configuration: the other program goes on syncing the folder",
        )


class NotTwoWay(VaultMemoryError):
    """The server lets one device overwrite what another one wrote in the meantime."""

    exit_code = 3

    def __init__(self) -> None:
        super().__init__(
            "the server ignores preconditions: an edit of another device could be overwritten unseen",
            hint='set `mode = "pull"` or `"push"` in [remote], or `insist = true` if only one device ever writes',
        )
