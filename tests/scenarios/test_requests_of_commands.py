"""How many requests `sync --once` makes: counted by the server, as another program's log would show them."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.cloud import Cloud, running_cloud
from tests.scenarios.outside import Outside

NOTES = 12


class Later:
    """The time of this machine, some seconds later."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return time.time() + self.seconds


@pytest.fixture
def clock() -> Later:
    return Later()


@pytest.fixture
def cloud(clock: Later) -> Iterator[Cloud]:
    with running_cloud(clock) as cloud:
        yield cloud


@pytest.fixture
def vault(cloud: Cloud, clock: Later, tmp_path: Path) -> Outside:
    """In step with the server for a while."""
    vault = cloud.vault(tmp_path)
    for number in range(NOTES):
        vault.write(f"memory/{number % 3}/{number}.md", f"# {number}\n\n- lamp {number}\n")
    assert vault.run("sync", "--once").code == 0
    clock.seconds = 60  # tags are old enough to be relied on
    assert vault.run("sync", "--once").code == 0
    return vault


def asked(vault: Outside, cloud: Cloud, *expected: tuple[str, int]) -> int:
    """Requests of one `sync --once`, by the server's log."""
    before = len(cloud.server.log)
    report = vault.ok("sync", "--once")
    assert {name: report[name] for name, _ in expected} == dict(expected)
    made = len(cloud.server.log) - before
    assert report["requests"] == made
    return made


def test_a_sync_without_changes_makes_one_request(vault: Outside, cloud: Cloud):
    assert asked(vault, cloud, ("uploaded", 0)) == 1
    assert asked(vault, cloud, ("uploaded", 0)) == 1


def test_a_sync_without_changes_makes_one_request_an_hour_later_too(vault: Outside, cloud: Cloud):
    later = f"{time.time() + 2 * 3600:.0f}"
    moment = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(float(later)))
    before = len(cloud.server.log)

    assert vault.run("sync", "--once", "--now", moment).code == 0

    assert len(cloud.server.log) - before == 1


def test_a_sync_of_an_edited_line_makes_at_most_three_requests(vault: Outside, cloud: Cloud):
    vault.write("memory/1/1.md", "# 1\n\n- lamp 1\n- and a gull\n")

    assert asked(vault, cloud, ("uploaded", 1)) <= 3
    assert cloud.files()["memory/1/1.md"].endswith(b"- and a gull\n")
    assert asked(vault, cloud, ("uploaded", 0)) == 1


def test_a_sync_of_a_new_note_makes_at_most_three_requests(vault: Outside, cloud: Cloud):
    vault.write("memory/1/new.md", "- a gull\n")

    assert asked(vault, cloud, ("uploaded", 1)) <= 3


def test_a_sync_of_an_edit_on_the_server_makes_at_most_three_requests(vault: Outside, cloud: Cloud):
    cloud.server.other_client_put("Notes/memory/1/1.md", b"# 1\n\n- lamp 1\n- a gull, seen there\n")

    assert asked(vault, cloud, ("downloaded", 1)) <= 3


def test_another_server_is_noticed_without_any_extra_request(vault: Outside, cloud: Cloud):
    cloud.server.back_up()
    cloud.server.other_client_put("Notes/memory/1/1.md", b"- later\n")
    assert vault.run("sync", "--once").code == 0

    cloud.server.restore_from_backup()
    before = len(cloud.server.log)
    done = vault.run("sync", "--once")

    assert done.code == 0
    assert b"- later\n" in cloud.files()["memory/1/1.md"]
    assert cloud.server.log[before].method == "PROPFIND"


def test_setting_up_leaves_nothing_in_the_persons_trash(outside: Outside, cloud: Cloud):
    file = cloud.password_file(outside.home)

    outside.ok("remote", "add", cloud.url, "--user", "mira", "--password-file", str(file))
    outside.ok("remote", "test")

    assert cloud.server.tree.trash == {}
    assert not any("probe" in path for path in cloud.server.folders())
