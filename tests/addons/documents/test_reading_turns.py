"""A daemon reads documents in a process beside it: saves and questions do not wait, and nothing is lost."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.addons.documents import pdfs
from tests.addons.documents.conftest import MIRA
from tests.scenarios.outside import Outside, Running, until
from vault_memory.addons.documents import companion, reading_turns
from vault_memory.addons.documents.document_index import DocumentIndex, Source, waiting
from vault_memory.addons.documents.reading_turns import LOOK_SECONDS, ReadingTurns, look_seconds
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.service.background_turns import close_connections
from vault_memory.service.service_vault import UNFINISHED_SECONDS

WHERE = {"scopes": ["user:mira"]}
LONG = pdfs.of_pages(["\n".join(["the keeper wrote a line"] * 40)] * 3_000)


@pytest.fixture
def turns(memory: VaultMemory) -> Iterator[ReadingTurns]:
    turns = ReadingTurns(memory.vault, tell=lambda line: None)
    yield turns
    turns.close()


linux = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")


def reading(daemon: Running, module: str) -> list[int]:
    """The processes of this daemon, not at their end, that run a module of the add-on."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            state, parent, group = (folder / "stat").read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if module.encode() not in command or state in "ZX":
            continue
        # The process that reads leads the group of its worker, and loses its parent with the daemon.
        if int(parent) == daemon.pid or int(group) in GROUPS:
            GROUPS.add(int(group))
            found.append(int(folder.name))
    return found


GROUPS: set[int] = set()
"""Those of the readings that a test has seen"""


def until_reading(daemon: Running) -> int:
    """The worker that reads a document now."""
    GROUPS.clear()
    until(lambda: reading(daemon, "reading_process"), pause=0.001, says="nothing reads")
    return until(lambda: reading(daemon, "pdf_worker"), pause=0.001, says="no worker reads")[0]


def test_a_turn_reads_what_is_new_and_the_next_has_nothing_to_do(
    vault: Outside, memory: VaultMemory, turns: ReadingTurns
):
    assert turns.reading_turn() == LOOK_SECONDS
    vault.write(f"{MIRA}/lease.pdf", pdfs.of_pages(["the turbidity clause"]))
    vault.write(f"{MIRA}/harbour.jpg", b"x")

    assert turns.reading_turn() == LOOK_SECONDS
    assert memory.search("turbidity", scopes=["user:mira"]).hits[0].heading == ("page 1",)

    (vault.vault / MIRA / "harbour.jpg").unlink()
    turns.reading_turn()
    with DocumentIndex(Source.of(memory.vault)).opened() as index:
        assert index is not None
        assert list(index.files()) == [f"{MIRA}/lease.pdf"]


def test_a_host_may_close_a_vault_between_two_looks():
    assert LOOK_SECONDS > UNFINISHED_SECONDS


def test_many_open_vaults_are_looked_at_less_often(memory: VaultMemory):
    turns = [ReadingTurns(memory.vault, tell=lambda line: None) for _ in range(6)]
    pauses = []
    for each in turns:
        pauses.append(look_seconds())
        each.close()

    assert pauses == [4 * LOOK_SECONDS] * 3 + [3 * LOOK_SECONDS, 2 * LOOK_SECONDS, LOOK_SECONDS]


def test_a_process_that_fails_is_not_started_again_at_once(
    vault: Outside, turns: ReadingTurns, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reading_turns, "PROCESS", "tests.addons.documents.no_such_module")
    vault.write(f"{MIRA}/lease.pdf", pdfs.of_pages(["x"]))

    assert turns.reading_turn() == reading_turns.RETRY_SECONDS


def test_turns_that_are_closed_start_no_process(vault: Outside, memory: VaultMemory):
    vault.write(f"{MIRA}/lease.pdf", pdfs.of_pages(["x"]))
    with ExitStack() as closing:
        [(lane, turn)] = companion.turns(memory.vault, closing, lambda line: None)
        assert lane.name == "documents"

    assert turn() == float("inf")
    close_connections(memory)


@linux
@pytest.mark.sampled
def test_a_daemon_reads_documents_beside_saves_and_after_it_was_killed(outside: Outside):
    outside.write(f"{MIRA}/2026-01-03.md", "- the ferry was late\n")
    outside.write(f"{MIRA}/small.pdf", pdfs.of_pages(["the turbidity clause"]))
    for number in range(3):
        outside.write(f"{MIRA}/long {number}.pdf", LONG + b"%" * number)
    with outside.daemon() as daemon:
        # The small one is read first, and found while the long ones are read.
        until(lambda: daemon.search("turbidity", **WHERE)["hits"], says="it is not read")
        until_reading(daemon)
        outside.write(f"{MIRA}/2026-01-04.md", "- a zebra was seen on the mole\n")
        daemon.until_found("zebra")
        stale = daemon.search("long", **WHERE)["freshness"]["stale_files"]
        daemon.kill()
        until(lambda: not reading(daemon, "addons.documents"), says="it outlived its daemon")
    assert f"{MIRA}/long 2.pdf" in stale

    with outside.daemon() as daemon:
        # The reader gives way to whatever else runs on a busy machine.
        until(lambda: not daemon.search("long", **WHERE)["freshness"]["stale_files"], seconds=600)
        assert daemon.search("keeper wrote", **WHERE)["hits"][0]["kind"] == "document"
        code, _ = daemon.stop()
    assert code == 0


@linux
@pytest.mark.sampled
def test_a_worker_that_is_killed_spoils_neither_daemon_nor_index(outside: Outside):
    outside.write(f"{MIRA}/2026-01-03.md", "- the ferry was late\n")
    outside.write(f"{MIRA}/long.pdf", LONG)
    with outside.daemon() as daemon:
        os.kill(until_reading(daemon), signal.SIGKILL)
        until(lambda: not daemon.search("long", **WHERE)["freshness"]["stale_files"])
        hit = daemon.search("long", **WHERE)["hits"][0]
        assert "too much memory" in hit["text"]
        assert daemon.finds("ferry")


@linux
def test_a_daemon_ends_at_once_while_a_document_is_read(outside: Outside):
    outside.write(f"{MIRA}/long.pdf", LONG)
    with outside.daemon() as daemon:
        until_reading(daemon)
        code, _ = daemon.stop()
        assert code == 0
        assert not reading(daemon, "addons.documents")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        documents = DocumentIndex(Source.of(memory.vault))
        with documents.opened() as index:
            assert index is not None
            assert waiting(index) == [f"{MIRA}/long.pdf"]
