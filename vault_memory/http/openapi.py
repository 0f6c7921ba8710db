"""The OpenAPI document. It follows from the table of routes, so that what is said and what is done are one."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from vault_memory.http.response_schemas import ANSWERS, Schema, ref
from vault_memory.http.routes import Endpoint

REFUSALS = {
    400: "The request is wrong; `hint` says how to put it right",
    401: "A token is needed, or the one given is not known",
    403: "This page may not ask from a browser",
    404: "There is no such thing for this token",
    405: "The path has no such method",
    408: "The request did not arrive in time",
    409: "Somebody else holds or changed it; try again",
    413: "The request is too long",
    415: "A body is JSON",
    421: "It was asked under a name that is not its own",
    429: "That is asked too often",
    500: "It failed",
    503: "Not now: the vault cannot be reached or written",
}
OPEN = {400, 403, 405, 408, 413, 421, 503}
"""What a path without a token may answer beside its answer"""
ABOUT = (
    "The memory of a bot, for the person of the token. Every answer is one JSON object; errors are "
    '`{"error": {"code", "message", "hint"}}`. The scopes come from the token, never from a request.'
)


def document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """OpenAPI 3.1."""
    takes = {endpoint.takes for endpoint in endpoints if endpoint.method == "POST"}
    _, bodies = msgspec.json.schema_components(
        takes, ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, Any] = {
        "/healthz": {"get": _open("health", "Whether it is there", "Health")},
        "/openapi.json": {"get": _open("document", "The OpenAPI document", None)},
    }
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(
            endpoint
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vault-memory",
            "version": version("vault-memory"),
            "description": ABOUT,
        },
        "paths": paths,
        "components": {
            "schemas": ANSWERS | bodies,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                str(status): {
                    "description": meaning,
                    "content": {"application/json": {"schema": ref("Error")}},
                    **(
                        {"headers": {"Retry-After": {"schema": {"type": "integer"}}}}
                        if status == 429
                        else {}
                    ),
                }
                for status, meaning in REFUSALS.items()
            },
        },
        "security": [{"token": []}],
    }


def _operation(endpoint: Endpoint) -> Schema:
    said: Schema = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {
            "200": _answer(endpoint.summary, ref(endpoint.gives)),
            **_refusals(set(REFUSALS)),
        },
    }
    if endpoint.method == "POST":
        content = {"application/json": {"schema": ref(endpoint.takes.__name__)}}
        said["requestBody"] = {"required": True, "content": content}
    elif parameters := _parameters(endpoint):
        said["parameters"] = parameters
    return said


def _parameters(endpoint: Endpoint) -> list[Schema]:
    schema = msgspec.json.schema_components([endpoint.takes])[1][
        endpoint.takes.__name__
    ]
    found = []
    for name, kind in schema["properties"].items():
        in_path = f"{{{name}}}" in endpoint.path
        kinds = [one for one in kind.pop("anyOf", [kind]) if one.get("type") != "null"]
        described = (
            {"description": kind.pop("description")} if "description" in kind else {}
        )
        found.append(
            {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path,
                "schema": kinds[0],
            }
            | described
        )
    return found


def _open(name: str, summary: str, gives: str | None) -> Schema:
    answer = _answer(summary, ref(gives) if gives else {"type": "object"})
    return {
        "operationId": name,
        "summary": summary,
        "security": [],
        "responses": {"200": answer, **_refusals(OPEN)},
    }


def _answer(meaning: str, schema: Schema) -> Schema:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}


def _refusals(statuses: set[int]) -> Schema:
    return {str(status): ref(str(status), "responses") for status in sorted(statuses)}
