"""Clients that people really use take the fake Nextcloud for a real one."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.remote.servers.nextcloud import Clock, FakeNextcloud


@pytest.fixture
def desktop(nextcloud: FakeNextcloud, nextcloud_url: str, tmp_path: Path) -> Callable[[], None]:
    """One run of Nextcloud's own client over ``tmp_path / "desktop"``."""
    if not shutil.which("nextcloudcmd"):
        pytest.skip("nextcloudcmd is not installed (Debian: nextcloud-desktop-cmd)")
    folder = tmp_path / "desktop"
    folder.mkdir()
    origin = nextcloud_url.partition("/remote.php")[0]
    who = ["-u", nextcloud.user, "-p", nextcloud.app_password]

    def run() -> None:
        done = subprocess.run(
            ["nextcloudcmd", "--non-interactive", *who, str(folder), origin],
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr[-2000:]

    return run


def notes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.md")}


def test_the_desktop_client_syncs_both_ways_by_tags_ids_and_bulk_upload(
    nextcloud: FakeNextcloud, clock: Clock, desktop: Callable[[], None], tmp_path: Path
) -> None:
    folder = tmp_path / "desktop"
    (folder / "topics").mkdir()
    for name in ("a.md", "b.md", "topics/café.md"):
        (folder / name).write_text(f"{name}\n")
    nextcloud.other_client_put("far/c.md", b"there\n")
    nextcloud.other_client_put("far/d.md", b"there\n")
    desktop()
    assert notes(folder) == nextcloud.files()
    assert "POST" in {seen.method for seen in nextcloud.log}

    clock.pass_(10)
    nextcloud.other_client_put("a.md", b"edited there\n")
    nextcloud.other_client_move("far/c.md", "moved.md")
    nextcloud.other_client_delete("far/d.md")
    (folder / "b.md").rename(folder / "renamed.md")
    number = nextcloud.tree.at("b.md").id
    desktop()
    assert notes(folder) == nextcloud.files()
    assert set(nextcloud.files()) == {"a.md", "renamed.md", "moved.md", "topics/café.md"}
    assert nextcloud.tree.at("renamed.md").id == number

    nextcloud.log.clear()
    desktop()
    assert [seen.path for seen in nextcloud.requests("PROPFIND")] == [nextcloud.dav_path]


def test_rclone_copies_in_both_directions(
    nextcloud: FakeNextcloud, nextcloud_url: str, tmp_path: Path
) -> None:
    if not shutil.which("rclone"):
        pytest.skip("rclone is not installed (Debian: rclone)")
    here, back = tmp_path / "here", tmp_path / "back"
    (here / "topics").mkdir(parents=True)
    (here / "topics" / "café.md").write_text("text\n")
    hidden = subprocess.run(
        ["rclone", "obscure", nextcloud.app_password],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()
    remote = f":webdav,vendor=nextcloud,url='{nextcloud_url}',user={nextcloud.user},pass={hidden}:"

    for source, target in ((str(here), remote), (remote, str(back))):
        command = ["rclone", "--config", "/dev/null", "copy", source, target]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    assert nextcloud.files() == notes(back) == notes(here)
    assert nextcloud.tree.file("topics/café.md").checksum.startswith("SHA1:")
