"""Debounces saves: text counts at once, conclusions wait until a note has settled.

A save is searchable as soon as it was seen, and a half-written file is corrected by the next look.
Some conclusions are harder to undo: that a note was deleted, that it was emptied, that its text is
worth an embedding. They wait until nothing changed for a moment and two looks agree. They wait
three seconds longer for what looks like half a save, because editors and sync programs make a
note disappear, shrink and return.

Pure: the caller brings the clock.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from vault_memory.vault.utf8_tail import ends_within_character

if TYPE_CHECKING:
    from vault_memory.vault.reader import Note

AFTER_MODIFYING = 0.020
"""Seconds from the last plain modification to the first look; a close or a rename needs no wait"""
BETWEEN_LOOKS = 0.020
"""Least seconds between two looks at one note"""
QUIET = 0.300
"""Seconds without a change until a note may count as settled"""
APART = 0.150
"""Least seconds between the two looks that must agree"""
HOLD = 3.0
"""Seconds for which an absent, emptied or cut-off note is not believed"""
CAP = 5.0
"""Seconds of steady writing after which a note is looked at all the same"""
RETRY = (5.0, 60.0)
"""Seconds until a note that could not be read is tried again: at first, and at most"""


class DebounceDecision(Enum):
    """The action after a look at a note."""

    KEEP = "keep"
    """Do nothing: the old text stays searchable, and the note counts as stale"""
    INDEX = "index"
    """Make this text searchable; conclude nothing yet"""
    SETTLED = "settled"
    """Make this text searchable, and conclude that it is the text of the note"""
    GONE = "gone"
    """Conclude that the note was deleted"""


@dataclass(frozen=True, slots=True)
class Settled:
    """The last version of a note that had settled."""

    revision: str
    size: int
    begins_with: Callable[[bytes], bool] | None = None
    """Whether that version begins with these bytes; None when its bytes are not kept"""


@dataclass(slots=True)
class _State:
    """One note on its way from a hint to a conclusion."""

    since: float
    """First hint since the last look"""
    changed: float
    """Last sign of a change"""
    due: float | None
    looked: float = float("-inf")
    revision: str | None = None
    """Revision at the last stable look; "" for an absent note, None without such a look"""
    agreed: float = 0.0
    """Since when the note has `revision`"""
    waiting: bool = True
    """Whether a hint came after the last look"""
    failures: int = 0
    """Looks in a row that failed, or met a file that was being written"""


class DebounceTable:
    """The notes about which no conclusion was made yet."""

    def __init__(self) -> None:
        self._states: dict[str, _State] = {}

    def hint(self, path: str, *, now: float, closed: bool) -> None:
        """Notes that a file may have changed; `closed` when no more writing is expected."""
        state = self._states.get(path)
        if state is None:
            state = self._states[path] = _State(since=now, changed=now, due=None)
        elif not state.waiting:
            state.since = now
        state.changed, state.waiting = now, True
        first = now if closed else min(now + AFTER_MODIFYING, state.since + CAP)
        state.due = max(first, state.looked + BETWEEN_LOOKS)

    def due(self, now: float) -> list[str]:
        """Returns the notes to look at now, the longest due first."""
        due = [
            (state.due, path)
            for path, state in self._states.items()
            if state.due is not None and state.due <= now
        ]
        return [path for _, path in sorted(due)]

    def next_due(self) -> float | None:
        """Returns when `due` will have a note; None when no note waits."""
        states = self._states.values()
        return min((state.due for state in states if state.due is not None), default=None)

    def has_absent(self) -> bool:
        """Returns whether a note is absent of which nothing is concluded yet."""
        return "" in {state.revision for state in self._states.values()}

    def drop(self, path: str) -> None:
        """Forgets a note, because it is settled, parked or outside the index."""
        self._states.pop(path, None)

    def unreadable(self, path: str, *, now: float) -> None:
        """Notes that a look failed. That proves nothing; the next tries come ever later."""
        state = self._state_at_look(path, now)
        state.revision = None
        state.failures += 1
        # Fault (B40): a disk that fails now proves nothing about the note, and is not
        # asked in a busy loop.
        first, most = RETRY
        state.due = now + min(most, first * 2 ** min(state.failures - 1, 10))

    def observe(
        self,
        path: str,
        note: "Note | None",
        settled: Settled | None,
        *,
        now: float,
        quiet: float | None = None,
    ) -> DebounceDecision:
        """Decides after a look at a note (None: it is absent), given its last settled version.

        `quiet` are seconds since the file's change time (ctime), where that can be trusted. A file
        that was left alone for long is believed at the first look.
        """
        state = self._state_at_look(path, now)
        if note is not None and not note.stable:
            return self._decide_torn(state, now)
        self._note_revision(state, note, now, quiet)
        # The settled version again: an editor saved without a change, or a save was
        # undone.
        settled_revision = settled.revision if settled else None
        if note is not None and note.revision == settled_revision:
            self.drop(path)
            return DebounceDecision.SETTLED
        return self._decide(path, state, note, settled, now)

    def _state_at_look(self, path: str, now: float) -> _State:
        state = self._states.get(path)
        if state is None:
            state = self._states[path] = _State(since=now, changed=now, due=None)
        state.looked, state.waiting = now, False
        return state

    def _note_revision(
        self, state: _State, note: "Note | None", now: float, quiet: float | None
    ) -> None:
        state.failures = 0
        since = now
        if note is not None and quiet is not None:
            since = now - max(0.0, quiet)
        state.changed = min(state.changed, since)
        revision = "" if note is None else note.revision
        if state.revision is None:
            state.revision, state.agreed = revision, since
        elif revision != state.revision:
            state.revision, state.agreed, state.changed = revision, now, now

    def _decide_torn(self, state: _State, now: float) -> DebounceDecision:
        """Decides about a file that was written while it was read: look again soon."""
        state.revision, state.changed = None, now
        # Fault (A22): a program that writes without a pause must not keep its note from
        # the search for ever.
        if now - state.since >= CAP:
            state.since = now
            state.failures = 0
            state.due = now + QUIET
            return DebounceDecision.INDEX
        state.failures += 1
        state.due = now + BETWEEN_LOOKS * 2 ** min(state.failures, 4)
        state.waiting = True
        return DebounceDecision.KEEP

    def _decide(
        self, path: str, state: _State, note: "Note | None", settled: Settled | None, now: float
    ) -> DebounceDecision:
        is_empty = note is None or not note.raw
        # Fault (C23, C64): editors and sync programs make a note disappear or shrink
        # for a moment during a save.
        is_doubtful = note is None or is_empty or _is_cut_off(note, settled)
        agreement = HOLD if is_doubtful else APART
        ripe = max(state.changed + QUIET, state.agreed + agreement)
        if now >= ripe:
            self.drop(path)
            return DebounceDecision.GONE if note is None else DebounceDecision.SETTLED
        state.due = ripe
        return DebounceDecision.KEEP if is_empty else DebounceDecision.INDEX


def _is_cut_off(note: "Note", settled: Settled | None) -> bool:
    """Whether a note looks like the first part of a save.

    That is: less than half, a true beginning, or an unfinished character at the end.
    """
    # Fault (A4): editors write in blocks, and a block may end inside a character.
    if ends_within_character(note.raw):
        return True
    if settled is None or len(note.raw) >= settled.size:
        return False
    if len(note.raw) * 2 < settled.size:
        return True
    return settled.begins_with is not None and settled.begins_with(note.raw)
