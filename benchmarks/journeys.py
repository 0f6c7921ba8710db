"""How far an op and a save travel through the program: calls, modules, rooms, reads, descriptors, locks.

Everything is counted and nothing is timed, in a process of its own: `sys.setprofile` sees the calls, an audit hook sees
the opened files and the locks. A generator that continues and a comprehension are no calls of their own.
"""

import dis
import fcntl
import inspect
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import vault_memory
from benchmarks.place import OFF, Place
from benchmarks.table import Row

PACKAGE = str(Path(vault_memory.__file__).parent) + os.sep

NOTES = 10
NOTE = "memory/list.md"
SAVED = "# List\n\n## Items\n\n- the lamp was trimmed {:03} times\n"
WARM_UP_OPS = 3
"""The first ops load modules and fill caches"""
SAVES = 12
"""Of several saves the usual journey counts: another task of the daemon may fall into some of them"""
PATIENCE_SECONDS = 60
PAUSE_SECONDS = 0.1
"""For the daemon to get back to waiting after a save"""

MAX_OP_CALLS, MAX_OP_SWITCHES, MAX_SAVE_SWITCHES = 900, 50, 20

OPENS_BENEATH = "open_beneath"
"""The function that opens notes by a system call which Python does not announce"""
RESOLVES = "real_path"
"""The function that resolves where a link leads"""
BACKGROUND = {"embedding 0", "nights 0", "server", "stop", "sync 0"}
"""The daemon's threads that no save waits for"""
LAZY = os.path.join(PACKAGE, "lazy.py")
"""Its frames are accesses of an attribute of a module, not calls into a room"""
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>"}
"""Functions in Python 3.11, and part of their function later"""


def room_of(path: str) -> str:
    """Names the room of a module: the first folder below the package, or the module itself."""
    return path.removeprefix(PACKAGE).split(os.sep)[0].removesuffix(".py")


@dataclass
class Steps:
    """What one thread did."""

    calls: int = 0
    switches: int = 0
    crossings: int = 0
    room: str = ""
    functions: set[CodeType] = field(default_factory=set)


@dataclass
class Journey:
    """What is counted from the beginning of an op or a save to its end."""

    note: str
    threads: dict[int, Steps] = field(default_factory=dict)
    opened: int = 0
    note_reads: int = 0
    audit_reads: int = 0
    resolved: int = 0
    locks: int = 0
    deepest_lock: int = 0
    _locked: dict[int, tuple[int, int]] = field(default_factory=dict)

    def enter(self, frame: FrameType) -> None:
        """Counts the start of a function of ours."""
        code = frame.f_code
        if code.co_name in COMPREHENSIONS or _continues(frame):
            return
        if threading.current_thread().name in BACKGROUND:
            return
        steps = self.threads.setdefault(threading.get_ident(), Steps())
        room = room_of(code.co_filename)
        steps.calls += 1
        steps.functions.add(code)
        steps.switches += steps.room not in ("", room)
        steps.crossings += _caller_room(frame) not in ("", room)
        steps.room = room
        if code.co_name == OPENS_BENEATH:
            self.open(frame.f_locals["path"], os.O_RDONLY)
        self.resolved += code.co_name == RESOLVES

    def open(self, path: object, flags: int) -> None:
        """Counts a file or folder that is opened, and what of it is read."""
        self.opened += 1
        name = os.path.basename(str(path))
        if flags & (os.O_ACCMODE | os.O_DIRECTORY | getattr(os, "O_PATH", 0)) != os.O_RDONLY:
            return
        self.note_reads += name == os.path.basename(self.note)
        self.audit_reads += name.startswith(os.path.basename(self.note) + ".audit")

    def lock(self, descriptor: int, operation: int) -> None:
        """Counts a file lock, and how many others the process holds beneath it."""
        # A lock ends with its descriptor; the number may be that of another file by then.
        self._locked = {
            number: file for number, file in self._locked.items() if _file_of(number) == file
        }
        if operation & fcntl.LOCK_UN:
            self._locked.pop(descriptor, None)
            return
        file = _file_of(descriptor)
        assert file is not None
        self._locked[descriptor] = file
        self.locks += 1
        self.deepest_lock = max(self.deepest_lock, len(self._locked))

    def figures(self) -> dict[str, int]:
        """Returns the counts of all threads together."""
        functions = {code for steps in self.threads.values() for code in steps.functions}
        return {
            "calls": sum(steps.calls for steps in self.threads.values()),
            "functions": len(functions),
            "modules": len({code.co_filename for code in functions}),
            "room_switches": sum(steps.switches for steps in self.threads.values()),
            "calls_into_another_room": sum(steps.crossings for steps in self.threads.values()),
            "note_read": self.note_reads,
            "real_path_resolved": self.resolved,
            "audit_read": self.audit_reads,
            "opened": self.opened,
            "locks": self.locks,
            "locks_nested": self.deepest_lock,
        }


