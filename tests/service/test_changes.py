"""A client that waits for changes learns of each one, once search finds it, and delays no other call."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.every import every
from tests.scenarios.outside import PATIENCE_SECONDS, Outside, Running, at, until, without_watches
from vault_memory.api import daemon_changes, read_request
from vault_memory.api.daemon_changes import ChangeFeed, changes
from vault_memory.api.daemon_client import DaemonRefused, ask
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.contract.calls import SOCKET_CALLS
from vault_memory.contract.requests import ChangesCall
from vault_memory.errors import UsageError
from vault_memory.service.upkeep import waiting_clients
from vault_memory.service.upkeep.waiting_clients import MOST_CHANGES, ChangeRing


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    outside = at(tmp_path_factory.mktemp("changes"))
    outside.write("USER.md", "# Me\n\n## Birds\n\n- an old line about kestrels\n")
    (outside.vault / "memory").mkdir()
    with outside.daemon() as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon on a busy computer needs longer for an answer than a client waits."""
    monkeypatch.setattr(daemon_changes, "PATIENCE_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def memory(running: Running) -> Iterator[VaultMemory]:
    with opened(running.outside) as memory:
        yield memory


def opened(outside: Outside) -> VaultMemory:
    return VaultMemory.open(outside.vault, environment=outside.environment)


def lost_id(memory: VaultMemory) -> str:
    """The id of a loss, if there is one soon."""
    present = changes(memory)
    assert present is not None
    answer = changes(memory, present.id, 5)
    assert answer is not None
    return answer.id if answer.lost else ""


def present(memory: VaultMemory) -> str:
    """The id after which nothing was told for a while."""
    since = ""
    while True:
        answer = changes(memory, since, 0.3)
        assert answer is not None
        if since and not answer.notes and not answer.lost:
            return answer.id
        since = answer.id


def names_note_and_audit(notes: set[str]) -> bool:
    return "USER.md" in notes and any(note.startswith("USER.md.audit") for note in notes)


def told(memory: VaultMemory, since: str, fits: Callable[[set[str]], bool]) -> set[str]:
    """The notes that are told after `since`, until they fit."""
    notes: set[str] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not fits(notes):
        assert time.monotonic() < deadline, f"only these were told: {notes}"
        answer = changes(memory, since, 5)
        assert answer is not None
        assert not answer.lost
        notes.update(answer.notes)
        since = answer.id
    return notes


# ---- with a real daemon ----------------------------------------------------------------


def test_a_save_is_told_when_search_finds_it(running: Running, memory: VaultMemory):
    outside = running.outside
    since = present(memory)
    for number in range(10):
        word = f"dunlin{number}"
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(changes, memory, since, 15)
            outside.write("memory/birds.md", f"- a {word}\n")
            answer = waiting.result()

        assert answer is not None
        assert answer.notes == ("memory/birds.md",)
        # The index as it is: a question to the daemon would wait for the save.
        found = memory.search(word, scopes=["group:main"], refresh=False)
        assert found.hits, "it was told before it could be found"
        since = answer.id


def test_a_note_that_was_deleted_is_told(running: Running, memory: VaultMemory):
    note = running.outside.write("memory/gone.md", "- a bittern\n")
    running.until_found("bittern")
    since = present(memory)

    note.unlink()

    assert told(memory, since, bool) == {"memory/gone.md"}
    assert not running.finds("bittern")


def test_an_op_and_its_audit_record_are_told(running: Running, memory: VaultMemory):
    since = present(memory)

    edit = memory.apply(
        "USER.md", [{"op": "append", "heading": "Birds", "line": "a curlew"}], source="cli"
    )

    assert edit.changed
    notes = told(memory, since, lambda notes: any("audit" in note for note in notes)) | told(
        memory, since, lambda notes: "USER.md" in notes
    )
    assert {note.partition(".")[0] for note in notes} == {"USER"}


def test_a_folder_that_is_moved_into_the_vault_is_told(
    running: Running, memory: VaultMemory, tmp_path: Path
):
    folder = tmp_path / "sandpipers"
    folder.mkdir()
    (folder / "wood.md").write_text("- a wood sandpiper\n")
    since = present(memory)

    folder.rename(running.outside.vault / "memory" / "sandpipers")

    assert "memory/sandpipers/wood.md" in told(memory, since, bool)


def test_a_wait_ends_in_time_and_without_a_change(memory: VaultMemory):
    since = present(memory)
    began = time.monotonic()

    answer = changes(memory, since, 0.5)

    assert answer is not None
    assert answer == (since, (), False)
    assert time.monotonic() - began >= 0.5


def test_twelve_clients_that_wait_all_learn_of_a_save_and_search_goes_on(
    running: Running, memory: VaultMemory
):
    since = present(memory)
    with ThreadPoolExecutor(12) as threads:
        waiting = [threads.submit(changes, memory, since, 15) for _ in range(12)]
        assert running.finds("kestrels"), "a search is answered while they wait"
        assert not any(answer.done() for answer in waiting)
        running.outside.write("memory/twelve.md", "- a dozen knots\n")
        answers = [answer.result() for answer in waiting]

    assert {answer.notes for answer in answers if answer} == {("memory/twelve.md",)}


def test_a_feed_that_is_closed_does_not_wait_for_the_daemon(memory: VaultMemory):
    feed = ChangeFeed(memory)
    since = present(memory)
    with ThreadPoolExecutor(1) as thread:
        began = time.monotonic()
        waiting = thread.submit(feed.ask, since, 15)
        threading.Timer(0.3, feed.close).start()

        assert waiting.result() is None

    assert time.monotonic() - began < 15, "it waited for the daemon"
    assert feed.ask() is None


@every(
    "arguments",
    [{"wait": 16}, {"wait": -1}, {"wait": "x"}, {"since": 3}, {"since": "x" * 101}, {"x": 1}],
    ids=str,
)
def test_wrong_arguments_are_refused(running: Running, arguments: dict[str, Any]):
    with pytest.raises(DaemonRefused) as refused:
        ask(running.outside.socket, "changes", arguments)

    assert refused.value.code == "usage_error"


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_client_of_an_earlier_daemon_learns_that_it_lost_changes(
    outside: Outside, is_killed: bool
):
    outside.write("USER.md", "- tea\n")
    with outside.daemon() as first, opened(outside) as memory:
        since = present(memory)
        first.kill() if is_killed else first.stop()
        assert changes(memory, since, 15) is None
        with outside.daemon():
            answer = changes(memory, since, 15)

            assert answer is not None
            assert answer.lost
            assert not answer.notes
            assert answer.id != since


def test_a_daemon_that_is_told_to_stop_lets_its_clients_go_at_once(outside: Outside):
    outside.write("USER.md", "- tea\n")
    with outside.daemon() as daemon, opened(outside) as memory:
        since = present(memory)
        with ThreadPoolExecutor(12) as threads:
            waiting = [threads.submit(changes, memory, since, 15) for _ in range(12)]
            until(lambda: all(answer.running() for answer in waiting))
            time.sleep(0.2)
            code, seconds = daemon.stop()
            answers = [answer.result() for answer in waiting]

        assert code == 0
        assert seconds < 15, "the clients would wait for so long"
        assert not any(answer is not None and answer.notes for answer in answers)


@pytest.mark.sampled
def test_a_polled_vault_tells_of_notes_and_audit_files(outside: Outside):
    """Each poll scans the vault, which must not mean that clients read all of it again."""
    outside.write("USER.md", "# Me\n\n## Birds\n\n- a knot\n")
    # One watch is free, and this is the second folder.
    (outside.vault / "memory").mkdir()
    op = {"op": "append", "heading": "Birds"}
    with (
        outside.daemon(before=without_watches(), WATCH_POLL_SECONDS="0.5") as daemon,
        opened(outside) as memory,
    ):
        assert daemon.ask("status")["watcher"]["mode"] == "polling"
        memory.apply("USER.md", [op | {"line": "a kestrel"}], source="cli")
        # The first poll with a client has no earlier one to compare with.
        since = until(lambda: lost_id(memory))

        edit = memory.apply("USER.md", [op | {"line": "a tern"}], source="cli")
        # A note that is in use at first is written later.
        until(lambda: edit.changed or memory.edits.process_due() or not memory.edits.waiting())

        told(memory, since, names_note_and_audit)


# ---- the ring --------------------------------------------------------------------------


def ring_with(*paths: str) -> ChangeRing:
    ring = ChangeRing()
    for path in paths:
        ring.stage([path])
        ring.publish()
    return ring


def test_a_note_that_changed_twice_is_named_once():
    ring = ring_with()
    since = ring.answer(ChangesCall())["id"]
    for path in ("b.md", "a.md", "b.md"):
        ring.stage([path])
        ring.publish()

    answer = ring.answer(ChangesCall(since, 15))

    assert answer["notes"] == ["b.md", "a.md"]
    assert not answer["lost"]


def test_a_client_that_missed_more_than_the_ring_remembers_is_told_so():
    ring = ring_with("a.md")
    since = ring.answer(ChangesCall())["id"]
    ring.stage(f"{number}.md" for number in range(MOST_CHANGES))
    ring.publish()
    assert len(ring.answer(ChangesCall(since))["notes"]) == MOST_CHANGES

    ring.stage(["one-more.md"])
    ring.publish()

    answer = ring.answer(ChangesCall(since))
    assert answer["lost"]
    assert not answer["notes"]
    assert not ring.answer(ChangesCall(answer["id"]))["lost"]


def test_after_a_loss_every_earlier_id_is_lost():
    ring = ring_with("a.md", "b.md")
    since = ring.answer(ChangesCall())["id"]

    ring.stage_loss()
    ring.stage(["c.md"])
    ring.publish()

    assert ring.answer(ChangesCall(since))["lost"]


@every("end", ["-", "-1x", "- 1", "-+1", "--1", "-²", "-7", "-" + "9" * 80, ""])
def test_an_id_that_this_ring_never_gave_is_lost(end: str):
    ring = ring_with("a.md")
    name = ring.answer(ChangesCall())["id"].partition("-")[0]

    assert ring.answer(ChangesCall(name + end, 15))["lost"]


def test_one_client_too_many_is_answered_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(waiting_clients, "MOST_WAITING", 2)
    ring = ring_with()
    call = ChangesCall(ring.answer(ChangesCall())["id"], 15)
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(ring.answer, call) for _ in range(2)]
        until(lambda: ring._waiting == 2)

        assert ring.answer(call)["notes"] == []

        assert not any(answer.done() for answer in waiting)
        ring.close()
        assert [answer.result()["notes"] for answer in waiting] == [[], []]
    assert ring.answer(call)["notes"] == [], "a closed ring keeps no client"


def test_a_wait_longer_than_allowed_is_refused():
    with pytest.raises(UsageError):
        read_request.read({"wait": 15.5}, SOCKET_CALLS["changes"], "changes")
