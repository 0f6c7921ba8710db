"""Who is talking just now: the open sessions, as small files in the state folder, so that a restart forgets none.

A file is made when a session begins, its time is that of the last turn, and it is renamed when the session ends:
whatever a crash leaves is one or the other. What was said is in the transcripts alone.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from vault_memory.config import state_file
from vault_memory.config.durable import sync_folder

FOLDER = "sessions"
OPEN, ENDED, LEARNED = ".open", ".ended", ".learned"
KEPT = timedelta(days=30)
"""So long an ended session is remembered that nobody asked about"""


class Session(NamedTuple):
    """One conversation of one person, in a channel or outside of any."""

    id: str
    user: str
    channel: str
    began: datetime
    last: datetime
    """when the last turn was said"""
    is_open: bool

    @property
    def scope(self) -> str:
        return f"channel:{self.channel}" if self.channel else f"user:{self.user}"


class Sessions:
    """Of one vault, for all of its processes."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def said(
        self,
        id_: str,
        user: str,
        channel: str,
        at: datetime,
        *,
        ends_others: bool = True,
    ) -> list[Session]:
        """A turn of this session was said. One that is new ends the older ones of the same person and channel.

        Not so one of a job, which runs beside what the person is talking about.
        """
        file = self._file(id_, user, channel)
        if _touch(file, at):
            return []
        if file.with_suffix(ENDED).exists():  # it goes on after all
            with suppress(FileNotFoundError):
                os.replace(file.with_suffix(ENDED), file)
            _touch(file, at)
            return []
        others = self._in(file.parent) if ends_others else ()
        ended = [
            one for one in others if one.is_open and one.last <= at and self._end(one)
        ]
        _write(
            file,
            {"session": id_, "user": user, "channel": channel, "began": at.isoformat()},
            at,
        )
        self._forget(at)
        return ended

    def end(self, session: Session) -> bool:
        """False when it had ended already."""
        return self._end(session)

    def end_idle(self, now: datetime, after: timedelta) -> list[Session]:
        """End those in which nothing was said for so long."""
        return [
            one
            for one in self.all()
            if one.is_open and now - one.last >= after and self._end(one)
        ]

    def find(self, id_: str, user: str = "", channel: str = "") -> list[Session]:
        """The sessions with this id, open or ended; only those of a person, or in a channel, when named."""
        name = _key(id_)
        found = [
            self._read(file)
            for ending in (OPEN, ENDED)
            for file in self._folder.glob(f"*/{name}{ending}")
        ]
        return [
            one
            for one in found
            if one
            and one.id == id_
            and user in ("", one.user)
            and channel in ("", one.channel)
        ]

    def latest(self, user: str, channel: str) -> Session | None:
        """The open session of a person, in a channel or outside of any, in which the last turn was said."""
        open_ = [
            one for one in self._in(self._folder / _key(user, channel)) if one.is_open
        ]
        return max(open_, key=lambda session: session.last, default=None)

    def all(self) -> list[Session]:
        """All that are remembered, the one that was silent for longest first."""
        with suppress(OSError):
            found = [
                one
                for folder in sorted(self._folder.iterdir())
                for one in self._in(folder)
            ]
            return sorted(found, key=lambda one: (one.last, one.id))
        return []

    def ended(self) -> list[Session]:
        """Those that ended and wait for what is done with a whole session."""
        return [one for one in self.all() if not one.is_open]

    def unlearned(self) -> list[Session]:
        """Those that ended, and that nothing was learned from since."""
        return [
            one
            for one in self.ended()
            if _seconds(self._mark(one)) < one.last.timestamp() - 0.001
        ]

    def learned(self, session: Session) -> None:
        """What was said in it up to now is learned. It is remembered still, for it may go on."""
        mark = self._mark(session)
        mark.touch()
        os.utime(mark, (session.last.timestamp(), session.last.timestamp()))

    def changes(self) -> tuple[int, ...]:
        """Other numbers as soon as a session began or ended; cheap."""
        with suppress(OSError):
            return tuple(
                sorted(folder.stat().st_mtime_ns for folder in self._folder.iterdir())
            )
        return ()

    def done(self, session: Session) -> None:
        """Nothing more is to be done with it."""
        for file in (
            self._file(session.id, session.user, session.channel).with_suffix(ENDED),
            self._mark(session),
        ):
            file.unlink(missing_ok=True)

    def _mark(self, session: Session) -> Path:
        return self._file(session.id, session.user, session.channel).with_suffix(
            LEARNED
        )

    def _end(self, session: Session) -> bool:
        file = self._file(session.id, session.user, session.channel)
        try:
            os.replace(file, file.with_suffix(ENDED))
        except FileNotFoundError:
            return False
        sync_folder(file.parent)
        return True

    def _forget(self, now: datetime) -> None:
        for one in self.ended():
            if now - one.last > KEPT:
                self.done(one)

    def _file(self, id_: str, user: str, channel: str) -> Path:
        return self._folder / _key(user, channel) / f"{_key(id_)}{OPEN}"

    def _in(self, folder: Path) -> Iterator[Session]:
        for file in sorted(folder.glob("*.*")):
            if file.suffix in (OPEN, ENDED) and (session := self._read(file)):
                yield session

    def _read(self, file: Path) -> Session | None:
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
            last = datetime.fromtimestamp(file.stat().st_mtime, UTC)
            began = datetime.fromisoformat(said["began"])
            return Session(
                said["session"],
                said["user"],
                said["channel"],
                began,
                last,
                file.suffix == OPEN,
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _key(*names: str) -> str:
    return hashlib.sha256(
        "\0".join(names).encode("utf-8", "surrogatepass")
    ).hexdigest()[:24]


def _seconds(file: Path) -> float:
    """The time of a file; before all others when there is none."""
    try:
        return file.stat().st_mtime
    except OSError:
        return float("-inf")


def _touch(file: Path, at: datetime) -> bool:
    """The time of the last turn; it never goes back."""
    try:
        if file.stat().st_mtime < at.timestamp():
            os.utime(file, (at.timestamp(), at.timestamp()))
    except FileNotFoundError:
        return False
    return True


def _write(file: Path, said: dict[str, str], at: datetime) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A reader must never see a new session with the time at which its file was made.
    state_file.write(file, json.dumps(said), modified=at.timestamp())
