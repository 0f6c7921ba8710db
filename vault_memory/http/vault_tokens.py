"""The tokens of many vaults in one table: each token opens one vault."""

from collections import defaultdict
from collections.abc import Collection
from hmac import compare_digest

from vault_memory.http.tokens import TokenOwner, Tokens

_NO_DIGEST = bytes(32)
"""Compared when no token matches; no SHA-256 that anybody knows a text of"""


class VaultTokens:
    """Finds the owner of a token among all vaults by one look-up.

    Only the event loop of the server may change it and ask it.
    """

    # `Tokens` compares every token in constant time, which is too slow for 100,000. Here a
    # dictionary finds the digest, and its duration may depend on the first bytes of SHA-256
    # digests. A client gains nothing from that: it cannot choose the digest of what it sends, and
    # with a digest it would still need a text that has it. The digest in the table is compared
    # in constant time, and a fixed one when the table has none.

    def __init__(self) -> None:
        self._owners: dict[bytes, list[TokenOwner]] = defaultdict(list)
        """Digest → its owner; more than one when vaults have the same token"""
        self._digests: dict[str, tuple[bytes, ...]] = {}
        """Vault → the digests of its tokens"""

    def set_tokens(
        self, vault: str, tokens: Tokens, requests_per_minute: int | None = None
    ) -> None:
        """Replaces the tokens of a vault."""
        self.drop(vault)
        for digest, caller in tokens.callers:
            owner = TokenOwner(caller, vault, requests_per_minute)
            self._owners[digest].append(owner)
        self._digests[vault] = tuple(digest for digest, _ in tokens.callers)

    def drop(self, vault: str) -> None:
        """Removes the tokens of a vault; a vault without tokens is no error."""
        for digest in self._digests.pop(vault, ()):
            other_owners = [owner for owner in self._owners.pop(digest) if owner.vault != vault]
            if other_owners:
                self._owners[digest] = other_owners

    async def owner(self, digest: bytes) -> TokenOwner | None:
        """Returns the owner of the token with this digest, or None."""
        owners = self._owners.get(digest) or []
        # Fault: a token that two vaults have would open the vault that was read last.
        is_clear = len(owners) == 1
        expected = digest if is_clear else _NO_DIGEST
        is_same = compare_digest(expected, digest)
        return owners[0] if is_same and is_clear else None

    def shared(self) -> Collection[Collection[str]]:
        """Returns the groups of vaults that have a token in common, which opens none of them."""
        groups = {
            tuple(sorted(owner.vault for owner in owners))
            for owners in self._owners.values()
            if len(owners) > 1
        }
        return sorted(groups)

    def ambiguous(self) -> list[bytes]:
        """Returns the digests of the tokens that several vaults have."""
        return [digest for digest, owners in self._owners.items() if len(owners) > 1]

    def __len__(self) -> int:
        return len(self._owners)
