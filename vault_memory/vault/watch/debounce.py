"""Two speeds: text is believed at once, conclusions wait until a note has settled. Pure; the caller brings the clock.

A save is searchable as soon as it was seen, and a half-written file corrects itself with the next look. What cannot
be taken back so easily (that a note is gone, that it was emptied, that its text is worth an embedding) waits: until
nothing was heard for a moment and two looks agree; and three seconds longer for what looks like half a save, which
is how editors and sync programs make a note vanish, shrink and come back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.vault.reader import Note

AFTER_MODIFYING = 0.020
"""Seconds after the last plain modification until the first look; after a close or a rename there is no wait."""
BETWEEN_LOOKS = 0.020
"""Least seconds between two looks at one note."""
QUIET = 0.300
"""Seconds without a change until a note may count as settled."""
APART = 0.150
"""Least seconds between the two looks that must agree."""
HOLD = 3.0
"""Seconds for which an absent, emptied or cut-off note is not believed."""
CAP = 5.0
"""Seconds of steady writing after which a note is looked at all the same."""
RETRY = (5.0, 60.0)
"""Seconds until a note that could not be read is tried again: at first, and at most."""


class DebounceDecision(Enum):
    """What to do after a look."""

    KEEP = "keep"
    """Nothing: the old text stays findable, and the note counts as stale."""
    INDEX = "index"
    """Make this text findable; conclude nothing yet."""
    SETTLED = "settled"
    """Make this text findable if it is not, and conclude: it is what the note says now."""
    GONE = "gone"
    """Conclude that the note was deleted."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What is known of the last version of a note that had settled."""

    revision: str
    size: int
    begins_with: Callable[[bytes], bool] | None = None
    """Whether that version began with these bytes, if it can be told."""


@dataclass(slots=True)
class _State:
    """One note on its way from a hint to a conclusion."""

    since: float
    """First unlooked-at hint."""
    changed: float
    """Last sign of a change."""
    due: float | None
    looked: float = float("-inf")
    revision: str | None = None
    """Of the last stable look; "" while absent, None when there was none."""
    agreed: float = 0.0
    """Since when the note is known to be at `revision`."""
    waiting: bool = True
    """Whether there was a hint after the last look."""
    failures: int = 0
    """Looks in a row that were torn, or could not be made."""


class DebounceTable:
    """All notes on which something is still open."""

    def __init__(self) -> None:
        self._states: dict[str, _State] = {}

    def hint(self, path: str, *, now: float, closed: bool) -> None:
        """Something may have changed; ``closed`` when whoever changed it is done for the moment, or nobody knows."""
        state = self._states.get(path)
        if state is None:
            state = self._states[path] = _State(since=now, changed=now, due=None)
        elif not state.waiting:
            state.since = now
        state.changed, state.waiting = now, True
        first = now if closed else min(now + AFTER_MODIFYING, state.since + CAP)
        state.due = max(first, state.looked + BETWEEN_LOOKS)

    def due(self, now: float) -> list[str]:
        """The notes to look at now, the longest due first."""
        found = [
            (state.due, path)
            for path, state in self._states.items()
            if state.due is not None
        ]
        return [path for due, path in sorted(found) if due <= now]

    def next_due(self) -> float | None:
        """When `due` will have something, or None."""
        return min(
            (state.due for state in self._states.values() if state.due is not None),
            default=None,
        )

    def pending(self) -> frozenset[str]:
        """The notes on which something is still open: what is known of them may be old."""
        return frozenset(self._states)

    def drop(self, path: str) -> None:
        """Nothing is open on this note any more: it is parked, or none of ours."""
        self._states.pop(path, None)

    def unreadable(self, path: str, *, now: float) -> None:
        """A look could not be made. That says nothing about the note; it is tried again, ever more seldom."""
        state = self._looked(path, now)
        state.revision = None
        state.failures += 1
        state.due = now + min(RETRY[1], RETRY[0] * 2 ** min(state.failures - 1, 10))

    def looked(
        self,
        path: str,
        note: "Note | None",
        settled: Settled | None,
        *,
        now: float,
        quiet: float | None = None,
    ) -> DebounceDecision:
        """What to conclude from a look at a note (None: it is absent), given its last settled version.

        ``quiet``: seconds since the file's own time of change (its ctime), where that can be trusted. A file that was
        left alone for long is believed at the first look.
        """
        state = self._looked(path, now)
        if note is not None and not note.stable:
            return self._torn(state, now)
        state.failures = 0
        since = now if note is None or quiet is None else now - max(0.0, quiet)
        state.changed = min(state.changed, since)
        revision = "" if note is None else note.revision
        if state.revision is None:
            state.revision, state.agreed = revision, since
        elif revision != state.revision:
            state.revision, state.agreed, state.changed = revision, now, now
        if (
            note is not None
            and settled is not None
            and note.revision == settled.revision
        ):
            self.drop(path)
            return DebounceDecision.SETTLED
        return self._weighed(path, state, note, settled, now)

    def _looked(self, path: str, now: float) -> _State:
        state = self._states.get(path)
        if state is None:
            state = self._states[path] = _State(since=now, changed=now, due=None)
        state.looked, state.waiting = now, False
        return state

    def _torn(self, state: _State, now: float) -> DebounceDecision:
        """The file was written to while it was read: look again soon, and take what there is only after long."""
        state.revision, state.changed = None, now
        if now - state.since >= CAP:
            state.since = now
            state.failures = 0
            state.due = now + QUIET
            return DebounceDecision.INDEX
        state.failures += 1
        state.due = now + BETWEEN_LOOKS * 2 ** min(state.failures, 4)
        state.waiting = True
        return DebounceDecision.KEEP

    def _weighed(
        self,
        path: str,
        state: _State,
        note: "Note | None",
        settled: Settled | None,
        now: float,
    ) -> DebounceDecision:
        empty = note is None or not note.raw
        doubtful = empty or _cut_off(note, settled)
        ripe = max(state.changed + QUIET, state.agreed + (HOLD if doubtful else APART))
        if now >= ripe:
            self.drop(path)
            return DebounceDecision.GONE if note is None else DebounceDecision.SETTLED
        state.due = ripe
        return DebounceDecision.KEEP if empty else DebounceDecision.INDEX


def _cut_off(note: "Note | None", settled: Settled | None) -> bool:
    """Whether this looks like the first part of a save: less than half, a true beginning, or half a character."""
    if note is None:
        return False
    if _ends_within_a_character(note.raw):
        return True
    if settled is None or len(note.raw) >= settled.size:
        return False
    begins = settled.begins_with
    return len(note.raw) * 2 < settled.size or (begins is not None and begins(note.raw))


def _ends_within_a_character(raw: bytes) -> bool:
    """Whether the last bytes begin a UTF-8 sequence that is not finished."""
    for back in range(1, min(4, len(raw) + 1)):
        byte = raw[-back]
        if byte & 0xC0 != 0x80:
            return back < (
                2
                if 0xC2 <= byte < 0xE0
                else 3
                if 0xE0 <= byte < 0xF0
                else 4
                if 0xF0 <= byte < 0xF5
                else 0
            )
    return False
