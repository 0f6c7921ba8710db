"""In a host, questions about a vault reach its upkeep without a socket."""

from collections.abc import Iterator

import pytest

from tests.scenarios.outside import Outside, at
from tests.service.upkeep_here import upkeep_here
from vault_memory.api import query_or_local
from vault_memory.api.daemon_client import DaemonRefused, ask, is_answered_here
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.vault.marker import ensure_marker

NOTE = "USER.md"


@pytest.fixture
def outside(tmp_path) -> Outside:
    place = at(tmp_path)
    place.write(NOTE, "## About\n\n- Keeps bees\n")
    ensure_marker(place.vault)
    return place


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        yield memory


def search(memory: VaultMemory, query: str):
    return query_or_local.search(memory, query, scopes=None, options={})


def test_a_search_gets_the_answer_that_a_daemon_would_give(outside: Outside, memory: VaultMemory):
    alone = search(memory, "bees")

    with upkeep_here(memory):
        here = search(memory, "bees")
        assert [hit["text"] for hit in here["hits"]] == [hit["text"] for hit in alone["hits"]]
        assert [hit["score"] for hit in here["hits"]] == [hit["score"] for hit in alone["hits"]]
        # A save of another program is found at once.
        outside.write(NOTE, "## About\n\n- Keeps bees\n- Feeds a heron\n")
        assert "heron" in search(memory, "heron")["hits"][0]["text"]


def test_a_search_does_not_read_the_vault_itself(memory: VaultMemory, monkeypatch):
    """A host has thousands of vaults: a search must not scan one."""
    with upkeep_here(memory):
        monkeypatch.setattr(memory, "refresh", None)

        assert search(memory, "bees")["hits"]
        assert query_or_local.context(
            memory, "Who keeps bees?", scopes=memory.scopes(), options={}
        )["text"]
        assert query_or_local.all_scopes(memory) == memory.scopes()


def test_the_vault_answers_for_itself_afterwards(outside: Outside, memory: VaultMemory):
    socket = memory.vault.state.socket
    with upkeep_here(memory):
        assert is_answered_here(socket)
        assert ask(socket, "vitals", {})

    assert not is_answered_here(socket)
    assert ask(socket, "vitals", {}) is None
    assert search(memory, "bees")["hits"]


def test_another_vault_is_not_answered(memory: VaultMemory, tmp_path):
    with upkeep_here(memory):
        assert ask(tmp_path / "daemon.sock", "vitals", {}) is None


def test_a_wrong_question_is_refused_like_over_a_socket(memory: VaultMemory):
    with upkeep_here(memory):
        for call, arguments in (("search", {"query": 7}), ("nothing", {})):
            with pytest.raises(DaemonRefused) as raised:
                ask(memory.vault.state.socket, call, arguments)
            assert raised.value.code == "usage_error"
            assert raised.value.exit_code == 2
