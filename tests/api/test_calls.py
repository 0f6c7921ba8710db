"""What every call of `VaultMemory` has in common: closed vaults, wrong scopes, and the parts it is made of."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vault_memory import Caller, UsageError, VaultMemory, VaultMemoryError
from vault_memory.api import json_contract
from vault_memory.config.sections import Config, EmbeddingSettings
from vault_memory.contract import as_json

Call = Callable[[VaultMemory], Any]
ALICE = ["user:alice"]
NOTE = "memory/a.md"

CALLS: dict[str, Call] = {
    "add_fact": lambda memory: memory.add_fact("ann", "likes", "tea", scope=ALICE[0]),
    "apply": lambda memory: memory.apply(NOTE, []),
    "approve": lambda memory: memory.approve("p"),
    "context": lambda memory: memory.context("tea", scopes=ALICE),
    "correct_fact": lambda memory: memory.correct_fact("f", scopes=ALICE),
    "doctor": lambda memory: memory.doctor(),
    "end_session": lambda memory: memory.end_session("s"),
    "forget": lambda memory: memory.forget("a crane flew"),
    "fork": lambda memory: memory.fork(),
    "history": lambda memory: memory.history(NOTE),
    "inbox": lambda memory: memory.inbox(),
    "index": lambda memory: memory.index(),
    "log": lambda memory: memory.log(),
    "as_seen_by": lambda memory: memory.as_seen_by(Caller("alice")).notes(),
    "memory_tool": lambda memory: memory.memory_tool(user="alice"),
    "notes": lambda memory: memory.notes(),
    "read": lambda memory: memory.read(NOTE),
    "record_turn": lambda memory: memory.record_turn(
        session="s", role="user", text="hello", user="alice"
    ),
    "refresh": lambda memory: memory.refresh(),
    "reject": lambda memory: memory.reject("p"),
    "remember": lambda memory: memory.remember("tea", scope=ALICE[0]),
    "restore": lambda memory: memory.restore(NOTE, "0" * 64),
    "scopes": lambda memory: memory.scopes(),
    "search": lambda memory: memory.search("crane", scopes=ALICE),
    "sleep": lambda memory: memory.sleep(),
    "status": lambda memory: memory.status(),
    "timeline": lambda memory: memory.timeline("ann", scopes=ALICE),
    "undo": lambda memory: memory.undo("r"),
    "warm": lambda memory: memory.warm(),
}
PART_CALLS: dict[str, Call] = {
    "facts": lambda memory: memory.facts(scopes=ALICE),
    "sync": lambda memory: memory.sync(),
    "sync.status": lambda memory: memory.sync.status(),
    "conflicts": lambda memory: memory.conflicts(),
    "conflicts.trash": lambda memory: memory.conflicts.trash(),
    "conversations.open_conversation": lambda memory: memory.conversations.open_conversation(
        "alice"
    ),
    "conversations.take_dropped": lambda memory: memory.conversations.take_dropped(),
    "edits.is_busy": lambda memory: memory.edits.is_busy(),
    "edits.waiting": lambda memory: memory.edits.waiting(),
    "learning.status": lambda memory: memory.learning.status(),
    "searcher.freshness": lambda memory: memory.searcher.freshness(),
    "transfer.export": lambda memory: memory.transfer.export("/nowhere/export"),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    vault = tmp_path / "vault"
    (vault / "Users/alice/memories").mkdir(parents=True)
    (vault / "Users/alice/memories/2026-02-03.md").write_text("- saw a stork\n")
    (vault / "memory").mkdir()
    (vault / NOTE).write_text("- Ann: a crane flew over\n")
    environment = {
        "VAULT_MEMORY_STATE": str(tmp_path / "state"),
        "VAULT_MEMORY_CACHE": str(tmp_path / "cache"),
    }
    settings = Config(embedding=EmbeddingSettings(kind="off"))
    with VaultMemory.open(vault, settings, environment=environment) as opened:
        opened.index()
        yield opened


def test_this_module_tries_every_public_call_on_a_closed_vault() -> None:
    public = {name for name in dir(VaultMemory) if not name.startswith("_")}

    assert public - {"open", "close"} == set(CALLS)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [*CALLS, *PART_CALLS])
def test_a_call_on_a_closed_vault_reports_that_it_is_closed(memory: VaultMemory, name: str) -> None:
    memory.edits.log()
    memory.close()

    with pytest.raises(UsageError, match="is closed") as caught:
        (CALLS | PART_CALLS)[name](memory)

    assert caught.value.hint


def test_closing_twice_or_closing_a_fork_does_no_harm(memory: VaultMemory) -> None:
    fork = memory.fork()
    fork.close()
    fork.close()

    assert memory.search("stork", scopes=ALICE).hits


def test_the_repr_names_the_vault(memory: VaultMemory) -> None:
    assert repr(memory) == f"<VaultMemory {str(memory.root)!r}>"
    memory.close()
    assert repr(memory) == f"<VaultMemory {str(memory.root)!r} (closed)>"


def test_the_class_docstring_names_its_parts(memory: VaultMemory) -> None:
    text = inspect.getdoc(VaultMemory)
    parts = [name for name in vars(memory) if not name.startswith("_")]

    assert text is not None
    for name in (*parts, "learning", "forgetting", "transfer", "sync"):
        assert f"`{name}`" in text, name


WRONG_SCOPES = ["alice", "user:", ":alice", "person:alice", ""]
SCOPED: dict[str, Callable[[VaultMemory, Any], Any]] = {
    "search": lambda memory, scopes: memory.search("stork", scopes=scopes),
    "context": lambda memory, scopes: memory.context("stork", scopes=scopes),
    "facts": lambda memory, scopes: memory.facts(scopes=scopes),
    "timeline": lambda memory, scopes: memory.timeline("ann", scopes=scopes),
    "notes": lambda memory, scopes: memory.notes(scopes),
    "forget": lambda memory, scopes: memory.forget("a stork", scopes=scopes),
    "sleep": lambda memory, scopes: memory.sleep(scopes=scopes),
    "conflicts": lambda memory, scopes: memory.conflicts(scopes),
    "take_back": lambda memory, scopes: memory.forgetting.take_back("a stork", scopes=scopes),
    "export": lambda memory, scopes: memory.transfer.export(
        memory.root.parent / "export", scopes=scopes
    ),
}


@pytest.mark.parametrize("name", SCOPED)
def test_an_invalid_scope_name_is_an_error_not_an_empty_answer(
    memory: VaultMemory, name: str
) -> None:
    for scope in WRONG_SCOPES:
        with pytest.raises(UsageError, match="is not a scope") as caught:
            SCOPED[name](memory, [scope])
        assert caught.value.hint

    with pytest.raises(UsageError, match="is a list of scopes"):
        SCOPED[name](memory, "user:alice")


def test_the_hint_names_the_scope_of_a_person(memory: VaultMemory) -> None:
    with pytest.raises(UsageError) as caught:
        memory.search("stork", scopes=["mira"])

    assert "`user:mira`" in caught.value.hint


def test_a_search_reports_scopes_without_notes(memory: VaultMemory) -> None:
    answer = memory.search("stork", scopes=["user:alcie", *ALICE])

    assert answer.hits
    assert answer.unknown_scopes == ("user:alcie",)
    assert json_contract.of_search(answer)["unknown_scopes"] == ["user:alcie"]


def test_a_search_of_known_scopes_reports_no_missing_scope(memory: VaultMemory) -> None:
    answer = memory.search("stork", scopes=ALICE)

    assert answer.unknown_scopes == ()
    assert "unknown_scopes" not in json_contract.of_search(answer)


ANSWERS: dict[str, Callable[[VaultMemory, list[str]], Any]] = {
    "context": lambda memory, scopes: memory.context("stork", scopes=scopes),
    "entity": lambda memory, scopes: memory.facts.entity("ann", scopes=scopes),
    "facts": lambda memory, scopes: memory.facts(scopes=scopes),
    "facts about": lambda memory, scopes: memory.facts(scopes=scopes, entity="ann"),
    "notes": lambda memory, scopes: memory.notes(scopes),
    "timeline": lambda memory, scopes: memory.timeline("ann", scopes=scopes),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_about_a_misspelt_scope_is_silently_empty(memory: VaultMemory, name: str) -> None:
    misspelt = ANSWERS[name](memory, ["user:alcie", *ALICE])
    known = ANSWERS[name](memory, ALICE)

    assert misspelt.unknown_scopes == ("user:alcie",)
    assert known.unknown_scopes == ()


def test_a_memory_block_for_a_misspelt_scope_reports_it_in_json(memory: VaultMemory) -> None:
    block = memory.context("stork", scopes=["user:alcie"])

    assert as_json(block)["unknown_scopes"] == ["user:alcie"]


def test_queries_for_a_new_person_do_not_fail(memory: VaultMemory) -> None:
    scopes = list(Caller("new").scopes(memory.layout))

    assert memory.facts(scopes=scopes) == ()
    assert memory.context("hello", scopes=scopes).freshness.stale_files == ()


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.search("x", scopes=ALICE, mode="magic"),
        lambda memory: memory.search("x", scopes=ALICE, kinds=["inbox"]),
        lambda memory: memory.search("x", scopes=ALICE, limit=1001),
        lambda memory: memory.context("x", scopes=ALICE, purpose="fun"),
        lambda memory: memory.apply(NOTE, [], source="nobody"),
        lambda memory: memory.remember("x", scope=ALICE[0], source="nobody"),
        lambda memory: memory.record_turn(session="s", role="king", text="x", user="alice"),
        lambda memory: memory.record_turn(
            session="s", role="user", text="x", user="alice", mode="loud"
        ),
    ],
    ids=["mode", "kind", "limit", "purpose", "source", "source of remember", "role", "record mode"],
)
def test_an_invalid_choice_is_a_clear_usage_error(memory: VaultMemory, call: Call) -> None:
    with pytest.raises(VaultMemoryError) as caught:
        call(memory)

    assert isinstance(caught.value, UsageError)
    assert caught.value.hint
