"""A tool stores no secret and no order of silence: by no op, no fact and no text of a note."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.in_memory import folder_in_memory
from tests.learning.test_kept_out import STATEMENTS, orders_of
from tests.learning.test_secrets_in_any_order import (
    HARMLESS,
    NUMBERS,
    ORDERS,
    SPOKEN,
    VALUE,
    words_of,
)
from vault_memory.api.vault_memory import VaultMemory

USER = "Users/mira/bot/config/USER.md"
ME = "user:mira"
LANGUAGES = sorted(ORDERS)


@pytest.fixture
def vault() -> Iterator[Path]:
    with folder_in_memory() as folder:
        (folder / "vault").mkdir()
        yield folder / "vault"


@pytest.fixture
def memory(vault: Path) -> Iterator[VaultMemory]:
    environment = {"VAULT_MEMORY_STATE": str(vault.parent / "state")}
    with VaultMemory.open(vault, environment=environment) as opened:
        section = {"op": "add_heading", "heading": "Home", "lines": ["tea"]}
        opened.apply(USER, [section], source="cli")
        yield opened


def secrets_of(language: str) -> list[str]:
    """Each order of words with the first cue of a language, and each of its cues in one order."""
    cues = words_of(language)
    first = [order.format(cue=cues[0], value=VALUE) for order in ORDERS[language]]
    one = ORDERS[language][0]
    return first + [one.format(cue=cue, value=VALUE) for cue in cues[1:]]


def in_files(vault: Path, text: str) -> list[str]:
    """The files of a vault with a text, its audits too."""
    return [
        str(file.relative_to(vault))
        for file in vault.rglob("*")
        if file.is_file() and text in file.read_text(encoding="utf-8", errors="replace")
    ]


def append(line: str) -> dict[str, object]:
    return {"op": "append", "heading": "Home", "line": line}


def replace(line: str) -> dict[str, object]:
    return {"op": "replace", "heading": "Home", "match": "tea", "line": line}


def add_section(line: str) -> dict[str, object]:
    return {"op": "add_heading", "heading": "New", "lines": ["coffee", line]}


@pytest.mark.sampled
@pytest.mark.parametrize("op", [append, replace, add_section])
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_op_of_a_tool_writes_a_secret(
    memory: VaultMemory, vault: Path, language: str, op: Callable[[str], dict[str, object]]
):
    ops = [op(text) for text in secrets_of(language)]

    edit = memory.apply(USER, ops)

    assert {rejected.reason for rejected in edit.rejected} == {"secret"}
    assert len(edit.rejected) == len(ops)
    assert in_files(vault, VALUE) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_op_of_a_tool_writes_an_order_of_silence(memory: VaultMemory, language: str):
    ops = [append(text) for text in orders_of(language)]

    edit = memory.apply(USER, ops)

    reasons = {rejected.reason for rejected in edit.rejected}
    assert reasons <= {"safety_bypass", "crisis"}
    assert len(edit.rejected) == len(ops)
    assert not memory.inbox()


@pytest.mark.sampled
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_fact_of_a_tool_states_a_secret(memory: VaultMemory, vault: Path, language: str):
    tea = memory.add_fact("mira", "likes", "tea", scope=ME, source="cli")
    # A predicate has no apostrophe.
    for cue in (cue for cue in words_of(language) if "'" not in cue):
        joined = cue.replace(" ", "_")
        outcomes = {
            memory.add_fact("mira", joined, VALUE, scope=ME, source="tool").outcome,
            memory.add_fact(cue, "is", VALUE, scope=ME, source="tool").outcome,
            memory.correct_fact(
                tea.id, scopes=[ME], source="tool", predicate=joined, object=VALUE
            ).outcome,
        }
        assert outcomes == {"rejected"}, cue

    assert in_files(vault, VALUE) == []


@pytest.mark.sampled
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_of_the_memory_tool_has_a_secret(memory: VaultMemory, vault: Path, language: str):
    tool = memory.memory_tool(user="mira")
    tool.execute({"command": "create", "path": "/memories/home.md", "file_text": "The kettle.\n"})
    for text in secrets_of(language):
        for command in (
            {"command": "create", "path": "/memories/new.md", "file_text": f"{text}\n"},
            {"command": "insert", "path": "/memories/home.md", "insert_line": 1, "insert_text": f"- {text}\n"},
            {"command": "str_replace", "path": "/memories/home.md", "old_str": "The kettle.", "new_str": text},
        ):  # fmt: skip
            assert tool.execute(command).is_error, text

    assert in_files(vault, VALUE) == []


@pytest.mark.sampled
@pytest.mark.parametrize("text", [*NUMBERS, *SPOKEN])
def test_numbers_and_spoken_codes_count_in_ops_too(memory: VaultMemory, text: str):
    edit = memory.apply(USER, [append(text)])

    assert [rejected.reason for rejected in edit.rejected] == ["secret"]


@pytest.mark.parametrize(
    ("heading", "lines"),
    [
        ("Wifi password", ["quayfish"]),
        ("My password is quayfish", ["tea"]),
        ("Access", ["the wifi password", "is quayfish"]),
        ("Пароль", ["quayfish"]),
        ("密码", ["quayfish"]),
    ],
)
def test_a_heading_and_lines_together_are_judged(
    memory: VaultMemory, vault: Path, heading: str, lines: list[str]
):
    op = {"op": "add_heading", "heading": heading, "lines": lines}

    edit = memory.apply(USER, [op])

    text = "\n".join([f"# {heading}", "", *lines, ""])
    command = {"command": "create", "path": "/memories/a.md", "file_text": text}
    assert [rejected.reason for rejected in edit.rejected] == ["secret"]
    assert memory.memory_tool(user="mira").execute(command).is_error
    assert in_files(vault, "quayfish") == []


def test_a_person_writes_what_they_want_and_a_tool_may_move_its_line(
    memory: VaultMemory, vault: Path
):
    secret = "the wifi password is quayfish"
    memory.apply(USER, [append(secret), append("rum")], source="cli")
    section = {"op": "add_heading", "heading": "Notes", "lines": ["tea"]}
    memory.apply(USER, [section], source="cli")

    moved = memory.apply(USER, [{"op": "append", "heading": "Notes", "line": secret}])
    other = memory.apply(USER, [append("likes rum")])

    assert not moved.rejected
    assert not other.rejected
    assert f"- {secret}" in (vault / USER).read_text(encoding="utf-8")


def test_a_persons_secret_keeps_no_tool_from_its_note(memory: VaultMemory, vault: Path):
    note = vault / "Users/mira/memories/home.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("- the wifi password is quayfish\n", encoding="utf-8")
    command = {
        "command": "insert",
        "path": "/memories/home.md",
        "insert_line": 1,
        "insert_text": "- the kettle leaks\n",
    }

    answer = memory.memory_tool(user="mira").execute(command)

    assert not answer.is_error
    assert "the kettle leaks" in note.read_text(encoding="utf-8")


@pytest.mark.sampled
@pytest.mark.parametrize("text", [*HARMLESS, *STATEMENTS])
def test_what_only_speaks_of_it_is_no_reason(memory: VaultMemory, text: str):
    edit = memory.apply(USER, [append(text)])

    assert {rejected.reason for rejected in edit.rejected} <= {"multiple_matches"}


def test_the_audit_names_the_reason_and_not_the_text(memory: VaultMemory, vault: Path):
    memory.apply(USER, [append("the wifi password is quayfish")])

    record = memory.log(USER)[-1]
    [rejected] = record.rejected
    assert (json.dumps(rejected.op), rejected.reason) == ('{"op": "append"}', "secret")
