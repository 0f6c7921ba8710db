"""The answers of the daemon that no command prints have a shape, too."""

from typing import Any

import pytest

from tests.contract.shapes import differences
from tests.scenarios.outside import Outside, outside
from vault_memory.api.daemon_client import ask
from vault_memory.contract import setup_answers, status_answers

__all__ = ["outside"]

SHAPES: dict[str, Any] = {
    "changes": status_answers.ChangesJson,
    "scopes": status_answers.ScopesJson,
    "status": status_answers.StatusJson,
    "sync": setup_answers.SyncRequestedJson,
    "vitals": status_answers.VitalsJson,
}


def test_the_daemon_answers_in_the_shapes_of_the_contract(outside: Outside):
    outside.write("USER.md", "- tea\n")
    with outside.daemon():
        answers = {call: ask(outside.socket, call, {}) for call in SHAPES}

    for call, shape in SHAPES.items():
        assert not list(differences(answers[call], shape)), call


@pytest.mark.parametrize("key", ["stale_files", "sync"])
def test_vitals_without_a_key_are_a_difference(key: str):
    vitals = {
        "stale_files": 0,
        "semantic": "off",
        "watcher": {"mode": "off", "healthy": False, "reason": ""},
        "sync": None,
    }

    assert not list(differences(vitals, status_answers.VitalsJson))
    del vitals[key]
    assert list(differences(vitals, status_answers.VitalsJson))
