"""What a bot written in Python imports: all of it from the top, typed, and cheap until it is used."""

import subprocess
import sys
import typing
from importlib import resources

import pytest

import vault_memory
from vault_memory import VaultMemory

CALLS = [
    "add_fact apply approve context end_session entity export facts forget history inbox index log memory_tool notes",
    "open read record_turn reject remember restore search sleep timeline trash undo untrash",
]


@pytest.mark.parametrize("name", vault_memory.__all__)
def test_every_name_is_there(name: str) -> None:
    found = getattr(vault_memory, name)

    assert found.__name__ == name
    assert found.__doc__
    assert name in dir(vault_memory)


@pytest.mark.parametrize("name", " ".join(CALLS).split())
def test_every_call_says_what_it_does_and_of_what_types(name: str) -> None:
    call = getattr(VaultMemory, name)
    call = getattr(call, "__wrapped__", call)
    hints = call.__annotations__

    assert call.__doc__
    assert "return" in hints
    assert "Any" not in str(hints["return"])


def test_to_import_it_costs_next_to_nothing_and_loads_no_room() -> None:
    script = "import sys, vault_memory; print(*[name for name in sys.modules if name.startswith('vault_memory')])"

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.split() == ["vault_memory"]


def test_type_checkers_are_told_that_there_are_types() -> None:
    assert resources.files("vault_memory").joinpath("py.typed").is_file()
    assert typing.get_type_hints(VaultMemory.close)["return"] is type(None)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Vaults'"):
        vault_memory.Vaults  # noqa: B018
