"""Reads notes as they are in their files at this moment, and says who wrote each line."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.errors import NoteNotFound, VaultError
from vault_memory.markdown import editable_region, encodings, items, letters, note_items
from vault_memory.markdown.chunking import chunker
from vault_memory.rules.conversations import turn as conversations_turn
from vault_memory.rules.edits import audit_reader, audit_record, ownership
from vault_memory.rules.paths import canvas
from vault_memory.vault import audit_folders
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.reader import Folder, Note

if TYPE_CHECKING:
    from vault_memory.markdown.chunking.chunk_text import Chunk
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.edits.audit_record import Record
    from vault_memory.search.results import Hit

LARGEST = 64 << 20
"""Bytes of the longest transcript or audit log that is read"""
MOST_LINES = 8
"""Lines of an item that `line_of` compares"""
MOST_BETWEEN = 20
"""Lines of a transcript, of other conversations too, between an answer and its question"""
LONGEST_QUESTION = 400
"""Letters of a question beside its answer"""
MOST_CACHED = 1_000
"""Notes whose authors are cached"""
AUDIT = ".audit."
TOOL_MARK = "[a tool wrote this] "
"""Before the text of a line that the bot wrote in a conversation"""
_BREAK = re.compile(rb"\r\n|\r|\n")
_ORIGIN = re.compile(r"\((?:[^()]*[ ,])?origin:([a-z][a-z0-9_-]*)[^()]*\)")
_SPEAKER = re.compile(r"\*\*[^*]*\*\*: ")

Sections = dict[str, dict[str, int]]
"""By folded heading, the text of each item with the number of its first line"""


class LiveLines(NamedTuple):
    """The lines of a hit as they are now."""

    first: int
    last: int
    text: str
    origin: str
    session: str = ""
    """the conversation of a turn"""
    by_bot: bool = False
    """whether the bot said it, or a program"""
    has_secret: bool = False
    """whether the turn has a secret that must not be quoted"""


class LiveNotes:
    """Reads each note at most once. Make a new object for each query."""

    def __init__(
        self,
        folder: Folder,
        authors: "Authors",
        indexed: Callable[[str], str] = lambda path: "",
        masked: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`indexed` returns the revision of a note that its hits come from.

        `masked` returns a turn without its secrets.
        """
        self._masked = masked
        self._folder = folder
        self._authors = authors
        self._indexed = indexed
        self._notes: dict[str, Note | None] = {}
        self._lines: dict[str, list[bytes]] = {}
        self._sections: dict[str, Sections] = {}
        self._audits: dict[str, dict[str, list[str]]] = {}
        """by folder, the audit files of each note"""
        self.unreadable: dict[str, str] = {}
        """by path, why a note cannot be read now"""

    def _note(self, path: str) -> Note | None:
        if path not in self._notes:
            self._notes[path] = self._read(path)
        return self._notes[path]

    def _read(self, path: str) -> Note | None:
        try:
            # Fault: a huge or damaged file must not end the block. Its name and the reason are in
            # the answer.
            return self._folder.read(path, max_bytes=LARGEST)
        except NoteNotFound:
            # The file was deleted after the index read it.
            return None
        except VaultError as error:
            self.unreadable[path] = error.message
            return None

    def lines(self, path: str) -> list[bytes]:
        """Returns the lines of a note without their ends; no lines when it is unreadable."""
        if path not in self._lines:
            note = self._note(path)
            raw = encodings.as_utf8(note.raw) if note else b""
            # The index counts the lines of a transcript by `\n` alone.
            is_transcript = path.endswith(".jsonl")
            lines = raw.split(b"\n") if is_transcript else _BREAK.split(raw)
            self._lines[path] = lines
        return self._lines[path]

    def text(self, path: str) -> str:
        """Returns the text of a note, with ``\\n`` as line ends."""
        return _decoded(b"\n".join(self.lines(path)))

    def marked_text(self, path: str) -> str:
        """Returns the text of a note, in which lines that a tool wrote are marked."""
        by_tools = self._written(path).by_tools
        if not by_tools:
            return self.text(path)
        return "\n".join(
            _with_mark(line) if _normalised(line) in by_tools else _decoded(line)
            for line in self.lines(path)
        )

    def mark_of(self, path: str, text: str) -> str:
        """Returns the mark before an item with this text; empty unless a tool wrote it."""
        by_tools = self._written(path).by_tools
        is_marked = by_tools and items.normalised_text(text) in by_tools
        return TOOL_MARK if is_marked else ""

    def current_lines(self, hit: "Hit") -> LiveLines | None:
        """Finds the lines of a hit in its note now; None when the note lost them."""
        if hit.kind == "transcript":
            return self._turn_lines(hit)
        return self._note_lines(hit)

    def _turn_lines(self, hit: "Hit") -> LiveLines | None:
        lines = self.lines(hit.note)
        number = hit.lines[0]
        # A transcript that was cut or forgotten may have fewer lines than the index knows.
        if not 0 < number <= len(lines):
            return None
        line = lines[number - 1]
        turn = conversations_turn.read_turn(line)
        if turn is None:
            # Fault: a line was rewritten by hand or by another program. The number alone proves
            # nothing.
            return None
        turn_chunks = conversations_turn.turn_chunks(line, hit.scope)
        texts = [chunk.chunk.text for chunk in turn_chunks]
        # Fault: another turn may be on this line by now.
        if hit.text not in texts:
            return None
        speaker = _SPEAKER.match(hit.text)
        words = hit.text[speaker.end() :] if speaker else hit.text
        # Fault: a secret that no note may keep would be quoted from where it was said.
        has_secret = self._masked(turn.text) != turn.text
        return _turn_line(number, turn)._replace(text=words, has_secret=has_secret)

    def question_before(self, note: str, answer: LiveLines) -> LiveLines | None:
        """Finds what a person said before an answer of the bot in the same conversation."""
        lines = self.lines(note)
        first = max(1, answer.first - MOST_BETWEEN)
        for number in range(answer.first - 1, first - 1, -1):
            turn = conversations_turn.read_turn(lines[number - 1])
            if turn is None or turn.session != answer.session:
                continue
            if turn.role == conversations_turn.PERSON:
                text = self._masked(turn.text)
                return _turn_line(number, turn._replace(text=text))
        return None

    def _note_lines(self, hit: "Hit") -> LiveLines | None:
        """Takes the lines of the index if the note is unchanged, else the nearest equal chunk."""
        note = self._note(hit.note)
        if note is None:
            return None
        first, last = hit.lines
        if note.revision != self._indexed(hit.note):
            # The note was edited after the index read it: the text may be on other lines.
            nearest = _nearest_chunk(encodings.as_utf8(note.raw), hit)
            if nearest is None:
                return None
            first, last = nearest.first_line, nearest.last_line
        return LiveLines(first, last, hit.in_note, self._origin(hit.note, first, last))

    def line_of(self, path: str, heading: str, text: str) -> int:
        """Returns the number of the line where an item with this text begins; 0 for none.

        An item below `heading` comes first, then items of other sections.
        """
        sections = self._sections_of(path)
        section = sections.get(letters.folded_line(heading), {})
        if text in section:
            return section[text]
        lines = self.lines(path)
        for candidates in (section, *sections.values()):
            for first_line, number in candidates.items():
                following = lines[number - 1 : number - 1 + MOST_LINES]
                if _is_item(following, first_line, text):
                    return number
        return 0

    def _sections_of(self, path: str) -> Sections:
        if path not in self._sections:
            self._sections[path] = _parse_sections(self.lines(path))
        return self._sections[path]

    def _origin(self, path: str, first: int, last: int) -> str:
        """Says who wrote these lines, and where they come from if they are marked."""
        lines = self.lines(path)[first - 1 : last]
        author = self._author(path, [line for line in lines if line.strip()])
        mark = _ORIGIN.search(_decoded(b"\n".join(lines)))
        return f"{author}, from {mark[1]}" if mark else author

    def _author(self, path: str, lines: list[bytes]) -> str:
        bot_items = self._written(path).by_bot
        if not bot_items:
            return "person"
        # An item of the bot may have several lines.
        if _normalised(b"\n".join(lines)) in bot_items:
            return "bot"
        by_bot = [_normalised(line) in bot_items for line in lines]
        if by_bot and all(by_bot):
            return "bot"
        if by_bot and not any(by_bot):
            return "person"
        return "person and bot"

    def _written(self, path: str) -> "Written":
        folder = path.rpartition("/")[0]
        if folder not in self._audits:
            self._audits[folder] = _audits_in(self._folder, folder)
        audits = self._audits[folder].get(path)
        return self._authors.written(path, audits) if audits else Written()


