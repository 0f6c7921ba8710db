"""Where each host keeps its configuration, as its documentation says."""

import sys
from collections.abc import Mapping
from pathlib import Path


def claude_code_settings(environment: Mapping[str, str]) -> Path:
    """The hooks of one person stand here."""
    return _claude_folder(environment) / "settings.json"


def claude_code_servers(environment: Mapping[str, str]) -> Path:
    """The MCP servers of one person: beside the folder, unless the folder was named."""
    named = environment.get("CLAUDE_CONFIG_DIR")
    return (
        Path(named).expanduser() / ".claude.json"
        if named
        else _home(environment) / ".claude.json"
    )


def codex_folder(environment: Mapping[str, str]) -> Path:
    return _named(environment, "CODEX_HOME", ".codex")


def claude_desktop(environment: Mapping[str, str]) -> Path:
    """On macOS where applications keep their things, else in the folder of configurations."""
    if sys.platform == "darwin":
        folder = _home(environment) / "Library" / "Application Support"
    else:
        folder = _named(environment, "XDG_CONFIG_HOME", ".config")
    return folder / "Claude" / "claude_desktop_config.json"


def openclaw(environment: Mapping[str, str]) -> Path:
    """The file itself may be named, or the folder that it lies in, or the home of that."""
    if named := environment.get("OPENCLAW_CONFIG_PATH"):
        return Path(named).expanduser()
    if folder := environment.get("OPENCLAW_STATE_DIR"):
        return Path(folder).expanduser() / "openclaw.json"
    profile = environment.get("OPENCLAW_PROFILE", "")
    folder = f".openclaw-{profile}" if profile not in ("", "default") else ".openclaw"
    return _named(environment, "OPENCLAW_HOME", "") / folder / "openclaw.json"


def gemini_settings(environment: Mapping[str, str]) -> Path:
    return _named(environment, "GEMINI_CLI_HOME", "") / ".gemini" / "settings.json"


def opencode_settings(environment: Mapping[str, str]) -> Path:
    """The file with comments where a person has that one, else the one without."""
    folder = _opencode_folder(environment)
    with_comments = folder / "opencode.jsonc"
    return with_comments if with_comments.exists() else folder / "opencode.json"


def opencode_plugin(environment: Mapping[str, str]) -> Path:
    return _opencode_folder(environment) / "plugins" / "vault-memory.js"


def hermes_plugin(environment: Mapping[str, str]) -> Path:
    """The folder of our memory provider."""
    return _named(environment, "HERMES_HOME", ".hermes") / "plugins" / "vault-memory"


def _claude_folder(environment: Mapping[str, str]) -> Path:
    return _named(environment, "CLAUDE_CONFIG_DIR", ".claude")


def _opencode_folder(environment: Mapping[str, str]) -> Path:
    return _named(environment, "XDG_CONFIG_HOME", ".config") / "opencode"


def _named(environment: Mapping[str, str], variable: str, usual: str) -> Path:
    named = environment.get(variable, "").strip()
    return Path(named).expanduser() if named else _home(environment) / usual


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())
