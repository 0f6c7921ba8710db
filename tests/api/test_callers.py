"""Whom a bot serves opens scopes: some to read and write, one to read for everybody."""

from pathlib import Path

import pytest

from vault_memory import Caller, UsageError, VaultMemory
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
        assert caller.may_read("groups/global/MEMORY.md", memory.layout)
        assert not caller.may_read("groups/club/MEMORY.md", memory.layout)
        assert not caller.may_read("groups/global/INBOX.md", memory.layout)
