"""What programs write by themselves, as delivered, becomes notes of the vault: `install --adopt`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.clients import ClaudeCode, Client, Codex, Hermes
from tests.clients.conftest import GREETING, opened
from tests.clients.model import Request
from tests.clients.wires import Answer, Call, Say

pytestmark = pytest.mark.clients

BEFORE = "The keel is of larch"
WRITTEN = "The mast is of spruce"
ADDED = "The rudder hangs in the shed"


def notes_with(client: Client, words: str, *scopes: str) -> list[str]:
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


class RememberingCodex(Codex):
    """Its memory is off by default."""

    def settle(self) -> None:
        super().settle()
        file = self.home / ".codex" / "config.toml"
        with file.open("a") as stream:
            stream.write("\n[features]\nmemories = true\n\n[memories]\ndedicated_tools = true\n")
        self.write(".codex/memories/memory_summary.md", f"v1\n\n- {BEFORE}\n")


def test_what_codex_writes_is_found_and_what_a_person_adds_is_in_its_next_request(
    tmp_path: Path,
) -> None:
    with opened(RememberingCodex, tmp_path) as codex:
        codex.install("--allow", "--adopt")
        codex.trust()
        own = codex.home / ".codex" / "memories"

        def script(request: Request) -> Answer:
            if "NOTE" not in request.prompt or request.results:
                return Say("Noted.")
            note = {"filename": "2026-11-30T02-02-02-rig.md", "note": f"- {WRITTEN}\n"}
            return Call("add_ad_hoc_note", note)

        codex.model.script = script
        codex.ask("NOTE it")

        assert codex.model.turns[0].text.count(BEFORE) == 1
        assert notes_with(codex, "spruce mast", "--user", "mira") == [
            "Users/mira/memories/codex/extensions/ad_hoc/notes/2026-11-30T02-02-02-rig.md"
        ]
        with (codex.vault / "Users/mira/memories/codex/memory_summary.md").open("a") as stream:
            stream.write(f"- {ADDED}\n")
        for _ in range(2):
            asked = len(codex.model.turns)
            codex.ask(GREETING)
            assert codex.model.turns[asked].text.count(ADDED) == 1

        assert ADDED in (own / "memory_summary.md").read_text()
        codex.ours("install", "codex", "--uninstall")
        asked = len(codex.model.turns)
        codex.ask(GREETING)
        assert BEFORE in codex.model.turns[asked].text


class RememberingHermes(Hermes):
    """Its own memory is on by default."""

    def settle(self) -> None:
        super().settle()
        file = self.home / ".hermes" / "config.yaml"
        settings = json.loads(file.read_text())
        settings["memory"] = {"provider": "vault-memory"}
        file.write_text(json.dumps(settings))
        self.write(".hermes/memories/MEMORY.md", BEFORE)


def test_what_hermes_writes_is_found_and_what_a_person_adds_is_in_its_next_request(
    tmp_path: Path,
) -> None:
    with opened(RememberingHermes, tmp_path) as hermes:
        hermes.install("--adopt")

        def script(request: Request) -> Answer:
            if "NOTE" not in request.prompt or request.results:
                return Say("Noted.")
            note = {"action": "add", "target": "memory", "content": WRITTEN}
            return Call("memory", note)

        hermes.model.script = script
        hermes.ask("NOTE it")

        note = hermes.vault / "Users/mira/memories/hermes/MEMORY.md"
        assert hermes.model.turns[0].text.count(BEFORE) == 1
        assert notes_with(hermes, "spruce mast", "--user", "mira") == [
            "Users/mira/memories/hermes/MEMORY.md"
        ]
        with note.open("a") as stream:
            stream.write(f"\n\u00a7\n{ADDED}")
        for _ in range(2):
            asked = len(hermes.model.turns)
            hermes.ask(GREETING)
            assert hermes.model.turns[asked].text.count(ADDED) == 1
