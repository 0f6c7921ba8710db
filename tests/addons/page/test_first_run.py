"""What a vault shows before a bot has talked to anybody in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.vaults import empty, obsidian
from tests.scenarios.outside import Outside
from vault_memory.addons.page.shared_answers import MachineSight, SharedAnswers
from vault_memory.addons.page.viewer import SessionAccess, Viewer
from vault_memory.api.vault_memory import VaultMemory


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@contextmanager
def opened(outside: Outside, monkeypatch: pytest.MonkeyPatch) -> Iterator[VaultMemory]:
    for name, value in outside.environment.items():
        monkeypatch.setenv(name, value)
    with VaultMemory.open(outside.vault) as memory:
        memory.refresh()
        yield memory


def viewer_of(memory: VaultMemory, *scopes: str, sees_all: bool = True) -> Viewer:
    access = SessionAccess(scopes or tuple(memory.scopes()), True, "", sees_all)
    return Viewer(memory, access, SharedAnswers(machine=MachineSight(folder="/notes")))


def test_a_vault_of_obsidian_says_what_it_has_and_what_to_do(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = obsidian(tmp_path)
    (outside.home / ".codex").mkdir()
    outside.write("Themes/Sailing.md", "# Sailing to Utsira\n\nIn June.\n")
    with opened(outside, monkeypatch) as memory:
        first = viewer_of(memory).first_run()

    assert first is not None
    assert (first.notes, first.layout, first.meaning) == (60, "obsidian", "off")
    assert first.chunks > 60
    assert not first.embedded
    assert [host["command"] for host in first.hosts] == [
        "vault-memory --vault /notes install codex --user ada"
    ]
    assert first.question == "What do I know about Sailing to Utsira?"


def test_an_empty_vault_asks_nothing_and_connects_any_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(empty(tmp_path), monkeypatch) as memory:
        first = viewer_of(memory).first_run()

    assert first is not None
    assert (first.notes, first.question) == (0, "")
    assert [host["command"] for host in first.hosts] == [
        "vault-memory --vault /notes install HOST --user mira"
    ]


def test_one_turn_ends_the_first_run_of_its_person_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = empty(tmp_path)
    outside.write("Users/tomas/memories/NOTES.md", "# Nets\n\n- mend them\n")
    with opened(outside, monkeypatch) as memory:
        memory.record_turn(session="s", role="user", user="mira", text="Good morning.")
        memory.refresh()

        assert viewer_of(memory).first_run() is None
        assert viewer_of(memory, "user:mira", sees_all=False).first_run() is None
        first = viewer_of(memory, "user:tomas", sees_all=False).first_run()

    assert first is not None
    assert (first.notes, first.chunks, list(first.hosts)) == (1, 0, [])
    assert first.question == "What do I know about Nets?"
