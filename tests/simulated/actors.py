"""People with their editors, a log that is kept open, and a sync client: each takes one small step at a time."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.simulated.disk import NOTE, PAGE, Disk
from tests.simulated.ledger import Ledger, items_in

WORDS = "tea coffee garden books music trains rain cats bread maps chess spring".split()
OTHER_WORDS = "boats paint winter cheese radio stamps hills jazz soup clay orchids skating".split()
"""The bot's: what it writes is no rewording of what a person wrote"""
BACKUP = NOTE + "~"
LOCK = f".{NOTE}.swp"


def new_item(who: str, number: int) -> bytes:
    """An item that nobody wrote before."""
    known = OTHER_WORDS if who == "bot" else WORDS
    words = " ".join(
        known[(number * step + step + number // len(known) * 5) % len(known)]
        for step in (5, 7, 11)
    )
    return f"- {who}-{number:03d} {words}".encode()


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
                item
                for taken in self.disk.taken()
                for item in items_in(self._content(taken))
            )
        else:
            self.ledger.destroyed(
                self.who, self._content(number), self.loaded, self.text
            )

    def removing(self, number: int | None) -> None:
        """This backup goes now, and with it all that stands nowhere else."""
        if number is not None:
            there = self.disk.text(NOTE)
            if there is None:  # because the engine has it
                there = b"\n".join(self._content(taken) for taken in self.disk.taken())
            self.ledger.destroyed(self.who, self._content(number), there, b"")

    def writing_over(self, number: int) -> None:
        """What stood in this backup is not in this save.

        The note may have it still, where the engine swapped away the new file of this save. Then it goes
        as soon as the engine brings the save into the note, and the history must have it.
        """
        known = items_in(self.loaded) + items_in(self.text)
        self.ledger.missed.update(
            set(items_in(self._content(number))).difference(known)
        )

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
    save.replacing(save.disk.found(NOTE))
    save.disk.person_renames(temporary, NOTE)
    save.done(save.disk.number_of(NOTE))


def with_backup(save: Save) -> Iterator[None]:
    """As gedit does: for a moment there is no note."""
    disk, temporary = save.disk, f".goutputstream-{save.who}"
    disk.person_saves(temporary, save.text)
    yield
    if disk.found(NOTE) is not None:
        save.removing(disk.found(BACKUP))
        disk.person_renames(NOTE, BACKUP)
        disk.away.add(save.who)
        yield
    save.replacing(disk.found(NOTE))
    disk.person_renames(temporary, NOTE)
    disk.away.discard(save.who)
    number = disk.number_of(NOTE)
    if disk.found(BACKUP) is not None:
        save.removing(disk.found(BACKUP))
        disk.person_removes(BACKUP)
    save.done(number)


def in_place(save: Save) -> Iterator[None]:
    """As nano and VS Code do: emptied, then written in pieces."""
    save.replacing(save.disk.found(NOTE))
    yield from _written(save, save.disk.person_opens(NOTE))


def vim(save: Save) -> Iterator[None]:
    """The note becomes the backup, and a new one is made, empty at first."""
    disk = save.disk
    if disk.found(NOTE) is not None:
        save.removing(disk.found(BACKUP))
        disk.person_renames(NOTE, BACKUP)
        disk.away.add(save.who)
        yield
    disk.away.discard(save.who)
    save.replacing(disk.found(NOTE))
    yield from _written(save, disk.person_opens(NOTE))
    backup = disk.found(BACKUP)
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
        self,
        disk: Disk,
        ledger: Ledger,
        name: str,
        styles: list[str],
        traits: frozenset[str],
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

    def step(self, dice: random.Random) -> str:
        """Do the next small thing; says what it was."""
        if self.saving is not None:
            return self._go_on()
        if self.loaded is None or (self.untouched and "stale" not in self.traits):
            return self._load()
        if self.buffer == self.loaded or dice.random() < 0.4:
            self.buffer = self._edited(self.buffer, dice)
            return "edits"
        if "careful" in self.traits and self.disk.text(NOTE) != self.loaded:
            return self._load()
        self.save = Save(self.disk, self.ledger, self.name, self.loaded, self.buffer)
        self.ledger.begun(self.buffer)
        style = dice.choice(self.styles)
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
            if self.disk.found(LOCK) is not None and "locks" in self.traits:
                self.disk.person_removes(LOCK)
            return "has saved"
        return "goes on saving"

    def _load(self) -> str:
        number = self.disk.found(NOTE)
        if number is None or number in self.disk.windows:
            return "finds the note in use"
        self.loaded = self.buffer = self.disk.inodes[number].data
        self.untouched = False
        if "locks" in self.traits and self.disk.found(LOCK) is None:
            self.disk.person_saves(LOCK, b"")
        return "loads"

    def end_save(self) -> None:
        """Save to the end."""
        while self.saving is not None:
            self._go_on()

    def finish(self) -> None:
        """End what was begun."""
        self.end_save()
        if "locks" in self.traits and self.disk.found(LOCK) is not None:
            self.disk.person_removes(LOCK)

    def reboot(self) -> None:
        """Power was lost: what was being saved is saved again from the editor's recovery file."""
        if self.saving is not None:
            assert self.save is not None
            self.saving = by_rename(self.save)
            self.end_save()
        self.loaded = None
        if self.disk.found(LOCK) is not None:
            self.disk.person_removes(LOCK)

    def _edited(self, raw: bytes, dice: random.Random) -> bytes:
        lines = raw.split(b"\n")
        items = [at for at, line in enumerate(lines) if line.startswith(b"- ")]
        heads = [at for at, line in enumerate(lines) if line.startswith(b"## ")]
        way = dice.random()
        self.count += 1
        if way < 0.55 or not items:
            at = dice.choice(items or heads or [len(lines) - 1])
            lines.insert(at + 1, new_item(self.name, self.count))
        elif way < 0.7:
            at = dice.choice(items)
            lines[at] += f" ({self.name} {self.count})".encode()
        elif way < 0.83:
            del lines[dice.choice(items)]
        elif way < 0.97 or not heads:
            line = lines.pop(dice.choice(items))
            lines.insert(
                dice.randint(min((*heads, len(lines) - 1)) + 1, len(lines) - 1), line
            )
        else:
            lines[dice.choice(heads)] += f" {self.count}".encode()
        return b"\n".join(lines)


class Logger:
    """Keeps the note open and adds to it, wherever that file has gone meanwhile."""

    name = "log"
    saving_since: float | None = None

    def __init__(self, disk: Disk, ledger: Ledger) -> None:
        self.disk, self.ledger = disk, ledger
        self.number: int | None = None
        self.count = 0

    def step(self, dice: random.Random) -> str:
        """Open, append or close."""
        if self.number is None:
            if self.disk.found(NOTE) is None:
                return "finds no note"
            self.number = self.disk.person_opens(NOTE)
            return "opens"
        if dice.random() < 0.15:
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

    def step(self, dice: random.Random) -> str:
        """Edit on the other device, or sync."""
        if self.saving is not None:
            return self._go_on()
        way = dice.random()
        if way < 0.4:
            self.remote = self.device._edited(self.remote, dice)
            return "edits elsewhere"
        if way < 0.45:
            self.remote = dice.choice(self.older)
            return "restores an older version elsewhere"
        return self._sync()

    def _sync(self) -> str:
        number = self.disk.found(NOTE)
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
        disk, save = (
            self.disk,
            Save(self.disk, self.ledger, self.name, self.base, self.remote),
        )
        self.ledger.begun(save.text)
        temporary = f".{NOTE}.eve.part"
        disk.person_saves(temporary, save.text)
        yield
        if conflict and disk.found(NOTE) is not None:
            self.count += 1
            disk.person_renames(
                NOTE, f"USER (conflicted copy 2026-01-01 {self.count:06d}).md"
            )
            disk.away.add(self.name)
            yield
        save.replacing(disk.found(NOTE))
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

    def step(self, dice: random.Random) -> str:
        """Tick the first box, or delete its line."""
        raw = self.disk.text(PAGE) or b""
        if b"- [ ] " not in raw:
            return "finds nothing to decide"
        lines = raw.split(b"\n")
        at = next(at for at, line in enumerate(lines) if b"- [ ] " in line)
        if dice.random() < 0.7:
            lines[at] = lines[at].replace(b"[ ]", b"[x]", 1)
            self.ledger.approved(lines[at])
        else:
            del lines[at]
        self.disk.person_saves(PAGE, b"\n".join(lines))
        return "decides"

    def end_save(self) -> None:
        """Nothing is ever half done, nor lost."""

    finish = reboot = end_save


Actor = Person | Logger | SyncClient | Reader
