"""Requests of `sync --once`, counted by the server: nothing changed, one line edited, one note edited elsewhere."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.place import Place
from benchmarks.table import Row
from tests.remote.servers import s3_stores
from tests.remote.servers.s3_proxy import S3Proxy
from tests.scenarios.cloud import Cloud, running_cloud
from tests.scenarios.outside import KEYWORDS_ONLY, Outside

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
    """Three rows, and one for the first upload, on a Nextcloud and on a bucket."""
    yield from _nextcloud_rows(place)
    yield from _bucket_rows(place)


def _nextcloud_rows(place: Place) -> Iterator[Row]:
    clock = _Later()
    with tempfile.TemporaryDirectory(dir=place.root) as folder, running_cloud(clock) as cloud:
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
        vault.write("memory/1/1.md", "# 1\n\n- the lamp of night 1\n- trimmed at nine\n")
        edit = _asked(vault, cloud)
        clock.seconds += 60
        _asked(vault, cloud)
        cloud.server.other_client_put(
            "Notes/memory/2/2.md", b"# 2\n\n- the lamp of night 2\n- seen from the ferry\n"
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
        f"{what}: one line edited here", "–", "2", f"{edit}", f"≤ {MOST_EDIT}", edit <= MOST_EDIT
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


def _bucket_rows(place: Place) -> Iterator[Row]:
    name = "s3-moto" if s3_stores.missing("s3-seaweed") else "s3-seaweed"
    store = s3_stores.start(name)
    try:
        with (
            tempfile.TemporaryDirectory(dir=place.root) as folder,
            S3Proxy(store.endpoint) as proxy,
        ):
            first, idle, edit = _bucket_requests(Path(folder), store, proxy)
    finally:
        store.stop()
    what = f"requests of `sync --once`, {NOTES} notes in a bucket of S3"
    most_first = NOTES + 2 * FOLDERS + MOST_EDIT
    yield Row(
        f"{what}: first upload", "–", f"{NOTES}", f"{first}", f"≤ {most_first}", first <= most_first
    )
    yield Row(f"{what}: nothing changed", "–", "1", f"{idle}", f"≤ {MOST_IDLE}", idle <= MOST_IDLE)
    yield Row(
        f"{what}: one line edited here", "–", "2", f"{edit}", f"≤ {MOST_EDIT}", edit <= MOST_EDIT
    )


def _bucket_requests(base: Path, store: s3_stores.S3Store, proxy: S3Proxy) -> tuple[int, int, int]:
    """Count the requests of the first upload, of a quiet pass, and of an edit."""
    folder, home = base / "vault", base / "home"
    folder.mkdir()
    home.mkdir()
    keys = {"AWS_ACCESS_KEY_ID": s3_stores.KEY_ID, "AWS_SECRET_ACCESS_KEY": s3_stores.SECRET}
    vault = Outside(folder, home, {**KEYWORDS_ONLY, **keys}, quick=True)
    added = vault.run("remote", "add", store.new_url(), "--endpoint", proxy.url)
    assert added.code == 0, added
    for number in range(NOTES):
        vault.write(f"{number % FOLDERS}/{number}.md", f"# {number}\n\n- the lamp\n")
    counts = []
    for _ in range(3):
        before = len(proxy.log)
        done = vault.run("sync", "--once")
        assert done.code == 0, done
        counts.append(len(proxy.log) - before)
        if len(counts) == 2:
            vault.write("1/1.md", "# 1\n\n- the lamp\n- trimmed at nine\n")
    return counts[0], counts[1], counts[2]
