"""The places where a note and its conflict copy differ, and the texts that decisions on them give. Pure.

A place is a stretch of lines. All places are found once, in the two texts with which the decisions began. So no
decision moves another place, and their order does not matter. A decision makes both texts alike at its place: the
note, which is saved, and what is left of the copy, whose file stays as it is. The audit log has the decisions. When
another program changes the note, the places are found again, in the note and in what is left of the copy.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from vault_memory.markdown.document import parse
from vault_memory.markdown.merging.line_merge import LineHunk, hunks
from vault_memory.markdown.merging.three_way import with_newlines
from vault_memory.markdown.note_items import line_end, short_hash
from vault_memory.rules.edits.audit_record import Record, revision
from vault_memory.rules.edits.skipped_duplicates import SETTLE, undone_ids

PlaceChoice = Literal["keep", "take", "both"]
"""The lines of the note stay; those of the copy replace them, or follow them"""


class CopyPlace(NamedTuple):
    """A place where a note and its copy differ, or a stretch in which they do not."""

    id: str
    """of this place in these two texts; empty for a stretch"""
    line: int
    """the first line in the note, from 1"""
    note: str
    copy: str
    can_keep_both: bool = False
    """whether the lines of one side can follow those of the other"""


class CopyDecisions(NamedTuple):
    """The two texts with which the decisions on a copy began, and the decisions since."""

    note: bytes
    copy: bytes
    choices: Mapping[str, str] = {}  # by the id of the place

    def op(self, place_id: str, choice: PlaceChoice, revision_of_file: str) -> dict[str, object]:
        """Returns a decision as the audit log has it."""
        texts = " ".join(map(revision, self[:2]))
        return {
            "op": SETTLE,
            "revision": revision_of_file,
            "texts": texts,
            "place": place_id,
            "choice": choice,
        }

    def open_places(self) -> list[CopyPlace]:
        """Returns the places that wait for a decision."""
        return [
            place
            for place in self._stretches()
            if place.note != place.copy and place.id not in self.choices
        ]

    def texts(self) -> list[bytes]:
        """Returns the note and what is left of the copy after the decisions."""
        note: list[bytes] = []
        remainder: list[bytes] = []
        for place in self._stretches():
            both = [place.note.encode(), place.copy.encode()]
            results = {"keep": both[:1], "take": both[1:], "both": both}
            result = results.get(self.choices.get(place.id, ""))
            note += result or both[:1]
            remainder += result or both[1:]
        sides = (list(filter(None, texts)) for texts in (note, remainder))
        return [b"".join(with_newlines(texts, line_end(self.note))) for texts in sides]

    def _stretches(self) -> Iterator[CopyPlace]:
        """Yields all of both texts. Line ends are no difference; lines of the copy get those of the note."""
        theirs = self.copy.replace(b"\r\n", b"\n").replace(b"\n", line_end(self.note))
        sides = [text.splitlines(keepends=True) for text in (self.note, theirs)]
        texts = [[line.removeprefix(BOM_UTF8).rstrip(b"\r\n") for line in side] for side in sides]
        front = len(parse(self.note).preamble.splitlines())
        revisions = [*map(revision, self[:2])]
        end = LineHunk(*map(len, (texts[0], texts[0], texts[1], texts[1])))
        position = 0
        for hunk in (*hunks(*texts), end):
            alike = b"".join(sides[0][position : hunk.first]).decode()
            yield CopyPlace("", position, alike, alike)
            position = hunk.end
            ours = b"".join(sides[0][hunk.first : position]).decode()
            new = b"".join(sides[1][hunk.side_first : hunk.side_end]).decode()
            place_id = short_hash(*revisions, str(hunk))
            can_keep_both = bool(ours and new) and hunk.first >= front
            yield CopyPlace(place_id, hunk.first + 1, ours, new, can_keep_both)


def decisions_on(
    revision_of_file: str,
    note: bytes,
    copy: bytes,
    records: Sequence[Record],
    bytes_of: Callable[[str], bytes | None],
) -> CopyDecisions:
    """Returns the decisions on a copy; `records` are the audit log of its note."""
    ops = list(_recorded(revision_of_file, records))
    begun = str(ops[-1][1].get("texts")) if ops else ""
    first_note, first_copy = map(bytes_of, begun.partition(" ")[::2])
    # Fault: an earlier decision, which is in what was left of the copy, is undone.
    is_outdated = any(is_undone and op.get("texts") != begun for is_undone, op in ops)
    # Versions age out. Then each place is asked again.
    if is_outdated or first_note is None or first_copy is None:
        return CopyDecisions(note, copy)
    choices = {str(op.get("place")): str(op.get("choice")) for undone, op in ops if not undone}
    decisions = CopyDecisions(first_note, first_copy, choices)
    present, remainder = decisions.texts()
    return decisions if present == note else CopyDecisions(note, remainder)


def _recorded(
    revision_of_file: str, records: Sequence[Record]
) -> Iterator[tuple[bool, Mapping[str, object]]]:
    """Yields the recorded decisions: whether it was undone, and its op."""
    undone = undone_ids(records)
    for record in records:
        for op in record.applied:
            if "texts" in op.op and op.op.get("revision") == revision_of_file:
                yield record.id in undone, op.op
