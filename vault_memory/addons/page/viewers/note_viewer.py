"""The notes that a session may see, who wrote their items, and how a person changes them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from vault_memory.addons.page import wording
from vault_memory.addons.page.page_answers import note_path
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.markdown.document import parse
from vault_memory.markdown.encodings import as_utf8
from vault_memory.markdown.items import ItemFields, normalised_text, parse_item
from vault_memory.markdown.note_items import section_items, short_hash
from vault_memory.markdown.properties.note_properties import Sort, note_properties
from vault_memory.markdown.visible_text import shown
from vault_memory.rules.edits.blame import added_lines
from vault_memory.rules.paths.filenames import inside

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.versions import NoteVersion
    from vault_memory.rules.edits.audit_record import Record
    from vault_memory.search.note_reports import NoteInfo, NoteText


PERSON = "by hand"
AUTHORS: Mapping[str, str] = {
    "tool": "the bot",
    "nightly": "the bot, at night",
    "proposal": "the bot, approved by a person",
    "inbox": "the bot, approved by a person",
    "merge": "sync",
    "talk": "the bot",
}
"""Source of the record that added a line → who wrote it; all others are a person"""


def author_of(source: str) -> str:
    """Returns who made what a record of this source says."""
    return AUTHORS.get(source, PERSON)


class ShownItem(NamedTuple):
    """An item with what the buttons beside it need."""

    heading: str
    text: str
    line: int
    """in the note, from 1"""
    author: str
    """who wrote or said it: `by hand`, `the bot`, `you said it`"""
    key: str
    """names it in a view, as long as it says the same"""
    words: str
    """its text without the marks of its brackets"""
    day: str
    """when it was written down, ISO 8601; empty when that is not known"""
    remarks: tuple[str, ...]

    @property
    def label(self) -> str:
        """The beginning of its words, for the names of buttons."""
        return cut_label(self.words)


LABEL_LENGTH = 60


def cut_label(words: str) -> str:
    """Returns the beginning of a sentence."""
    # Fault: a name of 4 kB would be in the page five times for each row.
    return words if len(words) <= LABEL_LENGTH else f"{words[:LABEL_LENGTH]}…"


def shown_items(
    note: str, raw: bytes, records: "Iterable[Record]", speaker: str
) -> Iterator[ShownItem]:
    """Yields the items of a note that ops can address; `records` are those of the note.

    `speaker` says who said what comes from a turn.
    """
    doc = parse(raw)
    # The records are in order, so the last one that added a text remains.
    added_by = {
        normalised_text(text): record.source for record in records for text in added_lines(record)
    }
    line = 1 + count_lines(doc.preamble)
    for number, section in enumerate(doc.sections):
        line += count_lines(section.heading)
        start = 0
        for item in section_items(doc, number):
            line += count_lines(section.body[start : item.start])
            start = item.start
            author = author_of(added_by.get(normalised_text(item.text), ""))
            fields = parse_item(item.text)
            yield ShownItem(
                item.heading,
                item.text,
                line,
                speaker if fields.ref else author,
                key=short_hash(note, item.heading, item.text),
                # An item may have nothing but marks, which are its text then.
                words=shown(fields.text or item.text),
                day=fields.date.isoformat() if fields.date else "",
                remarks=tuple(_remarks(fields)),
            )
        line += count_lines(section.body[start:])


def _remarks(item: ItemFields) -> Iterator[str]:
    if item.until:
        yield f"until {wording.day(item.until.isoformat())}"
    if item.unclear:
        yield "unclear: another line contradicts it"
    if item.confirmed:
        yield "confirmed"
    if item.conf != 1:
        yield f"{item.conf:.0%} certain"
    if item.origin != "owner":
        yield f"from {item.origin}"
    if item.evidence:
        yield f"“{item.evidence}”"


def count_lines(raw: bytes) -> int:
    """Returns how many line ends there are: CRLF, LF or CR."""
    return raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")


ENDINGS = ("", ".md", ".markdown", ".MD")


MOST_READ = 1_000
"""Notes that are read for their links"""


_FILE_NAME = re.compile(r"\.\w{1,5}$")
"""The end of the name of a picture or another file"""


def _link_names(raw: bytes) -> set[str]:
    """Returns the names that a note links to."""
    links = [each.value for each in note_properties(raw) if each.sort == Sort.LINK]
    names = {link.rpartition("/")[2].removesuffix(".md") for link in links}
    return {name for name in names if name and not _FILE_NAME.search(name)}


def reader(memory: VaultMemory, scopes: Sequence[str]) -> str:
    """Returns the scope of the person who reads the page: the owner, or the only person."""
    people = [scope for scope in scopes if scope.startswith("user:")]
    return people[0] if len(people) == 1 else f"user:{memory.layout.user}"


class NoteViewer:
    """The notes of a vault, as one session may see them."""

    def __init__(self, memory: VaultMemory, scopes: Sequence[str]) -> None:
        self._memory = memory
        self._scopes = scopes

    # ---- reading -----------------------------------------------------------------------

    def all(self) -> "list[NoteInfo]":
        """Return the notes, by path."""
        return self._memory.notes(self._scopes)

    def changed_on(self, path: str) -> str:
        """Return the day on which a file was changed; empty when that is not known."""
        folder, _, name = path.rpartition("/")
        stat = self._memory.vault.folder.stats(folder, [name]).get(name)
        return date.fromtimestamp(stat.mtime_ns / 1e9).isoformat() if stat else ""

    def sees(self, path: str) -> bool:
        """Return whether a note is in a scope of the session."""
        place = self._memory.layout.place(path)
        return place is not None and place.scope in self._scopes

    def path(self, note: str) -> str:
        """Return the path of a note. Raises BadPath, and NoteNotFound for one of others."""
        path = inside(note)
        # Fault: another error than for a missing note would show which notes others have.
        if not self.sees(path):
            raise NoteNotFound(path)
        return path

    def links(self, note: str) -> tuple[list[str], list[str]]:
        """Return the notes that a note links to, and those that link to it."""
        links = self._memory.searcher.links(self.path(note))
        outgoing = dict.fromkeys(link.note for link in links.outgoing if link.note)
        # Fault: a link tells of a note that is another person's.
        linked, linking = (
            [path for path in paths if path != note and self.sees(path)]
            for paths in (outgoing, links.incoming)
        )
        return linked, linking

    def scope_of(self, path: str) -> str:
        """Return the scope of a note; empty for one of another scope."""
        place = self._memory.layout.place(path)
        return place.scope if place is not None and self.sees(path) else ""

    def read(self, note: str) -> "NoteText":
        """Return a note as it is now. Raises NoteNotFound, NoteUnreadable."""
        return self._memory.read(self.path(note))

    def linked_names(self) -> Counter[str]:
        """Return the names that notes link to, whether a note has them or not, with their number."""
        names: Counter[str] = Counter()
        # Fault: a vault of 100,000 notes would be read from end to end for one list.
        for info in self.all()[:MOST_READ]:
            if info.kind != "transcript":
                with suppress(NoteNotFound, NoteUnreadable):
                    names.update(_link_names(self.read(info.note).raw))
        return names

    def items(self, note: "NoteText") -> list[ShownItem]:
        """Return the items that the ops can address, with their authors."""
        speaker = wording.said_in(self.scope_of(note.note), reader(self._memory, self._scopes))
        records = self._memory.log(note.note)
        return list(shown_items(note.note, as_utf8(note.raw), records, speaker))

    def link_from(self, note: str) -> "LinkTarget":
        """Return what finds the notes that a note links to."""
        return LinkTarget(note, self._paths)

    def _paths(self) -> set[str]:
        return {info.note for info in self.all()}

    def editor_link(self, note: str, line: int = 1) -> str:
        """Return the link that opens a note in the configured editor; empty without one."""
        pattern = self._memory.vault.config.web.editor_url
        # The only place of the machine that the page shows: the person asked for the link.
        file = quote(str(self._memory.root / note), errors="surrogateescape")
        return pattern.replace("{path}", file).replace("{line}", str(line))

    # ---- versions ----------------------------------------------------------------------

    def history(self, note: str) -> "list[NoteVersion]":
        """Return the stored versions, newest first. Raises NoteNotFound."""
        return self._memory.history(self.path(note))

    def version(self, note: str, revision: str) -> "NoteText":
        """Return a stored version. Raises UnclearId, NoteNotFound."""
        return self._memory.edits.read_version(self.path(note), revision)

    def restore(
        self, note: str, revision: str, *, expected: str | None = None, dry_run: bool = False
    ) -> "Edit":
        """Write a version again. Raises UnclearId, NoteChanged."""
        return self._memory.restore(self.path(note), revision, expected=expected, dry_run=dry_run)

    # ---- changing ----------------------------------------------------------------------

    def apply(self, note: str, op: Mapping[str, object], expected: str) -> "Edit":
        """Apply one op as a person's act, also to a note that changed. Raises NoteChanged."""
        return self._memory.apply(
            self.path(note), [op], source="cli", expected=expected, merge=True
        )


@dataclass(frozen=True)
class LinkTarget:
    """Finds the URL of a note that a link names."""

    note: str
    """the note with the link"""
    find_notes: Callable[[], set[str]]
    """returns the notes that the session may see"""

    @cached_property
    def notes(self) -> set[str]:
        """The notes that the session may see."""
        # To list all notes costs 50 times a view, and most notes link to none.
        return self.find_notes()

    def __call__(self, target: str) -> str | None:
        """Return the URL of a note; None when the session sees no such note."""
        for path in self._candidates(target):
            if path in self.notes:
                return note_path(path)
        return None

    def _candidates(self, target: str) -> list[str]:
        """Return the paths that a link may mean, the likeliest first."""
        # A Markdown link begins at its note; many editors begin at the vault.
        beside = str(PurePosixPath(self.note).parent / target)
        names = [name + ending for name in (target, beside) for ending in ENDINGS]
        return names + self._by_name(target)

    def _by_name(self, target: str) -> list[str]:
        """Return the notes with this file name, in any folder: how wiki links name them."""
        files = {target + ending for ending in ENDINGS}
        return sorted(path for path in self.notes if path.rpartition("/")[2] in files)