def _with_mark(line: bytes) -> str:
    marker = editable_region.item_marker(line)
    return f"{_decoded(marker)}{TOOL_MARK}{_decoded(line[len(marker) :])}"


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _nearest_chunk(raw: bytes, hit: "Hit") -> "Chunk | None":
    """Returns the chunk with the text of a hit, best below its heading and near its old line."""

    def distance(chunk: "Chunk") -> tuple[bool, int]:
        return chunk.heading != hit.heading, abs(chunk.first_line - hit.lines[0])

    if hit.kind == "canvas":
        raw = canvas.as_markdown(raw)
    equal_chunks = [chunk for chunk in chunker.chunk(raw) if chunk.text == hit.in_note]
    return min(equal_chunks, key=distance, default=None)


def _turn_line(number: int, turn: "Turn") -> LiveLines:
    """Returns a turn on the line with this number, cut after `LONGEST_QUESTION` letters."""
    return LiveLines(
        number,
        number,
        turn.text[:LONGEST_QUESTION],
        _turn_origin(turn),
        turn.session,
        turn.role != conversations_turn.PERSON,
    )


def _turn_origin(turn: "Turn") -> str:
    """Says who spoke, and where the text of a turn comes from."""
    origin = str(turn.role)
    if turn.role == conversations_turn.PERSON and turn.user:
        origin = f"{turn.user} ({turn.role})"
    if turn.origin != "owner":
        origin += f", from {turn.origin}"
    if turn.is_automated:
        origin += ", automated"
    return origin


