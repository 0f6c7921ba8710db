"""A Nextcloud in a crowd: a third program writes without preconditions, uploads overlap, the server has its faults.

``python -m tests.sync.crowded FIRST LAST [STEPS [1]]`` runs the worlds of these seeds and names those that fail.
With ``1`` a growing line has to stand once, in its last form.
"""

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict, Unpack

from tests.remote.servers.nextcloud import FakeNextcloud
from tests.remote.servers.nextcloud.tree import File, Folder, path_of
from tests.sync.clouded import MINUTE, Others, bulk_upload, connected, flaky
from tests.sync.conftest import MEMORY
from tests.sync.devices import Clock
from tests.sync.world import IMPORTS, World, lines_of
from vault_memory.sync.observe.etag_audit import QUIET_SECONDS, SAMPLE

STEPS = 300
START = datetime(2100, 1, 1, tzinfo=UTC)
"""The same in each run, and ahead of the clock of this machine, so that no file counts as saved just now"""
RHYTHM = (2, 2, 6, 6, 30, 200)
"""Seconds between two saves of an editor that saves by itself"""
STALE_SECONDS = 20.0
"""Between what a client reads of the server and what it uploads upon that"""
SKEWS = (0.0, 0.0, 3600.0, -3600.0, 7.3)
"""Seconds by which the server's clock differs from that of the devices"""


class Stored(TypedDict, total=False):
    """How a text is stored, besides its bytes."""

    mtime: int | None
    checksum: str
    whole: bool


@dataclass
class Reading:
    """A note as the third program has it."""

    raw: bytes
    at: float


class Author:
    """A person on a page or a phone, whose editor saves one line again and again while it is typed.

    Nextcloud Text and Notes have read what they write over. Other editors write over what the server has by then.
    """

    def __init__(self, crowd: "Crowd") -> None:
        self._crowd = crowd
        self._note: File | None = None
        self._form = ""

    def save_again(self, chance: random.Random) -> None:
        """A few saves, 2 to 200 seconds apart; at times a device makes a pass between two of them."""
        for _ in range(chance.randint(1, 4)):
            self.save(chance)
            self._crowd.wait(chance.choice(RHYTHM))
            if chance.random() < 0.6:
                self._crowd.overlap(chance)

    def save(self, chance: random.Random) -> None:
        """Save the next form of the line, or the first form of another one."""
        crowd, note = self._crowd, self._note
        path = path_of(note) if note is not None else ""
        if note is None or crowd.fake.tree.find(path) is not note:
            return self._begin(chance)
        is_stale = chance.random() < 0.3
        before = crowd.read(path, chance) if is_stale else note.raw
        lines = before.split(b"\n")
        if self._form.encode() not in lines or chance.random() < 0.15:
            return self._begin(chance)
        form = crowd.ledger.next_form(self._form, chance)
        lines[lines.index(self._form.encode())] = form.encode()
        return self._write(note, b"\n".join(lines), form)

    def _begin(self, chance: random.Random) -> None:
        path = self._crowd.some_note(chance) or ""
        note = self._crowd.fake.tree.find(path)
        if isinstance(note, File) and path.endswith(".md") and note.raw.endswith(b"\n"):
            form = f"- {self._crowd.ledger.line()}"
            self._write(note, note.raw + f"{form}\n".encode(), form)

    def _write(self, note: File, raw: bytes, form: str) -> None:
        path = path_of(note)
        self._note, self._form = note, form
        self._crowd.fake.other_client_put(path, raw)
        self._crowd.readings[path] = Reading(raw, self._crowd.fake.clock())
        (word,) = lines_of([form.encode()])
        self._crowd.ledger.forms[word] = form


