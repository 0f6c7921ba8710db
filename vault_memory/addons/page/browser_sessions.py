"""Links that open the page once, and the sessions of the browsers that used one.

Both are in one file of the state folder. It has digests only: a thief of the file can open nothing.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from vault_memory import places
from vault_memory.config import state_file

FILE = "web-sessions.json"
LINK_SECONDS = 5 * 60
"""How long a link can be used"""
IDLE_SECONDS = 30 * 24 * 3600
"""A session that was not used for so long has ended"""
TOUCH_SECONDS = 3600
"""The time of use is written at most this often"""
MOST_SESSIONS = 200
MOST_LINKS = 50


class Rights(NamedTuple):
    """What a session may see and do."""

    users: tuple[str, ...] | None = None
    """the people whose notes it may see; None for all scopes of the vault"""
    may_write: bool = True


class BrowserSession(NamedTuple):
    """A browser that has opened a link."""

    rights: Rights
    csrf: str
    """the token that each form of this session carries"""


class _StoredLink(msgspec.Struct):
    digest: str
    ends: float
    rights: Rights


class _StoredSession(msgspec.Struct):
    digest: str
    used: float
    rights: Rights


class _Stored(msgspec.Struct):
    links: list[_StoredLink] = []
    sessions: list[_StoredSession] = []


class BrowserSessions:
    """The links and sessions of one vault. Several processes may use the same file."""

    def __init__(
        self, state: Path, clock: Callable[[], float] = time.time, *, key_prefix: str = ""
    ) -> None:
        """`key_prefix` is how each new key and token begins."""
        self._key_prefix = key_prefix
        self._file = state / FILE
        self._lock = state / f"{FILE}.lock"
        self._clock = clock
        self._stamp: tuple[int, int, int] | None = None
        self._stored = _Stored()

    def make_link(self, rights: Rights) -> str:
        """Returns the key of a new link."""
        key = self._key_prefix + secrets.token_urlsafe(32)
        with self._changing() as stored:
            ends = self._clock() + LINK_SECONDS
            stored.links.append(_StoredLink(_digest(key), ends, rights))
            del stored.links[:-MOST_LINKS]
        return key

    def rights_of_link(self, key: str) -> Rights | None:
        """Returns what a session of this link may see and do; None for a link of no use."""
        link = self._link(self._read(), key)
        return link.rights if link else None

    def _link(self, stored: _Stored, key: str) -> _StoredLink | None:
        digest = _digest(key)
        now = self._clock()
        for link in stored.links:
            if hmac.compare_digest(link.digest, digest) and link.ends > now:
                return link
        return None

    def owner_of(self, rights: Rights) -> str:
        """Returns how the tokens of these people in this vault begin, up to their last dot."""
        names = ["*"] if rights.users is None else rights.users
        quoted = (quote(name, safe="").replace(".", "%2E") for name in names)
        return self._key_prefix + "+".join(quoted)

    def spend(self, key: str) -> str | None:
        """Uses a link up. Returns the token of a new session; None for a link of no use."""
        with self._changing() as stored:
            link = self._link(stored, key)
            if link is None:
                return None
            # Fault: two browsers with the same link, or one that was stolen.
            stored.links.remove(link)
            return self._new_token(stored, link.rights)

    def open(self, rights: Rights) -> str:
        """Returns the token of a new session of people who said their passphrase."""
        with self._changing() as stored:
            return self._new_token(stored, rights)

    def _new_token(self, stored: _Stored, rights: Rights) -> str:
        token = f"{self.owner_of(rights)}.{secrets.token_hex(32)}"
        stored.sessions.append(_StoredSession(_digest(token), self._clock(), rights))
        del stored.sessions[:-MOST_SESSIONS]
        return token

    def find(self, token: str) -> BrowserSession | None:
        """Returns the session with this token; None when there is none, or it has ended."""
        digest = _digest(token)
        now = self._clock()
        for session in self._read().sessions:
            is_same = hmac.compare_digest(session.digest, digest)
            if is_same and session.used + IDLE_SECONDS > now:
                if now - session.used > TOUCH_SECONDS:
                    # Fault: on a full disk, a view would fail because of its time of use.
                    with suppress(OSError):
                        self._touch(digest)
                return BrowserSession(session.rights, _csrf(token))
        return None

    def end(self, token: str) -> None:
        """Ends the session with this token."""
        digest = _digest(token)
        with self._changing() as stored:
            stored.sessions = [session for session in stored.sessions if session.digest != digest]

    def end_all(self) -> int:
        """Ends all sessions and links. Returns how many sessions there were."""
        with self._changing() as stored:
            count = len(stored.sessions)
            stored.sessions = []
            stored.links = []
        return count

    def take_over(self, source: Path) -> None:
        """Takes the sessions of another state folder over; those that are here stay."""
        with self._changing() as stored:
            more = _load(source / FILE).sessions
            stored.sessions += [session for session in more if session not in stored.sessions]

    def count(self) -> int:
        """Returns how many sessions there are."""
        oldest = self._clock() - IDLE_SECONDS
        return sum(session.used > oldest for session in self._read().sessions)

    def _touch(self, digest: str) -> None:
        with self._changing() as stored:
            for session in stored.sessions:
                if session.digest == digest:
                    session.used = self._clock()

    def _read(self) -> _Stored:
        """Returns what the file has; it is read again when it is another one."""
        try:
            stat = self._file.stat()
        except OSError:
            self._stamp = None
            self._stored = _Stored()
            return self._stored
        # Fault: `--sign-out` runs in another process, and must end sessions at once.
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if stamp != self._stamp:
            self._stored = _load(self._file)
            self._stamp = stamp
        return self._stored

    @contextmanager
    def _changing(self) -> Iterator[_Stored]:
        """Gives what the file has, and writes it back with the changes."""
        places.make_private(self._lock.parent)
        with state_file.lock(self._lock):
            stored = _load(self._file)
            now = self._clock()
            stored.links = [link for link in stored.links if link.ends > now]
            stored.sessions = [
                session for session in stored.sessions if session.used + IDLE_SECONDS > now
            ]
            yield stored
            state_file.write(self._file, msgspec.json.encode(stored).decode())


def key_prefix(vault: str) -> str:
    """Returns how the keys of a vault begin, where one server has the pages of many vaults."""
    return f"{vault}."


def vault_of_key(key: str) -> str:
    """Returns the id of the vault of a link or session; "" for a key without one."""
    vault, dot, _ = key.partition(".")
    return vault if dot else ""


def owner_of_token(token: str) -> str:
    """Returns the vault and the people that a token names."""
    return token.rpartition(".")[0]


def _load(file: Path) -> _Stored:
    value: Any = state_file.read_json(file)
    try:
        return msgspec.convert(value or {}, _Stored)
    except msgspec.ValidationError:
        # Fault: a person may edit any file of the state folder. Then everybody signs in again.
        return _Stored()


def _digest(secret: str) -> str:
    # A header may have lone surrogates, which UTF-8 cannot encode.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _csrf(token: str) -> str:
    """Returns the CSRF token of a session: a page of another origin cannot know it."""
    return hmac.new(token.encode(), b"csrf", hashlib.sha256).hexdigest()
