"""What the rows of both ledgers have in common: callers as text, distances in time, ids."""

import json
import secrets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from vault_memory.errors import UsageError
from vault_memory.rules.paths.scopes import Caller

FURTHEST = timedelta(days=3650)
"""The latest due moment: "never" is ten years from now, which both databases can store"""
TOMBSTONE_SECONDS = 86_400
"""For how long the id of a folded operation is remembered"""
HOST_SECONDS = 7 * 86_400
"""For how long a silent host is listed"""
SEEN_SECONDS = 5.0
"""A host is noted as seen once in this time, not with each call"""
SECRET_BYTES = 32

Clock = Callable[[], datetime]
Values = Mapping[str, object]
"""The values of a statement, by their names"""
Run = Callable[[str, Values], list[Any]]
"""Runs one statement in a transaction, and returns its rows"""


def utc_now() -> datetime:
    """Return the present by this host's clock."""
    return datetime.now(UTC)


class SeenHosts:
    """Which hosts one object has noted as seen a moment ago."""

    def __init__(self) -> None:
        self._noted: dict[str, float] = {}
        """host → when it was noted, by the monotonic clock"""

    def note(self, host: str, store: Callable[[], object]) -> None:
        """Call `store`, but once in `SEEN_SECONDS` for each host."""
        now = time.monotonic()
        noted = self._noted.get(host)
        if noted is not None and now - noted < SEEN_SECONDS:
            return
        store()
        self._noted[host] = now


def caller_text(caller: Caller) -> str:
    """Return a caller as JSON."""
    fields = caller._asdict()
    # A token of the ledger confirms nothing, and a host of an older version does not know the field.
    del fields["confirms"]
    return json.dumps(fields, ensure_ascii=False)


def caller_of(text: str) -> Caller:
    """Return the caller of a row. A newer format of rows has a newer format of the ledger."""
    fields = json.loads(text)
    # Fault: a list is not hashable, and would differ from the caller that was stored.
    fields["groups"] = tuple(fields["groups"])
    return Caller(**fields)


def distance(moment: datetime, now: datetime) -> float:
    """Return the seconds from `now` until `moment`, both by one host's clock; 0 for the past."""
    return max(0.0, min(moment - now, FURTHEST).total_seconds())


def vault_id(text: str) -> str:
    """Return a UUID in lower case with dashes; "" for any other text."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return ""


def new_vault_id(text: str) -> str:
    """Return the id of a vault that is added. Raises UsageError when it is not a UUID."""
    normal = vault_id(text)
    if not normal:
        raise UsageError(
            f"`{text}` is not the id of a vault", hint="give the UUID in the marker of the vault"
        )
    return normal


def trouble_text(trouble: str) -> str:
    """Return why a visit failed, as each ledger can store it."""
    # Fault: an error may quote a name with NUL, or with bytes that are not UTF-8. The vault
    # would not be given back.
    return trouble.replace("\0", "").encode(errors="replace").decode()


@contextmanager
def refusing_texts() -> Iterator[None]:
    """Turn the error about a text that is no Unicode into UsageError."""
    try:
        yield
    except UnicodeEncodeError:
        # Fault: an argument of a command has bytes that are not UTF-8.
        raise unstorable() from None


def unstorable() -> UsageError:
    """Return the error about a text that no ledger stores."""
    return UsageError(
        "a text has characters that the ledger cannot store", hint="remove the control characters"
    )


def new_fleet() -> str:
    """Return the id of a new fleet."""
    return str(uuid.uuid4())


def new_secret() -> str:
    """Return a random text that cannot be guessed."""
    return secrets.token_hex(SECRET_BYTES)
