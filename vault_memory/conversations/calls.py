"""The calls of VaultMemory about what is said: it is recorded and found at once, and sessions end."""

import os
import threading
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.database.connection import DatabaseError
from vault_memory.edits.calls import aware as moment
from vault_memory.edits.conflict_calls import ConflictCalls
from vault_memory.errors import NoteUnreadable, UsageError
from vault_memory.lazy import lazy_module
from vault_memory.logs import Logger

if TYPE_CHECKING:
    from typing import Self

    from vault_memory.conversations import drop_folder as conversations_drop_folder
    from vault_memory.conversations import owner_words
    from vault_memory.conversations import sessions as conversations_sessions
    from vault_memory.conversations import transcripts as conversations_transcripts
    from vault_memory.conversations.drop_folder import DropFolder, DropReport
    from vault_memory.conversations.sessions import Session, Sessions
    from vault_memory.conversations.transcripts import Added, Transcripts
    from vault_memory.edits import reports
    from vault_memory.edits.reports import Ended, NoteInfo
    from vault_memory.ingest import turn_ingest
    from vault_memory.ingest.lifecycle import Progress
    from vault_memory.ingest.turn_ingest import TurnIngest
    from vault_memory.rules.conversations import turn as conversations_turn
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.vault import devices
else:
    conversations_drop_folder = lazy_module("vault_memory.conversations.drop_folder")
    owner_words = lazy_module("vault_memory.conversations.owner_words")
    conversations_sessions = lazy_module("vault_memory.conversations.sessions")
    conversations_transcripts = lazy_module("vault_memory.conversations.transcripts")
    reports = lazy_module("vault_memory.edits.reports")
    turn_ingest = lazy_module("vault_memory.ingest.turn_ingest")
    conversations_turn = lazy_module("vault_memory.rules.conversations.turn")
    devices = lazy_module("vault_memory.vault.devices")

logger = Logger(__name__)

MODES = ("persistent", "incognito")


class Recorded(NamedTuple):
    """What became of a turn. Both are None when it was not to be recorded."""

    id: str | None
    note: str | None
    """the transcript it stands in"""


NOTHING = Recorded(None, None)
JUST_NOW = timedelta(minutes=5)
"""So long after its last turn a session is taken for the open conversation of a person"""


class OwnerUnknown(UsageError):
    """Nothing says whose turn it is."""

    def __init__(self, session: str) -> None:
        about = (
            f"nobody knows whose session {session!r} is"
            if session
            else "neither a person nor a session is named"
        )
        super().__init__(about, hint="name the person: there is no default")