def _parse_sections(lines: Iterable[bytes]) -> Sections:
    """Reads each line as an item. Lines before the first heading are below an empty one."""
    section: dict[str, int] = {}
    sections: Sections = {"": section}
    for number, line in enumerate(lines, start=1):
        if line.startswith(b"## "):
            heading = line.decode("utf-8", "replace").strip("# \t")
            section = sections.setdefault(letters.folded_line(heading), {})
        elif line and not line.isspace():
            section.setdefault(note_items.text_of(line), number)
    return sections


def _is_item(lines: list[bytes], first_line: str, text: str) -> bool:
    """Whether an item that begins at the first of these lines has this text.

    `first_line` is the text of its first line.
    """
    if not text.startswith(first_line):
        return False
    return any(
        note_items.text_of(b"\n".join(lines[:end])) == text for end in range(1, len(lines) + 1)
    )


def _normalised(item: bytes) -> str:
    """Returns the text of an item in the form that the audit log compares."""
    return items.normalised_text(note_items.text_of(item))


class Written(NamedTuple):
    """The normalised items of a note that the bot wrote, and no person changed since."""

    by_bot: frozenset[str] = frozenset()
    by_tools: frozenset[str] = frozenset()
    """in a conversation, not by a night"""


class Authors:
    """Finds what the bot wrote by the audit log of each note. Caches while its files are equal."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._cache: dict[str, tuple[object, Written]] = {}

    def written(self, note: str, audits: Sequence[str]) -> Written:
        """Returns what the bot wrote in a note. `audits` are the paths of its audit files."""
        stats = {path: self._folder.stat(path) for path in audits}
        cached = self._cache.get(note)
        # Fault: the audit of another device arrives later. With other files the cache is stale.
        if cached is not None and cached[0] == stats:
            return cached[1]
        # Fault: a vault with many notes would fill the memory of a daemon.
        if len(self._cache) >= MOST_CACHED:
            self._cache.clear()
        written = self._read(stats)
        self._cache[note] = (stats, written)
        return written

    def _read(self, paths: Iterable[str]) -> Written:
        logs = []
        for path in paths:
            try:
                raw = self._folder.read(path, max_bytes=LARGEST).raw
            except VaultError:
                # Another device may remove its audit file while this one is read.
                continue
            logs.append(list(_read_log(raw)))
        # Fault: audits of several devices have records in common. The union counts each once.
        records = audit_record.union(*logs)
        by_bot = _texts_written_in(records)
        tools = [record for record in records if record.source == "tool"]
        by_tools = _texts_written_in(tools) if tools else frozenset()
        return Written(by_bot, by_bot & by_tools)


def _texts_written_in(records: "Iterable[Record]") -> frozenset[str]:
    return frozenset(text for _, text in ownership.replay(records).written)


def _read_log(raw: bytes) -> Iterator["Record"]:
    for line in raw.split(b"\n"):
        if line.strip():
            record = audit_reader.read_line(line)
            # A crash may leave a torn line at the end of a log.
            if record is not None:
                yield record


def _audits_in(folder: Folder, path: str) -> dict[str, list[str]]:
    """Lists by note the audit files in one folder, those of this device and of others."""
    prefix = f"{path}/" if path else ""
    audits: dict[str, list[str]] = {}
    for name in sorted(_names_in(folder, path)):
        match = audit_folders.AUDIT_NAME.fullmatch(name) if AUDIT in name else None
        if match:
            note = prefix + match["note"]
            audits.setdefault(note, []).append(prefix + name)
    return audits


def _names_in(folder: Folder, path: str) -> list[str]:
    files = RealFiles(folder.root)
    try:
        descriptor = files.open_folder(path)
    except OSError:
        # The folder was renamed or removed after the index read its notes.
        return []
    try:
        return os.listdir(descriptor)
    finally:
        files.close(descriptor)
