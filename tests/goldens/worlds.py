"""What is left of simulated worlds of sync: the server, the devices, and what each device knows of the server."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw

from tests.goldens.lives import Parts, text_of
from tests.sync.devices import Clock, Device
from tests.sync.test_world import any_run

STEPS = 150
TABLES = {
    "base": "SELECT path, hash, tag, remote_id FROM base",
    "uploads": "SELECT * FROM uploads",
    "behind": "SELECT * FROM behind",
    "info": "SELECT name, value FROM info",
}
"""What is asked of each table: nothing that holds an inode or a time of the real disk"""
DAY = timedelta(days=1)
COPIED = re.compile(r"\b\d{4}-\d\d-\d\d (?=\d{6}\b)")
"""The day in the name of a copy"""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+-]+|\b\d{9,}(?:\.\d+)?\b")


def world(seed: int, folder: Path) -> Parts:
    """The parts of a dump, of a world that is run in this folder."""
    # The server stamps files in whole seconds, and copies are named by their second: a run begins at the start of a
    # day, so that neither depends on when the test is run.
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    ended = any_run(folder, seed, STEPS, clock=Clock(midnight + 2 * DAY))
    parts: Parts = {"trace": text_of(ended.trace), "troubles": text_of(ended.troubles)}
    for device in ended.devices:
        parts[f"{device.name} files"] = files_part(device)
        parts[f"{device.name} sync"] = sync_part(device)
        device.stop()
    return {name: COPIED.sub("<DAY> ", text) for name, text in parts.items()}


def files_part(device: Device) -> str:
    """The files of a device."""
    return "".join(f"--- {path}\n{raw.decode()}\n" for path, raw in sorted(device.files().items()))


def sync_part(device: Device) -> str:
    """What the device knows, without inodes and times."""
    connection = apsw.Connection(str(device.state / "sync.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    lines = []
    try:
        for table, question in TABLES.items():
            rows = connection.execute(question).fetchall()
            lines += [f"--- {table}", *sorted(MOMENT.sub("<TIME>", repr(row)) for row in rows)]
    finally:
        connection.close()
    return text_of(lines)
