"""Why a vault is not synced at all."""

from vault_memory.errors import VaultMemoryError


class AnotherClient(VaultMemoryError):
    """Two programs that sync one folder fight over it."""

    exit_code = 3

    def __init__(self, folder: str, found: str, client: str) -> None:
        super().__init__(
            f"`{folder}` is kept in step by {client} already (it holds `{found}`)",
            hint="leave out [remote] here: the vault is then used as the folder that it is, and the client syncs it",
        )


class NotTwoWay(VaultMemoryError):
    """The server would let one device overwrite what another wrote meanwhile."""

    exit_code = 3

    def __init__(self) -> None:
        super().__init__(
            "the server ignores preconditions: an edit of another device could be overwritten unseen",
            hint='set `mode = "pull"` or `"push"` in [remote], or `insist = true` if only one device ever writes',
        )
