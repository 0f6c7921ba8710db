"""The simulated disk as several use it at once.

It knows who took which name away, whose save is half done, and who may write what. What people do is on
the disk at once; what the engine does and has not synced is lost with the power.
"""

import stat
from collections.abc import Callable

from tests.simulated import phrases
from tests.simulated.dice import Dice
from tests.simulated.files import Folder, Model, SimulatedFiles, folder_states
from tests.simulated.violation import Violation

NOTE = "USER.md"
AUDIT = "USER.md.audit.jsonl"
PAGE = "USER.INBOX.md"
ENGINE = "engine"
_OURS = (NOTE, AUDIT, PAGE)
_LOOKING = frozenset(
    {
        "open",
        "open_folder",
        "read",
        "stat",
        "look",
        "link_target",
        "attributes",
        "alone",
        "free_bytes",
        "close",
    }
)


class Disk(SimulatedFiles):
    """One folder, in which an engine and people work."""

    def __init__(self) -> None:
        super().__init__()
        self.acting = ENGINE
        """Who makes the calls now."""
        self.lost_to: dict[int, str] = {}
        """Inode → who last took the note's name from it."""
        self.windows: dict[int, dict[str, bytes]] = {}
        """Inode that people are writing in place → who → what it held before."""
        self.away: set[str] = set()
        """Who has taken the note's name away for a moment."""
        self.coarse = 0
        """Seconds in a tick of the clock that stamps files."""
        self.changed = 0
        """How many calls of the engine changed anything"""
        self.seen_whole: bytes | None = None
        """What was last found to be whole under the note's name"""
        self.syncs = True
        """Whether `fsync` does anything."""
        self.look_on: Callable[[], None] = lambda: None
        """Called before each call of the engine, when anybody else might look at the note."""

    def _now(self) -> int:
        fine = super()._now()
        if not self.coarse:
            return fine
        tick = self.coarse * 10**9
        return fine // tick * tick

    def _call(self, what: str) -> None:
        verb, _, names = what.partition(" ")
        if "/" in names or ".." in names.split():
            raise Violation("O7 confined", f"the engine calls `{what}`")
        self.look_on()
        super()._call(what)
        self.changed += verb not in _LOOKING

    def _change(self, folder: str, change: dict[str, int | None]) -> None:
        entries = self.folders[folder].entries
        before = entries.get(NOTE)
        if self.acting == ENGINE:
            self._permit(change)
        super()._change(folder, change)
        if before is not None and entries.get(NOTE) != before:
            self.lost_to[before] = self.acting

    def _permit(self, change: dict[str, int | None]) -> None:
        for name in change:
            temporary = name.startswith(tuple(f".{own}.~" for own in _OURS))
            if name not in _OURS and not temporary and "(memory copy" not in name:
                raise Violation("O7 confined", f"the engine touches `{name}`, which is not its own")

    def fsync(self, fd: int) -> None:
        if self.syncs:
            super().fsync(fd)
        else:
            self._call("fsync")

    # --- For naive engines, and for logs ---

    def truncate(self, fd: int) -> None:
        """Empty an open file."""
        self._call("truncate")
        inode = self._file(fd)
        inode.data, inode.synced = b"", False
        inode.ctime = inode.mtime = self._now()

    def append(self, name: str, line: bytes) -> None:
        """One record at the end of a log, synced; after a torn one it begins a new line."""
        self._call(f"append {name}")
        entries = self.folders[""].entries
        if name not in entries:
            self._change("", {name: self._inode(b"").number})
        inode = self.inodes[entries[name]]
        line = b"\n" + line if inode.data and not inode.data.endswith(b"\n") else line
        inode.synced = False
        inode.data += line[: len(line) // 2]
        self._done()
        inode.data += line[len(line) // 2 :]
        self.sync(name)

    def sync(self, name: str) -> None:
        """All of a file, and its name, are on the disk."""
        self._call("fsync")
        inode = self.inodes[self.number_of(name)]
        inode.durable, inode.synced = inode.data, True
        self._sync_folder("")

    # --- What people do ---

    def find(self, name: str) -> int | None:
        """The inode under a name."""
        return self.folders[""].entries.get(name)

    def person_opens(self, name: str) -> int:
        """The file of this name, made if it is not there, open for writing."""
        number = self.find(name)
        if number is None:
            number = self.person_saves(name, b"")
        self.others[number] = self.others.get(number, 0) + 1
        return number

    def person_closes(self, number: int) -> None:
        """The file is open once less."""
        if number in self.others:
            self.others[number] -= 1

    def person_renames(self, old: str, new: str) -> None:
        """In one step, whatever stood there."""
        self._change("", {new: self.number_of(old), old: None})
        self._sync_folder("")

    def reachable(self, number: int) -> bool:
        """Whether what is written to this file now can still be found, or would be but for the engine."""
        return number in self.folders[""].entries.values() or self.lost_to.get(number) == ENGINE

    def others_texts(self) -> dict[str, bytes]:
        """Every note but the one, and nothing that is a temporary of the engine."""
        entries = self.folders[""].entries
        return {
            name: self.inodes[number].data
            for name, number in entries.items()
            if name not in (NOTE, AUDIT)
            and ".~" not in name
            and stat.S_ISREG(self.inodes[number].mode)
        }

    def strays(self) -> list[str]:
        """Temporaries of the engine."""
        return [name for name in self.folders[""].entries if ".~" in name]

    def taken(self) -> list[int]:
        """The inode of the note while the engine has taken it away, where files cannot be exchanged."""
        entries = self.folders[""].entries
        return [
            entries[name]
            for name in entries
            if name.startswith(f".{NOTE}.~") and name.endswith("t")
        ][-1:]

    def lose_power(self, model: Model, dice: Dice) -> None:
        """The disk comes back in one of the states in which it may."""
        self.revive()
        self.others.clear()
        self.windows.clear()
        self.away.clear()
        for path, folder in self.folders.items():
            entries = _choose_entries(folder, model, dice)
            self.folders[path] = Folder(dict(entries), dict(entries))
        names = self._names_for_people()
        for inode in self.inodes.values():
            if not inode.synced:
                remains = _remains(inode.durable, inode.data, model)
                chosen = dice.choose(
                    phrases.LEAVES, list(remains), _remains_of(names.get(inode.number))
                )
                inode.data = remains[chosen]
            inode.durable, inode.synced = inode.data, True

    def _names_for_people(self) -> dict[int, str]:
        """The name of each file. A number replaces the random part in the name of a temporary file."""
        names: dict[int, str] = {}
        temporaries = 0
        for name, number in sorted(self.folders[""].entries.items()):
            if ".~" in name:
                temporaries += 1
                name = f"temporary file {temporaries}"
            names.setdefault(number, name)
        return names


def _choose_entries(folder: Folder, model: Model, dice: Dice) -> dict[str, int]:
    states = folder_states(folder, reordered=model in ("btrfs", "posix"))

    def label(index: int) -> str:
        if len(states) == 1:
            return ""
        if states[index] == folder.durable:
            return "the old names"
        if states[index] == folder.entries:
            return "the new names"
        return f"names {index + 1} of {len(states)}"

    return states[dice.choose(phrases.LEAVES, range(len(states)), label)]


def _remains_of(name: str | None) -> Callable[[str], str]:
    """Labels for what remains of a file. A whole file needs no words, nor does one that nobody can find."""
    return lambda remains: f"{remains} of {name}" if name and remains else ""


def _remains(durable: bytes, data: bytes, model: Model) -> dict[str, bytes]:
    """What may have become of bytes of which only some were synced."""
    old = durable if data.startswith(durable) else b""
    tail = data[len(old) :]
    half = old + tail[: len(tail) // 2]
    remains = {"": data, "half": half, "the old part": old}
    if model in ("ext4-writeback", "posix"):
        remains["zeros"] = old + bytes(len(tail))
        remains["half and zeros"] = half + bytes(len(data) - len(half))
    return remains
