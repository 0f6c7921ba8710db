"""What programs write by themselves, as delivered, becomes notes of the vault: `install --adopt`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.clients import ClaudeCode
from tests.clients.conftest import GREETING, opened
from tests.clients.model import Request
from tests.clients.wires import Answer, Call, Say

pytestmark = pytest.mark.clients

BEFORE = "The keel is of larch"
WRITTEN = "The mast is of spruce"
ADDED = "The rudder hangs in the shed"


def notes_with(client: ClaudeCode, words: str, *scopes: str) -> list[str]:
    return [hit["note"] for hit in client.ours("search", words, *scopes)["hits"]]


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[ClaudeCode]:
    with opened(ClaudeCode, tmp_path) as client:
        yield client


def test_what_claude_code_writes_is_found_and_what_a_person_adds_is_in_its_next_request(
    claude: ClaudeCode,
) -> None:
    claude.ask(GREETING)
    [own] = (claude.home / ".claude" / "projects").glob("*/memory")
    (own / "MEMORY.md").write_text(f"- {BEFORE}\n")
    claude.install("--allow", "--adopt")
    [note] = claude.vault.glob("groups/work/memory/*/MEMORY.md")

    def script(request: Request) -> Answer:
        if "NOTE" not in request.prompt or request.results:
            return Say("Noted.")
        # It overwrites no file that it has not read.
        file = note.with_name("rig.md")
        return Call("Write", {"file_path": str(file), "content": f"- {WRITTEN}\n"})

    claude.model.script = script
    asked = len(claude.model.turns)
    claude.ask("NOTE it")

    assert claude.model.turns[asked].text.count(BEFORE) == 1
    assert notes_with(claude, "spruce mast") == ["groups/work/memory/claude-code/rig.md"]
    assert not notes_with(claude, "spruce mast", "--user", "jonas")
    with note.open("a") as stream:
        stream.write(f"- {ADDED}\n")
    asked = len(claude.model.turns)
    claude.ask(GREETING)
    assert claude.model.turns[asked].text.count(ADDED) == 1

    claude.ours("install", "claude-code", "--uninstall")
    asked = len(claude.model.turns)
    claude.ask(GREETING)
    first = claude.model.turns[asked].text
    assert (BEFORE in first, ADDED in first) == (True, False)


def test_claude_code_in_a_folder_without_notes_has_those_of_the_person(claude: ClaudeCode) -> None:
    claude.install("--adopt")
    note = claude.vault / "Users" / "mira" / "memories" / "claude-code" / "MEMORY.md"

    claude.ask(GREETING)
    assert note.parent.is_dir()
    note.write_text(f"- {ADDED}\n")
    asked = len(claude.model.turns)
    claude.ask(GREETING)

    assert claude.model.turns[asked].text.count(ADDED) == 1
