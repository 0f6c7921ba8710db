"""Killed at any moment, damaged, older or newer: the next start serves what the files say. Nobody repairs anything."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tests.effort import cases
from tests.every import every
from tests.scenarios.index_dump import dump, index_file, rows, states
from tests.scenarios.outside import Outside, Running, at, until
from tests.warm import started, tell
from vault_memory.api.daemon_client import ask
from vault_memory.api.vault_memory import VaultMemory

NOTES = 1_000
WORDS = [
    first + second
    for first in ("ka", "mo", "ti", "re", "su", "lo")
    for second in ("ran", "bel", "dok", "mis", "fen")
]


def fill(vault: Path, seed: int, count: int = NOTES) -> None:
    """Notes of several kinds and scopes, with headings, bullets and paragraphs; the same for the same seed."""
    chance = random.Random(seed)
    for number in range(count):
        folder = chance.choice(
            ("memory", "groups/choir/memory", "Users/ann/memories", "Channels/harbour/memories")
        )
        name = (
            f"2026-{1 + number % 12:02}-{1 + number % 28:02}"
            if folder.startswith("Channels")
            else f"note {number}"
        )
        lines = [f"# Note {number}", ""]
        for section in range(chance.randrange(1, 4)):
            lines += [f"## {chance.choice(WORDS)} {section}", ""]
            lines += [
                f"- {' '.join(chance.choices(WORDS, k=8))} n{number}n"
                for _ in range(chance.randrange(1, 6))
            ]
        path = vault / folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def large_vault(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    outside = at(tmp_path_factory.mktemp("thousand"))
    fill(outside.vault, 1)
    long_ago = time.time() - 1000
    for note in outside.vault.rglob("*.md"):
        os.utime(note, (long_ago, long_ago))
    return outside


def fresh(outside: Outside) -> dict[str, set[object]]:
    """What an index holds that was built from these files just now, in a state of its own."""
    with VaultMemory.open(
        outside.vault,
        environment={
            "VAULT_MEMORY_STATE": str(outside.home / "afresh"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
        },
    ) as memory:
        memory.index()
        state = memory.vault.state.path
    found = dump(state)
    shutil.rmtree(outside.home / "afresh")
    return found


def size_of(path: Path) -> int:
    """In bytes; 0 for a file that is gone by now."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def kill_while_indexing(outside: Outside, chance: random.Random) -> str:
    """Start `index`, and kill it at a random moment of its work on the files. Gives where that was."""
    index = outside.home / "state"
    asked = ("--vault", str(outside.vault), "index", "--quiet")
    process, pid = started(
        *asked, environment=outside.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    target = chance.randrange(0, 3_000_000)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        written = sum(map(size_of, index.glob("*/index/*.sqlite*")))
        if written > target:
            break
        time.sleep(0.001)
    if process.poll() is None:
        tell(pid, signal.SIGKILL)
    _, err = process.communicate()
    assert b"Traceback" not in err
    return f"after {target} bytes"


def kill_repeatedly(outside: Outside, times: int, seed: int) -> None:
    chance = random.Random(seed)
    expected = fresh(outside)
    known = sorted(expected["notes"])
    changing = [outside.vault / path for path, *_ in chance.sample(known, 200)]
    outside.ok("index")
    for _ in range(times):
        if chance.random() < 0.5:
            shutil.rmtree(outside.home / "state")
        for note in chance.sample(changing, 100):
            note.write_text(note.read_text() + f"- one more line {chance.random()}\n")
        where = kill_while_indexing(outside, chance)

        word = chance.choice(WORDS)
        answer = outside.here("search", word, "--json", "--limit", "1000").json
        for hit in answer["hits"]:
            first, last = hit["lines"]
            lines = (outside.vault / hit["note"]).read_text().splitlines()[first - 1 : last]
            assert hit["text"] == "\n".join(lines), where
        assert answer["freshness"]["stale_files"] == []
        assert len(answer["hits"]) > 100, where
    outside.ok("index")
    assert dump(outside.state) == fresh(outside)


@pytest.mark.sampled
@pytest.mark.scenario("G117")
def test_an_indexing_run_killed_at_random_moments_converges(large_vault: Outside):
    kill_repeatedly(large_vault, cases(20), seed=int(time.time()))


@pytest.mark.deep
@pytest.mark.scenario("G117")
def test_an_indexing_run_killed_two_hundred_times_converges(large_vault: Outside):
    kill_repeatedly(large_vault, 200, seed=int(time.time()))


@pytest.mark.scenario("G117")
def test_after_a_kill_no_search_returns_text_missing_from_the_files(outside: Outside):
    note = outside.write("memory/a.md", "- a stork\n- a crane\n")
    outside.write("memory/b.md", "- a heron\n")
    with outside.daemon() as daemon:
        daemon.until_found("stork")
        daemon.kill()
        note.write_text("- a crane\n")
        (outside.vault / "memory" / "b.md").unlink()

        assert not outside.finds("stork")
        assert not outside.finds("heron")
        assert outside.finds("crane")
    with outside.daemon() as daemon:
        assert not daemon.finds("stork")
        assert daemon.finds("crane")


def test_a_note_unsettled_at_a_kill_settles_after_the_next_start(outside: Outside):
    outside.write("memory/0.md", "- a heron\n")
    with outside.daemon() as daemon:
        outside.write("memory/a.md", "- a stork\n")
        daemon.until_found("stork")
        daemon.kill()
    with outside.daemon():
        until(
            lambda: set(states(outside.state).values()) == {1}, says=lambda: states(outside.state)
        )


def test_a_deletion_pending_at_a_kill_is_decided_after_the_next_start(outside: Outside):
    outside.write("memory/0.md", "- a heron\n")
    note = outside.write("memory/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        note.unlink()
        until(lambda: daemon.stale() == ["memory/a.md"], says=daemon.stale)
        daemon.kill()
    with outside.daemon() as daemon:
        daemon.until_gone("stork")
        assert daemon.stale() == []


# --- Damage -----------------------------------------------------------------------------------------------------------


def noise(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(path.stat().st_size))


def truncated(path: Path, chance: random.Random) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path, chance: random.Random) -> None:
    os.truncate(path, 0)


def pages(path: Path, chance: random.Random) -> None:
    """Some pages are overwritten, but never the first."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(max(3, size // 4096 // 4)):
            file.seek(4096 * chance.randrange(1, size // 4096))
            file.write(chance.randbytes(4096))


def zeros(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        file.seek(4096 * 2)
        file.write(bytes(path.stat().st_size - 4096 * 2))


def deleted(path: Path, chance: random.Random) -> None:
    path.unlink()


def no_pointer(path: Path, chance: random.Random) -> None:
    (path.parent / "current").write_bytes(b"\x00nonsense")


DAMAGES = (noise, truncated, empty, pages, zeros, deleted, no_pointer)


@pytest.fixture(scope="module")
def small_index(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    outside = at(tmp_path_factory.mktemp("hundred"))
    fill(outside.vault, 2, 150)
    outside.ok("index")
    return outside


def damaged(outside: Outside, damage: Callable[[Path, random.Random], None], seed: int) -> None:
    file = index_file(outside.state)
    connection = apsw.Connection(str(file))
    connection.execute("SELECT count(*) FROM note").fetchall()
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    damage(file, random.Random(seed))


@pytest.mark.sampled
@pytest.mark.scenario("C45", "G117")
@every("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_search_rebuilds_a_damaged_index(
    small_index: Outside, damage: Callable[[Path, random.Random], None]
):
    expected = fresh(small_index)
    damaged(small_index, damage, seed=7)

    for word in (*WORDS[:6], "n77n"):
        answer = small_index.here("search", word, "--json")
        assert answer.code == 0, answer
        assert answer.json["hits"]
    small_index.ok("index")
    assert small_index.here("doctor", "--fix").code == 0
    assert dump(small_index.state) == expected


@pytest.mark.sampled
@pytest.mark.scenario("C45", "G117")
@pytest.mark.parametrize("damage", [noise, pages, zeros], ids=lambda damage: damage.__name__)
def test_a_running_daemon_rebuilds_a_damaged_index(
    small_index: Outside, damage: Callable[[Path, random.Random], None]
):
    expected = fresh(small_index)
    damaged(small_index, damage, seed=8)

    with small_index.daemon() as daemon:
        for word in (*WORDS[:6], "n77n"):
            assert daemon.search(word)["hits"]
        until(
            lambda: dump(small_index.state) == expected,
            pause=0.2,
            says="the index differs from the notes",
        )


@pytest.mark.scenario("C43", "G117")
def test_a_running_daemon_rebuilds_its_deleted_state(outside: Outside):
    outside.write("memory/a.md", "- a stork\n")
    with outside.daemon() as daemon:
        daemon.until_found("stork")
        shutil.rmtree(outside.state / "index")
        outside.write("memory/b.md", "- a crane\n")

        daemon.until_found("crane")
        assert daemon.finds("stork")


# --- Generations ------------------------------------------------------------------------------------------------------


@pytest.fixture
def running_daemon(outside: Outside) -> Iterator[Running]:
    fill(outside.vault, 3, 300)
    outside.write("memory/known.md", "- the lantern hangs on the third nail\n")
    with outside.daemon() as daemon:
        yield daemon


@pytest.mark.sampled
@pytest.mark.scenario("G118")
def test_during_repeated_rebuilds_each_search_finds_a_known_line(running_daemon: Running):
    outside = running_daemon.outside
    builders = [
        subprocess.Popen(
            outside.command("index", "--rebuild"),
            env=outside.environment,
            stdout=subprocess.DEVNULL,
        )
    ]
    started = rows(outside.state, "SELECT 1") and (outside.state / "index" / "current").read_text()
    searches = edits = 0
    while builders[-1].poll() is None or len(builders) < 4:
        if builders[-1].poll() is not None:
            builders.append(
                subprocess.Popen(
                    outside.command("index", "--rebuild"),
                    env=outside.environment,
                    stdout=subprocess.DEVNULL,
                )
            )
        answer = running_daemon.search("where does the lantern hang?", scopes=["group:main"])
        assert "third nail" in answer["hits"][0]["text"]
        assert answer["freshness"]["stale_files"] in ([], ["memory/edited.md"])
        searches += 1
        if searches % 20 == 0:
            edits += 1
            outside.write("memory/edited.md", f"- edit number e{edits}e\n")
    assert [builder.wait() for builder in builders] == [0] * len(builders)
    assert (outside.state / "index" / "current").read_text() != started
    assert searches > 50
    running_daemon.until_found(f"e{edits}e", seconds=5)
    until(
        lambda: dump(outside.state) == fresh(outside),
        pause=0.5,
        says="the index differs from the notes",
    )


@pytest.mark.scenario("G118")
def test_an_edit_during_a_rebuild_by_another_process_is_in_the_new_index(running_daemon: Running):
    """The daemon hears of the edit while the next generation is nearly done, and puts it into the old one."""
    outside = running_daemon.outside
    environment = {
        "VAULT_MEMORY_STATE": outside.environment["VAULT_MEMORY_STATE"],
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    with VaultMemory.open(outside.vault, environment=environment) as memory:
        indexing = memory.vault.indexing

        def build(index: object) -> None:
            indexing.ingest(index).scan()  # type: ignore[arg-type]
            outside.write("memory/edited.md", "- an owl on the gate\n")
            running_daemon.until_found("owl")
            until(lambda: states(outside.state)["memory/edited.md"] == 1, says="it never settled")

        indexing.generations.build(indexing.rules, build).close()

    running_daemon.until_found("owl", seconds=5)


@pytest.mark.scenario("G118")
def test_an_index_of_older_rules_serves_until_the_new_one_is_built(outside: Outside):
    fill(outside.vault, 4, 300)
    outside.write("memory/known.md", "- the lantern hangs on the third nail\n")
    outside.ok("index")
    with apsw.Connection(str(index_file(outside.state))) as connection:
        connection.execute("UPDATE meta SET value = 'of old' WHERE key = 'rules'")
    connection.close()
    assert (outside.state / "index" / "current").read_text() == "1"
    outside.settings["VAULT_MEMORY_LAYOUT_USER"] = "mira"
    outside.write("USER.md", "- a person\n")

    with outside.daemon(ready=False) as daemon:
        stop, found = threading.Event(), []

        def search() -> None:
            while not stop.is_set():
                answer = ask(
                    outside.socket, "search", {"query": "lantern", "scopes": ["group:main"]}
                )
                if answer is not None:
                    found.append("third nail" in answer["hits"][0]["text"])

        searching = threading.Thread(target=search)
        searching.start()
        try:
            until(
                lambda: (outside.state / "index" / "current").read_text() == "2", says=daemon.errors
            )
            daemon.until_found("a person")
        finally:
            stop.set()
            searching.join()
        assert found
        assert all(found)
        assert daemon.search("person", scopes=["user:mira"])["hits"]
        assert [path.name for path in (outside.state / "index").glob("index-*.sqlite")] == [
            "index-2.sqlite"
        ]
