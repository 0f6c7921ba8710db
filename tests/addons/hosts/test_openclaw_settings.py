"""How `install openclaw` chooses our plugin, and how `--uninstall` gives the choice back."""

import json
from pathlib import Path

import pytest

from tests.addons.hosts.conftest import Install
from tests.scenarios.outside import Outside
from vault_memory.addons.hosts import jsonc_reader

OTHER_CHOICE = """\
{
  // what I use
  plugins: {
    allow: ["voice-call"],
    slots: { memory: 'memory-lancedb' }, // with vectors
  },
}
"""
OLD_SERVER = """\
{
  "mcp": {
    "servers": {
      "vault-memory": {"command": "/usr/bin/vault-memory", "args": ["mcp"]}
    }
  }
}
"""


@pytest.fixture
def settings(outside: Outside) -> Path:
    file = outside.home / ".openclaw" / "openclaw.json"
    file.parent.mkdir(parents=True)
    return file


def test_the_memory_that_a_person_chose_before_is_given_back(
    settings: Path, install: Install
) -> None:
    settings.write_text(OTHER_CHOICE)

    install("openclaw")

    plugins = jsonc_reader.read(settings.read_text()).plain()["plugins"]  # type: ignore[index]
    assert plugins["slots"] == {"memory": "vault-memory"}
    assert plugins["allow"] == ["voice-call", "vault-memory"]
    assert plugins["entries"]["vault-memory"]["hooks"] == {"allowConversationAccess": True}
    install("openclaw", "--uninstall")
    assert settings.read_text() == OTHER_CHOICE


def test_a_memory_chosen_after_install_stays_chosen(settings: Path, install: Install) -> None:
    settings.write_text("{}")
    install("openclaw")
    text = settings.read_text()
    settings.write_text(text.replace('"memory": "vault-memory"', '"memory": "mine"'))

    install("openclaw", "--uninstall")

    assert json.loads(settings.read_text()) == {"plugins": {"slots": {"memory": "mine"}}}


def test_without_a_list_of_allowed_plugins_none_is_made(settings: Path, install: Install) -> None:
    """Such a list would forbid every other plugin."""
    settings.write_text("{}")

    install("openclaw")

    assert "allow" not in json.loads(settings.read_text())["plugins"]


def test_the_server_of_an_earlier_version_is_removed(settings: Path, install: Install) -> None:
    """Its tools would be offered twice."""
    settings.write_text(OLD_SERVER)

    install("openclaw")

    assert json.loads(settings.read_text())["mcp"] == {"servers": {}}


def test_the_plugin_names_each_tool_that_it_offers(outside: Outside, install: Install) -> None:
    """OpenClaw gives its model no tool that the manifest leaves out."""
    install("openclaw")

    folder = outside.home / ".openclaw" / "extensions" / "vault-memory"
    manifest = json.loads((folder / "openclaw.plugin.json").read_text())
    [line] = [
        line
        for line in (folder / "index.js").read_text().splitlines()
        if line.startswith("const TOOLS = ")
    ]
    tools = json.loads(line.removeprefix("const TOOLS = "))
    assert manifest["contracts"]["tools"] == [tool["name"] for tool in tools]
    assert "memory_search" in manifest["contracts"]["tools"]
    assert manifest["kind"] == "memory"
