"""Forgetting, the whole way: the files, their past, the index; and then looking whether it is gone, everywhere."""

import logging
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.app.editing import _moment as moment
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.app.memory import VaultMemory
    from vault_memory.curate import Forgetter, Forgetting
    from vault_memory.memory import Sought

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
"""For files that are in use"""
ROUNDS = 3
"""Another process may have kept what it had read just before; then it is done once more"""
STATE = "state: "
"""Before the name of a file that lies in the state folder"""
NOT_OURS = "no layout names it as memory, so it is left alone; edit it yourself"
BUILDING = "build.lock"
CLEARED = ("journal.sqlite", "index/")
"""Of the state folder, what forgetting takes it out of"""


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken out, or would be."""

    place: str
    """a path of the vault, or `history`, `trash`, `waiting writes`, `index`, or a file of the state folder"""
    count: int
    """of items, lines, records or versions"""


@dataclass(frozen=True, slots=True)
class Remaining:
    """Where it is still."""

    place: str
    why: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """That something was forgotten. It says nothing of what that was."""

    id: str
    ts: str
    places: int
    count: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What `forget` did, or with a dry run would do."""

    matches: int
    removed: tuple[Removed, ...]
    remaining: tuple[Remaining, ...] = ()
    receipt: Receipt | None = field(default=None)
    """None when nothing was to be done but to look"""


def forget(
    memory: "VaultMemory", text: str, *, scopes: Collection[str] | None, now: datetime | None, dry_run: bool
) -> Forgotten:
    """Find `text`, take it out, and look for it once more. Raises TextTooShort, UsageError, JournalUnavailable."""
    from vault_memory.curate import Forgetter, Forgetting
    from vault_memory.memory import Sought

    if isinstance(scopes, str):
        raise UsageError(f"`scopes` is a list of scopes, not {scopes!r}", hint="None means all of the vault")
    sought, at = Sought.of(text), moment(now)
    if not dry_run:
        memory.take_dropped()  # what waits in the drop folder would come after it is forgotten
    forgetter = Forgetter(memory.curator, memory.layout, sought, None if scopes is None else frozenset(scopes))
    work = _Work(memory, sought, None if scopes is None else frozenset(scopes), forgetter, Forgetting())
    work.look(at)
    if dry_run:
        return work.answer(None)
    for number in range(ROUNDS):
        before = dict(work.found.remaining)
        work.found.remaining.clear()
        work.carry_out(at, patient=number == 0)
        work.check(at)
        if work.found.remaining in ({}, before):
            break
    answer = work.answer(at)
    logger.info("forgot something in %d places; it remains in %d", len(answer.removed), len(answer.remaining))
    return answer