class ConversationCalls(ConflictCalls):
    """What VaultMemory is made of besides. No model is asked here, and nothing is embedded."""

    if TYPE_CHECKING:
        # calls of the public class that the packages above this one use

        def close(self) -> None: ...
        def fork(self, *, resident: bool = False) -> Self: ...
        def notes(self, scopes: Sequence[str] | None = None) -> list[NoteInfo]: ...
        def refresh(
            self,
            progress: Progress | None = None,
            *,
            renew: bool = True,
            briefly: bool = False,
        ) -> None: ...

    _transcripts: "Transcripts | None" = None
    _turn_ingest: "TurnIngest | None" = None

    def __init__(self) -> None:
        super().__init__()
        self._recording = threading.RLock()
        self._incognito = set[tuple[str, str]]()
        """sessions of which nothing is written, and their people; known to this process alone"""

    @property
    def transcripts(self) -> "Transcripts":
        """What was said, in files; made when it is first needed."""
        if self._transcripts is None:
            self._transcripts = conversations_transcripts.Transcripts(
                self.folder, self.layout, devices.Devices(self.state.path)
            )
        return self._transcripts

    @property
    def sessions(self) -> "Sessions":
        """Who is talking just now."""
        return conversations_sessions.Sessions(self.state.path)

    def _said_by_owner(self, note: str, source: str, asked: object) -> tuple[str, ...]:
        """What allows a tool to write a standing rule."""
        if source != "tool":
            return ()
        return owner_words.said_in_session(self, note, asked)

    @property
    def drop_folder(self) -> "DropFolder":
        """Where other programs put what was said."""
        return conversations_drop_folder.DropFolder(self.state.path)

    def record_turn(
        self,
        *,
        session: str,
        role: str,
        text: str,
        user: str | None = None,
        channel: str | None = None,
        source: str = "talk",
        mode: str = "persistent",
        origin: str = "owner",
        silent: bool = False,
        automated: bool = False,
        now: datetime | None = None,
        chance: int | None = None,
        again: bool = False,
    ) -> Recorded:
        """Add one turn to the transcript of its channel, else of its person; search finds it when this returns.

        Without `user` the session must be one that is known. An incognito session leaves no trace, and a silent turn is
        not recorded. An `automated` turn, of a job, a webhook or a subagent, is found by search, and nothing is
        learned about the person from it. `now` and `chance`, 30 bits of the caller, make the id; with `again` a turn
        whose id stands there already, from an attempt without an answer, is left out. Raises UsageError, OwnerUnknown,
        TurnNotRecorded, VaultUnreachable.
        """
        if mode not in MODES:
            raise UsageError(
                f"there is no mode `{mode}`", hint=f"the modes are {', '.join(MODES)}"
            )
        at = moment(now)
        with self._recording:
            self.folder.check_identity(self.indexing.marker.vault)
            id_ = conversations_turn.new_id(
                at, int.from_bytes(os.urandom(4)) >> 2 if chance is None else chance
            )
            said = conversations_turn.Turn(
                id_,
                at.isoformat(),
                session,
                role,
                user or "",
                channel or "",
                text,
                origin,
                source,
                automated=automated,
            )
            turn = self._owned(said)
            path = self.transcripts.path_of(turn)
            if mode == "incognito":
                self._incognito.add((session, turn.user))
            if silent or (session, turn.user) in self._incognito:
                return NOTHING
            for added in self.transcripts.add([turn], once=again):
                path = added.path
                self._took(added, at)
        return Recorded(turn.id, path)

    def open_conversation(
        self, user: str, channel: str = "", *, now: datetime | None = None
    ) -> str:
        """Return the session in which this person spoke within the last minutes, or nothing.

        It stands in for the open conversation where a host does not name it.
        """
        session = self.sessions.latest(user, channel)
        if session is None or moment(now) - session.last > JUST_NOW:
            return ""
        return session.id

    def end_session(
        self,
        session: str,
        *,
        user: str | None = None,
        channel: str | None = None,
        now: datetime | None = None,
    ) -> "Ended":
        """A conversation is over; what it tells is learned in the night. To end it again, or one that nobody knows,
        does no harm. Raises UsageError when several people have a session of this name.
        """
        with self._recording:
            self._incognito -= {
                one
                for one in self._incognito
                if one[0] == session and user in (None, one[1])
            }
            self.folder.check_identity(self.indexing.marker.vault)
            found = self.sessions.find(session, user or "", channel or "")
            if len({one.scope for one in found}) > 1:
                raise UsageError(
                    f"several people have a session {session!r}",
                    hint="name the person or the channel",
                )
            for one in found:
                self.sessions.end(one)
            return reports.Ended(
                committed=(),
                held=tuple(turn.id for turn in self._said_in(found)),
                dropped=(),
            )

    def end_idle_sessions(self, *, now: datetime | None = None) -> int:
        """End those in which nothing was said for `idle_minutes` of `[sessions]`; how many. A daemon calls it."""
        after = timedelta(minutes=self.config.sessions.idle_minutes)
        return len(self.sessions.end_idle(moment(now), after))

    def take_dropped(self) -> "DropReport":
        """Record what other programs put into the drop folder: each line once, whatever crashes meanwhile.

        Raises TurnNotRecorded, VaultUnreachable.
        """
        drop = self.drop_folder
        if not drop.is_waiting():
            return conversations_drop_folder.DropReport()
        with self._recording:
            self.folder.check_identity(self.indexing.marker.vault)
            return drop.consume(self._take)

    def _take(self, said: "Sequence[dict[str, str | bool]]") -> list[str]:
        """Record turns from outside; of each the reason why it is none, or an empty text."""
        turns: list[Turn] = []
        reasons = []
        for one in said:
            try:
                turn = self._dropped(one)
            except UsageError as error:
                reasons.append(f"{error.message}; {error.hint}")
                continue
            reasons.append("")
            if turn is not None:
                turns.append(turn)
                self._spoke(turn)
        for added in self.transcripts.add(turns, once=True):
            self._index(added)
        return reasons

    def _dropped(self, said: "dict[str, str | bool]") -> "Turn | None":
        """The turn; None when it is not to be recorded."""
        mode = said.get("mode") or MODES[0]
        if mode not in MODES:
            raise UsageError(
                f"there is no mode `{mode}`", hint=f"the modes are {', '.join(MODES)}"
            )
        turn = self._owned(conversations_turn.turn_of(said))
        self.transcripts.path_of(turn)
        hidden = mode == "incognito" or (turn.session, turn.user) in self._incognito
        return None if said.get("silent") or hidden else turn

    def _owned(self, turn: "Turn") -> "Turn":
        """The turn with the person and the channel of its session, where it names none. Raises OwnerUnknown."""
        if turn.user:
            return turn
        known = (
            self.sessions.find(turn.session, channel=turn.channel)
            if turn.session
            else []
        )
        if len({one.scope for one in known}) != 1:
            raise OwnerUnknown(turn.session)
        users = {one.user for one in known}
        return turn._replace(
            user=users.pop() if len(users) == 1 else "", channel=known[0].channel
        )

    def _took(self, added: "Added", at: datetime) -> None:
        for turn in added.turns:
            self._spoke(turn)
        self._index(added)

    def _spoke(self, turn: "Turn") -> None:
        """The session goes on. It is only a note of what the transcript says, so trouble with it loses nothing."""
        try:
            said = (turn.session, turn.user, turn.channel, turn.at)
            for ended in self.sessions.said(*said, ends_others=not turn.is_automated):
                logger.info("a session ended, since another began: %s", ended.scope)
        except OSError as error:
            logger.warning("the session cannot be noted: %s", error)

    def _index(self, added: "Added") -> None:
        """The index takes in what was added. Whatever goes wrong here, the next look at the vault finds it."""
        if self._turn_ingest is None:
            self._turn_ingest = turn_ingest.TurnIngest(self.folder, self.layout)
        with self._lock:
            try:
                if self.indexing.generations.current:
                    index = self.indexing.index()
                    self._turn_ingest.ingest(
                        index, added.path, added.appended, read_ns=time.time_ns()
                    )
            except NoteUnreadable as error:
                logger.warning("%s", error)
            except DatabaseError as error:
                logger.warning("the index did not take in %s: %s", added.path, error)
                self.indexing.recover(error)

    def _said_in(self, sessions: "Iterable[Session]") -> "list[Turn]":
        """What people said in these sessions."""
        day = timedelta(days=1)
        found: dict[str, Turn] = {}
        for one in sessions:
            turns = self.transcripts.in_place(
                one.user, one.channel, one.began.date() - day, one.last.date() + day
            )
            mine = (
                turn
                for turn in turns
                if (turn.session, turn.user, turn.role) == (one.id, one.user, "user")
                and not turn.is_automated
            )
            found.update((turn.id, turn) for turn in mine)
        return list(found.values())
