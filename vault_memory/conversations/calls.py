"""Calls that record turns, end sessions and read the drop folder."""

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, get_args

from vault_memory import places
from vault_memory.contract import RecordMode
from vault_memory.conversations import drop_folder as conversations_drop_folder
from vault_memory.conversations import owner_words
from vault_memory.conversations import sessions as conversations_sessions
from vault_memory.conversations import transcripts as conversations_transcripts
from vault_memory.database.connection import DatabaseError
from vault_memory.edits.calls import aware
from vault_memory.errors import ConfigError, NoteUnreadable, UsageError
from vault_memory.ingest import turn_ingest
from vault_memory.logs import Logger
from vault_memory.models.llm import policy_tables
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.conversations import turn as conversations_turn
from vault_memory.rules.learning.policy import secret_signs
from vault_memory.search.open_vault import OpenVault
from vault_memory.vault import devices

if TYPE_CHECKING:
    from vault_memory.conversations.drop_folder import DropFolder, DropReport
    from vault_memory.conversations.sessions import Session, Sessions
    from vault_memory.conversations.transcripts import Added, Transcripts
    from vault_memory.ingest.turn_ingest import TurnIngest
    from vault_memory.rules.conversations.turn import Turn

logger = Logger(__name__)

MODES: tuple[RecordMode, ...] = get_args(RecordMode)


class Recorded(NamedTuple):
    """Where a turn was recorded. Both are None for a turn that is not recorded."""

    id: str | None
    note: str | None
    """The transcript with the turn"""


class EndedSessions(NamedTuple):
    """Sessions that were ended by one call."""

    sessions: "tuple[Session, ...]"
    turn_ids: tuple[str, ...]
    """ids of the turns that people typed or spoke in them"""


NOTHING = Recorded(None, None)
JUST_NOW = timedelta(minutes=5)
"""A session counts as a person's open conversation for this long after its last turn"""


class RecordOptions(NamedTuple):
    """Options of recording a turn; `VaultMemory.record_turn` explains them."""

    mode: RecordMode = "persistent"
    silent: bool = False
    now: datetime | None = None
    chance: int | None = None
    again: bool = False


class OwnerUnknown(UsageError):
    """The person of a turn is unknown."""

    def __init__(self, session: str) -> None:
        about = "neither a person nor a session is named"
        if session:
            about = f"nobody knows whose session {session!r} is"
        super().__init__(about, hint="name the person: there is no default")


