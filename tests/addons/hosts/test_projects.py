"""`install --project`: a folder of code has a memory of its own beside that of the person."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.addons.hosts.conftest import Install
from tests.addons.hosts.test_hook import hook, output_for, payload
from tests.addons.hosts.test_installer import folder
from tests.scenarios.outside import Outside

SERVER_FILES = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "opencode": "opencode.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "zed": ".zed/settings.json",
}
HOOK_FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/vault-memory.js",
}
DECISION = "We decided to build with pnpm"


@pytest.fixture
def code(outside: Outside) -> Path:
    folder = outside.home / "code" / "heron"
    (folder / "src").mkdir(parents=True)
    return folder


def prompt(place: Path, text: str, session: str = "s1") -> dict[str, Any]:
    return payload(
        "claude-code", "user-prompt-submit", cwd=str(place), prompt=text, session_id=session
    )


def transcripts(outside: Outside) -> dict[str, str]:
    """The words of each transcript, by the folder of its owner."""
    return {
        str(file.relative_to(outside.vault).parent.parent): file.read_text()
        for file in outside.vault.rglob("transcripts/*.jsonl")
    }


@pytest.mark.sampled
@pytest.mark.parametrize("host", SERVER_FILES)
def test_the_server_of_a_project_goes_beside_the_code_and_away_again(
    outside: Outside, install: Install, code: Path, host: str
) -> None:
    before = folder(outside.home)

    install(host, "--project", str(code))

    written = (code / SERVER_FILES[host]).read_text()
    for word in ("--channel", "--group", "--private", "heron"):
        assert f'"{word}"' in written
    assert not any(one["changed"] for one in install(host, "--project", str(code))["files"])
    install(host, "--project", str(code), "--uninstall")
    assert folder(outside.home) == before


@pytest.mark.sampled
@pytest.mark.parametrize("host", HOOK_FILES)
def test_hooks_for_projects_alone_make_way_for_those_of_the_person(
    outside: Outside, install: Install, code: Path, host: str
) -> None:
    hooks = outside.home / HOOK_FILES[host]

    install(host, "--project", str(code))
    assert "--projects" in hooks.read_text()
    install(host)
    everywhere = hooks.read_text()
    install(host, "--project", str(code))
    install(host, "--project", str(code), "--uninstall")

    assert "--projects" not in everywhere
    assert "hook" in everywhere
    assert hooks.read_text() == everywhere


def test_what_is_said_beside_the_code_belongs_to_the_project(
    outside: Outside, install: Install, code: Path
) -> None:
    install("claude-code", "--project", str(code))

    hook(outside, "claude-code", prompt(code / "src", DECISION))
    hook(outside, "claude-code", prompt(outside.home, "I moved to Porto", "s2"))

    recorded = transcripts(outside)
    assert DECISION in recorded["Channels/heron"]
    assert "Porto" in recorded["Users/mira"]


def test_a_hook_for_projects_alone_is_silent_elsewhere(
    outside: Outside, install: Install, code: Path
) -> None:
    install("claude-code", "--project", str(code))

    hook(outside, "claude-code", prompt(outside.home, "I moved to Porto"), "--projects")
    hook(outside, "claude-code", prompt(code, DECISION), "--projects")

    assert list(transcripts(outside)) == ["Channels/heron"]


@pytest.mark.sampled
def test_a_decision_of_the_project_is_learned_there(
    outside: Outside, install: Install, code: Path
) -> None:
    install("claude-code", "--project", str(code))
    hook(outside, "claude-code", prompt(code, DECISION), "--now", "2026-05-01T10:00")
    outside.ok("sleep", "--now", "2026-05-02T04:00")

    start = payload("claude-code", "session-start", cwd=str(code), session_id="s3")
    now = ("--now", "2026-05-02T10:00")
    there = output_for(outside, "claude-code", start, *now)
    start["cwd"] = str(outside.home)
    elsewhere = output_for(outside, "claude-code", start, *now)

    assert "pnpm" in there
    assert "pnpm" not in elsewhere
    notes = [
        str(note.relative_to(outside.vault))
        for note in outside.vault.rglob("*.md")
        if "pnpm" in note.read_text()
    ]
    assert notes
    assert all(note.startswith("Channels/heron/") for note in notes)


def test_two_folders_of_one_name_are_two_projects(
    outside: Outside, install: Install, code: Path
) -> None:
    other = outside.home / "old" / "heron"
    other.mkdir(parents=True)

    install("cursor", "--project", str(code))
    install("cursor", "--project", str(other))
    install("claude-code", "--project", str(code))

    channels = [
        json.loads(file.read_text())["mcpServers"]["vault-memory"]["args"]
        for file in (
            code / ".cursor" / "mcp.json",
            other / ".cursor" / "mcp.json",
            code / ".mcp.json",
        )
    ]
    named = [words[words.index("--channel") + 1] for words in channels]
    assert named == ["heron", "heron-2", "heron"]


def test_the_last_project_takes_its_hooks_away(
    outside: Outside, install: Install, code: Path
) -> None:
    other = outside.home / "code" / "tern"
    other.mkdir()
    hooks = outside.home / HOOK_FILES["claude-code"]
    install("claude-code", "--project", str(code))
    install("claude-code", "--project", str(other))

    install("claude-code", "--project", str(code), "--uninstall")
    assert "--projects" in hooks.read_text()
    install("claude-code", "--project", str(other), "--uninstall")

    assert not hooks.exists()


def test_a_project_whose_folder_is_gone_can_be_disconnected(
    outside: Outside, install: Install, code: Path
) -> None:
    install("claude-code", "--project", str(code))
    code.rename(outside.home / "moved")

    install("claude-code", "--project", str(code), "--uninstall")

    assert not (outside.home / HOOK_FILES["claude-code"]).exists()
    hosts = outside.ok("install", "--check", "claude-code")["hosts"]
    assert [entry["project"] for entry in hosts] == [""]
