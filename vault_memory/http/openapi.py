"""The OpenAPI document. It follows from the table of routes and the shapes of the contract."""

from collections.abc import Iterable, Sequence
from typing import Any, get_type_hints, is_typeddict

import msgspec

from vault_memory import __version__
from vault_memory.contract import answers
from vault_memory.contract.calls import Call

Schema = dict[str, Any]

REFUSALS = {
    400: "The request is wrong; `hint` says how to put it right",
    401: "A token is needed, or the token is unknown",
    403: "This page may not call from a browser",
    404: "This token opens nothing of this name",
    405: "The path has no such method",
    408: "The request did not arrive in time",
    409: "Another process holds it or has changed it; try again",
    413: "The request is too long",
    415: "A body must be JSON",
    421: "The server was called by a name that is not its own",
    429: "Too many requests",
    500: "The call failed",
    503: "The vault cannot be reached or written now",
}
OPEN_REFUSALS = {400, 403, 405, 408, 413, 421, 503}
"""Refusals of a path that needs no token"""
DESCRIPTION = (
    "The memory of a bot, for the person of the token. Every answer is one JSON object; errors are "
    '`{"error": {"code", "message", "hint"}}`. '
    "The scopes come from the token, never from a request."
)
SCHEMAS = "#/components/schemas/"
SUFFIX = "Json"
"""Ending of the names of answer types; their schemas have names without it"""


def document(calls: Sequence[Call]) -> Schema:
    """Returns the document in OpenAPI 3.1."""
    bodies = [call.takes for call in calls if call.method == "POST"]
    payloads = [call.gives for call in calls]
    types = {*bodies, *payloads, answers.ErrorJson, answers.HealthJson}
    paths: Schema = {
        "/healthz": {
            "get": _open_operation(
                "health", "Whether the server answers", _ref_to(answers.HealthJson)
            )
        },
        "/openapi.json": {
            "get": _open_operation("document", "The OpenAPI document", {"type": "object"})
        },
    }
    for call in calls:
        operations = paths.setdefault(call.path, {})
        operations[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {"title": "vault-memory", "version": __version__, "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": _schemas(types),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                str(status): _refusal(status, meaning) for status, meaning in REFUSALS.items()
            },
        },
        "security": [{"token": []}],
    }


def _schemas(types: Iterable[type[Any]]) -> Schema:
    """Returns the schemas of these types and of all nested types, sorted by name."""
    _, components = msgspec.json.schema_components(types, ref_template="{name}")
    keys = _keys_in_order(types)
    schemas = {}
    for name, schema in sorted(components.items()):
        properties = schema["properties"]
        order = keys.get(name, tuple(properties))
        schema["properties"] = {key: properties[key] for key in order}
        schema["required"] = [key for key in order if key in schema["required"]]
        schemas[name.removesuffix(SUFFIX)] = _with_full_refs(
            {**schema, "title": name.removesuffix(SUFFIX)}
        )
    return schemas


def _keys_in_order(types: Iterable[type[Any]]) -> dict[str, tuple[str, ...]]:
    """Returns the keys of each answer in their order, because msgspec sorts them."""
    module = vars(answers).values()
    shapes = [shape for shape in (*types, *module) if is_typeddict(shape)]
    return {shape.__name__: tuple(get_type_hints(shape)) for shape in shapes}


def _with_full_refs(schema: Any) -> Any:
    """Returns the schema with references into the document."""
    match schema:
        case {"$ref": str(name)}:
            return {**schema, "$ref": SCHEMAS + name.removesuffix(SUFFIX)}
        case dict():
            return {key: _with_full_refs(value) for key, value in schema.items()}
        case list():
            return [_with_full_refs(item) for item in schema]
        case _:
            return schema


def _operation(call: Call) -> Schema:
    operation: Schema = {
        "operationId": call.name,
        "summary": call.summary,
        "responses": {"200": _answer(call.summary, _ref_to(call.gives)), **_refusals(REFUSALS)},
    }
    if call.method == "POST":
        content = {"application/json": {"schema": _ref_to(call.takes)}}
        operation["requestBody"] = {"required": True, "content": content}
    elif parameters := _parameters(call):
        operation["parameters"] = parameters
    return operation


def _parameters(call: Call) -> list[Schema]:
    """Returns the fields of a GET request, in its path or its query."""
    _, components = msgspec.json.schema_components([call.takes])
    schema = components[call.takes.__name__]
    required = schema.get("required", ())
    return [
        _parameter(call, name, field, required=name in required)
        for name, field in schema["properties"].items()
    ]


def _parameter(call: Call, name: str, field: Schema, *, required: bool) -> Schema:
    in_path = f"{{{name}}}" in call.path
    kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    schema = {key: value for key, value in kinds[0].items() if key != "description"}
    parameter = {
        "name": name,
        "in": "path" if in_path else "query",
        "required": required,
        "schema": schema,
    }
    if "description" in field:
        parameter["description"] = field["description"]
    return parameter


def _open_operation(name: str, summary: str, schema: Schema) -> Schema:
    """Returns an operation that needs no token."""
    return {
        "operationId": name,
        "summary": summary,
        "security": [],
        "responses": {"200": _answer(summary, schema), **_refusals(OPEN_REFUSALS)},
    }


def _answer(description: str, schema: Schema) -> Schema:
    content = {"application/json": {"schema": schema}}
    return {"description": description, "content": content}


def _refusal(status: int, meaning: str) -> Schema:
    response = _answer(meaning, _ref_to(answers.ErrorJson))
    if status == 429:
        response["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    return response


def _refusals(statuses: Iterable[int]) -> Schema:
    return {
        str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)
    }


def _ref_to(kind: type[Any]) -> Schema:
    return {"$ref": SCHEMAS + kind.__name__.removesuffix(SUFFIX)}