@dataclass
class Crowd(Others):
    """Everybody but our devices: the third program, the administrator, the faults of the server."""

    overlap: Callable[[random.Random], None] = lambda chance: None
    """lets another device make a pass"""
    readings: dict[str, Reading] = field(default_factory=dict)
    wait: Callable[[float], None] = lambda seconds: None
    """lets time pass"""
    renames: bool = False
    """whether notes are renamed on the server"""
    imports: tuple[str, ...] = ()
    """notes that a device makes, many at once; the program may make them, too"""

    def __post_init__(self) -> None:
        self.author = Author(self)

    def __call__(self, chance: random.Random) -> None:
        if chance.random() < 0.4:
            return super().__call__(chance)
        if self.renames and chance.random() < 0.1:
            return self.rename(chance)
        if self.fake.is_in_maintenance:
            return self.fake.maintenance(False)
        match chance.randrange(14):
            case 10 | 11 | 12:
                self.author.save_again(chance)
            case 13:
                self.fake.race_next_put(lambda: self.author.save(chance))
            case 0 | 1 | 2:
                self.write(chance)
            case 3:
                self.write_under_the_same_tag(chance)
            case 4 | 5:
                self.fake.race_next_put(lambda: self.write(chance, racing=True))
            case 6:
                self.fake.race_next_put(lambda: self.overlap(chance))
            case 7:
                self.fake.cut_next_put_short_at(chance.randrange(60))
            case 8:
                self.lock_for_a_moment(chance)
            case 9:
                self.write(chance)
                self.write(chance)
        return None

    def rename(self, chance: random.Random) -> None:
        """Somebody renames a note on the server, as the Notes app does when its first line changes."""
        path = self.some_note(chance)
        if path in self.fake.files() and path.startswith("notes/"):
            self.ledger.number += 1
            self.fake.other_client_move(path, f"notes/r{self.ledger.number}.md")

    def edit(self, path: str) -> None:
        """Another person adds a line in the browser, upon what the server has now."""
        if not self.fake.files()[path].endswith(b"\n"):
            return
        self.readings.pop(path, None)
        super().edit(path)
        self.readings[path] = Reading(self.fake.files()[path], self.fake.clock())

    def write(self, chance: random.Random, *, racing: bool = False) -> None:
        """The third program uploads a note that it has read a moment ago, whatever the server has now.

        `racing`: while the upload of a device is between its precondition and its bytes.
        """
        path = self.some_note(chance)
        if path is None:
            return
        before = self.read(path, chance)
        if before and not before.endswith(b"\n"):
            return  # half of an upload: its line would become part of another one
        after, removed, added = self._changed(path, before, chance)
        last = self._place_of(path)
        if self._upload(path, after, chance):
            self.readings[path] = Reading(after, self.fake.clock())
            self.ledger.deleted |= removed
            if not self._is_hidden(path, last, racing=racing):
                self.ledger.saved |= added

    def _place_of(self, path: str) -> tuple[int, int, str]:
        """Time and length of a file, by which the server tells its texts apart; and its checksum."""
        node = self.fake.tree.find(path)
        return (
            (node.mtime, node.size, node.checksum)
            if node is not None and not isinstance(node, Folder)
            else (0, 0, "")
        )

    def _is_hidden(self, path: str, last: tuple[int, int, str], *, racing: bool) -> bool:
        """Whether the server shows nothing of the last write to anybody: its line is not asked for then.

        A text of the same time and length has the tag and the place among the versions of the one that it replaces. A
        checksum that goes away shows it to the next listing, but not to an upload that is already under way.
        """
        time, size, _ = self._place_of(path)
        versions = self.fake.tree.file(path).versions
        is_earlier = len(versions.get(time, b"")) == size and time in versions
        is_same = (time, size) == last[:2]
        return (is_same and not last[2]) or (racing and (is_same or is_earlier))

    def write_under_the_same_tag(self, chance: random.Random) -> None:
        """A line is replaced by one of its length, in a file that keeps its time.

        Where the text before had no checksum and the folder's tag moves for other reasons, too, the server shows
        nothing of it to anybody. Then the line is not asked for.

        Half of an upload is left alone, as in `write`. Another device that reads an edit of the half sees a text
        of a foreign program that lacks lines, and no version tells it that they were cut off and not removed.
        """
        path = self.some_note(chance)
        if path is None or path.endswith(".jsonl") or path not in self.fake.files():
            return
        file = self.fake.tree.file(path)
        if not file.raw.endswith(b"\n"):
            return
        fresh = self._fresh()
        same = [line for line in lines_of([file.raw]) if len(line) == len(fresh)]
        if not same:
            return
        victim, checked = chance.choice(sorted(same)), bool(file.checksum)
        after = file.raw.replace(victim.encode(), fresh.encode())
        self.fake.other_client_put(path, after, mtime=file.mtime)
        self.readings[path] = Reading(after, self.fake.clock())
        self.ledger.deleted.add(victim)
        if checked:
            self.ledger.saved.add(fresh)

    def lock_for_a_moment(self, chance: random.Random) -> None:
        path = self.some_note(chance)
        if path in self.fake.files():
            self.fake.lock(path, chance.choice([2.0, MINUTE]))

    def end(self) -> None:
        super().end()
        self.fake._between = None
        self.fake._short_puts = 0

    def some_note(self, chance: random.Random) -> str | None:
        """One that is there, and at times one that nobody has made yet."""
        files = sorted(path for path in self.fake.files() if "-probe-" not in path)
        if chance.random() < 0.1:
            files = ["2026-04-01.md", "USER.md", *self.imports]
        path = chance.choice(files) if files else None
        return None if path and isinstance(self.fake.tree.find(path), Folder) else path

    def read(self, path: str, chance: random.Random) -> bytes:
        """What the program has: at times an older text than the server."""
        last = self.readings.get(path)
        now = self.fake.clock()
        if last is None or chance.random() < 0.4 or not 0 <= now - last.at < STALE_SECONDS:
            last = self.readings[path] = Reading(self.fake.files().get(path, b""), now)
        return last.raw

    def look(self, chance: random.Random) -> None:
        """The program reads all notes, as before an upload of many."""
        for path, raw in self.fake.files().items():
            if chance.random() < 0.5:
                self.readings[path] = Reading(raw, self.fake.clock())

    def _fresh(self) -> str:
        self.ledger.number += 1
        return f"line{self.ledger.number}x"

    def _changed(
        self, path: str, before: bytes, chance: random.Random
    ) -> tuple[bytes, set[str], set[str]]:
        """The text with a line more, and at times with one less; which ones these are."""
        fresh = self._fresh()
        if path.endswith(".jsonl"):
            return before + b'{"id": "%s"}\n' % fresh.encode(), set(), {fresh}
        lines = before.split(b"\n") if before else [b"## Tea", b""]
        items = [at for at, line in enumerate(lines) if line.startswith(b"- ")]
        removed: set[str] = set()
        at = chance.choice(items) if items else len(lines) - 1
        if items and chance.random() < 0.3:
            removed = lines_of([lines[at]])
            lines[at] = b"- " + fresh.encode()
        else:
            lines.insert(at, b"- " + fresh.encode())
        return b"\n".join(lines), removed, {fresh}

    def _upload(self, path: str, raw: bytes, chance: random.Random) -> bool:
        """Whether the server took it. The time of the file is that of the edit, which may be in the future."""
        now = self.fake.clock()
        if chance.random() < 0.3:
            self.fake.other_client_put(path, raw)
            return True
        late = (
            chance.choice([0, 1, 70])
            if chance.random() < 0.9
            else -chance.choice([1, 30, 3600, 10**9])
        )
        node = self.fake.tree.find(path)
        earliest = node.mtime if node is not None and node.mtime <= now else 0
        bulk_upload(self.fake, path, raw, mtime=max(int(now) - late, earliest))
        node = self.fake.tree.find(path)
        return node is not None and not isinstance(node, Folder) and node.raw == raw


