"""The state folder cannot be written now: questions are answered from what is there, and writes wait."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from tests.scenarios.index_dump import index_file
from tests.scenarios.outside import Outside

FULL = """
mount -t tmpfs -o size=4m tmpfs "$1" && cp -a "$2/." "$1/" && shift 2 || exit 99
dd if=/dev/zero of="$FULL_DISK/filler" bs=4096 2>/dev/null
exec "$@"
"""


@pytest.fixture
def full(outside: Outside) -> list[str]:
    """What stands before a command for which the state folder lies on a full disk."""
    outside.write("USER.md", "## Tea\n\n- green tea\n")
    outside.ok("index", "--no-embed")
    outside.ok("append", "USER.md", "Tea", "white")
    state = Path(outside.environment["VAULT_MEMORY_STATE"])
    saved = state.with_name("saved")
    state.rename(saved)
    state.mkdir()
    if os.system(
        f"unshare --user --map-root-user --mount mount -t tmpfs tmpfs {state} 2>/dev/null"
    ):
        pytest.skip("no disk can be mounted here")
    outside.settings["FULL_DISK"] = str(state)
    return [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        FULL,
        "sh",
        str(state),
        str(saved),
    ]


def test_with_a_full_disk_a_search_still_answers_and_names_newer_notes(
    outside: Outside, full: list[str]
) -> None:
    outside.write("memory/new.md", "- a stork\n" * 4000)

    done = outside.run("search", "green", "--json", before=full)

    assert done.code == 0, done
    assert {hit["note"] for hit in done.json["hits"]} == {"USER.md"}
    assert "memory/new.md" in done.json["freshness"]["stale_files"]


@pytest.mark.sampled
def test_with_a_full_disk_status_is_still_reported(outside: Outside, full: list[str]) -> None:
    outside.write("memory/new.md", "- a stork\n")

    done = outside.run("status", "--json", before=full)

    assert done.code == 0, done
    assert done.json["index"]["notes"] == 1
    assert done.json["index"]["stale_files"] == ["memory/new.md"]


def test_with_a_full_disk_a_write_that_is_not_kept_exits_with_1(
    outside: Outside, full: list[str]
) -> None:
    done = outside.run("append", "USER.md", "Tea", "oolong", "--json", before=full)

    assert done.code == 1, done
    assert "space" in done.error["hint"]
    assert "oolong" not in (outside.vault / "USER.md").read_text()


def test_with_a_full_disk_indexing_reports_the_full_disk(outside: Outside, full: list[str]) -> None:
    outside.write("memory/new.md", "- a stork\n" * 4000)

    done = outside.run("index", "--no-embed", "--json", before=full)

    assert done.code == 1, done
    assert "full" in done.error["message"]


@contextmanager
def busy(outside: Outside) -> Iterator[None]:
    """Another process writes into the index for long."""
    with closing(apsw.Connection(str(index_file(outside.state)))) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


def test_during_a_long_write_a_search_still_answers_and_names_newer_notes(outside: Outside) -> None:
    outside.write("USER.md", "- green tea\n")
    outside.ok("index", "--no-embed")
    outside.write("memory/new.md", "- a stork\n")

    with busy(outside):
        answer = outside.search("green")
        context = outside.ok("context", "green", "--user", "main")

    assert [hit["note"] for hit in answer["hits"]] == ["USER.md"]
    assert answer["freshness"]["stale_files"] == ["memory/new.md"]
    assert "green tea" in context["text"]
    assert outside.search("stork")["freshness"]["stale_files"] == []


def test_during_a_long_write_indexing_asks_to_be_retried(outside: Outside) -> None:
    outside.write("USER.md", "- green tea\n")
    outside.ok("index", "--no-embed")
    outside.write("memory/new.md", "- a stork\n")

    with busy(outside):
        done = outside.run("index", "--no-embed", "--json")

    assert done.code == 1
    assert "bug" not in done.out
    assert "again" in done.error["hint"]
