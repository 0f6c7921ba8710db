"""What a model may say wrong: a note that is not there, a number in quotation marks, and a field that no tool has."""

import json
from typing import Any

import pytest

from tests.every import every
from tests.mcp.pipes import hello, piped
from tests.mcp.vaults import PLAN, answer, call, refusal, words
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.addons.hosts import programs
from vault_memory.mcp import tools
from vault_memory.mcp.tools import TOOLS, read_arguments, schema_of
from vault_memory.models.llm.model_access import estimated_tokens

MOST_TOKENS = 2_400
WITH_HOOKS = [host.name for host in programs.hosts() if host.events]
WITHOUT_HOOKS = [host.name for host in programs.hosts() if not host.events]


@every(
    "note", ["Users/alice/memories/none.md", "Users/bob/memories/plan.md", "notes.txt", "SOUL.md"]
)
def test_a_missing_or_foreign_note_is_an_error_that_names_it(shelf: VaultMemory, note: str):
    said = refusal(shelf, "memory_get", note=note)

    assert said.startswith(f"error: there is no note `{note}`")
    assert "memory_search" in said


@pytest.mark.sampled
@every(
    ("tool", "arguments", "quoted"),
    [
        ("memory_search", {"query": "ferry", "limit": 3}, {"limit": "3"}),
        ("memory_search", {"query": "ferry", "copies": True}, {"copies": "true"}),
        ("memory_get", {"note": PLAN, "first_line": 3}, {"first_line": "3"}),
        ("memory_get", {"note": PLAN, "last_line": 4}, {"last_line": "4"}),
        ("memory_context", {"prompt": "ferry", "budget": 900}, {"budget": "900"}),
        ("memory_source", {"ref": f"{PLAN}:5", "around": 1}, {"around": "1"}),
        ("memory_entity", {"name": "ferry", "past": True}, {"past": "true"}),
    ],
)
def test_a_number_or_a_choice_in_quotation_marks_is_taken(
    shelf: VaultMemory, tool: str, arguments: dict[str, Any], quoted: dict[str, str]
):
    plain = answer(shelf, tool, **arguments)

    assert answer(shelf, tool, **{**arguments, **quoted}) == plain


@pytest.mark.parametrize("text", ["3", "null", "true"])
def test_a_text_that_looks_like_a_number_stays_a_text(shelf: VaultMemory, text: str):
    read = read_arguments(TOOLS["memory_forget"], {"text": text, "note": text})

    assert (read.text, read.note) == (text, text)


def _fields() -> list[tuple[str, str]]:
    return [
        (name, field) for name, tool in TOOLS.items() for field in schema_of(tool)["properties"]
    ]


@every(("tool", "field"), _fields())
@every("value", [{"a": 1}, -(10**30), "\ud83d", [["\ud83d"]]])
def test_a_wrong_argument_names_its_field(shelf: VaultMemory, tool: str, field: str, value: object):
    needed = {
        name: "2026-01-31" for name in schema_of(TOOLS[tool]).get("required", ()) if name != field
    }

    with pytest.raises(tools.UsageError) as refused:
        read_arguments(TOOLS[tool], {**needed, field: value})

    assert f"`{field}`" in refused.value.message


@every("tool", sorted(TOOLS))
def test_an_unknown_argument_is_named_with_those_that_there_are(shelf: VaultMemory, tool: str):
    said = refusal(shelf, tool, person="bob")

    assert "`person`" in said
    for field in schema_of(TOOLS[tool])["properties"]:
        assert field in said


@every(
    ("tool", "arguments", "field"),
    [
        ("memory_search", {"query": "x", "since": "the day of the whale"}, "since"),
        ("memory_search", {"query": "x", "until": "the day of the whale"}, "until"),
        ("memory_context", {"as_of": "yesterday"}, "as_of"),
        ("memory_entity", {"name": "x", "on": "yesterday"}, "on"),
        ("memory_correct", {"fact": "x", "valid_from": "May"}, "valid_from"),
        ("memory_get", {}, "note"),
    ],
)
def test_a_day_that_is_none_names_its_field(
    shelf: VaultMemory, tool: str, arguments: dict[str, Any], field: str
):
    assert f"`{field}" in refusal(shelf, tool, **arguments)


@pytest.mark.parametrize("line", [5, 6])
def test_a_hand_written_line_has_a_person_as_its_source(shelf: VaultMemory, line: int):
    result = call(shelf, "memory_source", ref=f"{PLAN}:{line}")

    assert "a person wrote this line" in words(result)
    assert "a person wrote this line" in result.structured_content["message"]


def _cost(instructions: str) -> int:
    """The tokens that a host puts into each request."""
    listed = [
        {field: entry[field] for field in ("name", "description", "inputSchema")}
        for entry in tools.list_tools()["tools"]
    ]
    schemas = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    return estimated_tokens(schemas) + estimated_tokens(instructions)


@pytest.mark.parametrize("has_hooks", [False, True])
def test_tools_and_instructions_cost_at_most_2400_tokens(has_hooks: bool):
    instructions = tools.introduction(has_hooks=has_hooks)["instructions"]

    assert _cost(instructions) <= MOST_TOKENS


@pytest.mark.sampled
@pytest.mark.parametrize("host", WITH_HOOKS)
def test_a_host_whose_hook_gives_the_block_is_not_told_to_ask_for_it(filled: Outside, host: str):
    filled.quick = True
    with piped(filled, "--host", host) as pipe:
        pipe.send(hello())
        instructions = pipe.next()["result"]["instructions"]

    assert "memory_context" not in instructions
    assert "memory_remember" not in instructions


@pytest.mark.parametrize("options", [(), ("--host", "a-new-host")])
def test_another_host_is_told_to_ask_for_the_block(filled: Outside, options: tuple[str, ...]):
    filled.quick = True
    with piped(filled, *options) as pipe:
        pipe.send(hello())
        instructions = pipe.next()["result"]["instructions"]

    assert "memory_context" in instructions
    assert "memory_remember" not in instructions


def test_the_hosts_without_hooks_are_told_to_ask_for_the_block():
    assert WITHOUT_HOOKS
    assert not any(map(programs.runs_hooks, (*WITHOUT_HOOKS, "", "a-new-host")))


def test_the_description_says_when_to_remember():
    description = TOOLS["memory_remember"].description

    assert "asks" in description
    assert "lasting" in description