class WipedOut:
    """Texts that the server wipes out before any device could ask for them: their lines are not asked for.

    Writes of one second share one version id on the real server. What a device has overtaken lies under such an id,
    and the next two writes of that second wipe it out. If no pass ends well between, nobody can read it.
    """

    def __init__(self, world: World, fake: FakeNextcloud) -> None:
        self._world, self._tree, self._write = world, fake.tree, fake.tree.write
        self._overtaken: dict[tuple[int, int], tuple[str, int]] = {}
        """the device that wrote over a text, and how many passes of it had ended well for the file, by id and time"""
        fake.tree.write = self._watched  # type: ignore[method-assign]

    def _watched(self, path: str, raw: bytes, **how: Unpack[Stored]) -> tuple[File, bool]:
        file = self._tree.find(path)
        if isinstance(file, File):
            self._replaced(path, file, raw)
        return self._write(path, raw, **how)

    def _replaced(self, path: str, file: File, raw: bytes) -> None:
        wiped = file.versions.get(file.mtime, file.raw)
        version = (file.id, file.mtime)
        device, passes = self._overtaken.get(version, ("", -1))
        if wiped != file.raw and self._world.well[device, path] == passes:
            texts = [raw, file.raw]
            texts += [text for at, text in file.versions.items() if at != file.mtime]
            for device in self._world.devices:
                texts += device.files().values()
            ledger = self._world.ledger
            ledger.saved -= lines_of([wiped]) - lines_of(texts)
            ledger.wiped |= set(wiped.decode().splitlines()) - set(
                b"\n".join(texts).decode().splitlines()
            )
        name = self._world._busy[-1].name if self._world._busy else ""
        self._overtaken[version] = name, self._world.well[name, path]


