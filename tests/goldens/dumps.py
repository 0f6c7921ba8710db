"""Dumps of simulated lives and worlds: a hash of each is stored, and whole ones of two trees can be compared."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tests.goldens import lives, worlds
from tests.goldens.stored import EXPECTED, difference, write

MEMORY = Path("/dev/shm")
"""Where files cost no disk"""
SHOWN = 3
"""Dumps whose difference is shown; of the others the name is enough"""
HINT = (
    "hint: to see what differs, run `python -m tests.goldens --write FOLDER` in a tree from before the change, "
    "and `python -m tests.goldens --compare FOLDER` in this one; if the change is meant, run `make goldens`"
)
Parts = dict[str, str]


class Kind(NamedTuple):
    """One kind of simulation."""

    name: str
    make: Callable[[int, Path], Parts]
    count: int
    default: range
    """the numbers of the default run"""
    readable: tuple[int, ...]
    """the numbers of which a whole dump is stored"""


LIVES = Kind("lives", lives.life, 300, range(0, 300, 15), (10, 12, 18))
WORLDS = Kind("worlds", worlds.world, 30, range(0, 30, 10), (1,))
KINDS = (LIVES, WORLDS)


def dump(kind: Kind, number: int) -> Parts:
    """The parts of one dump, made in a folder that is there only for it."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    try:
        return kind.make(number, folder)
    finally:
        shutil.rmtree(folder)


def hash_line(number: int, parts: Parts) -> str:
    """One line for a dump, with a short hash of each part, so that a change shows where it is."""
    hashes = (f"{name}={sha256(text.encode()).hexdigest()[:12]}" for name, text in parts.items())
    return f"{number:03} {' '.join(hashes)}"


def whole(parts: Parts) -> str:
    """All parts, one below the other."""
    return "\n".join(f"=== {name}\n{text}" for name, text in parts.items())


def readable(parts: Parts) -> str:
    """A dump as a person reads it: of the calls of the engine there are so many that they are only counted."""
    if "calls" not in parts:
        return whole(parts)
    return whole(parts | {"calls": f"{len(parts['calls'].splitlines())} calls\n"})


def stored_lines(kind: Kind) -> list[str]:
    """The stored line of each dump."""
    return (EXPECTED / kind.name / "hashes.txt").read_text(encoding="utf-8").splitlines()


def check(kind: Kind, numbers: Iterable[int]) -> None:
    """Compare dumps with their stored hashes. Raises AssertionError that names each dump and part that differs."""
    stored = stored_lines(kind)
    wrong = []
    for number in numbers:
        before, now = (stored[number].split(" "), hash_line(number, dump(kind, number)).split(" "))
        parts = [new.partition("=")[0] for old, new in zip(before, now, strict=False) if old != new]
        if parts or len(before) != len(now):
            wrong.append(f"{kind.name} {number}: other {', '.join(parts) or 'parts'}")
    if wrong:
        raise AssertionError("\n".join([*wrong, "", HINT]))


def stored_files(kind: Kind) -> Iterator[tuple[str, str]]:
    """Name and text of each file that is stored of a kind."""
    lines = []
    for number in range(kind.count):
        parts = dump(kind, number)
        lines.append(hash_line(number, parts))
        if number in kind.readable:
            yield f"{kind.name}/{number:03}.txt", readable(parts)
    yield f"{kind.name}/hashes.txt", "\n".join(lines) + "\n"


def write_all(folder: Path) -> None:
    """Write the whole dump of every life and world below a folder."""
    for kind in KINDS:
        for number in range(kind.count):
            write(folder, f"{kind.name}/{number:03}.txt", whole(dump(kind, number)))


def compare_all(folder: Path) -> int:
    """Print which dumps differ from those in a folder, and how; the result is their number."""
    differing = 0
    for kind in KINDS:
        for number in range(kind.count):
            name = f"{kind.name}/{number:03}.txt"
            before, now = ((folder / name).read_bytes().decode(), whole(dump(kind, number)))
            if before == now:
                continue
            differing += 1
            print(f"{name} differs")
            if differing <= SHOWN:
                print(difference(name, before, now))
    print(f"{differing} of {sum(kind.count for kind in KINDS)} dumps differ")
    return differing
