"""The tokens of bots, and the caller of each."""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from vault_memory.config.secret_file import read_secret
from vault_memory.config.server_sections import ServeToken
from vault_memory.edits.people import refuse_twin, twins
from vault_memory.errors import ConfigError
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.scopes import Caller

SHORTEST = 32
"""Characters of a token; 16 random bytes in hexadecimal are as long"""
MAKE_ONE = "make one: `(umask 077; openssl rand -hex 32 > FILE)`"


class TokenUnsafe(ConfigError):
    """A token is missing, others can read or guess it, or two bots have it."""


Callers = Mapping[bytes, Caller]
"""The digest of each token of a vault → its caller"""


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


def load_tokens(rows: Iterable[ServeToken], *, root: Path, layout: Layout | None = None) -> Callers:
    """Loads the tokens of `[[serve.tokens]]`; no file may be in the vault `root`.

    With the `layout` of the vault, its folders count as well. Raises TokenUnsafe, NameTaken.
    """
    callers: dict[bytes, Caller] = {}
    for number, row in enumerate(rows):
        setting = f"serve.tokens[{number}].token_file"
        digest = token_digest(token_in(Path(row.token_file).expanduser(), setting, root))
        if digest in callers:
            raise TokenUnsafe(
                f"the token of `{setting}` is also that of `{callers[digest].user}`",
                hint=f"give each bot its own token; {MAKE_ONE}",
            )
        callers[digest] = _caller(row, setting)
    users = [caller.user for caller in callers.values()]
    for names in twins(users):
        raise TokenUnsafe(
            f"the tokens are of {' and '.join(map(repr, names))}, which cannot be told apart",
            hint="name one person in one way in each `serve.tokens` table",
        )
    if layout is not None:
        for user in users:
            # Fault (H124): two names that are one folder on some systems would open each
            # other's notes.
            refuse_twin(user, root, layout)
    return callers


def _caller(row: ServeToken, setting: str) -> Caller:
    names = (row.user, row.channel, *row.groups)
    are_valid = all(name == name.strip() and name.isprintable() for name in names)
    if not (are_valid and row.user and all(row.groups)):
        raise TokenUnsafe(
            f"the token of `{setting}` opens nobody's notes",
            hint="name a person in `user`, and a channel and groups if it should open theirs",
        )
    return Caller(row.user, row.channel, row.groups, row.private, row.confirms)


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


# --- Tokens of all vaults ---

# One table: each token opens one vault.

_NO_DIGEST = bytes(32)
"""Compared when no token matches; no SHA-256 that anybody knows a text of"""


class Tokens:
    """Finds the owner of a token among all vaults by one look-up."""

    # To compare every token in constant time takes too long for 100,000.
    # A dictionary finds the digest, and its duration may depend on the first bytes of SHA-256
    # digests. A client gains nothing from that: it cannot choose the digest of what it sends, and
    # with a digest it would still need a text that has it. The digest in the table is compared
    # in constant time, and a fixed one when the table has none.

    def __init__(self, vaults: Mapping[str, Callers]) -> None:
        """Gets the callers of each vault; "" is the key of the only one."""
        self._owners: dict[bytes, list[TokenOwner]] = defaultdict(list)
        """Digest → its owner; more than one when vaults have the same token"""
        for vault, callers in vaults.items():
            for digest, caller in callers.items():
                self._owners[digest].append(TokenOwner(caller, vault))

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