class Recorder:
    """Counts for the journey that is under way, in every thread that starts after it is installed."""

    def __init__(self) -> None:
        self.journey: Journey | None = None

    def install(self) -> None:
        sys.addaudithook(self._audit)  # it stays until the process ends
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        journey = self.journey
        if (
            journey is not None
            and event == "call"
            and frame.f_code.co_filename.startswith(PACKAGE)
            and frame.f_code.co_filename != LAZY
        ):
            journey.enter(frame)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        journey = self.journey
        if journey is None:
            return
        # With a descriptor in place of a path, nothing is opened.
        if event == "open" and not isinstance(arguments[0], int):
            journey.open(arguments[0], arguments[2])
        elif event == "fcntl.flock":
            journey.lock(*arguments)

    @contextmanager
    def recording(self, note: str) -> Iterator[Journey]:
        """Counts until the block ends."""
        journey = Journey(note)
        self.journey = journey
        try:
            yield journey
        finally:
            self.journey = None


def _continues(frame: FrameType) -> bool:
    """Tells whether a generator goes on, rather than begins."""
    is_generator = frame.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)
    return bool(is_generator) and frame.f_lasti > _first_resume(frame.f_code)


def _first_resume(code: CodeType) -> int:
    """Returns where a new generator starts: behind what makes it."""
    if code not in _STARTS:
        starts = (entry.offset for entry in dis.get_instructions(code) if entry.opname == "RESUME")
        _STARTS[code] = next(starts, 0)
    return _STARTS[code]


_STARTS: dict[CodeType, int] = {}


def _caller_room(frame: FrameType) -> str:
    """Names the room of the nearest caller of ours; empty when there is none."""
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
        caller = caller.f_back
    return "" if caller is None else room_of(caller.f_code.co_filename)


