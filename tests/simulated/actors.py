"""People with their editors, a log that is kept open, and a sync client, step by step."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.simulated import phrases
from tests.simulated.dice import Dice
from tests.simulated.disk import NOTE, PAGE, Disk
from tests.simulated.ledger import Ledger, items_in

WORDS = "tea coffee garden books music trains rain cats bread maps chess spring".split()
OTHER_WORDS = "boats paint winter cheese radio stamps hills jazz soup clay orchids skating".split()
"""The bot's: what it writes is no rewording of what a person wrote"""
BACKUP = NOTE + "~"
LOCK = f".{NOTE}.swp"
_START = re.compile(rb"- ([a-z]+-\d{3})\b")


def new_item(who: str, number: int) -> bytes:
    """An item that nobody wrote before."""
    vocabulary = OTHER_WORDS if who == "bot" else WORDS
    size = len(vocabulary)
    words = " ".join(
        vocabulary[(number * step + step + number // size * 5) % size] for step in (5, 7, 11)
    )
    return f"- {who}-{number:03d} {words}".encode()


def item_name(items: Sequence[bytes], item: bytes) -> str:
    """The first word of an item; all its words where another item begins with the same."""
    start = item.split()[1]
    if any(other != item and other.startswith(b"- " + start) for other in items):
        return item[2:].decode()
    return start.decode()


def line_name(lines: Sequence[bytes], index: int) -> str:
    """The first word of this line's item if no other line begins with it, or the line's number."""
    match = _START.match(lines[index])
    if match and sum(line.startswith(match[0]) for line in lines) == 1:
        return match[1].decode()
    return f"line {index + 1}"


def heading_name(headings: Sequence[str], index: int) -> str:
    """The heading, if it is the only one of this name; else its number."""
    heading = headings[index]
    if phrases.is_plain(heading) and headings.count(heading) == 1:
        return heading
    return f"number {index + 1}"


@dataclass
class Save:
    """One save on its way."""

    disk: Disk
    ledger: Ledger
    who: str
    loaded: bytes
    text: bytes

    def replacing(self, number: int | None) -> None:
        """This file loses its name or its bytes now; or there was none, because the engine has it."""
        if number is None:
            self.ledger.missed.update(
                item for inode in self.disk.taken() for item in items_in(self._content(inode))
            )
        else:
            self.ledger.destroyed(self.who, self._content(number), self.loaded, self.text)

    def removing(self, number: int | None) -> None:
        """This backup goes now, and with it all that stands nowhere else."""
        if number is not None:
            current = self.disk.text(NOTE)
            if current is None:  # because the engine has it
                current = b"\n".join(map(self._content, self.disk.taken()))
            self.ledger.destroyed(self.who, self._content(number), current, b"")

    def writing_over(self, number: int) -> None:
        """What stood in this backup is not in this save.

        The note may have it still, where the engine swapped away the new file of this save. Then it goes
        as soon as the engine brings the save into the note, and the history must have it.
        """
        own = items_in(self.loaded) + items_in(self.text)
        self.ledger.missed.update(set(items_in(self._content(number))).difference(own))

    def _content(self, number: int) -> bytes:
        """With what it held before somebody began to write it."""
        return b"\n".join(
            [self.disk.inodes[number].data, *self.disk.windows.get(number, {}).values()]
        )

    def done(self, number: int) -> None:
        """The text is whole in this file."""
        if self.disk.reachable(number):
            self.ledger.saved(self.who, self.loaded, self.text)


Style = Callable[[Save], Iterator[None]]


def by_rename(save: Save) -> Iterator[None]:
    """As KDE, LibreOffice, `sed -i` and atomic autosave do."""
    temporary = f"{NOTE}.{save.who}"
    save.disk.person_saves(temporary, save.text)
    yield
    save.replacing(save.disk.find(NOTE))
    save.disk.person_renames(temporary, NOTE)
    save.done(save.disk.number_of(NOTE))


def with_backup(save: Save) -> Iterator[None]:
    """As gedit does: for a moment there is no note."""
    disk, temporary = save.disk, f".goutputstream-{save.who}"
    disk.person_saves(temporary, save.text)
    yield
    if disk.find(NOTE) is not None:
        save.removing(disk.find(BACKUP))
        disk.person_renames(NOTE, BACKUP)
        disk.away.add(save.who)
        yield
    save.replacing(disk.find(NOTE))
    disk.person_renames(temporary, NOTE)
    disk.away.discard(save.who)
    number = disk.number_of(NOTE)
    if disk.find(BACKUP) is not None:
        save.removing(disk.find(BACKUP))
        disk.person_removes(BACKUP)
    save.done(number)


def in_place(save: Save) -> Iterator[None]:
    """As nano and VS Code do: emptied, then written in pieces."""
    save.replacing(save.disk.find(NOTE))
    yield from _written(save, save.disk.person_opens(NOTE))


def vim(save: Save) -> Iterator[None]:
    """The note becomes the backup, and a new one is made, empty at first."""
    disk = save.disk
    if disk.find(NOTE) is not None:
        save.removing(disk.find(BACKUP))
        disk.person_renames(NOTE, BACKUP)
        disk.away.add(save.who)
        yield
    disk.away.discard(save.who)
    save.replacing(disk.find(NOTE))
    yield from _written(save, disk.person_opens(NOTE))
    backup = disk.find(BACKUP)
    if backup is not None:
        save.removing(backup)
        save.writing_over(backup)
        disk.person_removes(BACKUP)


def _written(save: Save, number: int) -> Iterator[None]:
    disk, text = save.disk, save.text
    disk.windows.setdefault(number, {})[save.who] = disk.inodes[number].data
    for part in (b"", text[: len(text) // 3], text[: len(text) * 2 // 3]):
        save.replacing(number)
        disk.person_writes(number, part)
        yield
    save.replacing(number)
    disk.person_writes(number, text)
    _close_window(disk, number, save.who)
    disk.person_closes(number)
    save.done(number)


def _close_window(disk: Disk, number: int, who: str) -> None:
    disk.windows[number].pop(who)
    if not disk.windows[number]:
        del disk.windows[number]


STYLES: dict[str, Style] = {
    "rename": by_rename,
    "backup": with_backup,
    "in place": in_place,
    "vim": vim,
}


class Person:
    """Loads the note, edits it, and saves it, sometimes long after it was loaded."""

    def __init__(
        self, disk: Disk, ledger: Ledger, name: str, styles: list[str], traits: frozenset[str]
    ) -> None:
        self.disk, self.ledger, self.name = disk, ledger, name
        self.styles, self.traits = styles, traits
        self.loaded: bytes | None = None
        self.buffer = b""
        self.untouched = True
        """Whether nothing was loaded since the last save"""
        self.save: Save | None = None
        self.saving: Iterator[None] | None = None
        self.saving_since: float | None = None
        self.count = 0

    def step(self, dice: Dice) -> str:
        """Do the next small thing; says what it was."""
        if self.saving is not None:
            return self._go_on()
        if self.loaded is None or (self.untouched and "stale" not in self.traits):
            return self._load()
        if self.buffer == self.loaded or dice.foresees(phrases.EDITS, 0.4):
            self.buffer = self.edited(self.buffer, dice)
            return "edits"
        if "careful" in self.traits and self.disk.text(NOTE) != self.loaded:
            return self._load()
        self.save = Save(self.disk, self.ledger, self.name, self.loaded, self.buffer)
        self.ledger.begun(self.buffer)
        style = dice.choose(phrases.SAVES, self.styles, phrases.STYLES.__getitem__)
        self.saving, self.saving_since = STYLES[style](self.save), self.disk.clock
        return f"saves ({style}): " + self._go_on()

    def _go_on(self) -> str:
        assert self.saving is not None
        if next(self.saving, self) is self:
            self.loaded, self.saving, self.saving_since, self.untouched = (
                self.buffer,
                None,
                None,
                True,
            )
            if self.disk.find(LOCK) is not None and "locks" in self.traits:
                self.disk.person_removes(LOCK)
            return "has saved"
        return "goes on saving"

    def _load(self) -> str:
        number = self.disk.find(NOTE)
        if number is None or number in self.disk.windows:
            return "finds the note in use"
        self.loaded = self.buffer = self.disk.inodes[number].data
        self.untouched = False
        if "locks" in self.traits and self.disk.find(LOCK) is None:
            self.disk.person_saves(LOCK, b"")
        return "loads"

    def end_save(self) -> None:
        """Save to the end."""
        while self.saving is not None:
            self._go_on()

    def finish(self) -> None:
        """End what was begun."""
        self.end_save()
        if "locks" in self.traits and self.disk.find(LOCK) is not None:
            self.disk.person_removes(LOCK)

    def reboot(self) -> None:
        """Power was lost: what was being saved is saved again from the editor's recovery file."""
        if self.saving is not None:
            assert self.save is not None
            self.saving = by_rename(self.save)
            self.end_save()
        self.loaded = None
        if self.disk.find(LOCK) is not None:
            self.disk.person_removes(LOCK)

    def edited(self, raw: bytes, dice: Dice) -> bytes:
        """The text after one edit."""
        lines = raw.split(b"\n")
        items = [i for i, line in enumerate(lines) if line.startswith(b"- ")]
        headings = [i for i, line in enumerate(lines) if line.startswith(b"## ")]
        kind = dice.kind(
            {
                phrases.ADDS: 0.55,
                phrases.REWORDS: 0.7,
                phrases.DELETES: 0.83,
                phrases.MOVES: 0.97,
                phrases.RENAMES: 1.0,
            },
            otherwise=phrases.ADDS,
            free=bool(items),
        )
        if kind == phrases.RENAMES and not headings:
            kind = phrases.MOVES
        if not items:
            kind = phrases.ADDS

        def choose(places: Sequence[int]) -> int:
            return dice.choose(kind, places, lambda index: line_name(lines, index))

        self.count += 1
        match kind:
            case phrases.ADDS:
                place = choose(items or headings or [len(lines) - 1])
                lines.insert(place + 1, new_item(self.name, self.count))
            case phrases.REWORDS:
                lines[choose(items)] += f" ({self.name} {self.count})".encode()
            case phrases.DELETES:
                del lines[choose(items)]
            case phrases.MOVES:
                line = lines.pop(choose(items))
                first = min((*headings, len(lines) - 1)) + 1
                places = range(first, len(lines))
                place = dice.choose(phrases.TO_LINE, places, lambda index: str(index + 1))
                lines.insert(place, line)
            case phrases.RENAMES:
                names = [lines[i][3:].decode(errors="replace") for i in headings]
                chosen = dice.choose(
                    phrases.RENAMES,
                    range(len(headings)),
                    lambda number: heading_name(names, number),
                )
                lines[headings[chosen]] += f" {self.count}".encode()
            case _:
                raise AssertionError(kind)
        return b"\n".join(lines)


class Logger:
    """Keeps the note open and adds to it, wherever that file has gone meanwhile."""

    name = "log"
    saving_since: float | None = None

    def __init__(self, disk: Disk, ledger: Ledger) -> None:
        self.disk, self.ledger = disk, ledger
        self.number: int | None = None
        self.count = 0

    def step(self, dice: Dice) -> str:
        """Open, append or close."""
        if self.number is None:
            if self.disk.find(NOTE) is None:
                return "finds no note"
            self.number = self.disk.person_opens(NOTE)
            return "opens"
        if dice.chance(phrases.CLOSES, 0.15):
            self.finish()
            return "closes"
        raw = self.disk.inodes[self.number].data
        if self.number in self.disk.windows or not raw.endswith(b"\n"):
            return "waits"
        self.count += 1
        text = raw + new_item(self.name, self.count) + b"\n"
        self.disk.person_writes(self.number, text)
        self.ledger.begun(text)
        if self.disk.reachable(self.number):
            self.ledger.saved(self.name, raw, text)
        return "appends"

    def end_save(self) -> None:
        """Each record is one write."""

    def finish(self) -> None:
        """Close."""
        if self.number is not None:
            self.disk.person_closes(self.number)
            self.number = None

    def reboot(self) -> None:
        """Power was lost."""
        self.number = None


class SyncClient:
    """Brings what another device saved, by a rename, looking first whether anything changed here."""

    name = "eve"

    def __init__(self, disk: Disk, ledger: Ledger) -> None:
        self.disk, self.ledger = disk, ledger
        self.base = self.remote = disk.text(NOTE) or b""
        self.older = [self.base]
        self.device = Person(disk, ledger, self.name, [], frozenset())
        self.saving: Iterator[None] | None = None
        self.saving_since: float | None = None
        self.count = 0

    def step(self, dice: Dice) -> str:
        """Edit on the other device, or sync."""
        if self.saving is not None:
            return self._go_on()
        kind = dice.kind(
            {phrases.EDITS_ELSEWHERE: 0.4, phrases.RESTORES_ELSEWHERE: 0.45, phrases.SYNCS: 1.0},
            otherwise=phrases.SYNCS,
        )
        if kind == phrases.EDITS_ELSEWHERE:
            dice.note(phrases.EDITS_ELSEWHERE)
            self.remote = self.device.edited(self.remote, dice)
            return "edits elsewhere"
        if kind == phrases.RESTORES_ELSEWHERE:
            versions = range(len(self.older))
            number = dice.choose(kind, versions, lambda index: str(index + 1))
            self.remote = self.older[number]
            return "restores an older version elsewhere"
        return self._sync()

    def _sync(self) -> str:
        number = self.disk.find(NOTE)
        if number is None or number in self.disk.windows:
            return "finds the note in use"
        local = self.disk.inodes[number].data
        if self.remote == self.base:
            self.base = self.remote = local
            self.older.append(local)
            return "uploads"
        self.saving, self.saving_since = (
            self._download(conflict=local != self.base),
            self.disk.clock,
        )
        return self._go_on()

    def _download(self, *, conflict: bool) -> Iterator[None]:
        disk, save = (self.disk, Save(self.disk, self.ledger, self.name, self.base, self.remote))
        self.ledger.begun(save.text)
        temporary = f".{NOTE}.eve.part"
        disk.person_saves(temporary, save.text)
        yield
        if conflict and disk.find(NOTE) is not None:
            self.count += 1
            disk.person_renames(NOTE, f"USER (conflicted copy 2026-01-01 {self.count:06d}).md")
            disk.away.add(self.name)
            yield
        save.replacing(disk.find(NOTE))
        disk.person_renames(temporary, NOTE)
        disk.away.discard(self.name)
        save.done(disk.number_of(NOTE))
        self.base = save.text
        self.older.append(save.text)

    def _go_on(self) -> str:
        assert self.saving is not None
        if next(self.saving, self) is self:
            self.saving = self.saving_since = None
            return "has downloaded"
        return "goes on downloading"

    def end_save(self) -> None:
        """Download to the end."""
        while self.saving is not None:
            self._go_on()

    finish = reboot = end_save


class Reader:
    """Decides proposals on the page of what waits, by ticking or deleting a line."""

    name = "tick"
    saving_since: float | None = None

    def __init__(self, disk: Disk, ledger: Ledger) -> None:
        self.disk, self.ledger = disk, ledger

    def step(self, dice: Dice) -> str:
        """Tick the first box, or delete its line."""
        raw = self.disk.text(PAGE) or b""
        if b"- [ ] " not in raw:
            return "finds nothing to decide"
        lines = raw.split(b"\n")
        first = next(i for i, line in enumerate(lines) if b"- [ ] " in line)
        kind = dice.kind({phrases.TICKS: 0.7, phrases.STRIKES: 1.0}, otherwise=phrases.TICKS)
        dice.note(kind)
        if kind == phrases.TICKS:
            lines[first] = lines[first].replace(b"[ ]", b"[x]", 1)
            self.ledger.approved(lines[first])
        else:
            del lines[first]
        self.disk.person_saves(PAGE, b"\n".join(lines))
        return "decides"

    def end_save(self) -> None:
        """Nothing is ever half done, nor lost."""

    finish = reboot = end_save


Actor = Person | Logger | SyncClient | Reader
