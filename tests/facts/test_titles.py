"""Whom notes give a title is a person, without a model and without facts."""

from pathlib import Path

import pytest

from vault_memory import VaultMemory

OFF = {"VAULT_MEMORY_EMBEDDING_KIND": "off", "VAULT_MEMORY_LAYOUT_NAME": "obsidian"}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Dr. Bello looked at the knee", "Bello"),
        ("Prof. Dr. Amara Bello gave the talk", "Bello"),
        ("Mrs Okafor has the key", "Okafor"),
        ("mit Frau Müller gesprochen", "Müller"),
        ("gespräch mit Herrn und Herr Karim", "Karim"),
        ("chez Mme Dupont", "Dupont"),
        ("la señora García llamó", "García"),
        ("ha chiamato la dottoressa Rossi", "Rossi"),
        ("звонил господин Иванов", "Иванов"),
        ("Tante Inge backt", "Inge"),
    ],
)
def test_whom_a_note_gives_a_title_is_a_person(tmp_path: Path, line: str, name: str):
    (tmp_path / "Day.md").write_text(f"- {line}\n", encoding="utf-8")
    with VaultMemory.open(tmp_path, environment=OFF) as memory:
        about = memory.facts.entity(name, scopes=memory.scopes())

    assert about.type == "person"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("the harbour was painted", "harbour"),
        ("Dr. Bello came to the old red harbour", "harbour"),
        ("the drums of Bello", "Bello"),
    ],
)
def test_what_has_no_title_is_no_person(tmp_path: Path, line: str, name: str):
    (tmp_path / "Day.md").write_text(f"- {line}\n", encoding="utf-8")
    with VaultMemory.open(tmp_path, environment=OFF) as memory:
        about = memory.facts.entity(name, scopes=memory.scopes())

    assert about.type != "person"
