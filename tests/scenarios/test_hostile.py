"""Notes that were written to harm: they are bounded or parked, and their neighbours do not notice."""

import os
import resource
import time
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside, until

MEGABYTE = 1 << 20
NEST = 50_000

HOSTILE: dict[str, bytes] = {
    "bullets": b"".join(b"- b%d\n" % number for number in range(100_000)),
    "quotes": b">" * NEST + b" deep\n",
    "quotes with blanks": b"> " * NEST + b"deep\n",
    "brackets": b"[" * NEST + b"deep" + b"]" * NEST + b"\n",
    "links": b"[a](" * NEST + b"\n",
    "stars": b"*a_" * NEST + b"\n",
    "lists": b"- " * NEST + b"deep\n",
    "numbers": b"1. " * NEST + b"deep\n",
    "stairs": b"".join(b"  " * number + b"- deep\n" for number in range(700)),
    "headings": b"# h\n" * 100_000,
    "heading paths": b"".join(
        b"#" * (1 + number % 6) + b" h%d\n" % number for number in range(60_000)
    ),
    "fences": b"```\n" * 100_000,
    "tables": b"|a|b|\n|-|-|\n" + b"|" * 500_000 + b"\n",
    "rows": b"|a|b|\n|-|-|\n" + b"|x|y|\n" * 100_000,
    "comments": b"<!--" * 100_000 + b"\n",
    "html": b"<div>" * 100_000 + b"\n",
    "references": b"".join(b"[r%d]: /u\n" % number for number in range(50_000)),
    "one line": b"word " * 200_000 + b"\n",
    "one word": b"w" * (MEGABYTE - 1) + b"\n",
    "blank lines": b"\n" * (MEGABYTE - 1),
    "blanks": b" " * (MEGABYTE - 1) + b"\n",
    "tabs": b"\t" * (MEGABYTE - 1) + b"\n",
    "returns": b"\r" * (MEGABYTE - 1) + b"\n",
    "nuls": b"\x00" * (MEGABYTE - 1) + b"\n",
    "no utf-8": b"\xff\xfe" * 200_000 + b"\n",
    "random": os.urandom(500_000),
    "combining": "a\u0301\u0323".encode() * 100_000 + b"\n",
    "front matter": b"---\n" + b"a: &x [*x, *x]\n" * 30_000 + b"---\n- deep\n",
    "unclosed front matter": b"---\n" + b"key: value\n" * 60_000,
}


@pytest.mark.scenario("H122", "H121")
def test_hostile_notes_are_indexed_in_bounded_time_without_affecting_others(outside: Outside):
    for number, raw in enumerate(HOSTILE.values()):
        assert len(raw) <= MEGABYTE
        outside.write(f"memory/hostile{number}.md", raw)
    outside.write("memory/good.md", "- a stork in the reeds\n")

    started, before = (time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)
    assert outside.ok("index")["notes"] == len(HOSTILE) + 1
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 60, "in CPU seconds"

    answer = outside.search("stork in the reeds")
    assert answer["hits"][0]["note"] == "memory/good.md"
    assert len(outside.run("search", "deep", "--json").out) < 8 * MEGABYTE
    assert time.process_time() - started < 5, "this process did little"


@pytest.mark.scenario("H122", "F112")
def test_a_note_that_is_too_large_is_parked_and_reported(outside: Outside):
    outside.write("memory/good.md", "- a stork in the reeds\n")
    with (outside.vault / "memory" / "sparse.md").open("wb") as file:
        file.truncate(300 << 20)
    outside.write("memory/long.md", b"word " * (10 << 20))

    with outside.daemon() as daemon:
        parked = daemon.until_status(lambda status: len(status["index"]["parked"]) == 2)["index"][
            "parked"
        ]
        assert set(parked) == {"memory/sparse.md", "memory/long.md"}
        assert "314,572,800 bytes" in parked["memory/sparse.md"]
        assert daemon.finds("stork")
        with (outside.vault / "memory" / "sparse.md").open("r+b") as file:
            for _ in range(20):
                file.seek(0)
                file.write(b"- it changes again and again\n")
                file.flush()
        outside.write("memory/other.md", "- a crane\n")
        daemon.until_found("crane")
        pages = int(Path(f"/proc/{daemon.pid}/statm").read_text().split()[1])
        assert pages * os.sysconf("SC_PAGE_SIZE") < 200 * MEGABYTE
    warned = [
        check["reason"] for check in outside.ok("doctor")["checks"] if check["name"] == "parked"
    ]
    assert len(warned) == 2
    assert outside.run("read", "memory/sparse.md").code == 1


@pytest.mark.scenario("H122")
def test_a_hostile_save_does_not_delay_an_ordinary_one_for_long(outside: Outside):
    outside.write("memory/good.md", "- a stork in the reeds\n")
    with outside.daemon() as daemon:
        for name in ("quotes", "lists", "heading paths", "random"):
            outside.write("memory/bad.md", HOSTILE[name])
            word = name.replace(" ", "") + "bird"
            outside.write("memory/good.md", f"- a {word}\n")
            daemon.until_found(word, seconds=60)
        until(lambda: not daemon.stale(), says=daemon.stale)


@pytest.mark.scenario("H120")
def test_a_folder_swapped_for_a_symlink_exposes_nothing_outside_the_vault(outside: Outside):
    secret = outside.home / "secret"
    secret.mkdir()
    (secret / "a.md").write_text("- the word is swordfish\n")
    outside.write("memory/d/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        for _ in range(20):
            (outside.vault / "memory" / "d").rename(outside.home / "kept")
            (outside.vault / "memory" / "d").symlink_to(secret)
            assert not daemon.finds("swordfish")
            (outside.vault / "memory" / "d").unlink()
            (outside.home / "kept").rename(outside.vault / "memory" / "d")
        until(lambda: daemon.finds("stork") and not daemon.stale(), says=daemon.stale)
        (outside.vault / "memory" / "d").rename(outside.home / "kept")
        (outside.vault / "memory" / "d").symlink_to(secret)
        (secret / "b.md").write_text("- also swordfish\n")
        until(lambda: daemon.stale() == ["memory/d/a.md"], says=daemon.stale)
        assert not daemon.finds("swordfish")
    assert not outside.finds("swordfish")


@pytest.mark.scenario("H119", "H124")
@pytest.mark.parametrize(
    "name",
    ["..", "../home", "alice/../bob", "%2e%2e", "..\\x", "", " ", "alice\n", "*", "a" * 5000],
)
def test_no_scope_name_reaches_another_scope(outside: Outside, name: str):
    outside.write("Users/alice/memories/a.md", "- a stork\n")

    done = outside.here("search", "stork", "--json", f"--user={name}")

    assert done.code in (0, 2)
    assert not done.json.get("hits")


@pytest.mark.scenario("H120")
def test_no_pipe_or_device_is_ever_opened(outside: Outside):
    outside.write("memory/a.md", "- a stork\n")
    os.mkfifo(outside.vault / "memory" / "pipe.md")
    (outside.vault / "memory" / "null.md").symlink_to("/dev/zero")

    assert outside.finds("stork")
    assert outside.run("read", "memory/pipe.md").code == 1
    with outside.daemon() as daemon:
        os.mkfifo(outside.vault / "memory" / "pipe2.md")
        outside.write("memory/b.md", "- a crane\n")
        daemon.until_found("crane")
