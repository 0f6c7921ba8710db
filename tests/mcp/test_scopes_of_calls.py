"""No call of the table gives or changes anything of another scope, whatever its request says.

The calls are those of the table, and the texts of a request those of its type: a new call and a new
field are in here at once. Routes and tools have their own tests over the same table.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.every import every
from tests.mcp.test_leaks import CALLERS, NAMES, open_to, probes
from tests.mcp.vaults import WORDS, contents
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.api.scoped_vault import ScopedVault
from vault_memory.contract.calls import CALLS, Call
from vault_memory.errors import VaultMemoryError
from vault_memory.mcp.protocol_results import FUNCTIONS
from vault_memory.mcp.tools import TOOLS
from vault_memory.rules.paths.scopes import Caller

NO_CALL = {"scopes", "reads", "may_read", "notes", "open_conversation"} | {
    *("ask", "calls", "clean", "note", "scope_of")
}
"""What a view tells a door about its caller"""
CHANGES = {
    "record_turn",
    "end_session",
    "remember",
    "compact",
    "feedback",
    "correct_fact",
    "confirm_fact",
    "forget",
}


def text_fields(call: Call) -> tuple[dict[str, Any], list[str]]:
    """The fields that a request must have, with harmless values, and those that take any text."""
    _, components = msgspec.json.schema_components([call.takes], ref_template="{name}")
    schema = components[call.takes.__name__]
    needed: dict[str, Any] = {}
    texts = []
    for name, field in schema["properties"].items():
        kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
        kind = kinds[0]
        takes_text = kind.get("type") == "string" and not {"pattern", "format"} & set(kind)
        if takes_text:
            texts.append(name)
        if name in schema.get("required", ()):
            needed[name] = kind["enum"][0] if "enum" in kind else "ferry"
    return needed, texts


def requests_of(call: Call, probe: str) -> Iterator[msgspec.Struct]:
    """The requests of a call with a text in each field that takes it."""
    needed, texts = text_fields(call)
    for name in texts or [""]:
        given = {**needed, name: probe} if name else needed
        try:
            yield msgspec.convert(given, call.takes)
        except msgspec.ValidationError:
            continue  # the door refuses it


def said_by(memory: VaultMemory, caller: Caller, call: Call, probe: str) -> Iterator[str]:
    """What a call says to each request with a text: its answer, or its error."""
    for request in requests_of(call, probe):
        try:
            answer = getattr(memory.as_seen_by(caller), call.name)(request)
        except VaultMemoryError as error:
            yield f"{error.message} {error.hint} {json.dumps(error.details, default=str)}"
        else:
            yield json.dumps(answer, ensure_ascii=False)


def test_the_table_and_the_view_have_the_same_calls():
    methods = {name for name in vars(ScopedVault) if not name.startswith("_")}

    assert {call.name for call in CALLS} == methods - NO_CALL
    assert set(FUNCTIONS) == set(TOOLS), "each tool of the table has its words for a model"
    assert {call.name for call in CALLS} >= CHANGES


@pytest.mark.sampled
@every("who", CALLERS)
def test_no_reading_call_reveals_text_or_names_of_others(shelf: VaultMemory, who: str):
    caller = CALLERS[who]
    own, scopes = open_to(shelf, caller), set(caller.scopes(shelf.layout))
    others = {name for name in NAMES if not any(name in scope for scope in scopes)}
    leaks = []
    seen: set[str] = set()

    for call in CALLS:
        if call.name in CHANGES:
            continue
        for probe in probes(shelf, caller):
            for said in said_by(shelf, caller, call, probe):
                shown = {word for word in WORDS.values() if word in said and word not in probe}
                named = {name for name in others if name in said and name not in probe}
                if not shown <= own or named:
                    leaks.append((call.name, probe, shown - own, named))
                seen |= shown

    assert not leaks
    assert seen == own, "what is theirs is shown, so the words could be seen"


@pytest.mark.sampled
def test_no_changing_call_reveals_or_changes_anything_of_others(
    memory: VaultMemory, filled: Outside
):
    caller = CALLERS["alice"]
    own = open_to(memory, caller)
    strange = [scope for scope in WORDS if scope not in caller.scopes(memory.layout)]
    before = contents(filled, strange)
    leaks = []

    for call in CALLS:
        if call.name not in CHANGES:
            continue
        for probe in probes(memory, caller):
            for said in said_by(memory, caller, call, probe):
                shown = {word for word in WORDS.values() if word in said and word not in probe}
                if not shown <= own:
                    leaks.append((call.name, probe, shown - own))

    assert not leaks
    assert contents(filled, strange) == before
    touched = {memory.layout.place(record.note).scope for record in memory.log()}
    assert touched, "something was changed"
    assert touched <= set(caller.scopes(memory.layout))
