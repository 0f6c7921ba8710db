"""What a bot written in Python imports: all of it from the top, typed, and cheap until it is used."""

import inspect
import subprocess
import sys
import typing
from importlib import resources
from typing import Any

import pytest

import vault_memory
from tests.every import every
from vault_memory import VaultMemory
from vault_memory.addons.transfer.calls import TransferCalls
from vault_memory.conversations.calls import ConversationCalls
from vault_memory.edits.calls import EditCalls
from vault_memory.edits.conflict_calls import ConflictCalls
from vault_memory.facts.calls import FactCalls
from vault_memory.forgetting.calls import ForgettingCalls
from vault_memory.learning.calls import LearningCalls
from vault_memory.search.calls import SearchCalls
from vault_memory.sync.calls import SyncCalls

CALLS = sorted(name for name in dir(VaultMemory) if not name.startswith("_"))
PARTS = [
    ConflictCalls,
    ConversationCalls,
    EditCalls,
    FactCalls,
    ForgettingCalls,
    LearningCalls,
    SearchCalls,
    SyncCalls,
    TransferCalls,
]
PART_CALLS = [
    (part, name)
    for part in PARTS
    for name, member in vars(part).items()
    if inspect.isfunction(member) and (name == "__call__" or not name.startswith("_"))
]
MOST_NAMES = 31


@every("name", vault_memory.__all__)
def test_every_public_name_can_be_imported_and_has_a_docstring(name: str) -> None:
    found = getattr(vault_memory, name)

    assert found.__name__ == name
    assert found.__doc__
    assert name in dir(vault_memory)


def check_call(call: Any) -> None:
    hints = getattr(call, "__wrapped__", call).__annotations__

    assert call.__doc__
    assert "return" in hints
    assert "Any" not in str(hints["return"])


@every("name", CALLS)
def test_every_call_has_a_docstring_and_type_annotations(name: str) -> None:
    check_call(getattr(VaultMemory, name))


@every(("part", "name"), PART_CALLS, ids=lambda value: getattr(value, "__name__", value))
def test_every_call_of_a_part_has_a_docstring_and_type_annotations(part: type, name: str) -> None:
    check_call(getattr(part, name))


def test_the_help_of_the_class_fits_on_a_few_screens() -> None:
    assert len(CALLS) <= MOST_NAMES
    assert {"search", "context", "record_turn", "apply", "forget"} <= set(CALLS)


def test_importing_the_package_is_cheap_and_loads_no_subpackage() -> None:
    script = "import sys, vault_memory; print(*[name for name in sys.modules if name.startswith('vault_memory')])"

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )

    assert set(done.stdout.split()) == {"vault_memory", "vault_memory.lazy"}


def test_type_checkers_find_the_type_annotations() -> None:
    assert resources.files("vault_memory").joinpath("py.typed").is_file()
    assert typing.get_type_hints(VaultMemory.close)["return"] is type(None)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Vaults'"):
        vault_memory.Vaults  # noqa: B018
