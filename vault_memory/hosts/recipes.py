"""How each host is told of the vault: which files get what, as the documentation of each host describes it."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import UsageError
from vault_memory.hosts import config_paths, toml_block
from vault_memory.hosts.config_edits import (
    NAME,
    Edit,
    HookGroup,
    JsonEdit,
    Listed,
    Member,
    OwnFile,
    TomlEdit,
)
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.hosts import plugin_files
else:
    plugin_files = lazy_module("vault_memory.hosts.plugin_files")

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
SECONDS = {"SessionEnd": 3}
"""How long a host waits for a hook: at the end of a conversation Codex waits no longer"""
USUAL_SECONDS = 10
GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")

HOSTS = (
    "claude-code",
    "codex",
    "gemini-cli",
    "opencode",
    "claude-desktop",
    "openclaw",
    "hermes",
)


ALLOWING = ("claude-code", "codex", "gemini-cli")
"""Hosts whose configuration tells which tools they may use"""


class NoSuchHost(UsageError):
    """No host has this name."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"there is no host `{host}`", hint=f"the hosts are {', '.join(HOSTS)}"
        )


class NothingToAllow(UsageError):
    """The host has no setting for which tools may be used."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"`{host}` has no setting that allows our tools: it asks a person, or it asks nobody",
            hint="leave out `--allow`",
        )


@dataclass(frozen=True, slots=True)
class Wire:
    """What is to be plugged in: a program, a vault, a person."""

    program: tuple[str, ...]
    """how the program is run: an absolute path, perhaps with what Python needs to run it"""
    vault: Path
    user: str
    channel: str = ""
    config: Path | None = None
    private: bool = False
    """in a channel: open the person's own memory, too"""
    allow: bool = False
    """whether the host may use our tools without asking a person each time"""

    def command(self, *call: str) -> list[str]:
        """The words of a command line; the name of the command comes first, so that a hook starts quickly."""
        words = [*self.program, *call, "--vault", str(self.vault), "--user", self.user]
        words += ["--channel", self.channel] if self.channel else []
        words += ["--private"] if self.private else []
        return words + (["--config", str(self.config)] if self.config else [])


@dataclass(frozen=True, slots=True)
class Plan:
    """What a host's files get, and what the person does then."""

    files: tuple[tuple[Path, Edit], ...]
    then: tuple[str, ...]


def plan(host: str, wire: Wire, environment: Mapping[str, str]) -> Plan:
    """The plan for one host. Raises NoSuchHost, NothingToAllow."""
    if host not in _PLANS:
        raise NoSuchHost(host)
    if wire.allow and host not in ALLOWING:
        raise NothingToAllow(host)
    return _PLANS[host](wire, environment)


def _claude_code(wire: Wire, environment: Mapping[str, str]) -> Plan:
    allowed = Listed(("permissions", "allow"), f"mcp__{NAME}", wire.allow)
    settings = JsonEdit((*_hooks("claude-code", wire).entries, allowed))
    server = _server(wire, ("mcpServers", NAME), type="stdio")
    then = [
        "start a new session of Claude Code; `/hooks` and `/mcp` show what it knows"
    ]
    if not wire.allow:
        then.append(
            "for `claude -p`, which uses no tool that is not allowed: install with `--allow`"
        )
    files = (
        (config_paths.claude_code_settings(environment), settings),
        (config_paths.claude_code_servers(environment), server),
    )
    return Plan(files, tuple(then))


def _codex(wire: Wire, environment: Mapping[str, str]) -> Plan:
    folder = config_paths.codex_folder(environment)
    hooks_file = folder / "hooks.json"
    inline = (
        not hooks_file.exists()
    )  # both kinds in one folder make Codex warn at each start
    files: list[tuple[Path, Edit]] = [
        (folder / "config.toml", _codex_block(wire, hooks=inline))
    ]
    if not inline:
        files.append((hooks_file, _hooks("codex", wire)))
    then = [
        "start Codex, run `/hooks` there, and trust the five commands: before that it runs none"
    ]
    if not wire.allow:
        then.append(
            "for `codex exec`, which refuses the tools that change notes: install with `--allow`"
        )
    return Plan(tuple(files), tuple(then))