class _Work:
    """On one text."""

    def __init__(
        self, memory: "VaultMemory", sought: "Sought", scopes: frozenset[str] | None, forgetter: "Forgetter",
        found: "Forgetting",
    ) -> None:  # fmt: skip
        self._memory, self._sought, self._scopes, self._forgetter = memory, sought, scopes, forgetter
        self.found = found
        self._state: Path = memory.state.path

    def look(self, now: datetime) -> None:
        """Only look."""
        self._forgetter.look(self.found)
        if (self._state / "journal.sqlite").exists():
            self._forgetter.look_back(self.found, now)
        if self._memory.indexing.generations.current:
            self.found.took("index", sum(self._held().values()))
        for file in (*self._damaged(), *self._put_aside()):
            self.found.took(STATE + file.relative_to(self._state).as_posix(), 1)
        self.found.remaining.update(self._elsewhere(ours=False))

    def carry_out(self, now: datetime, *, patient: bool) -> None:
        """Take it out; `patient` waits a moment for files that are in use."""
        self._forgetter.carry_out(self.found, now, patience=PATIENCE_SECONDS if patient else 0.0)
        for file in (*self._damaged(), *self._put_aside()):
            file.unlink(missing_ok=True)  # a night is begun anew, and a refused line was none of ours
        if self._memory.indexing.generations.current:
            self._clear_index()

    def check(self, now: datetime) -> None:
        """Look everywhere again, in files and rows, as if nothing had been done."""
        from vault_memory.curate import Forgetting

        left = Forgetting()
        self._forgetter.look(left)
        self._forgetter.look_back(left, now)
        known = self.found.remaining
        for place in left.removed:
            known.setdefault(place, "it is there again; run `forget` again")
        known.update({place: why for place, why in left.remaining.items() if place not in known})
        if self._memory.indexing.generations.current:
            known.update(self._left_in_index())
        known.update({place: why for place, why in self._elsewhere() if place not in known})

    def answer(self, now: datetime | None) -> Forgotten:
        """With a receipt when something was done."""
        mask = self._sought.masked
        gone = {place: count for place, count in self.found.removed.items() if place not in self.found.remaining}
        removed = tuple(Removed(mask(place), count) for place, count in gone.items())
        remaining = tuple(Remaining(mask(place), why) for place, why in self.found.remaining.items())
        count = sum(one.count for one in removed)
        receipt = Receipt(secrets.token_hex(8), now.isoformat(), len(removed), count) if now else None
        return Forgotten(count, removed, remaining, receipt)

    # ---- the index ------------------------------------------------------------------------------------------------

    def _held(self) -> dict[str, int]:
        """The notes of whose chunks some hold it."""
        from vault_memory.index.erase import notes_holding

        found = notes_holding(self._memory.indexing.index(), self._sought.stands_in)
        return {path: count for path, (scope, count) in found.items() if self._scopes is None or scope in self._scopes}

    def _clear_index(self) -> None:
        """The index learns the notes as they are now, and keeps nothing of what they were."""
        import filelock

        from vault_memory.index.erase import superseded, sweep
        from vault_memory.ingest import forget_note

        indexing = self._memory.indexing
        indexing.refresh()
        for path in self._held():  # of a file that is absent, or not read any more
            forget_note(indexing.index(), path)
        with filelock.FileLock(indexing.generations.folder / BUILDING):
            for file in superseded(indexing.generations):
                file.unlink(missing_ok=True)
        if not sweep(indexing.index()):
            self.found.remaining[STATE + "index"] = "another process reads it; run `forget` again"

    def _left_in_index(self) -> Iterator[tuple[str, str]]:
        from vault_memory.index.erase import unused

        index = self._memory.indexing.index()
        if self._held():
            yield "index", "a note holds it again; run `forget` again"
        if unused(index):
            yield "index", "words or vectors of removed text are left; run `forget` again"

    # ---- everything else ------------------------------------------------------------------------------------------

    def _damaged(self) -> list[Path]:
        """Journals that were set aside. They cannot be read, so nobody can say that it is not in there."""
        return sorted(self._state.glob("journal.sqlite.damaged-*"))

    def _put_aside(self) -> list[Path]:
        """What a night that is not done keeps of it, and lines that the drop folder refused."""
        if self._scopes is not None:
            return []
        files = [*self._state.glob("nights/*.open.json"), *self._state.glob("drop/*.rejected")]
        return sorted(file for file in files if self._sought.is_in_bytes(file.read_bytes()))

    def _elsewhere(self, *, ours: bool = True) -> Iterator[tuple[str, str]]:
        """The files whose bytes hold it; with `ours` also those that forgetting takes it out of."""
        from vault_memory.curate.forget import LINGERS
        from vault_memory.curate.traces import NAMED, traces

        def handled(path: str) -> bool:
            return (self._scopes is not None and not self._forgetter.holds(path)) or (
                not ours and not self._sought.stands_in(path) and (self._forgetter.holds(path) or _is_temporary(path))
            )

        for path, why in traces(self._memory.root, self._sought, besides=handled):
            if why != NAMED and not self._forgetter.holds(path):
                why = LINGERS if _is_temporary(path) else NOT_OURS
            yield path, why
        if self._scopes is None:
            aside = [file.relative_to(self._state).as_posix() for file in self._put_aside()]
            cleared = () if ours else (*CLEARED, *aside)
            for path, why in traces(self._state, self._sought, besides=lambda path: path.startswith(cleared)):
                yield STATE + path, why


def _is_temporary(path: str) -> bool:
    """Whether it is named as what our writes leave behind for a while."""
    name = path.rpartition("/")[2]
    return name.startswith(".") and ".~" in name