@checked_calls
class ConversationCalls:
    """Record the conversations of one vault. No call asks a model or embeds text."""

    def __init__(self, vault: OpenVault) -> None:
        self.vault = vault
        self._lock = threading.RLock()
        self._incognito = set[tuple[str, str]]()
        """Sessions that leave no trace, and their people; only this process knows them"""
        self._transcripts: Transcripts | None = None
        self._turn_ingest: TurnIngest | None = None

    @property
    def transcripts(self) -> "Transcripts":
        """The transcript files; opened when they are first needed."""
        if self._transcripts is None:
            self._transcripts = conversations_transcripts.Transcripts(
                self.vault.folder,
                self.vault.layout,
                devices.Devices(self.vault.state.path),
                self.as_written,
            )
        return self._transcripts

    def as_written(self, text: str) -> str:
        """Returns the text of a turn as its transcript has it: without secrets."""
        state = self.vault.state.path
        if not self.vault.config.transcripts.mask_secrets:
            return text
        # A process that lives for a moment loads the tables of phrases only for a sign of a secret.
        own_phrases = (state / places.PHRASES).glob("*.toml")
        if not (any(own_phrases) or secret_signs.has_sign(text)):
            return text
        try:
            cues = policy_tables.policy_cues(state)
        except ConfigError as error:
            # Fault: a wrong table of phrases must not keep words from being recorded.
            logger.warning("%s", error)
            cues = policy_tables.policy_cues()
        return secret_signs.masked(text, cues.is_secret)

    @property
    def sessions(self) -> "Sessions":
        """The sessions, open and ended."""
        self.vault.check_open()
        return conversations_sessions.Sessions(self.vault.state.path)

    @property
    def drop_folder(self) -> "DropFolder":
        """The folder where other programs put turns."""
        self.vault.check_open()
        return conversations_drop_folder.DropFolder(self.vault.state.path)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Excludes other recordings of this process, on a vault that is the same folder as before.

        Raises VaultUnreachable, VaultClosed.
        """
        with self._lock:
            self.vault.check_identity()
            yield

    def owner_words(self, note: str, ask: object) -> tuple[str, ...]:
        """Returns keys of the sentences that the note's owner said in open sessions.

        A tool may write a standing rule only from these.
        """
        return owner_words.said_in_session(self, note, ask)

    def owner_says(self, note: str, statement: str) -> tuple[str, ...]:
        """Returns the turns in which the note's owner says a statement; without any a tool proposes it."""
        return owner_words.turns_that_say(self, note, statement)

    # --- Turns ---

    def record(self, draft: "Turn", options: RecordOptions) -> Recorded:
        """Record a turn, whose time this call gives; see `VaultMemory.record_turn`.

        `now` and `chance`, 30 random bits of the caller, make the id, unless the draft has one. `again` is a retry after a
        lost answer: it skips a turn whose id is recorded already.
        """
        _check_mode(options.mode)
        moment = aware(options.now)
        chance = options.chance
        # Fault: two turns of the same millisecond would get the same id. So the id has random bits.
        if chance is None:
            chance = int.from_bytes(os.urandom(4)) >> 2
        with self.transaction():
            turn_id = draft.id or conversations_turn.new_id(moment, chance)
            turn = self.with_owner(draft._replace(id=turn_id, ts=moment.isoformat()))
            path = self.transcripts.path_of(turn)
            if options.mode == "incognito":
                # Fault: a private conversation of another person may have the same name. Both names
                # make the key.
                self._incognito.add((turn.session, turn.user))
            if options.silent or self._is_incognito(turn):
                return NOTHING
            for added in self.add_turn(turn, once=options.again):
                path = added.path
        return Recorded(turn.id, path)

    def add_turn(self, turn: "Turn", *, once: bool) -> "list[Added]":
        """Add a turn to its transcript, its session and the index. The caller holds the transaction.

        With `once` a turn whose id is recorded already is skipped. Raises TurnNotRecorded.
        """
        if not self.vault.is_marked:
            self.vault.make_marker()
        additions = list(self.transcripts.add([turn], once=once))
        for added in additions:
            for new_turn in added.turns:
                self._continue_session(new_turn)
            self._index(added)
        return additions

    def take_dropped(self) -> "DropReport":
        """Record the turns in the drop folder: each line once, also after a crash.

        Raises TurnNotRecorded, VaultUnreachable.
        """
        drop_folder = self.drop_folder
        if not drop_folder.is_waiting():
            return conversations_drop_folder.DropReport()
        with self.transaction():
            return drop_folder.consume(self._record_lines)

    def _record_lines(self, lines: "Sequence[dict[str, str | bool]]") -> list[str]:
        """Record turns from outside. Returns for each the reason of its refusal, or ""."""
        turns: list[Turn] = []
        reasons = []
        # Fault: one bad line must not keep the other turns of the file from being recorded.
        for line in lines:
            try:
                turn = self._read_line(line)
            except UsageError as error:
                reasons.append(f"{error.message}; {error.hint}")
                continue
            reasons.append("")
            if turn is not None:
                turns.append(turn)
                self._continue_session(turn)
        if turns and not self.vault.is_marked:
            self.vault.make_marker()
        for added in self.transcripts.add(turns, once=True):
            self._index(added)
        return reasons

    def _read_line(self, line: "dict[str, str | bool]") -> "Turn | None":
        """Return the turn of a dropped line; None for a turn that is not recorded."""
        mode = str(line.get("mode") or MODES[0])
        _check_mode(mode)
        turn = self.with_owner(conversations_turn.turn_of(line))
        # Fault: one bad line in the middle of a file must not leave the turns before it
        # recorded twice. This raises before any turn of the file is written.
        self.transcripts.path_of(turn)
        is_hidden = mode == "incognito" or self._is_incognito(turn)
        return None if line.get("silent") or is_hidden else turn

    def is_incognito(self, session: str, user: str | None = None) -> bool:
        """Whether a conversation leaves no trace; only the process that records it knows.

        `user` None means the conversation of any person.
        """
        return any(
            session == incognito and user in (None, person) for incognito, person in self._incognito
        )

    def _is_incognito(self, turn: "Turn") -> bool:
        return (turn.session, turn.user) in self._incognito

    def with_owner(self, turn: "Turn") -> "Turn":
        """Return the turn with the person and the channel of its session, if it names no person.

        Raises OwnerUnknown.
        """
        if turn.user:
            return turn
        sessions = []
        if turn.session:
            sessions = self.sessions.find(turn.session, channel=turn.channel)
        # Fault: two people have a session of this name. A guess would put the turn into the wrong
        # transcript.
        if len({session.scope for session in sessions}) != 1:
            raise OwnerUnknown(turn.session)
        # Fault: in a channel several people share a session. None of them may get the words of
        # another.
        users = {session.user for session in sessions}
        user = users.pop() if len(users) == 1 else ""
        return turn._replace(user=user, channel=sessions[0].channel)

    def _continue_session(self, turn: "Turn") -> None:
        """Record that the session continues."""
        try:
            ended_sessions = self.sessions.record_turn(
                turn.session, turn.user, turn.channel, turn.at, ends_others=not turn.is_automated
            )
            for ended in ended_sessions:
                logger.info("a session ended, since another began: %s", ended.scope)
        except OSError as error:
            # The transcript has the turn: without the file of the session nothing is lost.
            logger.warning("the session cannot be noted: %s", error)

    def _index(self, added: "Added") -> None:
        """Index the new turns. After a failure, the next scan of the vault indexes them."""
        if self._turn_ingest is None:
            self._turn_ingest = turn_ingest.TurnIngest(self.vault.folder, self.vault.layout)
        indexing = self.vault.indexing
        with self.vault.lock:
            try:
                if indexing.generations.current:
                    index = indexing.index()
                    self._turn_ingest.ingest(
                        index, added.path, added.appended, read_ns=time.time_ns()
                    )
            except NoteUnreadable as error:
                # The turn is written: an index without it must not fail the call.
                logger.warning("%s", error)
            except DatabaseError as error:
                # The turn is written: an index that can be rebuilt must not fail the call.
                logger.warning("the index did not take in %s: %s", added.path, error)
                indexing.recover(error)

    # --- Sessions ---

    def open_conversation(
        self, user: str, channel: str = "", *, now: datetime | None = None
    ) -> str:
        """Return the id of the session in which this person spoke within the last minutes, or "".

        It replaces the open conversation where a host does not name it.
        """
        session = self.sessions.latest(user, channel)
        # Fault: a session that was never closed would take the turns of another conversation.
        if session is None or aware(now) - session.last > JUST_NOW:
            return ""
        return session.id

    def end_session(
        self,
        session: str,
        *,
        user: str | None = None,
        channel: str | None = None,
        now: datetime | None = None,
    ) -> "EndedSessions":
        """End a conversation. Returns its sessions, and the turns that people typed or spoke."""
        with self.transaction():
            self._incognito -= {
                (session_id, person)
                for session_id, person in self._incognito
                if session_id == session and user in (None, person)
            }
            sessions = self.sessions.find(session, user or "", channel or "")
            # Fault: two people may have a session of this name. The call must not end that of
            # another person.
            if len({match.scope for match in sessions}) > 1:
                raise UsageError(
                    f"several people have a session {session!r}",
                    hint="name the person or the channel",
                )
            for match in sessions:
                self.sessions.end(match)
            turn_ids = tuple(turn.id for turn in self._turns_of_people(sessions))
            return EndedSessions(tuple(sessions), turn_ids)

    def end_idle_sessions(self, *, now: datetime | None = None) -> int:
        """End the sessions without a turn for ten minutes; return how many ended."""
        return len(self.sessions.end_idle(aware(now)))

    def _turns_of_people(self, sessions: "Iterable[Session]") -> "list[Turn]":
        """Return the turns that people typed or spoke in these sessions, each once."""
        day = timedelta(days=1)
        by_id: dict[str, Turn] = {}
        for session in sessions:
            first, last = session.began.date() - day, session.last.date() + day
            # Fault: the day of a transcript may belong to another time zone, so one more day is
            # read on each side.
            turns = self.transcripts.in_place(session.user, session.channel, first, last)
            # Fault: a job in the person's name is no word of the person.
            own = (session.id, session.user, "user")
            for turn in turns:
                is_own = (turn.session, turn.user, turn.role) == own
                if is_own and not turn.is_automated:
                    by_id[turn.id] = turn
        return list(by_id.values())


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise UsageError(f"there is no mode `{mode}`", hint=f"the modes are {', '.join(MODES)}")
