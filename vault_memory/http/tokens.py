"""The tokens of bots, and the caller of each."""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from vault_memory.config.secret_file import read_secret
from vault_memory.config.server_sections import ServeToken
from vault_memory.edits.people import twins
from vault_memory.errors import ConfigError
from vault_memory.rules.paths.scopes import Caller

SHORTEST = 32
"""Characters of a token; 16 random bytes in hexadecimal are as long"""
MAKE_ONE = "make one: `(umask 077; openssl rand -hex 32 > FILE)`"


class TokenUnsafe(ConfigError):
    """A token is missing, others can read or guess it, or two bots have it."""


class TokenOwner(NamedTuple):
    """The caller of a token, and the vault that the token opens."""

    caller: Caller
    vault: str = ""
    """The key of the vault; empty when the server has only one"""


class TokenTable(Protocol):
    """Finds the owners of tokens by their digests."""

    async def owner(self, digest: bytes) -> TokenOwner | None:
        """Returns the owner of the token with this `token_digest`, or None.

        Raises VaultUnavailable when the table itself cannot be asked now.
        """


class Tokens:
    """The callers by the digests of their tokens; the tokens themselves are not kept."""

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._callers = tuple((token_digest(token), caller) for token, caller in callers.items())

    @classmethod
    def load(cls, tokens: Iterable[ServeToken], *, root: Path) -> Self:
        """Loads the tokens of `[[serve.tokens]]`; no file may be in the vault `root`.

        Raises TokenUnsafe.
        """
        callers: dict[str, Caller] = {}
        for number, row in enumerate(tokens):
            setting = f"serve.tokens[{number}].token_file"
            token = token_in(Path(row.token_file).expanduser(), setting, root)
            if token in callers:
                raise TokenUnsafe(
                    f"the token of `{setting}` is also that of `{callers[token].user}`",
                    hint=f"give each bot its own token; {MAKE_ONE}",
                )
            callers[token] = _caller(row, setting)
        for names in twins(caller.user for caller in callers.values()):
            raise TokenUnsafe(
                f"the tokens are of {' and '.join(map(repr, names))}, which cannot be told apart",
                hint="name one person in one way in each `serve.tokens` table",
            )
        return cls(callers)

    def caller(self, bearer: str) -> Caller | None:
        """Returns the caller of a token, or None."""
        return self._caller_of(token_digest(bearer))

    async def owner(self, digest: bytes) -> TokenOwner | None:
        """Returns the owner of the token with this digest, or None."""
        caller = self._caller_of(digest)
        return None if caller is None else TokenOwner(caller)

    @property
    def callers(self) -> Sequence[tuple[bytes, Caller]]:
        """The digest of each token with its caller."""
        return self._callers

    def _caller_of(self, digest: bytes) -> Caller | None:
        match = None
        # Every token is compared, in constant time: the duration must tell nothing about them.
        for own_digest, caller in self._callers:
            if hmac.compare_digest(own_digest, digest):
                match = caller
        return match

    def __len__(self) -> int:
        return len(self._callers)


def _caller(row: ServeToken, setting: str) -> Caller:
    names = (row.user, row.channel, *row.groups)
    are_valid = all(name == name.strip() and name.isprintable() for name in names)
    if not (are_valid and row.user and all(row.groups)):
        raise TokenUnsafe(
            f"the token of `{setting}` opens nobody's notes",
            hint="name a person in `user`, and a channel and groups if it should open theirs",
        )
    return Caller(row.user, row.channel, row.groups, row.private)


def token_in(path: Path, setting: str, root: Path) -> str:
    """Reads a token file, which `setting` names; `root` is the vault. Raises TokenUnsafe."""
    see = f"see `{setting}`, or {MAKE_ONE}"
    text = read_secret(path, root, name="token file", setting=setting, error=TokenUnsafe, hint=see)
    token = text.rstrip("\r\n")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise TokenUnsafe(
            f"the token in `{path}` has unusual characters",
            hint="write one line of letters and digits",
        )
    if len(token) < SHORTEST:
        raise TokenUnsafe(
            f"the token in `{path}` has {len(token)} characters, which can be guessed;"
            f" it needs {SHORTEST}",
            hint=MAKE_ONE,
        )
    return token


def token_digest(token: str) -> bytes:
    """Returns the SHA-256 of a token, by which tables find it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


# --- Tokens of many vaults ---

# The tokens of many vaults in one table: each token opens one vault.

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

    def set_tokens(self, vault: str, tokens: Tokens) -> None:
        """Replaces the tokens of a vault."""
        self.drop(vault)
        for digest, caller in tokens.callers:
            owner = TokenOwner(caller, vault)
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
        is_same = hmac.compare_digest(expected, digest)
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
