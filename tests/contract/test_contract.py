"""One contract: what the faces take and give is derived from the same shapes, so that they cannot drift apart."""

import inspect
import json
from typing import Any, get_type_hints, is_typeddict

import msgspec
import pytest

from tests.contract.shapes import SHAPES, differences, problems
from vault_memory import contract
from vault_memory.cli import COMMANDS
from vault_memory.contract import answers, requests, tool_answers
from vault_memory.contract.calls import ROUTES, SOCKET_CALLS
from vault_memory.forgetting.forget_text import Forgotten
from vault_memory.forgetting.retract import Proposed, Remaining, RetractRemoved, TakenBack
from vault_memory.http.openapi import document
from vault_memory.mcp.tools import TOOLS, portable_schema
from vault_memory.rules.paths.layout import KINDS, NOT_INDEXED
from vault_memory.service.socket_calls import Calls

STRUCTS = {
    name: value
    for name, value in vars(requests).items()
    if inspect.isclass(value) and issubclass(value, msgspec.Struct) and value is not msgspec.Struct
}
SEARCHES = (requests.SearchArguments, requests.SearchRequest, requests.SearchCall)
CONTEXTS = (requests.ContextArguments, requests.ContextBody, requests.ContextCall)
"""What a tool, an HTTP call and a call of the daemon take"""


def fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of each field of a request, without what a caller gets who leaves it out."""
    _, components = msgspec.json.schema_components([struct])
    properties: dict[str, Any] = components[struct.__name__]["properties"]
    return {name: limits(field) for name, field in properties.items()}


def limits(field: dict[str, Any]) -> dict[str, Any]:
    """The limits of a field that is not null."""
    [kind] = (part for part in field.get("anyOf", [field]) if part != {"type": "null"})
    field = kind | {name: part for name, part in field.items() if name != "anyOf"}
    for name in ("default", "description"):
        field.pop(name, None)
    if "enum" in field.get("items", {}):
        field["items"] = {"enum": sorted(field["items"]["enum"])}
    if "enum" in field:
        field["enum"] = sorted(field["enum"])
    return field


@pytest.mark.parametrize("family", [SEARCHES, CONTEXTS], ids=["search", "context"])
def test_a_field_has_the_same_limits_on_every_interface(family: tuple[type[msgspec.Struct], ...]):
    schemas = [fields(struct) for struct in family]

    for narrow in schemas:
        for wide in schemas:
            for name in narrow.keys() & wide.keys():
                assert narrow[name] == wide[name], name


def test_each_tool_uses_the_request_and_answer_types_of_the_contract():
    for tool in TOOLS.values():
        assert STRUCTS[tool.takes.__name__] is tool.takes
        assert vars(tool_answers)[tool.gives.__name__] is tool.gives
        assert is_typeddict(tool.gives)


def test_each_http_call_uses_the_request_and_answer_types_of_the_contract():
    for call in ROUTES:
        assert STRUCTS[call.takes.__name__] is call.takes
        assert vars(answers)[call.gives.__name__] is call.gives


def test_each_call_of_the_socket_is_a_method_that_takes_its_request():
    for name, request in SOCKET_CALLS.items():
        method = inspect.signature(getattr(Calls, name), eval_str=False)
        assert method.parameters["call"].annotation is request, name


def test_the_openapi_document_lists_the_keys_of_each_answer_in_order():
    schemas = document(ROUTES)["components"]["schemas"]

    for call in ROUTES:
        name = call.gives.__name__.removesuffix("Json")
        assert list(schemas[name]["properties"]) == list(get_type_hints(call.gives))


def test_a_key_has_the_same_type_in_a_tool_and_on_the_command_line():
    pairs = (
        (tool_answers.ToolHit, answers.HitJson),
        (tool_answers.ToolRemembered, answers.RememberedJson),
        (tool_answers.ToolSearchAnswer, answers.SearchAnswerJson),
        (tool_answers.ToolContext, answers.ContextBlockJson),
        (tool_answers.ToolFactChange, answers.FactChangeJson),
        (tool_answers.ToolForgotten, Forgotten),
        (tool_answers.ToolEntity, answers.EntityJson),
    )

    for tool_shape, shape in pairs:
        shared = get_type_hints(tool_shape).keys() & get_type_hints(shape).keys()
        assert shared
        for name in shared:
            tool_kind, kind = (portable_part(part, name) for part in (tool_shape, shape))
            assert tool_kind.get("type") == kind.get("type"), (tool_shape, name)


def portable_part(shape: type[Any], name: str) -> dict[str, Any]:
    """The schema of one key of an answer."""
    _, components = msgspec.json.schema_components([shape], ref_template="{name}")
    part: dict[str, Any] = components[shape.__name__]["properties"][name]
    for choice in part.get("anyOf", ()):
        if choice != {"type": "null"} and "enum" not in choice:
            return dict(choice)
    return part


def test_the_schema_of_a_tool_has_no_null_title_or_reference():
    schema = portable_schema(requests.SearchRequest)

    assert "$ref" not in str(schema)
    assert "'null'" not in str(schema)
    assert "title" not in schema
    assert schema["properties"]["mode"] == {
        "type": "string",
        "enum": schema["properties"]["mode"]["enum"],
        "description": "How to rank, such as `recent` or `important`; else as `[recall]` says",
    }


def test_a_field_named_title_is_kept_in_the_schema_of_a_tool():
    class Titled(msgspec.Struct):
        title: str

    assert portable_schema(Titled)["properties"] == {"title": {"type": "string"}}


def test_each_command_that_answers_in_json_has_a_shape():
    without_answer = {"hook", "mcp", "run"}

    shapes = {name.split()[0] for name in SHAPES}

    assert shapes == COMMANDS.keys() - without_answer


def test_an_extra_or_missing_key_in_a_golden_is_reported():
    night = {"scopes": [], "night": None, "report": None}

    assert problems(["sleep"], json.dumps(night)) == []
    assert problems(["sleep"], json.dumps(night | {"kept": None}))
    assert problems(["sleep"], json.dumps({"scopes": [], "night": None}))


def test_keys_inside_an_audit_record_are_checked_too():
    op = {"op": {"op": "append"}, "outcome": "applied", "removed": {"base64": "/w=="}}
    record = {
        "id": "1",
        "ts": "2026-01-31T10:00:00+01:00",
        "user_id": "ann",
        "source": "cli",
        "note": "USER.md",
        "applied": [op],
        "rejected": [],
        "before": "",
        "after": "",
        "diff": "",
        "why": "",
    }

    assert problems(["log"], json.dumps({"records": [record], "lost": []})) == []
    op["remarks"] = "a key that the contract does not have"
    assert problems(["log"], json.dumps({"records": [record], "lost": []}))


@pytest.mark.parametrize("remaining", [(), (Remaining("b.md", "it waits"),)])
def test_the_result_of_a_retraction_matches_its_shape(remaining: tuple[Remaining, ...]):
    result = TakenBack(
        2,
        (RetractRemoved("a.md", 1, None), RetractRemoved("b.md", 1, "01a2080e")),
        (Proposed("b.md", 1, "INBOX.md", ("0a1b",)),),
        remaining,
    )

    assert not list(differences(result.as_json(), answers.RetractedJson))


def test_a_command_without_a_shape_is_reported():
    with pytest.raises(LookupError):
        problems(["levitate"], "{}")


def test_search_accepts_exactly_the_indexed_kinds():
    # A layout has no patterns for documents, which lie beside its notes.
    assert set(KINDS) - NOT_INDEXED | {"document"} == set(contract.SearchedKind.__args__)


def test_the_shape_check_reports_new_and_moved_keys():
    payload = {"note": "a.md", "id": "1"}

    assert list(differences(payload, SHAPES["record"])) == [
        "$ has the keys ['note', 'id'], not ['id', 'note']"
    ]
    assert list(differences({"id": "1", "note": 3}, SHAPES["record"]))
    assert not list(differences({"id": "1", "note": None}, SHAPES["record"]))
