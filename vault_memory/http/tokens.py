"""The tokens of bots, and the caller of each."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from vault_memory.config.secret_file import read_secret
from vault_memory.config.server_sections import ServeToken
from vault_memory.edits.people import twins
from vault_memory.errors import ConfigError
from vault_memory.rules.paths.caller import Caller

SHORTEST = 32
"""Characters of a token; 16 random bytes in hexadecimal are as long"""
MAKE_ONE = "make one: `(umask 077; openssl rand -hex 32 > FILE)`"


class TokenUnsafe(ConfigError):
    """A token is missing, others can read or guess it, or two bots have it."""


class Tokens:
    """The callers by the digests of their tokens; the tokens themselves are not kept."""

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._callers = tuple(
            (_digest(token), caller) for token, caller in callers.items()
        )

    @classmethod
    def load(
        cls,
        tokens: Iterable[ServeToken],
        *,
        root: Path,
    ) -> Self:
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
        digest = _digest(bearer)
        match = None
        # Every token is compared, in constant time: the duration must tell nothing about them.
        for own_digest, caller in self._callers:
            if hmac.compare_digest(own_digest, digest):
                match = caller
        return match

    def __len__(self) -> int:
        return len(self._callers)


def _caller(
    row: ServeToken,
    setting: str,
) -> Caller:
    names = (row.user, row.channel, *row.groups)
    are_valid = all(name == name.strip() and name.isprintable() for name in names)
    if not (are_valid and row.user and all(row.groups)):
        raise TokenUnsafe(
            f"the token of `{setting}` opens nobody's notes",
            hint="name a person in `user`, and a channel and groups if it should open theirs",
        )
    return Caller(row.user, row.channel, row.groups, row.private)


def token_in(
    path: Path,
    setting: str,
    root: Path,
) -> str:
    """Reads a token file, which `setting` names; `root` is the vault. Raises TokenUnsafe."""
    see = f"see `{setting}`, or {MAKE_ONE}"
    text = read_secret(
        path, root, name="token file", setting=setting, error=TokenUnsafe, hint=see
    )
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


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
