"""The programs that people let in from outside, in one file of the state folder.

The file has digests of tokens only. The secret of a program that registered itself is there as it
is, since the program's own requests are compared with it; without a token it opens nothing.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from vault_memory import places
from vault_memory.config import state_file

FILE = "connector.json"
ACCESS_SECONDS = 3600
"""How long an access token is valid; the program gets the next one by its refresh token"""
IDLE_SECONDS = 90 * 24 * 3600
"""A connection that was not used for so long has ended"""
UNUSED_SECONDS = 24 * 3600
"""A registration that led to no connection is kept so long"""
MOST_UNUSED = 200
"""Registrations without a connection; the oldest go first"""
MOST_ACCESS = 8
"""Access tokens of one connection at once; a program may ask for several at a time"""
MOST_CONNECTIONS = 200
# Fault: a person may edit any file of the state folder, and no calendar has each number.
_Moment = Annotated[float, msgspec.Meta(ge=0, le=9e10)]
_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$")]


class ConnectedProgram(NamedTuple):
    """What a person is told about a program that asks, or that was let in."""

    client_id: str
    name: str
    """as the program calls itself, which nobody checked"""
    place: str
    """where the answers go: the host of the address that gets the code"""


class MemoryAddress(NamedTuple):
    """Whose memory a connection opens, and where."""

    user: str
    resource: str
    """the address for which the tokens are valid"""


class TokenPair(NamedTuple):
    """What a program gets."""

    access: str
    refresh: str
    connection_id: str


class _AccessToken(msgspec.Struct):
    digest: _Digest
    ends: float


class Grant(msgspec.Struct):
    """A program that a person let in."""

    id: str
    program: ConnectedProgram
    address: MemoryAddress
    since: _Moment
    used: _Moment
    refresh: _Digest
    """digest of the only refresh token that is valid"""
    access: list[_AccessToken] = []


class _Registration(msgspec.Struct):
    since: _Moment
    metadata: dict[str, Any]


class _GrantFile(msgspec.Struct):
    registrations: dict[str, _Registration] = {}
    """Id of a client → what it said about itself"""
    connections: list[Grant] = []


class Grants:
    """The connections of one vault. Several processes may use the same file."""

    def __init__(self, state: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = state / FILE
        self._lock = state / f"{FILE}.lock"
        self._clock = clock

    # ---- programs ----------------------------------------------------------------------

    def register(self, client_id: str, metadata: dict[str, Any]) -> None:
        """Keeps what a client said about itself, in place of what it said before."""
        with self._changing() as stored:
            stored.registrations[client_id] = _Registration(self._clock(), metadata)

    def registration(self, client_id: str) -> dict[str, Any] | None:
        """Returns what a client said about itself; None for an unknown one."""
        registration = self._read().registrations.get(client_id)
        return None if registration is None else registration.metadata

    # ---- connections -------------------------------------------------------------------

    def open(self, program: ConnectedProgram, address: MemoryAddress) -> TokenPair:
        """Makes a connection, and returns its first tokens."""
        family = secrets.token_urlsafe(24)
        now = self._clock()
        connection = Grant(_digest(family), program, address, now, now, "")
        with self._changing() as stored:
            tokens = self._next_tokens(connection, family)
            stored.connections.append(connection)
            del stored.connections[:-MOST_CONNECTIONS]
        return tokens

    def of_refresh(self, token: str) -> Grant | None:
        """Returns the connection with this refresh token.

        A token that was replaced ends its connection: two have it, and one of them stole it.
        """
        with self._changing() as stored:
            return self._of_refresh(stored, token)

    def refresh(self, token: str) -> TokenPair | None:
        """Replaces a refresh token, and returns the next tokens; None for one that is not valid."""
        with self._changing() as stored:
            # Fault: two requests with the same token. Only one of them may get tokens.
            connection = self._of_refresh(stored, token)
            if connection is None:
                return None
            connection.used = self._clock()
            return self._next_tokens(connection, token.partition(".")[0])

    def of_access(self, token_digest: bytes) -> Grant | None:
        """Returns the connection of an access token that is valid now."""
        digest, now = token_digest.hex(), self._clock()
        for connection in self._live(self._read()):
            if any(token.digest == digest and token.ends > now for token in connection.access):
                return connection
        return None

    def of_token(self, token: str) -> Grant | None:
        """Returns the connection that a token began in, valid or not."""
        family = _digest(token.partition(".")[0])
        return next((grant for grant in self._live(self._read()) if grant.id == family), None)

    def all(self, users: Collection[str] | None) -> list[Grant]:
        """Returns the connections with the memory of these people, or all; the newest first."""
        grants = self._live(self._read())
        return [grant for grant in grants[::-1] if users is None or grant.address.user in users]

    def end(self, connection_id: str, users: Collection[str] | None = None) -> Grant | None:
        """Ends a connection, and returns it; only one of these people if they are named."""
        with self._changing() as stored:
            for connection in stored.connections:
                is_theirs = users is None or connection.address.user in users
                if connection.id == connection_id and is_theirs:
                    stored.connections.remove(connection)
                    return connection
        return None

    def _of_refresh(self, stored: _GrantFile, token: str) -> Grant | None:
        family, digest = _digest(token.partition(".")[0]), _digest(token)
        for connection in stored.connections:
            if connection.id == family:
                if secrets.compare_digest(connection.refresh, digest):
                    return connection
                if digest not in [access.digest for access in connection.access]:
                    stored.connections.remove(connection)
                return None
        return None

    def _next_tokens(self, connection: Grant, family: str) -> TokenPair:
        """Gives a connection new tokens. Each begins with what only its holders know of it."""
        access, refresh = (f"{family}.{secrets.token_urlsafe(32)}" for _ in range(2))
        now = self._clock()
        valid = [token for token in connection.access if token.ends > now]
        valid.append(_AccessToken(_digest(access), now + ACCESS_SECONDS))
        connection.access = valid[-MOST_ACCESS:]
        connection.refresh = _digest(refresh)
        return TokenPair(access, refresh, connection.id)

    def _live(self, stored: _GrantFile) -> list[Grant]:
        now = self._clock()
        return [grant for grant in stored.connections if grant.used + IDLE_SECONDS > now]

    # ---- the file ----------------------------------------------------------------------

    def _read(self) -> _GrantFile:
        value = state_file.read_json(self._file)
        try:
            return msgspec.convert(value or {}, _GrantFile)
        except msgspec.ValidationError:
            # Fault: a person may edit any file of the state folder. Then each program asks again.
            return _GrantFile()

    @contextmanager
    def _changing(self) -> Iterator[_GrantFile]:
        """Gives what the file has, and writes it back with the changes."""
        places.make_private(self._lock.parent)
        with state_file.lock(self._lock):
            stored = self._read()
            stored.connections = self._live(stored)
            before = msgspec.json.encode(stored)
            yield stored
            self._drop_unused(stored)
            after = msgspec.json.encode(stored)
            if after != before:
                # Fault: a program that has the next refresh token, and a file with the last one,
                # would be taken for a thief after a power failure.
                state_file.write(self._file, after.decode(), durable=True)

    def _drop_unused(self, stored: _GrantFile) -> None:
        """Drops registrations that led to nothing: anybody may register without end."""
        used = {connection.program.client_id for connection in stored.connections}
        unused = [name for name in stored.registrations if name not in used]
        unused.sort(key=lambda name: stored.registrations[name].since)
        oldest = self._clock() - UNUSED_SECONDS
        for number, name in enumerate(reversed(unused)):
            if number >= MOST_UNUSED or stored.registrations[name].since < oldest:
                del stored.registrations[name]


def _digest(secret: str) -> str:
    # A header may have lone surrogates, which UTF-8 cannot encode.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
