"""Open and ended sessions, as small files in the state folder: they survive a restart.

A session begins with a new file, and ends with a rename of it. The time of the file is that of the
last turn. After a crash the session is either open or ended. Only the transcripts have its words.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.config.durable import sync_folder

FOLDER = "sessions"
OPEN, ENDED, LEARNED, JUDGED = ".open", ".ended", ".learned", ".judged"
JUDGING = ".judging"
"""The lock of the process that learns at once"""
JUDGING_SECONDS = 2.0
"""How long to wait for another process that learns at once"""
MOST_UNJUDGED = 20
"""Sessions from which is learned at a time"""
SESSION_IDLE = timedelta(minutes=10)
"""How long after its last turn an open session ends"""
RETENTION = timedelta(days=30)
"""How long an ended session is remembered when nothing uses it"""


class Session(NamedTuple):
    """One conversation of one person, in a channel or outside of any."""

    id: str
    user: str
    channel: str
    began: datetime
    last: datetime
    """Time of the last turn"""
    is_open: bool

    @property
    def scope(self) -> str:
        """The scope of the transcript."""
        return f"channel:{self.channel}" if self.channel else f"user:{self.user}"


class Sessions:
    """The sessions of one vault, for all of its processes."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def record_turn(
        self, session_id: str, user: str, channel: str, at: datetime, *, ends_others: bool = True
    ) -> list[Session]:
        """Notes a turn of a session. Returns the sessions that it ends.

        A new session ends the older ones of the same person and channel. The session of a job does
        not: it runs beside the conversation of the person.
        """
        file = self._file(session_id, user, channel)
        if _touch(file, at):
            return []
        # Fault: a late turn reaches a session that another process has just ended.
        ended_file = file.with_suffix(ENDED)
        if ended_file.exists():
            # The session continues after all. Another process may have renamed the file
            # already.
            with suppress(FileNotFoundError):
                os.replace(ended_file, file)
            _touch(file, at)
            return []
        ended = self._end_older(file.parent, at) if ends_others else []
        content = {"session": session_id, "user": user, "channel": channel, "began": at.isoformat()}
        _write(file, content, at)
        self._remove_old(at)
        return ended

    def _end_older(self, folder: Path, at: datetime) -> list[Session]:
        """Ends the sessions of a person and channel without a later turn. Returns them."""
        older = [
            session
            for session in self._in_folder(folder)
            # Fault: a turn of the past, such as an import, must not end the conversation of today.
            if session.is_open and session.last <= at
        ]
        # Fault: another process may have ended a session since it was read. Only one of
        # them may learn from it.
        return [session for session in older if self.end(session)]

    def end(self, session: Session) -> bool:
        """Ends a session. False when it had ended already."""
        file = self._file_of(session)
        try:
            os.replace(file, file.with_suffix(ENDED))
        except FileNotFoundError:
            # Another process ended the session first.
            return False
        # Fault: after a power cut the session would be open again, and its end would be handled
        # twice.
        sync_folder(file.parent)
        return True

    def end_idle(self, now: datetime) -> list[Session]:
        """Ends the sessions that had no turn for `SESSION_IDLE`, and returns them."""
        return [
            session
            for session in self.all()
            if session.is_open and now - session.last >= SESSION_IDLE and self.end(session)
        ]

    def find(self, session_id: str, user: str = "", channel: str = "") -> list[Session]:
        """Returns the open and ended sessions with this id; `user` and `channel` are filters."""
        name = _key(session_id)
        sessions = (
            self._read(file)
            for ending in (OPEN, ENDED)
            for file in self._folder.glob(f"*/{name}{ending}")
        )
        return [
            session
            for session in sessions
            if session is not None
            # Fault: two session names may have the same short hash, or a file may be a copy.
            and session.id == session_id
            and user in ("", session.user)
            and channel in ("", session.channel)
        ]

    def latest(self, user: str, channel: str) -> Session | None:
        """Returns the open session of a person and channel with the newest turn."""
        folder = self._folder / _key(user, channel)
        open_sessions = [session for session in self._in_folder(folder) if session.is_open]
        return max(open_sessions, key=lambda session: session.last, default=None)

    def all(self) -> list[Session]:
        """Returns all sessions, the one with the oldest last turn first."""
        try:
            folders = sorted(self._folder.iterdir())
            sessions = [session for folder in folders for session in self._in_folder(folder)]
        except OSError:
            return []
        return sorted(sessions, key=lambda session: (session.last, session.id))

    def ended(self) -> list[Session]:
        """Returns the ended sessions that were not removed yet."""
        return [session for session in self.all() if not session.is_open]

    def unlearned(self) -> list[Session]:
        """Returns the ended sessions with turns that nothing was learned from yet."""
        return [
            session
            for session in self.ended()
            # Fault: a turn after the learning makes the session new again. File systems round
            # times.
            if _modified(self._mark_of(session)) < session.last.timestamp() - 0.001
        ]

    def mark_learned(self, session: Session) -> None:
        """Notes that all turns so far were learned from. The session stays: it may continue."""
        mark = self._mark_of(session)
        mark.touch()
        # Fault: the clock of the machine may run ahead of the turns. So the mark has the time of
        # the last turn.
        os.utime(mark, (session.last.timestamp(), session.last.timestamp()))

    def changes(self) -> tuple[int, ...]:
        """Returns numbers that differ as soon as a session begins or ends; cheap."""
        with suppress(OSError):
            times = (folder.stat().st_mtime_ns for folder in self._folder.iterdir())
            return tuple(sorted(times))
        return ()

    def unjudged(self) -> list[Session]:
        """Returns sessions of persons with turns from which nothing was learned at once; cheap.

        They are the newest ones: with many, a later call returns the others.
        """
        files: list[Path] = []
        with suppress(OSError):
            for folder in self._folder.iterdir():
                files += filter(_is_unjudged, folder.glob("*.*"))
        newest = sorted(files, key=_modified, reverse=True)
        sessions = filter(None, map(self._read, newest))
        own = (session for session in sessions if session.user and not session.channel)
        # Fault: the first look at a month of sessions would take longer than a prompt can wait.
        return list(islice(own, MOST_UNJUDGED))

    @contextmanager
    def judging(self) -> Iterator[None]:
        """Excludes others who learn at once. Raises LockTaken if one of them takes long."""
        # Fault: the daemon and a hook would write the same line at the same time.
        with state_file.lock(self._folder / JUDGING, patience=JUDGING_SECONDS):
            yield

    def judged_marks(self, session: Session) -> set[str]:
        """Returns the marks of the turns from which was learned at once."""
        file = self._file_of(session).with_suffix(JUDGED)
        try:
            return set(file.read_text(encoding="ascii").split())
        except (OSError, ValueError):
            # Without the marks the turns are judged again. What is written twice is a duplicate.
            return set()

    def mark_judged(self, session: Session, marks: Iterable[str]) -> None:
        """Notes that all turns so far were judged, by their marks."""
        file = self._file_of(session).with_suffix(JUDGED)
        text = " ".join(sorted(marks))
        state_file.write(file, text, modified=session.last.timestamp())

    def remove(self, session: Session) -> None:
        """Removes an ended session that nothing needs any more."""
        # Fault: another process may have removed the files first.
        self._file_of(session).with_suffix(ENDED).unlink(missing_ok=True)
        self._mark_of(session).unlink(missing_ok=True)
        self._file_of(session).with_suffix(JUDGED).unlink(missing_ok=True)

    def _remove_old(self, now: datetime) -> None:
        for session in self.ended():
            if now - session.last > RETENTION:
                self.remove(session)

    def _mark_of(self, session: Session) -> Path:
        return self._file_of(session).with_suffix(LEARNED)

    def _file_of(self, session: Session) -> Path:
        return self._file(session.id, session.user, session.channel)

    def _file(self, session_id: str, user: str, channel: str) -> Path:
        return self._folder / _key(user, channel) / f"{_key(session_id)}{OPEN}"

    def _in_folder(self, folder: Path) -> Iterator[Session]:
        for file in sorted(folder.glob("*.*")):
            if file.suffix not in (OPEN, ENDED):
                continue
            session = self._read(file)
            if session is not None:
                yield session

    def _read(self, file: Path) -> Session | None:
        """Returns the session of a file; None when it is gone or damaged."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            last = datetime.fromtimestamp(file.stat().st_mtime, UTC)
            return Session(
                content["session"],
                content["user"],
                content["channel"],
                datetime.fromisoformat(content["began"]),
                last,
                file.suffix == OPEN,
            )
        except (OSError, ValueError, KeyError, TypeError):
            # Fault (B42): another process renamed or removed the file, or a crash cut
            # it off.
            return None


def _key(*names: str) -> str:
    """Returns a file name for names of any characters."""
    # Fault (H124): joined without a mark, the names "a" and "bc" would give the file of
    # "ab" and "c".
    joined = "\0".join(names).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:24]


def _modified(file: Path) -> float:
    """Returns the time of a file; for a missing file, one before all others."""
    try:
        return file.stat().st_mtime
    except OSError:
        return float("-inf")


def _is_unjudged(file: Path) -> bool:
    """Returns whether a session has a turn that is newer than its last judged or learned turn."""
    if file.suffix not in (OPEN, ENDED):
        return False
    marks = (_modified(file.with_suffix(ending)) for ending in (JUDGED, LEARNED))
    # Fault: file systems round times.
    return max(marks) < _modified(file) - 0.001


def _touch(file: Path, at: datetime) -> bool:
    """Sets the time of the last turn, which never goes back. False when there is no such file."""
    try:
        # Fault: late turns of another device are older than the last one. They must not set the
        # time back.
        if file.stat().st_mtime < at.timestamp():
            os.utime(file, (at.timestamp(), at.timestamp()))
    except FileNotFoundError:
        return False
    return True


def _write(file: Path, content: dict[str, str], at: datetime) -> None:
    places.make_private(file.parent)
    # Fault: a reader must never see a new session with the time at which its file was
    # made.
    state_file.write(file, json.dumps(content), modified=at.timestamp())
