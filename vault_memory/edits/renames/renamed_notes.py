"""Decides which note continues the past of a note that is no longer at its path.

The past is the audit and the stored versions. A note continues it that is the same file, has the
same bytes, or has enough of the lines. Where two notes are equally likely, none is chosen: a copy
is no rename.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from vault_memory.markdown.letters import without_case
from vault_memory.markdown.merging.similarity import best_pairs, likeness, words_in
from vault_memory.markdown.note_items import RENAMED_SHARE, normalised_lines, share_kept
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.blame import changed_lines

_SHARE_OF_SAME_FILE = 0.2
"""The share of its lines that a note keeps that is rewritten in place"""
_CERTAIN = 5.0
_SAME_BYTES = 4.0
_SAME_FILE = 2.0
"""With a share of up to 1 that is added; the same file with the same bytes has both values"""


@dataclass(frozen=True, slots=True)
class LostPast:
    """The past of a note that is no longer at its path."""

    path: str
    revisions: frozenset[str] = frozenset()
    """of the newest texts that are known: the last version and the last record may differ"""
    ino: int = 0
    """inode of the file with that text; 0 when it is unknown"""
    lines: Counter[str] = field(default_factory=Counter)
    """those normalised lines of that text that are known"""
    day: str = ""
    """the day that a dated note is about"""
    scope: str | None = None
    """whose note it was; None where no layout claims the path"""
    has_audit: bool = True
    """whether its audit files are still at its path, and not only its versions"""
    until: float = inf
    """time before which a note that continues it has appeared"""

    @property
    def traits(self) -> tuple[str | int, ...]:
        """The revisions and the inode by which it is found."""
        return (*self.revisions, self.ino) if self.ino else tuple(self.revisions)


@dataclass(frozen=True, slots=True)
class FoundNote:
    """A note that may continue a past."""

    path: str
    revision: str
    ino: int
    lines: Counter[str]
    is_new: bool = True
    """whether nothing was known of a note at this path"""
    continues: frozenset[str] = frozenset()
    """paths whose past it certainly continues"""
    day: str = ""
    scope: str | None = None
    appeared: float = 0.0


def renamed_notes(pasts: Sequence[LostPast], notes: Sequence[FoundNote]) -> dict[str, str]:
    """Returns the new path of each past that exactly one note continues best."""
    traits = _NoteTraits(notes)
    renamed: dict[str, str] = {}
    likes: dict[bool, list[tuple[float, int, int]]] = {True: [], False: []}
    for number, past in enumerate(pasts):
        likenesses = {index: _evidence(past, notes[index]) for index in traits.shared_with(past)}
        heirs = [index for index, like in likenesses.items() if like == _CERTAIN]
        # The audit of one note may come file by file, under different names.
        if len(heirs) == 1:
            renamed[past.path] = notes[heirs[0]].path
        elif not heirs:
            likes[past.has_audit] += [
                (like, number, index) for index, like in likenesses.items() if like
            ]
    # Fault: another device let the audit of a note follow to a second name, and the note
    # has a third one now. Its versions here and its audit have different paths.
    for old, new in (*best_pairs(likes[True]), *best_pairs(likes[False])):
        renamed[pasts[old].path] = notes[new].path
    return renamed


class _NoteTraits:
    """Finds the notes that have anything in common with a past, without a look at all pairs."""

    def __init__(self, notes: Sequence[FoundNote]) -> None:
        self._notes_with: defaultdict[object, set[int]] = defaultdict(set)
        for index, note in enumerate(notes):
            traits = _traits(note.path, (note.revision,), note.ino, note.lines)
            for trait in (*traits, *(("continues", path) for path in note.continues)):
                self._notes_with[trait].add(index)

    def shared_with(self, past: LostPast) -> Iterable[int]:
        """Returns the indexes of these notes."""
        traits = _traits(past.path, past.revisions, past.ino, past.lines)
        with_trait = self._notes_with
        return sorted(set().union(*(with_trait[trait] for trait in traits)))


def _traits(path: str, revisions: Iterable[str], ino: int, lines: Iterable[str]) -> set[object]:
    names = (("continues", path), ("name", without_case(path)))
    versions = (("revision", revision) for revision in revisions)
    traits: set[object] = {*names, *versions, ("ino", ino), *lines}
    return traits - {("revision", ""), ("ino", 0)}


def _evidence(past: LostPast, note: FoundNote) -> float:
    """Returns how surely a note continues a past; 0 when nothing says so."""
    if not _may_move(past, note):
        return 0.0
    is_same_name = note.is_new and without_case(past.path) == without_case(note.path)
    if past.path in note.continues or is_same_name:
        return _CERTAIN
    is_same_file = past.ino != 0 and past.ino == note.ino
    if note.revision in past.revisions:
        # Fault: two empty notes, or two with a heading only, have the same bytes.
        says_anything = bool(note.lines) or is_same_file
        return says_anything * (_SAME_BYTES + is_same_file * _SAME_FILE)
    return _likeness(past, note, is_same_file=is_same_file)


def _likeness(past: LostPast, note: FoundNote, *, is_same_file: bool) -> float:
    """Returns how much a text is a later version of the last known one; 0 for another text."""
    # Notes of two days may have most of their lines from one template.
    if past.day != note.day:
        return 0.0
    share = share_kept(past.lines, note.lines)
    # Fault: a file system gives the inode of a deleted file to the next new one. So the
    # text has to say the same, too.
    if is_same_file and (share >= _SHARE_OF_SAME_FILE or _is_reworded(past, note)):
        return _SAME_FILE + share
    return share if note.is_new and share >= RENAMED_SHARE else 0.0


def _may_move(past: LostPast, note: FoundNote) -> bool:
    # Fault: a note with the text of one that was deleted long ago is another note.
    if past.path == note.path or note.appeared >= past.until:
        return False
    # Fault (H124): the past has texts that were removed. With the note they would reach
    # another person.
    return None in (past.scope, note.scope) or past.scope == note.scope


def _is_reworded(past: LostPast, note: FoundNote) -> bool:
    old, new = (words_in("\n".join(lines)) for lines in (past.lines, note.lines))
    return likeness(old, new) >= RENAMED_SHARE


def lines_left(records: Iterable[Record]) -> Counter[str]:
    """Returns the normalised lines that records added and that no later one removed."""
    left: Counter[str] = Counter()
    for record in records:
        added, removed = changed_lines(record.diff)
        left += _comparable(added)
        left -= _comparable(removed)
    return left


def _comparable(counts: Counter[bytes]) -> Counter[str]:
    """Returns lines of a diff as they are compared; headings do not count."""
    lines = (line for line in counts.elements() if not line.startswith(b"#"))
    return normalised_lines(b"\n".join(lines))


def newest_revision(records: Sequence[Record]) -> str:
    """Returns the revision that the last record left; empty when it took the note away."""
    about_text = (record for record in reversed(records) if record.before or record.after)
    last = next(about_text, None)
    return last.after if last is not None else ""


def revisions_in(records: Iterable[Record]) -> frozenset[str]:
    """Returns all revisions that records name."""
    return frozenset(
        revision for record in records for revision in (record.before, record.after) if revision
    )
