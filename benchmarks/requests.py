"""Requests of `sync --once`, counted by the server: nothing changed, one line edited, one note edited elsewhere."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.place import Place
from benchmarks.table import Row
from tests.scenarios.cloud import Cloud, running_cloud
from tests.scenarios.outside import Outside

NOTES = 250
FOLDERS = 10
MOST_IDLE = 1
MOST_EDIT = 3


class _Later:
    """The time of this machine, some seconds later: tags become old enough to be relied on without waiting."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return time.time() + self.seconds


def rows(place: Place) -> Iterator[Row]:
    """Three rows, and one for the first upload."""
    clock = _Later()
    with (
        tempfile.TemporaryDirectory(dir=place.root) as folder,
        running_cloud(clock) as cloud,
    ):
        vault = cloud.vault(Path(folder))
        for number in range(NOTES):
            vault.write(
                f"memory/{number % FOLDERS}/{number}.md",
                f"# {number}\n\n- the lamp of night {number}\n",
            )
        first = _asked(vault, cloud)
        clock.seconds += 60
        _asked(vault, cloud)
        idle = _asked(vault, cloud)
        vault.write(
            "memory/1/1.md", "# 1\n\n- the lamp of night 1\n- trimmed at nine\n"
        )
        edit = _asked(vault, cloud)
        clock.seconds += 60
        _asked(vault, cloud)
        cloud.server.other_client_put(
            "Notes/memory/2/2.md",
            b"# 2\n\n- the lamp of night 2\n- seen from the ferry\n",
        )
        theirs = _asked(vault, cloud)
    what = f"requests of `sync --once`, {NOTES} notes on a Nextcloud"
    yield Row(f"{what}: first upload", "desktop client: 3", "–", f"{first}", "–", None)
    yield Row(
        f"{what}: nothing changed",
        "desktop client: 5",
        "1",
        f"{idle}",
        f"≤ {MOST_IDLE}",
        idle <= MOST_IDLE,
    )
    yield Row(
        f"{what}: one line edited here",
        "–",
        "2",
        f"{edit}",
        f"≤ {MOST_EDIT}",
        edit <= MOST_EDIT,
    )
    yield Row(
        f"{what}: one line edited there",
        "–",
        "3",
        f"{theirs}",
        f"≤ {MOST_EDIT}",
        theirs <= MOST_EDIT,
    )


def _asked(vault: Outside, cloud: Cloud) -> int:
    before = len(cloud.server.log)
    done = vault.run("sync", "--once")
    assert done.code == 0, done
    return len(cloud.server.log) - before
