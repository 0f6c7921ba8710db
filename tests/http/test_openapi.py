"""What the OpenAPI document says is what is done: whatever is sent, the answer is one that it describes."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from tests.every import every
from tests.http.served import CALLERS, MIRA, Served, app_of, serving, tokens_of
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.server_sections import Serve
from vault_memory.contract.calls import ROUTES
from vault_memory.http.auth import Access
from vault_memory.http.openapi import document

MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
OPEN = {"health", "document"}
"""They take nothing, so nothing that they are sent is wrong"""
MORE_THAN_A_SCHEMA_SAYS = {"compact", "context", "read_note", "record_turn", "remember", "search"}
"""Operations that refuse some requests that the schema allows.

Some paths and conversations are none in a vault, some words are no date, a past day may be in the
future, and a text of blanks is none. And 1.0 is whole to a schema, but not to the server.
"""

load_all_checks()


@pytest.fixture(scope="module")
def server(sample: VaultMemory) -> Iterator[Served]:
    with serving(sample, requests_per_minute=10_000_000) as served:
        yield served


@pytest.fixture(scope="module")
def operations(server: Served) -> dict[str, Any]:
    schema = schemathesis.openapi.from_dict(server.client(None).get("/openapi.json").json())
    schema.config.update(base_url=server.url)
    return {
        found.ok().definition.raw["operationId"]: found.ok()
        for found in schema.get_all_operations()
    }


def names() -> list[str]:
    paths = document(ROUTES)["paths"]
    return [one["operationId"] for operations in paths.values() for one in operations.values()]


KINDS = [
    pytest.param(name, mode, id=f"{name}-{mode.value}")
    for name in names()
    for mode in (MODES[:1] if name in OPEN else MODES)
]


def fuzz(operation: Any, name: str, mode: GenerationMode, examples: int) -> None:
    excluded = [CHECKS.get_one("ignored_auth")]  # of which there is a limit, and a test
    if (
        operation.method == "get"
    ):  # what is wrong with a list may be gone when it is written into an address
        excluded.append(CHECKS.get_one("negative_data_rejection"))
    if name in MORE_THAN_A_SCHEMA_SAYS:
        excluded.append(CHECKS.get_one("positive_data_acceptance"))

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(data=st.data())
    def ask(data: Any) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        said = case.body.values() if isinstance(case.body, dict) else ()
        assume(
            mode is GenerationMode.NEGATIVE or not any(isinstance(value, float) for value in said)
        )
        case.call_and_validate(
            headers={"Authorization": f"Bearer {MIRA}"}, excluded_checks=excluded
        )

    ask()


@pytest.mark.sampled
@every(("name", "mode"), KINDS)
def test_any_request_gets_an_answer_described_by_the_document(
    operations: dict[str, Any], name: str, mode: GenerationMode
):
    fuzz(operations[name], name, mode, 8)


@pytest.mark.deep
@pytest.mark.parametrize(("name", "mode"), KINDS)
def test_thousands_of_random_requests_get_answers_described_by_the_document(
    operations: dict[str, Any], name: str, mode: GenerationMode
):
    fuzz(operations[name], name, mode, 200)


def test_the_document_is_valid_and_lists_every_route_with_its_answers(server: Served):
    told = server.client(None).get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(told)
    schema.validate()

    for path, operations in told["paths"].items():
        for operation in operations.values():
            needed = set() if operation.get("security") == [] else {"401", "429", "503"}
            assert {"200", "400", "413", "421"} | needed <= set(operation["responses"]), path
    assert told["security"] == [{"token": []}]


def test_odd_names_of_conversations_are_told_in_a_described_error(memory: VaultMemory):
    for session in ("tea \ud800", "tea \x1b[2J"):
        memory.record_turn(session=session, role="user", user="mira", text="Good tea")
    with serving(memory) as served:
        client = served.client(MIRA)
        told = client.get("/openapi.json").json()

        answer = client.post("/v1/sessions/compact", json={"session": "walk"})

    described = told["paths"]["/v1/sessions/compact"]["post"]["responses"]
    assert str(answer.status_code) in described
    error = answer.json()["error"]
    assert error["code"] == "unclear_id"
    assert error["candidates"] == ["tea \x1b[2J", "tea \ud800"]
    assert error["message"].endswith(r"tea \x1b[2J, tea \ud800")


def test_no_route_is_missing_from_the_document(sample: VaultMemory):
    app: Any = app_of(sample, Access(tokens_of(CALLERS), Serve()))

    served = {
        (route.path.replace(":path}", "}"), method)
        for route in app.routes
        for method in route.methods
    }

    told = document(ROUTES)["paths"]
    assert served - {(path, "HEAD") for path in told} == {
        (path, method.upper()) for path, methods in told.items() for method in methods
    }