def in_a_crowd(base: Path, seed: int, steps: int = STEPS, *, forms: bool = False) -> World:
    """Of every two runs one is over a line that breaks; of every four one leaves halves of uploads.

    `forms`: whether a line that its author saved several times has to stand once, in its last form.
    """
    clock = Clock()
    clock.now = START
    skew = SKEWS[seed % len(SKEWS)]
    fake = FakeNextcloud(clock=lambda: clock.seconds() + skew)
    troubled = bool(seed % 2)
    lines = [flaky(fake, seed * 2 + number, 0.05 if troubled else 0.0) for number in range(2)]
    apps = iter(enumerate(app for app, _ in lines))

    def connect(name: str):  # type: ignore[no-untyped-def]
        number, app = next(apps)
        remote = connected(fake, app)
        remote._lag = seed % 7 + 11 * number
        return remote

    trouble = 0.08 if troubled else 0.0
    world = World(base, seed, connect, clock, trouble=trouble, saves=0.1)
    WipedOut(world, fake)
    world.halves = seed % 4 == 3
    if seed % 3:
        world.keep_all()
    crowd = Crowd(fake, world.ledger, halves=world.halves)
    if seed % 5 == 2:
        crowd.imports = IMPORTS
        world.moves = (*world.moves, world.import_notes)
    crowd.overlap = lambda chance: world.overlapping(chance.choice(world.devices))
    crowd.wait = clock.pass_by
    crowd.renames = world.rename in world.moves
    world.moves = (*world.moves, world.type_on)
    world.faults = 0.3
    world.run(steps, crowd)
    for _, script in lines:
        script.clear()
    crowd.end()
    world.settle()
    sweep_all(world)
    world.check()
    # Whoever reads half of an upload reads an earlier note: its lines come together with their forms.
    forms = forms and not world.halves
    if forms:
        files = world.devices[0].files().values()
        world.ledger.check_forms(files, renamed=crowd.renames)
    check_nothing_is_doubled(world, across_notes=bool(seed % 3) and not world.halves, forms=forms)
    return world


def sweep_all(world: World) -> None:
    """Days pass, until each note was read once without a reason.

    A text of the same length and time stands under the same tag. When another note of the folder changes in the same
    moment, nothing tells the two apart: only the daily look at some notes finds it.
    """
    days = -(-len(world.devices[0].files()) // SAMPLE)
    for _ in range(days):
        world.clock.pass_by(QUIET_SECONDS)
        world.settle()  # a look at a note
        world.settle()  # what it has shown


def check_nothing_is_doubled(world: World, *, across_notes: bool, forms: bool) -> None:
    """Renames and deletes that meet an edit may leave a note twice, but never a line twice in a note."""
    files = {path: raw for path, raw in world.devices[0].files().items() if "copy" not in path}
    groups = [b"\n".join(files.values())] if across_notes else list(files.values())
    grown = () if forms else world.ledger.forms
    for raw in groups:
        counts = Counter(all_lines(raw))
        doubled = [line for line in counts if counts[line] > 1 and line not in grown]
        assert not doubled, ("these stand there twice", sorted(doubled))


def all_lines(raw: bytes) -> list[str]:
    words = raw.decode().replace('"', " ").split()
    return [word for word in words if word.startswith("line") and word.endswith("x")]


def main(first: int, last: int, steps: int = STEPS, forms: int = 0) -> int:
    failed = 0
    for seed in range(first, last):
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            try:
                in_a_crowd(Path(folder), seed, steps, forms=bool(forms))
            except AssertionError as error:
                failed += 1
                print(f"seed {seed}: {str(error)[:300]}", flush=True)
    print(f"{last - first} worlds of {steps} steps, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
