"""Notes as they stand in their files at this moment, and who wrote each of their lines, as far as that is known."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.errors import NoteNotFound, VaultError
from vault_memory.lazy import lazy_module
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.reader import Folder, Note

if TYPE_CHECKING:
    from vault_memory.markdown import items, note_items
    from vault_memory.markdown.chunking import chunker
    from vault_memory.rules.conversations import turn as conversations_turn
    from vault_memory.rules.edits import audit_reader, audit_record, ownership
    from vault_memory.search.results import Hit
else:
    chunker = lazy_module("vault_memory.markdown.chunking.chunker")
    items = lazy_module("vault_memory.markdown.items")
    note_items = lazy_module("vault_memory.markdown.note_items")
    conversations_turn = lazy_module("vault_memory.rules.conversations.turn")
    audit_reader = lazy_module("vault_memory.rules.edits.audit_reader")
    audit_record = lazy_module("vault_memory.rules.edits.audit_record")
    ownership = lazy_module("vault_memory.rules.edits.ownership")

LARGEST = 64 << 20
"""Bytes of a transcript or an audit that is read"""
MOST_LINES = 8
"""Of an item that is looked for"""
MOST_KEPT = 1_000
"""Of so many notes it is kept who wrote what"""
AUDIT = ".md.audit."
_BREAK = re.compile(rb"\r\n|\r|\n")
_ORIGIN = re.compile(r"\((?:[^()]*[ ,])?origin:([a-z][a-z0-9_-]*)[^()]*\)")
_SPEAKER = re.compile(r"\*\*[^*]*\*\*: ")


class LiveLines(NamedTuple):
    """Lines of a hit as they stand now."""

    first: int
    last: int
    text: str
    origin: str
    session: str = ""
    """the conversation that a turn is of"""


class LiveNotes:
    """Reads each note once; for one question."""

    def __init__(
        self,
        folder: Folder,
        authors: "Authors",
        indexed: Callable[[str], str] = lambda path: "",
    ) -> None:
        """`indexed` says which revision of a note hits are from."""
        self._folder, self._authors, self._indexed = folder, authors, indexed
        self._raw: dict[str, Note | None] = {}
        self._lines: dict[str, list[bytes]] = {}
        self._sections: dict[str, dict[str, dict[str, int]]] = {}
        self._audits: dict[str, dict[str, list[str]]] = {}
        """by folder, which files are the audit of which note"""
        self.trouble: dict[str, str] = {}
        """why a note cannot be read now, by path"""

    def _note(self, path: str) -> Note | None:
        if path not in self._raw:
            self._raw[path] = None
            try:
                self._raw[path] = self._folder.read(path, max_bytes=LARGEST)
            except NoteNotFound:
                pass
            except VaultError as error:
                self.trouble[path] = error.message
        return self._raw[path]

    def lines(self, path: str) -> list[bytes]:
        """The lines of a note without their ends; none when it cannot be read."""
        if path not in self._lines:
            note = self._note(path)
            raw = note.raw if note else b""
            self._lines[path] = (
                raw.split(b"\n") if path.endswith(".jsonl") else _BREAK.split(raw)
            )
        return self._lines[path]

    def text(self, path: str) -> str:
        """A whole note, with ``\\n`` at the line ends."""
        return b"\n".join(self.lines(path)).decode("utf-8", "replace")

    def standing(self, hit: "Hit") -> LiveLines | None:
        """The lines of a hit where they stand now; None when they no longer stand in its note."""
        return self._said(hit) if hit.kind == "transcript" else self._written(hit)

    def _said(self, hit: "Hit") -> LiveLines | None:
        lines, number = self.lines(hit.note), hit.lines[0]
        line = lines[number - 1] if 0 < number <= len(lines) else b""
        turn = conversations_turn.read_turn(line)
        if turn is None or all(
            one.chunk.text != hit.text
            for one in conversations_turn.turn_chunks(line, hit.scope)
        ):
            return None
        speaker = _SPEAKER.match(hit.text)
        said = hit.text[speaker.end() :] if speaker else hit.text
        who = (
            turn.role
            if turn.role != conversations_turn.PERSON or not turn.user
            else f"{turn.user} ({turn.role})"
        )
        origin = who if turn.origin == "owner" else f"{who}, from {turn.origin}"
        origin += ", automated" if turn.is_automated else ""
        return LiveLines(number, number, said, origin, turn.session)

    def _written(self, hit: "Hit") -> LiveLines | None:
        """As it was found when the note is still the one that was read; else where a chunk of it says the same."""
        note = self._note(hit.note)
        if note is None:
            return None
        first, last = hit.lines
        if note.revision != self._indexed(hit.note):
            same = [one for one in chunker.chunk(note.raw) if one.text == hit.text]
            if not same:
                return None
            nearest = min(
                same,
                key=lambda one: (
                    one.heading != hit.heading,
                    abs(one.first_line - first),
                ),
            )
            first, last = nearest.first_line, nearest.last_line
        return LiveLines(first, last, hit.text, self._origin(hit.note, first, last))

    def line_of(self, path: str, heading: str, text: str) -> int:
        """The line in which an item of a section begins that says this; 0 when none does."""
        sections = self._sections_of(path)
        here = sections.get(note_items.folded(heading), {})
        if text in here:
            return here[text]
        everywhere = [
            one for section in (here, *sections.values()) for one in section.items()
        ]
        lines = self.lines(path)
        return next(
            (
                at
                for said, at in everywhere
                if _says(lines[at - 1 : at - 1 + MOST_LINES], said, text)
            ),
            0,
        )

    def _sections_of(self, path: str) -> dict[str, dict[str, int]]:
        """By folded heading, what the lines of a note say as items, and where."""
        if path not in self._sections:
            here: dict[str, int] = {}
            found = self._sections[path] = {"": here}
            for at, line in enumerate(self.lines(path), start=1):
                if line.startswith(b"## "):
                    here = found.setdefault(
                        note_items.folded(
                            line.decode("utf-8", "replace").strip("# \t")
                        ),
                        {},
                    )
                elif line and not line.isspace():
                    here.setdefault(note_items.text_of(line), at)
        return self._sections[path]

    def _decoded(self, path: str, first: int, last: int) -> str:
        return b"\n".join(self.lines(path)[first - 1 : last]).decode("utf-8", "replace")

    def _origin(self, path: str, first: int, last: int) -> str:
        lines = [line for line in self.lines(path)[first - 1 : last] if line.strip()]
        bots = self._bots(path)
        wrote = (
            {"bot" if _said_by(line) in bots else "person" for line in lines}
            if bots
            else {"person"}
        )
        if bots and _said_by(b"\n".join(lines)) in bots:
            wrote = {"bot"}
        who = wrote.pop() if len(wrote) == 1 else "person and bot"
        mark = _ORIGIN.search(self._decoded(path, first, last))
        return f"{who}, from {mark[1]}" if mark else who

    def _bots(self, path: str) -> frozenset[str]:
        folder = path.rpartition("/")[0]
        if folder not in self._audits:
            self._audits[folder] = _audits_in(self._folder, folder)
        audits = self._audits[folder].get(path)
        return self._authors.bots(path, audits) if audits else frozenset()


def _says(lines: list[bytes], first: str, text: str) -> bool:
    """Whether an item that begins in the first of these lines, which says `first`, says this."""
    if not text.startswith(first):
        return False
    return any(
        note_items.text_of(b"\n".join(lines[:end])) == text
        for end in range(1, len(lines) + 1)
    )


def _said_by(own: bytes) -> str:
    """What an item says, as the audit knows it again."""
    return items.normalised(note_items.text_of(own))


class Authors:
    """What the bot wrote, by the audit beside each note; kept as long as the files of the audit are the same."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._kept: dict[str, tuple[object, frozenset[str]]] = {}

    def bots(self, note: str, audits: Sequence[str]) -> frozenset[str]:
        """The items of a note that the bot wrote and nobody changed since, normalised, by these files."""
        stamps = {path: self._folder.stat(path) for path in audits}
        kept = self._kept.get(note)
        if kept is None or kept[0] != stamps:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            kept = self._kept[note] = (stamps, self._read(stamps))
        return kept[1]

    def _read(self, paths: Iterable[str]) -> frozenset[str]:
        read = []
        for path in paths:
            try:
                raw = self._folder.read(path, max_bytes=LARGEST).raw
            except VaultError:
                continue
            read.append(
                [
                    record
                    for line in raw.split(b"\n")
                    if line.strip() and (record := audit_reader.read_line(line))
                ]
            )
        return frozenset(
            text for _, text in ownership.replay(audit_record.union(*read)).written
        )


def _audits_in(folder: Folder, path: str) -> dict[str, list[str]]:
    """By note, the audit files in one folder: those of this device and of others."""
    import os

    files = RealFiles(folder.root)
    try:
        opened = files.open_folder(path)
    except OSError:
        return {}
    try:
        names = [
            name
            for name in os.listdir(opened)
            if AUDIT in name and name.endswith(".jsonl")
        ]
    finally:
        files.close(opened)
    found: dict[str, list[str]] = {}
    within = f"{path}/" if path else ""
    for name in sorted(names):
        found.setdefault(f"{within}{name.rpartition(AUDIT)[0]}.md", []).append(
            within + name
        )
    return found
