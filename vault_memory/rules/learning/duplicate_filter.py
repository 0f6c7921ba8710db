"""Decides for each new line of a scope: it is written, it is skipped, or it replaces an item. Pure.

New lines are compared with each other and with the items of the scope. Only items of the bot are
replaced: a person's words stay as they are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass

from vault_memory.markdown.items import parse_item
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate
from vault_memory.rules.learning.twins import Twin, TwinIndex


@dataclass(frozen=True, slots=True)
class ExistingItem:
    """An item of a note of the scope."""

    note: str
    heading: str
    text: str
    """with its metadata"""


@dataclass(slots=True)
class NewLine:
    """A line that is written, perhaps in place of an item."""

    note: str
    heading: str
    text: str
    turn: str
    """the id of the turn that says it"""
    replaces: ExistingItem | None = None


@dataclass(frozen=True, slots=True)
class _Skip:
    """A text that another one makes superfluous."""

    text: str
    turn: str
    twin: ExistingItem | NewLine


Cosines = Callable[[str], Mapping[int, float]]
"""Returns for a text the cosines of its vector and those of items, by the items' positions"""


def no_vectors(text: str) -> Mapping[int, float]:
    """Returns no cosines: texts are compared by their words."""
    return {}


class DuplicateFilter:
    """Sorts the new lines of one scope."""

    def __init__(
        self,
        items: Iterable[ExistingItem],
        *,
        is_replaceable: Callable[[ExistingItem], bool],
        cosines: Cosines = no_vectors,
        written_before: Set[str] = frozenset(),
    ) -> None:
        """`written_before`: notes to which this cycle added lines before it was killed."""
        self._entries: list[ExistingItem | NewLine] = list(items)
        self._index = TwinIndex(entry.text for entry in self._entries)
        self._is_replaceable = is_replaceable
        self._cosines = cosines
        self._written_before = written_before
        self._lines: list[NewLine] = []
        self._skips: list[_Skip] = []

    def take(self, line: NewLine) -> None:
        """Decides about the next line."""
        twin = self._index.find(line.text, self._cosines(line.text))
        if twin is None or not twin.is_duplicate or self._is_request(line, twin):
            self._write(line)
            return
        match self._entries[twin.position]:
            case NewLine() as earlier:
                self._join(line, earlier, twin)
            # Fault: the night was killed after it had written this line. It is no duplicate of
            # itself.
            case ExistingItem() as item if self._was_written(line, item, twin):
                self._lines.append(line)
            case ExistingItem() as item:
                self._meet(line, item, twin)

    def _is_request(self, line: NewLine, twin: Twin) -> bool:
        """Returns whether a near text of the same turn is for another note."""
        # Fault: a memory "Remember that the rope is in the loft" would keep what is asked for
        # out of the profile.
        entry = self._entries[twin.position]
        turn = entry.turn if isinstance(entry, NewLine) else parse_item(entry.text).ref
        is_of_turn = bool(turn) and turn == line.turn
        return twin.relation == "near" and is_of_turn and entry.note != line.note

    @property
    def written(self) -> dict[str, list[str]]:
        """The lines to append, by note."""
        lines: dict[str, list[str]] = defaultdict(list)
        for line in self._lines:
            if line.replaces is None:
                lines[line.note].append(line.text)
        return dict(lines)

    @property
    def replaced(self) -> dict[str, list[tuple[ExistingItem, str]]]:
        """The items to replace, each with its new line, by note."""
        pairs: dict[str, list[tuple[ExistingItem, str]]] = defaultdict(list)
        for line in self._lines:
            if line.replaces is not None:
                pairs[line.replaces.note].append((line.replaces, line.text))
        return dict(pairs)

    def skipped(self, scope_of: Callable[[str], str]) -> dict[str, list[SkippedDuplicate]]:
        """Returns the texts that are not written, by the note of their twins.

        `scope_of` returns the scope of a note, which its items' keys contain.
        """
        skips: dict[str, list[SkippedDuplicate]] = defaultdict(list)
        for skip in self._skips:
            twin = skip.twin
            note = _note_of(twin)
            key = content_key(scope_of(note), twin.text)
            skipped = SkippedDuplicate(twin.heading, skip.text, key, skip.turn)
            skips[note].append(skipped)
        return dict(skips)

    def repeated(self, lines: Iterable[NewLine]) -> list[str]:
        """Returns the turns of those lines that an item of another turn says already."""
        texts = {line.text for line in lines}
        return [
            skip.turn
            for skip in self._skips
            if skip.text in texts and parse_item(skip.twin.text).ref != skip.turn
        ]

    def _write(self, line: NewLine) -> None:
        self._lines.append(line)
        self._enter(line)

    def _enter(self, line: NewLine) -> None:
        self._index.add(line.text)
        self._entries.append(line)

    def _join(self, line: NewLine, earlier: NewLine, twin: Twin) -> None:
        """Keeps the longer one of two new lines that say the same."""
        if not twin.replaces:
            self._skips.append(_Skip(line.text, line.turn, earlier))
            return
        self._skips.append(_Skip(earlier.text, earlier.turn, earlier))
        earlier.text = line.text
        earlier.turn = line.turn
        self._enter(earlier)

    def _meet(self, line: NewLine, item: ExistingItem, twin: Twin) -> None:
        """Keeps an item, or replaces it when the line says more and the item is the bot's."""
        # Fault: a person's own line must not be replaced by that of the bot.
        if not twin.replaces or not self._is_replaceable(item):
            self._skips.append(_Skip(line.text, line.turn, item))
            return
        line.replaces = item
        self._entries[twin.position] = line
        self._write(line)
        self._skips.append(_Skip(item.text, parse_item(item.text).ref, line))

    def _was_written(self, line: NewLine, item: ExistingItem, twin: Twin) -> bool:
        """Returns whether the item is this line, which the cycle wrote before it was killed."""
        # Fault: another turn says the same. Its line is a duplicate.
        if twin.relation != "same" or parse_item(item.text).ref != line.turn:
            return False
        if item.note not in self._written_before:
            return False
        if item.note != line.note:
            line.replaces = item
        return True


def _note_of(entry: ExistingItem | NewLine) -> str:
    """Returns the note in which an entry stands when all is written."""
    if isinstance(entry, NewLine) and entry.replaces is not None:
        return entry.replaces.note
    return entry.note