def _file_of(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def op_journey(place: Place, recorder: Recorder) -> dict[str, int]:
    """Counts an `append` by the bot at night: policy, swap, audit, index."""
    vault = place.vault("op", NOTES)
    with place.open(vault) as memory:
        memory.index(embed=False)
        memory.edits.edit_text(
            NOTE, {"op": "create", "file_text": "# List\n\n## Items\n\n- one lamp\n"}
        )

        def append(line: str) -> None:
            op = {"op": "append", "heading": "Items", "line": line}
            edit = memory.apply(NOTE, [op], source="nightly")
            if not edit.applied:
                raise SystemExit(f"error: the op was not carried out: {edit.summary}")

        for number in range(WARM_UP_OPS):
            append(f"lamp number {number} is lit")
        with recorder.recording(NOTE) as journey:
            append("the last lamp is lit")
    return journey.figures()


def save_journey(place: Place, recorder: Recorder) -> dict[str, int]:
    """Counts a save by rename, from the new file to the changed index of a daemon."""
    from vault_memory.service.daemon import Daemon

    vault = place.vault("save", NOTES)
    note = vault / NOTE
    note.parent.mkdir(exist_ok=True)
    note.write_text(SAVED.format(0), "utf-8")
    is_ready, is_indexed = threading.Event(), threading.Event()
    journeys: list[Journey] = []

    def end(change: object) -> None:
        recorder.journey = None
        is_indexed.set()

    with place.open(vault) as memory:
        memory.index(embed=False)
        daemon = Daemon(memory, tell=end)

        def save_all() -> None:
            try:
                _wait(is_ready)
                for number in range(SAVES):
                    new = place.root / "saved.md"
                    new.write_text(SAVED.format(number + 1), "utf-8")
                    is_indexed.clear()
                    journeys.append(Journey(NOTE))
                    recorder.journey = journeys[-1]
                    os.replace(new, note)
                    _wait(is_indexed)
                    time.sleep(PAUSE_SECONDS)
            finally:
                daemon.stop()

        saver = threading.Thread(target=save_all)
        saver.start()
        daemon.run(ready=is_ready.set)
        saver.join()
    if len(journeys) < SAVES:
        raise SystemExit("error: the daemon did not index every save")
    return _most_common([journey.figures() for journey in journeys])


def _most_common(journeys: list[dict[str, int]]) -> dict[str, int]:
    """Returns the figures that most of the journeys share."""
    tally = Counter(tuple(figures.items()) for figures in journeys)
    return dict(tally.most_common(1)[0][0])


def _wait(event: threading.Event) -> None:
    if not event.wait(PATIENCE_SECONDS):
        raise TimeoutError("the daemon did not answer in time")


def measure(root: Path) -> dict[str, dict[str, int]]:
    """Counts both journeys, in vaults below `root`. The hooks stay in this process."""
    recorder = Recorder()
    recorder.install()
    place = Place(root)
    journeys: dict[str, Callable[[Place, Recorder], dict[str, int]]] = {
        "op": op_journey,
        "save": save_journey,
    }
    return {name: journey(place, recorder) for name, journey in journeys.items()}


def measure_apart(root: Path) -> dict[str, dict[str, int]]:
    """Counts both journeys in a process of its own. Raises SystemExit."""
    command = [sys.executable, "-m", "benchmarks.journeys", str(root)]
    environment = Place(root).environment(OFF) | {
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent)
    }
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise SystemExit(result.stderr)
    figures: dict[str, dict[str, int]] = json.loads(result.stdout)
    return figures


def rows(place: Place) -> Iterator[Row]:
    """Two rows for the op, one for the save."""
    root = place.root / "journeys"
    root.mkdir()
    figures = measure_apart(root)
    op, save = figures["op"], figures["save"]
    yield Row(
        "an `append` of the bot: policy → swap → audit → index",
        "–",
        "–",
        _way(op),
        f"≤ {MAX_OP_CALLS} calls, ≤ {MAX_OP_SWITCHES} room switches",
        op["calls"] <= MAX_OP_CALLS and op["room_switches"] <= MAX_OP_SWITCHES,
    )
    once = ("note_read", "real_path_resolved", "audit_read")
    yield Row(
        "files of this `append`",
        "–",
        "–",
        f"note read {op['note_read']}×, real path resolved {op['real_path_resolved']}×, "
        f"audit read {op['audit_read']}×, {op['opened']} opened, {op['locks']} locks, {op['locks_nested']} nested",
        "each of the first three once",
        all(op[name] <= 1 for name in once),
    )
    yield Row(
        "a save by hand → indexed, in the daemon",
        "–",
        "–",
        f"{_way(save)}, note read {save['note_read']}×",
        f"≤ {MAX_SAVE_SWITCHES} room switches",
        save["room_switches"] <= MAX_SAVE_SWITCHES,
    )


def _way(figures: dict[str, int]) -> str:
    return (
        f"{figures['calls']:,} calls, {figures['functions']} functions, {figures['modules']} modules, "
        f"{figures['room_switches']} room switches ({figures['calls_into_another_room']} calls into another room)"
    )


if __name__ == "__main__":
    # An option is no folder: `--help` would become one.
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m benchmarks.journeys FOLDER")
    print(json.dumps(measure(Path(sys.argv[1]))))
