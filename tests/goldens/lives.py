"""What is left of simulated lives: files, audit, journal, index rows, and the calls of the engine that led there."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw

from tests.goldens.sandbox import Sandbox
from tests.scenarios.index_dump import dump as index_rows
from tests.simulated.disk import AUDIT
from tests.simulated.real import Real
from tests.simulated.world import World, run

DEVICE = re.compile(r"\bvm-[0-9a-f]{6}\b")
RECORD = re.compile(r"\b[0-9a-f]{20}\b")
Parts = dict[str, str]


def life(seed: int, folder: Path) -> Parts:
    """The parts of a dump, of a life that is lived in this folder."""
    state = folder / "engine"
    state.mkdir(parents=True)
    engines: list[Real] = []

    def engine_on(disk: Any) -> Real:
        engines.append(Real(disk, state))
        return engines[-1]

    world = run(seed, engine_on)
    [engine] = engines
    ids: dict[str, str] = {}
    return {
        "story": text_of(world.story),
        "files": files_part(world),
        "audit": numbered((world.disk.text(AUDIT) or b"").decode(errors="backslashreplace"), ids),
        "journal": text_of(database_rows(engine.connection, lambda row: known_only(row, ids))),
        "index": text_of(index_part(world, folder)),
        "calls": text_of(world.disk.trace),
    }


def files_part(world: World) -> str:
    """Every file of the simulated disk but the audit."""
    entries = world.disk.folders[""].entries
    texts = (
        (name, world.disk.inodes[entries[name]].data) for name in sorted(entries) if name != AUDIT
    )
    return "".join(f"--- {name}\n{raw.decode(errors='backslashreplace')}\n" for name, raw in texts)


def index_part(world: World, folder: Path) -> Iterator[str]:
    """The rows of an index of these files, made by the command line."""
    sandbox = Sandbox(folder / "indexed")
    entries = world.disk.folders[""].entries
    for name in sorted(entries):
        raw = world.disk.inodes[entries[name]].data
        if "/" not in name:
            (sandbox.vault / name).write_bytes(raw)
    code, out, err = sandbox.run("index", "--no-embed")
    assert code == 0, (out, err)
    [state] = (path.parent.parent for path in sandbox.roots.glob("*/index/current"))
    for table, rows in sorted(index_rows(state).items()):
        yield f"--- {table}"
        yield from sorted(map(repr, rows))


def database_rows(connection: apsw.Connection, scrub: Callable[[str], str]) -> Iterator[str]:
    """Every row of every table, in one order. What is packed is unpacked."""
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    ).fetchall()
    for (table,) in tables:
        yield f"--- {table}"
        rows = connection.execute(f'SELECT * FROM "{table}"')
        yield from sorted(scrub(repr(tuple(map(unpacked, row)))) for row in rows)


def unpacked(value: Any) -> Any:
    """A packed text as it was."""
    if isinstance(value, bytes):
        try:
            return zlib.decompress(value)
        except zlib.error:
            return value
    return value


def text_of(lines: Iterable[str]) -> str:
    """One line each."""
    return "".join(f"{line}\n" for line in lines)


def numbered(text: str, ids: dict[str, str]) -> str:
    """The text with a number for each id of a record, in the order in which they come; ids hold dice."""
    text = DEVICE.sub("<DEVICE>", text)
    return RECORD.sub(lambda match: ids.setdefault(match[0], f"<RECORD {len(ids) + 1}>"), text)


def known_only(text: str, ids: dict[str, str]) -> str:
    """The text with the numbers of ids that have one; others look all alike."""
    text = DEVICE.sub("<DEVICE>", text)
    return RECORD.sub(lambda match: ids.get(match[0], "<RECORD>"), text)