def _gemini_cli(wire: Wire, environment: Mapping[str, str]) -> Plan:
    """One file for both; a hook's time is in milliseconds there."""
    program, *arguments = wire.command("mcp")
    server: dict[str, object] = {"command": program, "args": arguments}
    if wire.allow:
        server["trust"] = True
    command = shlex.join(wire.command("hook", "gemini-cli"))
    hook = {"type": "command", "command": command, "timeout": USUAL_SECONDS * 1000}
    groups = (
        HookGroup(("hooks", event), {"hooks": [hook]}, "gemini-cli")
        for event in GEMINI_EVENTS
    )
    settings = JsonEdit((*groups, Member(("mcpServers", NAME), server)), strict=False)
    then = ["start Gemini CLI again; `gemini mcp list` shows what it knows"]
    if not wire.allow:
        then.append(
            "for `gemini -p`, which offers its model no tool that asks: install with `--allow`"
        )
    return Plan(((config_paths.gemini_settings(environment), settings),), tuple(then))


def _opencode(wire: Wire, environment: Mapping[str, str]) -> Plan:
    entry = {"type": "local", "command": wire.command("mcp")}
    settings = JsonEdit((Member(("mcp", NAME), entry),), strict=False)
    plugin = OwnFile(plugin_files.plugin(wire), plugin_files.PLUGIN_MARK)
    files = (
        (config_paths.opencode_settings(environment), settings),
        (config_paths.opencode_plugin(environment), plugin),
    )
    return Plan(
        files, ("start opencode again; `opencode mcp list` shows what it knows",)
    )


def _claude_desktop(wire: Wire, environment: Mapping[str, str]) -> Plan:
    file = config_paths.claude_desktop(environment)
    return Plan(
        ((file, _server(wire, ("mcpServers", NAME))),),
        ("quit Claude Desktop and start it again",),
    )


def _openclaw(wire: Wire, environment: Mapping[str, str]) -> Plan:
    file = config_paths.openclaw(environment)
    edit = _server(wire, ("mcp", "servers", NAME), strict=False)
    then = (
        "turn off its own memory, which it asks instead of ours: openclaw config set plugins.slots.memory none",
        "name our tools in its first request: openclaw config set tools.toolSearch false",
        "restart the gateway: openclaw gateway restart",
        "see: openclaw mcp doctor --probe",
    )
    return Plan(((file, edit),), then)


def _hermes(wire: Wire, environment: Mapping[str, str]) -> Plan:
    folder = config_paths.hermes_plugin(environment)
    files = tuple(
        (folder / name, OwnFile(text, plugin_files.MARK))
        for name, text in plugin_files.files(wire).items()
    )
    return Plan(
        files,
        (f"choose it: hermes config set memory.provider {NAME}", "start Hermes again"),
    )


def _hooks(host: str, wire: Wire) -> JsonEdit:
    groups = (
        HookGroup(("hooks", event), {"hooks": [hook]}, host)
        for event, hook in _commands(host, wire)
    )
    return JsonEdit(tuple(groups))


def _commands(host: str, wire: Wire) -> list[tuple[str, dict[str, object]]]:
    command = shlex.join(wire.command("hook", host))
    return [
        (
            event,
            {
                "type": "command",
                "command": command,
                "timeout": SECONDS.get(event, USUAL_SECONDS),
            },
        )
        for event in EVENTS
    ]


def _server(
    wire: Wire, path: Sequence[str], *, strict: bool = True, **more: object
) -> JsonEdit:
    program, *arguments = wire.command("mcp")
    return JsonEdit(
        (Member(tuple(path), {**more, "command": program, "args": arguments}),), strict
    )


def _codex_block(wire: Wire, *, hooks: bool) -> TomlEdit:
    program, *arguments = wire.command("mcp")
    settings: dict[str, object] = {"command": program, "args": arguments}
    if wire.allow:
        settings["default_tools_approval_mode"] = "approve"
    tables = [toml_block.written(f"mcp_servers.{NAME}", settings)]
    wanted: dict[str, object] = {"mcp_servers": {NAME: settings}}
    if hooks:
        commands = _commands("codex", wire)
        for event, hook in commands:
            tables += [
                f"[[hooks.{event}]]",
                toml_block.written(f"[[hooks.{event}.hooks]]", hook),
            ]
        wanted["hooks"] = {event: [{"hooks": [hook]}] for event, hook in commands}
    return TomlEdit(tuple(tables), wanted)


_PLANS: dict[str, Callable[[Wire, Mapping[str, str]], Plan]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
    "claude-desktop": _claude_desktop,
    "openclaw": _openclaw,
    "hermes": _hermes,
}
