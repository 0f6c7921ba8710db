"""A question without a daemon waits for no hostile note: it names those that it has not read."""

import json

import pytest

from tests.mcp.vaults import ALICE
from tests.scenarios.outside import Outside, outside
from vault_memory import VaultMemory
from vault_memory.contract.requests import ContextArguments, SearchArguments
from vault_memory.ingest.large_notes import STEPS_OF_A_QUESTION
from vault_memory.mcp import tool_calls
from vault_memory.mcp.http_session import Serving

__all__ = ["outside"]

FOLDER = "Users/alice/memories/"
LINES = "\n" * (STEPS_OF_A_QUESTION + 1)
"""More than a question reads. Empty lines cost these tests little, and count like others."""


@pytest.fixture
def indexed_vault(outside: Outside) -> Outside:
    """A vault that has an index."""
    outside.write(f"{FOLDER}small.md", "- The ferry leaves at noon\n")
    outside.run("index")
    return outside


@pytest.mark.parametrize("command", ["search", "context"])
def test_a_search_is_answered_before_hostile_notes_are_read(indexed_vault: Outside, command: str):
    hostile = [f"{FOLDER}hostile {number}.md" for number in range(3)]
    for number, note in enumerate(hostile):
        indexed_vault.write(note, f"{LINES}- the heron {number}\n")
    indexed_vault.write(f"{FOLDER}small.md", "- The ferry leaves at dusk\n")

    done = indexed_vault.run(command, "ferry", "--user", "alice", "--json")

    assert "at dusk" in done.out
    assert done.json["freshness"]["stale_files"] == hostile
    indexed_vault.run("index")
    assert indexed_vault.run("search", "heron", "--json").json["freshness"]["stale_files"] == []
    assert {
        hit["note"] for hit in indexed_vault.run("search", "heron", "--json").json["hits"]
    } == set(hostile)


def test_an_ordinary_large_note_is_found_at_once(indexed_vault: Outside):
    lines = "".join(
        f"- The keeper wrote line {number} about the weather and the sea\n"
        for number in range(15_000)
    )
    indexed_vault.write(f"{FOLDER}diary.md", f"{lines}- A heron landed\n")

    done = indexed_vault.run("search", "heron", "--json")

    assert done.json["hits"][0]["note"] == f"{FOLDER}diary.md"
    assert done.json["freshness"]["stale_files"] == []


def test_several_large_notes_are_indexed_over_several_searches(indexed_vault: Outside):
    notes = [f"{FOLDER}diary {number}.md" for number in range(3)]
    for number, note in enumerate(notes):
        indexed_vault.write(note, f"- heron {number}\n" + "\n" * (STEPS_OF_A_QUESTION * 2 // 3))

    stale = [
        indexed_vault.run("search", "heron", "--json").json["freshness"]["stale_files"]
        for _ in range(3)
    ]

    assert stale == [notes[1:], notes[2:], []]


def test_a_server_without_a_daemon_reads_no_hostile_note(indexed_vault: Outside):
    indexed_vault.write(f"{FOLDER}hostile.md", LINES)

    with VaultMemory.open(indexed_vault.vault, environment=indexed_vault.environment) as memory:
        serving = Serving(memory, ALICE)
        answers = [
            tool_calls.search(serving, SearchArguments("ferry")),
            tool_calls.context(serving, ContextArguments("ferry")),
        ]

    for answered in answers:
        assert "at noon" in json.dumps(answered.answer)
        assert answered.answer["freshness"]["stale_files"] == [f"{FOLDER}hostile.md"]


def test_forgetting_in_a_half_indexed_note_is_complete(indexed_vault: Outside):
    indexed_vault.run("search", "ferry")
    indexed_vault.write(f"{FOLDER}small.md", "- The ferry leaves at noon\n" + LINES)
    indexed_vault.run("search", "ferry")

    done = indexed_vault.run("forget", "The ferry leaves at noon", "--yes", "--json")

    assert done.json["remaining"] == 0
    assert indexed_vault.run("search", "ferry", "--json").json["hits"] == []
