"""Imports the conversations of another program into transcripts, each message once.

They become the turns that `record` writes, at the time at which they were said. A second import
adds what is new, and one that was killed is continued by the next. Nights learn from all of them,
the oldest first.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from vault_memory.addons.transfer import chat_exports, chat_messages, chatgpt, claude
from vault_memory.addons.transfer.chat_exports import ExportBroken, NoExport
from vault_memory.addons.transfer.chat_messages import Chat, ForeignShape, Message
from vault_memory.addons.transfer.chat_report import ChatReport, ChatRequest, Program
from vault_memory.conversations import transcripts
from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.learning import checkpoint, runner, unread_turns
from vault_memory.rules.conversations.turn import Turn

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.search.open_vault import OpenVault

BEGINNING = datetime.min.replace(tzinfo=UTC).isoformat()
NEARBY = (timedelta(0), timedelta(days=-1), timedelta(days=1))
"""Days on which a turn may have been recorded: the time zone may have been another one"""
BATCH_LETTERS = 1 << 20
"""Letters of turns that wait to be written"""
MOST_DAYS = 64
"""Days whose recorded ids are in memory"""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class _Format(NamedTuple):
    """How a program writes its conversations."""

    read: Callable[[bytes, tzinfo], Chat]
    key: bytes


FORMATS: dict[Program, _Format] = {
    "chatgpt": _Format(chatgpt.read, chatgpt.KEY),
    "claude": _Format(claude.read, claude.KEY),
}


def import_chats(
    conversations: "ConversationCalls", source: Path, request: ChatRequest
) -> ChatReport:
    """Import an export. Raises NoExport, NightRuns, TurnNotRecorded, VaultUnreachable."""
    importer = _ChatImporter(conversations, source, request)
    store = checkpoint.CheckpointStore(conversations.vault.state.path)
    if request.dry_run:
        importer.run(store)
        return importer.report
    # Fault: a night in the middle of an import would learn from newer turns before older ones.
    with store.held():
        importer.run(store)
    return importer.report


class _ChatImporter:
    """One import of an export."""

    def __init__(
        self, conversations: "ConversationCalls", source: Path, request: ChatRequest
    ) -> None:
        self._conversations = conversations
        self._vault = conversations.vault
        self._source = source
        self._request = request
        self._format = FORMATS[request.program]
        self._zone = runner.zone_of(self._vault.config, request.scope)
        self._recorded = _RecordedIds(self._vault, request)
        self._waiting: list[Turn] = []
        self._letters = 0
        self._looks_back = False
        self._read_marks = frozenset[str]()
        self.report = ChatReport()

    def run(self, store: "checkpoint.CheckpointStore") -> None:
        """Read all lists of the export, and add what is new."""
        scope = self._request.scope
        self._read_marks = frozenset(store.read(scope, store.last(scope).serial))
        for name, stream in chat_exports.lists_of(self._source):
            number = 0
            try:
                for number, raw in enumerate(chat_exports.conversations_in(stream), 1):
                    if number == 1:
                        self._check_program(raw or b"")
                    self._add(store, f"{name}, conversation {number}", raw)
            except ExportBroken as error:
                if not number:
                    raise NoExport(self._source, f"cannot be imported: {error}") from None
                self.report.skip(
                    name,
                    f"it breaks off after conversation {number}; fetch the export again and"
                    " repeat the command, which adds the others",
                )
            self._write(store)

    def _add(self, store: "checkpoint.CheckpointStore", name: str, raw: bytes | None) -> None:
        if raw is None:
            most = chat_exports.LARGEST_CONVERSATION
            self.report.skip(name, f"it has more than {most:,} bytes")
            return
        try:
            conversation = self._format.read(raw, self._zone)
        except ForeignShape as error:
            # One damaged conversation must not keep the others out.
            self.report.skip(name, f"it has another form than was expected: {error}")
            return
        self.report.left += conversation.left
        turns = [self._turn(conversation, message) for message in conversation.messages]
        if not turns:
            return
        self.report.conversations += 1
        self._waiting += turns
        self._letters += sum(len(turn.text) for turn in turns)
        if self._letters > BATCH_LETTERS:
            self._write(store)

    def _write(self, store: "checkpoint.CheckpointStore") -> None:
        """Add the turns that wait, day by day: each write to a transcript waits for the disk."""
        by_day: dict[date, list[Turn]] = defaultdict(list)
        for turn in self._waiting:
            by_day[turn.at.date()].append(turn)
        self._waiting = []
        self._letters = 0
        for day, turns in by_day.items():
            self._note_day(day)
            try:
                self._add_day(store, day, turns)
            except NoteUnreadable as error:
                # One transcript that cannot be read must not keep the other days out.
                self.report.skip(error.path, error.reason)

    def _check_program(self, raw: bytes) -> None:
        """Raises NoExport for a conversation of another program, or of none."""
        if self._format.key in raw or not raw:
            return
        for other, format in FORMATS.items():
            if format.key in raw:
                raise NoExport(
                    self._source, f"is an export of {other}", f"`vault-memory import {other} FILE`"
                )
        raise NoExport(self._source, f"is no export of {self._request.program}")

    def _turn(self, conversation: Chat, message: Message) -> Turn:
        request = self._request
        # Fault: the words of a source that is unknown count as those of somebody else.
        return Turn(
            id=f"{request.program}:{_plain(message.id)}",
            ts=message.at.isoformat(),
            session=f"{request.program}:{_plain(conversation.id)}",
            role=message.role,
            user=request.user,
            channel=request.channel,
            text=message.text,
            origin="owner",
            source=request.program,
        )

    def _note_day(self, day: date) -> None:
        self.report.first = min(day, self.report.first or day)
        self.report.last = max(day, self.report.last or day)

    def _add_day(self, store: "checkpoint.CheckpointStore", day: date, turns: list[Turn]) -> None:
        """Add the turns of a day that are new."""
        # Fault: a conversation that was copied has the messages of the other one.
        unique = {turn.id: turn for turn in turns}
        new = [turn for turn in unique.values() if not self._is_known(turn, day)]
        self._recorded.check_room(day, new)
        path = ""
        if new and not self._request.dry_run:
            self._look_back(store)
            with self._conversations.transaction():
                (added,) = self._conversations.transcripts.add(new)
            path = added.path
        self._recorded.add(day, path, new)
        self.report.turns += len(new)
        self.report.known += len(turns) - len(new)

    def _is_known(self, turn: Turn, day: date) -> bool:
        # Fault: a turn that was learned from and is gone was deleted or is too old. It stays away.
        return self._recorded.has(turn.id, day) or unread_turns.mark_of(turn.id) in self._read_marks

    def _look_back(self, store: "checkpoint.CheckpointStore") -> None:
        """Let nights read turns of any age, before the first of them is written."""
        if self._looks_back:
            return
        self._looks_back = True
        if not self._vault.is_marked:
            self._vault.make_marker()
        scope = self._request.scope
        last = store.last(scope)
        # Fault: the first night looks back a day only, and later ones no further than it did.
        if last.since != BEGINNING:
            last.scope, last.since = scope, BEGINNING
            store.save(scope, last)


class _RecordedIds:
    """The ids of the turns of one program that the transcripts of a scope have, day by day."""

    def __init__(self, vault: "OpenVault", request: ChatRequest) -> None:
        self._folder = vault.folder
        self._sign = f'"{request.program}:'.encode()
        self._paths: dict[date, set[str]] = defaultdict(set)
        self._ids: dict[date, set[str]] = {}
        for path in vault.folder.listing(suffixes=(".jsonl",)).entries:
            place = vault.layout.place(path)
            if place is not None and (place.kind, place.scope) == ("transcript", request.scope):
                self._paths[place.date or date.min].add(path)

    def has(self, id_: str, day: date) -> bool:
        """Return whether a turn of this day, or of one beside it, is recorded."""
        return any(id_ in self._on(day + distance) for distance in NEARBY)

    def add(self, day: date, path: str, turns: Iterable[Turn]) -> None:
        """Note what was recorded; a dry run records nothing, and has no path."""
        if path:
            self._paths[day].add(path)
        self._on(day).update(turn.id for turn in turns)

    def check_room(self, day: date, turns: Iterable[Turn]) -> None:
        """Raises NoteUnreadable if a transcript of the day would get too large to be read."""
        size = sum(len(turn.text) for turn in turns)
        for path in self._paths[day]:
            stat = self._folder.stat(path)
            if stat and stat.size + size > transcripts.LARGEST:
                raise NoteUnreadable(path, "it has no room for more turns of this day")

    def _on(self, day: date) -> set[str]:
        if day not in self._ids:
            if len(self._ids) >= MOST_DAYS:
                self._ids.clear()
            self._ids[day] = set().union(*map(self._ids_in, self._paths[day]))
        return self._ids[day]

    def _ids_in(self, path: str) -> set[str]:
        try:
            raw = self._folder.read(path, max_bytes=transcripts.LARGEST).raw
        except NoteNotFound:
            # A person deleted the file after the listing.
            return set()
        return {_id_on(line) for line in raw.split(b"\n") if self._sign in line}


class _TranscriptLine(msgspec.Struct):
    """A line of a transcript. A forgotten turn has an id still, and no text."""

    id: str = ""


def _id_on(line: bytes) -> str:
    """Returns the id on a line of a transcript; empty for a line that is not complete."""
    try:
        return chat_messages.decoded(line, _TranscriptLine).id
    except ForeignShape:
        # Fault (B42): an import that was killed leaves half a line, whose turn is not recorded.
        return ""


def _plain(id_: str) -> str:
    """Returns an id that a turn can have: the one of the program, else its hash."""
    if _ID.fullmatch(id_):
        return id_
    return sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:32]
