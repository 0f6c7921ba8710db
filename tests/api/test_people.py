"""Two people whose names nobody can tell apart would read each other's notes: the second is refused."""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.server_sections import ServeToken
from vault_memory.edits.people import NameTaken
from vault_memory.http.tokens import TokenUnsafe, load_tokens
from vault_memory.rules.paths.filenames import person_key

TWINS = (
    "Mira Lund",
    "MIRA LUND",
    "mira  lund",
    "miralund",
    "mira\u200b lund",
    "mira\u00a0lund",
    "ｍira lund",
    "mi\u00adra lund",
)
OTHERS = ("mara lund", "mira lind", "mira lund 2", "míra lund")


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    outside.write("Users/mira lund/lantern/config/USER.md", "## Tea\n\n- green\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        yield opened


def people(memory: VaultMemory) -> list[str]:
    return sorted(path.name for path in (memory.root / "Users").iterdir())


def record(memory: VaultMemory, name: str) -> object:
    return memory.record_turn(session="s", role="user", user=name, text="hello")


def remember(memory: VaultMemory, name: str) -> object:
    return memory.remember("Likes tea", scope=f"user:{name}", source="tool")


def add_fact(memory: VaultMemory, name: str) -> object:
    return memory.add_fact(
        subject="x", predicate="likes", object="tea", scope=f"user:{name}", source="cli"
    )


def memory_tool(memory: VaultMemory, name: str) -> object:
    return memory.memory_tool(user=name)


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("door", [record, remember, add_fact, memory_tool])
def test_a_name_easily_confused_with_an_existing_person_is_refused(
    memory: VaultMemory, door, name: str
):
    with pytest.raises(NameTaken) as refused:
        door(memory, name)

    assert "'mira lund'" in refused.value.message
    assert people(memory) == ["mira lund"]


@pytest.mark.parametrize("name", ["mira lund", *OTHERS])
def test_distinct_people_and_the_same_person_are_accepted(memory: VaultMemory, name: str):
    record(memory, name)

    assert name in people(memory)


def test_dropped_turns_of_a_confusable_name_are_set_aside_with_the_reason(memory: VaultMemory):
    turn = {"session": "s", "role": "user", "user": "Mira Lund", "text": "hello", "source": "bot"}
    folder = memory.vault.state.path / "drop"
    folder.mkdir(exist_ok=True)
    (folder / "bot.jsonl").write_text(json.dumps(turn) + "\n")

    memory.conversations.take_dropped()

    assert people(memory) == ["mira lund"]
    assert "cannot be told from" in "".join(path.read_text() for path in folder.glob("*.rejected"))


def test_tokens_for_confusable_names_are_refused(tmp_path: Path):
    rows = []
    for number, user in enumerate(("mira", "Mira")):
        file = tmp_path / f"token{number}"
        file.write_text(f"{number}" * 40)
        file.chmod(0o600)
        rows.append(ServeToken(user, str(file)))

    with pytest.raises(TokenUnsafe, match="cannot be told apart"):
        load_tokens(rows, root=tmp_path / "vault")


def test_doctor_warns_about_existing_confusable_names(memory: VaultMemory, outside: Outside):
    outside.write("Users/MiraLund/lantern/config/USER.md", "## Tea\n\n- black\n")

    warnings = [
        check.reason for check in memory.doctor() if check.name == "names" and check.state == "warn"
    ]

    assert any("cannot be told apart" in reason and "MiraLund" in reason for reason in warnings)
    record(memory, "MiraLund")


@given(st.text("abcdeéßøñжя東1 ", max_size=12), st.data())
def test_case_spaces_and_invisible_letters_do_not_make_a_new_person(name: str, data: st.DataObject):
    unseen = st.sampled_from(["", " ", "\u200b", "\u2060", "\u00ad", "\t", "\u3000"])
    other = "".join(
        data.draw(unseen) + data.draw(st.sampled_from([letter, letter.upper()])) for letter in name
    )
    form = data.draw(st.sampled_from(["NFC", "NFD", "NFKC"]))

    assert person_key(unicodedata.normalize(form, other)) == person_key(name)
