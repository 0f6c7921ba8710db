"""The passphrases with which people sign in where no terminal prints a link, as on a phone.

The file of the state folder has a digest of each by scrypt (RFC 7914), with a salt of its own.
"""

import hashlib
import hmac
import os
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict

import msgspec

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.rules.paths.filenames import person_key

FILE = "web-passphrases.json"
SHORTEST = 12
"""Characters"""
LONGEST = 256
COST, BLOCKS, LANES = 1 << 14, 8, 1
"""The parameters N, r and p of scrypt: 16 MiB, and some 50 ms"""
MOST_WRONG = 10
"""Wrong tries in a row for one person; then that person is locked out"""
LOCKED_SECONDS = 15 * 60
MOST_NAMES = 1000
"""Names whose wrong tries are counted; anybody can invent names"""


class WrongPassphrase(VaultMemoryError):
    """The name and the passphrase do not fit."""

    http_status = 403

    def __init__(self) -> None:
        super().__init__(
            "this name and this passphrase do not fit",
            hint="try again, or open a link of `vault-memory web --link`",
        )


class LockedOut(VaultMemoryError):
    """Too many wrong passphrases were tried for one person."""

    http_status = 429

    def __init__(self, minutes: int) -> None:
        super().__init__(
            "too many wrong passphrases were tried for this person",
            hint=f"wait {minutes} minutes, or open a link of `vault-memory web --link`",
        )


class PassphraseJson(TypedDict):
    """Whether a person has a passphrase now."""

    user: str
    is_set: bool


_Hex = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2})*$")]


class _Passphrase(msgspec.Struct):
    salt: _Hex
    digest: _Hex


class Passphrases:
    """The passphrases of the people of one vault."""

    def __init__(self, state: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._file = state / FILE
        self._clock = clock
        self._wrong: dict[str, tuple[int, float]] = {}
        """Person → wrong tries in a row, and when the last one was"""

    def any(self) -> bool:
        """Returns whether anybody has a passphrase."""
        return bool(self._read())

    def set(self, user: str, passphrase: str) -> None:
        """Gives a person a passphrase, in place of an earlier one; an empty one removes it.

        Raises UsageError for one that can be guessed.
        """
        if passphrase and not SHORTEST <= len(passphrase) <= LONGEST:
            raise UsageError(
                f"a passphrase has {SHORTEST} to {LONGEST} characters",
                hint="take four words that have nothing to do with each other",
            )
        places.make_private(self._file.parent)
        with state_file.lock(self._file.with_suffix(".lock")):
            stored = self._read()
            stored.pop(user, None)
            if passphrase:
                salt = os.urandom(16)
                stored[user] = _Passphrase(salt.hex(), _digest(passphrase, salt))
            state_file.write(self._file, msgspec.json.encode(stored).decode(), durable=True)

    def check(self, user: str, passphrase: str) -> str:
        """Returns the name of the person as the vault writes it. Raises WrongPassphrase, LockedOut."""
        passphrases = self._read()
        # Fault: a phone writes a name with a capital, or an accent in another form. No two people
        # of a vault have names that differ only so.
        if user not in passphrases:
            key = person_key(user)
            user = next((name for name in passphrases if person_key(name) == key), user)
        count, last = self._wrong.get(user, (0, 0.0))
        left = last + LOCKED_SECONDS - self._clock()
        if left <= 0:
            count = 0
        # Fault: a program that tries passphrases would find the right one in time.
        if count >= MOST_WRONG:
            raise LockedOut(max(1, round(left / 60)))
        stored = passphrases.get(user)
        # Fault: an answer that comes sooner for a name without a passphrase tells who has one.
        salt = bytes.fromhex(stored.salt) if stored else bytes(16)
        digest = _digest(passphrase, salt)
        if stored is None or not hmac.compare_digest(stored.digest, digest):
            self._wrong.pop(user, None)
            self._wrong[user] = (count + 1, self._clock())
            while len(self._wrong) > MOST_NAMES:
                del self._wrong[next(iter(self._wrong))]
            raise WrongPassphrase
        self._wrong.pop(user, None)
        return user

    def _read(self) -> dict[str, _Passphrase]:
        value = state_file.read_json(self._file)
        try:
            return msgspec.convert(value or {}, dict[str, _Passphrase])
        except msgspec.ValidationError:
            # Fault: a person may edit any file of the state folder.
            return {}


def _digest(passphrase: str, salt: bytes) -> str:
    # Fault: one device writes an accent as a letter of its own, and another within its letter.
    composed = unicodedata.normalize("NFC", passphrase)[:LONGEST]
    secret = composed.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=COST, r=BLOCKS, p=LANES).hex()
