"""A random person and a random bot on two devices, a server with faults, restarts: run by a seed, checked by oracles.

Every line that anybody saves is unique. At the end all devices hold the same files, and each line is in one of them,
or was taken away by somebody whose editor showed it, or lies in the trash or among the kept versions of a device.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.sync.devices import Clock, Device
from tests.sync.troubled import Troubled
from vault_memory.errors import VaultMemoryError
from vault_memory.remote.contract import Remote
from vault_memory.vault.write.replacement import Replacement

NOTES = ("USER.md", "notes/tea.md", "notes/boats.md", "2026-04-01.md", "log.jsonl")
HEADINGS = ("Tea", "Boats")
IMPORTS = tuple(f"{kind}{number:02}.md" for kind in ("import", "letter") for number in range(12))
"""Of two kinds, each so many that new ones go up in one request where the server takes that"""


WORDS = ("and", "eggs", "for", "Anna", "on", "Monday", "in", "Tea", "Lane")
"""what the author of a growing line adds"""


@dataclass
class Ledger:
    """What was saved, and what was taken away by somebody who saw it."""

    saved: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    forms: dict[str, str] = field(default_factory=dict)
    """the last form of each line that its author saved several times"""
    saved_forms: set[str] = field(default_factory=set)
    wiped: set[str] = field(default_factory=set)
    """forms that nobody could read before the server wiped them out"""
    number: int = 0

    def next_form(self, form: str, chance: random.Random) -> str:
        """A line as its author saves it next: mostly longer, at times shorter or with another word.

        It never was so before: a note that returns to an earlier text counts as restored by a person.
        """
        words = form.split()
        match chance.randrange(6):
            case 0 if len(words) > 4:
                del words[chance.randrange(2, len(words))]
            case 1 if len(words) > 3:
                words[chance.randrange(2, len(words))] = chance.choice(WORDS) + "!"
            case 2 if len(words) > 2:
                words.insert(2, chance.choice(WORDS))
            case _:
                words += chance.choices(WORDS, k=chance.randint(1, 2))
        longer = " ".join(words)
        while longer in self.saved_forms or len(longer) == len(form):
            longer += "s"
        self.saved_forms.add(longer)
        return longer

    def check_forms(self, raws: Iterable[bytes], *, renamed: bool) -> None:
        """Raises AssertionError where an earlier form of a line stands.

        `renamed`: a note may be there twice. Then its other copy may have an earlier form.
        """
        lines = [line for raw in raws for line in raw.decode().splitlines()]
        found = {line.split(" ⚠")[0].rstrip() for line in lines}
        earlier = set()
        for form in found:
            for word in lines_of([form.encode()]) & self.forms.keys() - self.deleted:
                last = self.forms[word]
                is_copy = renamed and last in found
                if form != last and not is_copy and last not in self.wiped:
                    earlier.add((form, last))
        assert not earlier, ("earlier forms", sorted(earlier))

    def line(self) -> str:
        self.number += 1
        self.saved.add(text := f"line{self.number}x")
        return text


class World:
    """One run."""

    def __init__(
        self,
        base: Path,
        seed: int,
        connect: Callable[[str], Remote],
        clock: Clock,
        *,
        trouble: float = 0.0,
        cuts: bool = False,
        saves: float = 0.0,
    ) -> None:
        self.random = random.Random(seed)
        self.clock, self.ledger = clock, Ledger()
        self.remotes = [
            Troubled(
                connect(name),
                seed + number,
                rate=trouble,
                cuts=cuts,
                meanwhile=lambda at=number: self._meanwhile(at),
                saves=saves,
            )
            for number, name in enumerate(("laptop", "phone"))
        ]
        self.devices = [
            Device(base, name, remote, clock)
            for name, remote in zip(("laptop", "phone"), self.remotes, strict=True)
        ]
        self.well: Counter[tuple[str, str]] = Counter()
        """passes without an error, by device and by the files that they did not leave for later"""
        self._typing: dict[str, tuple[str, str]] = {}
        """the note and the last form of the line that the person of each device is typing"""
        self._deep = 0
        self._busy: list[Device] = []
        """whose passes are under way: none of them begins another one before it has ended"""
        self.troubles: list[str] = []
        self.trace: list[str] = []
        self.moves: tuple[Callable[[Device], None], ...] = (
            self.person,
            self.person,
            self.bot,
            self.sync,
            self.sync,
            self.wait,
            self.rename,
            self.remove,
        )
        self.files_deleted = 0
        self.faults = 0.09
        """the share of the steps that others and the server make"""
        self.rest: Callable[[], None] = lambda: None
        """between the last passes, on a server whose time is not ours to move on"""
        self.halves = cuts
        """whether half an upload may have been left: an edit in the end, when nobody mends it"""

    def keep_all(self) -> None:
        """From now on nobody deletes or renames anything: then nothing may be deleted at all."""
        self.moves = (self.person, self.person, self.bot, self.sync, self.sync, self.wait)

    def run(self, steps: int, fault: Callable[[random.Random], None] = lambda chance: None) -> None:
        for _ in range(steps):
            device = self.random.choice(self.devices)
            chance = self.random.random()
            if chance < 0.03:
                self.restart(device)
            elif chance < 0.03 + self.faults:
                fault(self.random)
            else:
                move = self.random.choice(self.moves)
                self.trace.append(f"{move.__name__} {device.name}")
                move(device)

    def _meanwhile(self, at: int) -> None:
        """In the middle of one device's pass somebody saves, or the other device makes a pass of its own."""
        if self._deep > 1:
            return
        self._deep += 1
        try:
            self.random.choice((self.person, self.bot))(self.random.choice(self.devices))
            if self.random.random() < 0.5 and self.devices[1 - at] not in self._busy:
                self.sync(self.devices[1 - at])
        finally:
            self._deep -= 1

    def overlapping(self, device: Device) -> None:
        """A pass of a device while the server is in the middle of a request of the other one, or of its own."""
        if self._deep > 1 or device in self._busy:
            return
        self._deep += 1
        try:
            self.sync(device)
        finally:
            self._deep -= 1

    def settle(self, passes: int = 40) -> None:
        """Without trouble, until nothing is done any more. Raises AssertionError when that never comes."""
        for remote in self.remotes:
            remote.calm = True
        for _ in range(passes):
            self.clock.pass_by(61)
            self.rest()
            reports = [self._turn(device, approve=True) for device in self.devices]
            if all(report is not None and report.quiet for report in reports):
                return
        raise AssertionError((self.troubles[-5:], reports))

    def check(self) -> None:
        one, other = self.devices
        assert one.files() == other.files(), _difference(one.files(), other.files())
        live = lines_of(one.files().values())
        missing = self.ledger.saved - self.ledger.deleted - live
        for device in self.devices:
            missing -= self._kept(device)
        assert not missing, sorted(missing)
        past = self.ledger.saved - self.ledger.deleted - live
        if not self.halves:
            assert not past, ("these lie only in the past", sorted(past))
        if self.remove not in self.moves:
            assert not self.files_deleted, "a file was deleted that nobody had deleted"
        left = [path for device in self.devices for path in device.vault.rglob(".*")]
        assert not left, left

    def _kept(self, device: Device) -> set[str]:
        assert device.writer is not None
        connection = device.writer.journal.connection
        found = set()
        for (revision,) in connection.execute("SELECT revision FROM blobs"):
            found |= lines_of([device.writer.snapshots.bytes_of(revision) or b""])
        return found

    # what happens

    def person(self, device: Device) -> None:
        """Adds a line to a note, or takes one away, as an editor does that has just loaded it."""
        path = (
            self.random.choice(sorted(device.files()) or NOTES)
            if self.random.random() < 0.5
            else ""
        )
        path = path or self.random.choice(NOTES)
        before = device.files().get(path, b"")
        if path.endswith(".jsonl"):
            if before and not before.endswith(b"\n"):
                before += b"\n"  # as a record begins on a line of its own
            text = before + b'{"id": "%s"}\n' % self.ledger.line().encode()
        elif before and self.random.random() < 0.25:
            lines = before.split(b"\n")
            at = self.random.choice(
                [at for at, line in enumerate(lines) if line.startswith(b"- ")] or [0]
            )
            self.ledger.deleted |= lines_of([lines[at]])
            text = b"\n".join(lines[:at] + lines[at + 1 :])
        else:
            text = self._with_line(before)
        device.save(path, text)

    def type_on(self, device: Device) -> None:
        """The person types a line, and the editor saves it again and again."""
        path, form = self._typing.get(device.name, ("", ""))
        before = device.files().get(path, b"").split(b"\n")
        if not form or form.encode() not in before or self.random.random() < 0.2:
            notes = [name for name in device.files() if name.endswith(".md")]
            path = self.random.choice(sorted(notes) or ["USER.md"])
            form = f"- {self.ledger.line()}"
            text = self._with_line(device.files().get(path, b""), form)
        else:
            at = before.index(form.encode())
            form = self.ledger.next_form(form, self.random)
            before[at] = form.encode()
            text = b"\n".join(before)
        self._typing[device.name] = path, form
        (word,) = lines_of([form.encode()])
        self.ledger.forms[word] = form
        device.save(path, text)

    def import_notes(self, device: Device) -> None:
        """Makes many notes of one kind at once, those that this device does not have."""
        files = device.files()
        kind = self.random.choice(("import", "letter"))
        for path in IMPORTS:
            if path.startswith(kind) and path not in files:
                device.save(path, self._with_line(b""))

    def bot(self, device: Device) -> None:
        """Writes a line through the writer, on what it has just read."""
        path = self.random.choice([path for path in NOTES if path.endswith(".md")])
        before = device.files().get(path)
        from vault_memory.vault.snapshots import revision_of

        assert device.writer is not None
        self.ledger.number += 1
        line = f"line{self.ledger.number}x"
        text = before or b"## Tea\n"
        if not text.endswith(b"\n"):
            text += b"\n"  # as an appended item begins on a line of its own
        after = text + f"- {line}\n".encode()
        expected = revision_of(before) if before is not None else None
        new = Replacement(path, after, expected=expected, op_id=f"op-{line}", quiet=0)
        written = device.writer.write(new, now=self.clock.now)
        if written.outcome != "pending":
            self.ledger.saved.add(line)
        else:
            device.writer.discard(written.op_id)

    def rename(self, device: Device) -> None:
        files = [path for path in device.files() if path.startswith("notes/")]
        if files and self.random.random() < 0.3:
            path = self.random.choice(files)
            to = f"notes/{self.random.choice('abc')}{self.random.choice(['', '/d'])}{self.ledger.number}.md"
            if not (device.vault / to).exists():
                (device.vault / to).parent.mkdir(parents=True, exist_ok=True)
                (device.vault / path).rename(device.vault / to)

    def remove(self, device: Device) -> None:
        files = sorted(device.files())
        if files and self.random.random() < 0.15:
            path = self.random.choice(files)
            self.ledger.deleted |= lines_of([device.files()[path]])
            (device.vault / path).unlink()

    def wait(self, device: Device) -> None:
        self.clock.pass_by(self.random.choice([0.2, 1, 5, 70]))

    def sync(self, device: Device) -> None:
        self._turn(device, ask=self.random.random() < 0.8)

    def restart(self, device: Device) -> None:
        self.trace.append(f"restart {device.name}")
        device.stop()
        device.start()

    def _turn(self, device: Device, *, ask: bool = True, approve: bool = False):  # type: ignore[no-untyped-def]
        self._busy.append(device)
        try:
            report = device.run_pass(ask=ask, approve_deletes=approve, approve_restore=approve)
        except VaultMemoryError as error:
            self.troubles.append(error.message)
            return None
        finally:
            self._busy.pop()
        left = {path for path, _ in (*report.failed, *report.waiting, *report.held)}
        done = device.files().keys() - left
        self.well.update((device.name, path) for path in done)
        self.files_deleted += report.deleted_local + report.deleted_remote
        return report

    def _with_line(self, before: bytes, form: str = "") -> bytes:
        line = f"{form or '- ' + self.ledger.line()}\n".encode()
        heading = f"## {self.random.choice(HEADINGS)}\n".encode()
        if heading not in before:
            return before + (b"\n" if before else b"") + heading + line
        return before.replace(heading, heading + line, 1)


def lines_of(raws) -> set[str]:  # type: ignore[no-untyped-def]
    import re

    return {found.decode() for raw in raws for found in re.findall(rb"line\d+x", raw)}


def _difference(one: dict[str, bytes], other: dict[str, bytes]) -> object:
    return {
        path: (one.get(path), other.get(path))
        for path in one.keys() | other.keys()
        if one.get(path) != other.get(path)
    }
