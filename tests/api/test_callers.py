"""Whom a bot serves opens scopes: some to read and write, one to read for everybody."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from vault_memory import Caller, UsageError, VaultMemory
from vault_memory.api import query_or_local
from vault_memory.api.scoped_vault import ScopedVault
from vault_memory.errors import NoteNotFound
from vault_memory.rules.paths.layout import Layout

HERE = Layout(user="main")


def test_a_caller_has_the_scopes_of_their_user_channel_and_groups():
    assert Caller("mira").scopes(HERE) == ("user:mira",)
    mira = Caller("mira", "kitchen", ("club",), private=True)
    assert mira.scopes(HERE) == ("user:mira", "channel:kitchen", "group:club")


def test_in_a_channel_personal_scopes_are_closed_unless_requested():
    assert Caller("mira", "kitchen", ("club",)).scopes(HERE) == ("channel:kitchen", "group:club")
    assert Caller("main", "kitchen").reads(HERE) == ("channel:kitchen", "group:global")
    assert Caller("main", "kitchen", ("main",)).scopes(HERE) == ("channel:kitchen", "group:main")
    assert Caller("main", "kitchen", private=True).scopes(HERE) == (
        "user:main",
        "channel:kitchen",
        "group:main",
    )


def test_the_owner_of_the_root_workspace_has_its_group():
    assert Caller("main").scopes(HERE) == ("user:main", "group:main")
    assert Caller("main", groups=("main",)).scopes(HERE) == ("user:main", "group:main")


def test_everyone_reads_the_global_group_and_only_its_members_write_to_it():
    assert Caller("mira").reads(HERE) == ("user:mira", "group:global")
    assert "group:global" not in Caller("mira").scopes(HERE)
    assert Caller("mira", groups=("global",)).reads(HERE) == ("user:mira", "group:global")


def test_an_empty_user_name_is_refused():
    with pytest.raises(UsageError, match="whom it serves"):
        Caller("")


@pytest.mark.parametrize("user", ["mira", "tomas"])
def test_a_global_note_is_in_every_prompt_and_a_personal_one_only_in_its_owners(
    tmp_path: Path, user: str
):
    for path, text in {
        "groups/global/MEMORY.md": "- The harbour office is shut on Mondays\n",
        "groups/club/MEMORY.md": "- The club meets on Tuesdays\n",
        "Users/mira/bot/config/USER.md": "- keeps quokkas\n",
        "Users/tomas/bot/config/USER.md": "- keeps axolotls\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    environment = {
        "VAULT_MEMORY_STATE": str(tmp_path.parent / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    caller = Caller(user)
    with VaultMemory.open(tmp_path, environment=environment) as memory:
        block = memory.context(scopes=caller.reads(memory.layout)).text

        assert "shut on Mondays" in block
        assert ("quokkas" in block, "axolotls" in block) == (user == "mira", user == "tomas")
        assert "Tuesdays" not in block
        view = memory.as_seen_by(caller)
        assert view.may_read("groups/global/MEMORY.md")
        assert not view.may_read("groups/club/MEMORY.md")
        assert not view.may_read("groups/global/INBOX.md")


@pytest.fixture
def view(tmp_path: Path) -> Iterator[ScopedVault]:
    """The vault as its user mira sees it, with a stale note of hers and one of ann's."""
    environment = {
        "VAULT_MEMORY_STATE": str(tmp_path.parent / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    with VaultMemory.open(tmp_path, environment=environment) as memory:
        yield memory.as_seen_by(Caller("mira"))


def test_a_note_is_read_by_its_scope_and_only_if_search_reads_it(view: ScopedVault):
    readable = {
        "Users/mira/memories/boats.md": True,
        "Users/mira/bot/config/USER.md": True,
        "Users/mira/bot/config/INBOX.md": False,
        "Users/ann/memories/boats.md": False,
        "groups/global/memory/x.md": True,
        "memory/boats.md": False,
        "elsewhere.txt": False,
    }

    assert {path: view.may_read(path) for path in readable} == readable


def test_a_note_is_open_by_its_scope_even_if_search_does_not_read_it(view: ScopedVault):
    assert view.scope_of("Users/mira/bot/config/INBOX.md") == "user:mira"
    assert not view.scope_of("groups/global/memory/x.md"), "it may be read, and not be written"
    with pytest.raises(NoteNotFound):
        view.note("Users/ann/memories/boats.md")


@pytest.mark.parametrize("call", ["search", "context"])
def test_an_answer_names_no_stale_note_of_others_and_no_unknown_scope(
    view: ScopedVault, monkeypatch: pytest.MonkeyPatch, call: str
):
    own, other = "Users/mira/memories/a.md", "Users/ann/memories/a.md"
    stale = {"stale_files": [other, own], "semantic": "off", "reason": "no /home/ann/model here"}
    asked: list[Sequence[str]] = []

    def answer(memory: VaultMemory, text: str, scopes: Sequence[str], options: object):
        asked.append(scopes)
        return {"hits": [], "unknown_scopes": ["user:x"], "freshness": stale}

    monkeypatch.setattr(query_or_local, call, answer)

    assert view.ask(call, "boats", ["user:mira", "user:ann"], {}) == {
        "hits": [],
        "freshness": {"stale_files": [own], "semantic": "off", "reason": "no … here"},
    }
    assert asked == [["user:mira"]]
