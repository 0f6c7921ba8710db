"""Other people's programs on the same folder: Nextcloud's own client, and rclone as somebody uses it by hand."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.remote.servers.front import Front
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.remote.servers.real import Server
from tests.sync.devices import Clock, Device
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.webdav import WebDav

PATIENCE_SECONDS = 120
AGED_SECONDS = 0.7
"""Between two passes: a tag of the server is relied on when it is two seconds old"""


@dataclass
class Other:
    """The other party's folder."""

    folder: Path
    run: Callable[[], None]

    def save(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def files(self) -> dict[str, bytes]:
        found = (
            path
            for path in self.folder.rglob("*")
            if path.is_file() and not path.name.startswith(".")
        )
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in found}


def step(device: Device) -> None:
    """As many passes as it takes, in the time of the real server."""
    for _ in range(15):
        time.sleep(AGED_SECONDS)
        device.clock.pass_by(61)
        if device.run_pass().quiet:
            return
    raise AssertionError("it does not come to an end")


@pytest.fixture
def cloud() -> Iterator[tuple[FakeNextcloud, str]]:
    fake = FakeNextcloud()
    with Front(fake) as front:
        yield fake, front.url


@pytest.fixture
def desktop(cloud: tuple[FakeNextcloud, str], base: Path) -> Other:
    if not shutil.which("nextcloudcmd"):
        pytest.skip("nextcloudcmd is not installed (Debian: nextcloud-desktop-cmd)")
    fake, origin = cloud
    folder = base / "desktop"
    folder.mkdir()
    command = [
        "nextcloudcmd",
        "--non-interactive",
        "-u",
        fake.user,
        "-p",
        fake.app_password,
        str(folder),
        origin,
    ]

    def run() -> None:
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(base)}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert done.returncode == 0, done.stderr[-2000:]

    return Other(folder, run)


@pytest.mark.sampled
def test_our_engine_and_the_desktop_client_share_a_folder(
    cloud: tuple[FakeNextcloud, str], desktop: Other, base: Path
):
    fake, origin = cloud
    device = Device(
        base,
        "laptop",
        Nextcloud(origin + fake.dav_path, Account(fake.user, fake.app_password)),
        Clock(),
    )
    device.save("USER.md", "## Tea\n\n- green\n")
    device.save("notes/ours.md", "- ours\n")
    desktop.save("theirs.md", "- theirs\n")
    desktop.save("notes/more.md", "- more\n")
    step(device)
    desktop.run()
    step(device)
    assert device.files() == desktop.files() == fake.files()
    assert len(device.files()) == 4

    device.save("USER.md", device.text("USER.md") + "- ours\n")
    desktop.save("USER.md", "## Boats\n\n- theirs\n\n## Tea\n\n- green\n")
    desktop.save("theirs.md", "- theirs\n- edited\n")
    (desktop.folder / "notes/more.md").rename(desktop.folder / "notes/moved.md")
    (device.vault / "notes/ours.md").unlink()
    desktop.run()
    step(device)
    step(device)
    desktop.run()
    step(device)

    assert device.files() == desktop.files() == fake.files()
    assert {"- green", "- ours", "- theirs"} <= set(device.text("USER.md").splitlines())
    assert set(device.files()) == {"USER.md", "theirs.md", "notes/moved.md"}


def test_an_edit_the_desktop_client_writes_over_ours_at_the_same_moment_is_merged(
    cloud: tuple[FakeNextcloud, str], desktop: Other, base: Path
):
    fake, origin = cloud
    device = Device(
        base,
        "laptop",
        Nextcloud(origin + fake.dav_path, Account(fake.user, fake.app_password)),
        Clock(),
    )
    device.save("USER.md", "## Tea\n\n- green\n")
    step(device)
    desktop.run()

    device.save("USER.md", "## Tea\n\n- green\n- ours\n")
    desktop.save("USER.md", "## Tea\n\n- green\n\n## Boats\n\n- theirs\n")
    device.run_pass(ask=False)
    desktop.run()
    step(device)
    desktop.run()
    step(device)

    everything = b"".join([*device.files().values(), *desktop.files().values()])
    assert b"- ours" in everything
    assert b"- theirs" in everything
    assert device.text("USER.md") == fake.files()["USER.md"].decode()


@pytest.mark.sampled
def test_our_engine_and_rclone_share_a_folder(base: Path, server_named: Callable[[str], Server]):
    if not shutil.which("rclone"):
        pytest.skip("rclone is not installed (Debian: rclone)")
    server = server_named("apache-digest")
    url = server.make_folder(f"rclone-{base.name}")
    hidden = subprocess.run(
        ["rclone", "obscure", server.password], capture_output=True, text=True, check=True
    )
    remote = f":webdav,url='{url}',user={server.user},pass={hidden.stdout.strip()}:"
    folder = base / "rclone"
    folder.mkdir()

    def rclone(*how: str) -> None:
        command = ["rclone", "--config", "/dev/null", "--checksum", *how]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_SECONDS)

    other = Other(folder, lambda: rclone("copy", remote, str(folder)))
    device = Device(base, "laptop", WebDav(url, Account(server.user, server.password)), Clock())
    device.save("USER.md", "## Tea\n\n- green\n")
    other.save("theirs.md", "- theirs\n")
    rclone("copy", str(folder), remote)
    step(device)
    other.run()
    assert device.files() == other.files()

    other.save("theirs.md", "- theirs\n- edited, longer\n")
    other.save("new/one.md", "- one\n")
    device.save("USER.md", "## Tea\n\n- green\n- ours\n")
    step(device)
    rclone("copy", f"{folder}/theirs.md", remote)
    rclone("copy", f"{folder}/new", f"{remote}new")
    rclone("moveto", f"{remote}new/one.md", f"{remote}new/two.md")
    step(device)
    step(device)
    other.run()

    assert device.text("theirs.md") == "- theirs\n- edited, longer\n"
    assert device.text("USER.md") == "## Tea\n\n- green\n- ours\n"
    assert set(device.files()) == {"USER.md", "theirs.md", "new/two.md"}
    assert {
        path: raw for path, raw in other.files().items() if path != "new/one.md"
    } == device.files()
