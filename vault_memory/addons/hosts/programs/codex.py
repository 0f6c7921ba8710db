"""Codex: one block in its TOML, with the hooks and the MCP server."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.addons.hosts import (
    config_edits,
    host_transcripts,
    install_plan,
    jsonc_edit,
    toml_block,
)
from vault_memory.addons.hosts.host import CONVERSATION_EVENTS, Host, TranscriptLine, is_named
from vault_memory.addons.hosts.own_notes import adoption

if TYPE_CHECKING:
    from vault_memory.addons.hosts.config_edits import Edit, TomlEdit
    from vault_memory.addons.hosts.host import Trust
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest
    from vault_memory.addons.hosts.own_notes.adoption import OwnMemory

EVENT_KEYS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt_submit",
    "Stop": "stop",
    "PreCompact": "pre_compact",
    "SessionEnd": "session_end",
}
"""How Codex names each event where it keeps which hooks the person trusts"""
PLUGIN_HOOKS = "vault-memory@vault-memory:codex/hooks.json"
"""Where our package has its hooks, as Codex names the place"""
PLACES = ["VAULT_MEMORY_STATE", "VAULT_MEMORY_CACHE", "XDG_STATE_HOME", "XDG_CACHE_HOME"]
"""Variables that name our folders"""

NOTES = ("*", "!raw_memories.md", "!phase2_workspace_diff.md")
"""Its memory, but what it writes for itself on the way"""
NO_MEMORIES = "Codex keeps no memory yet: `codex features enable memories`"


class Codex(Host):
    """The configuration folder is `~/.codex`, or the folder that `CODEX_HOME` names."""

    name = "codex"
    events = CONVERSATION_EVENTS
    can_allow = True
    takes_project = True
    can_adopt = True
    exchanges = True

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        folder = install_plan.folder_named_by(environment, "CODEX_HOME", ".codex")
        commands = install_plan.hook_commands(self.name, request, self.events)
        next_steps = [
            "start Codex, run `/hooks` there, and trust the five commands: before that it runs none"
        ]
        if not request.allow:
            next_steps.append(
                "for `codex exec`, which refuses the tools that change notes:"
                " install with `--allow`"
            )
        if request.project is not None:
            next_steps.insert(0, f"trust the folder {request.project} in Codex")
            own = (request.project / ".codex" / "config.toml", _block(request, {}))
            shared = _hook_edits(folder, request, commands, with_server=False)
            return install_plan.InstallPlan((own,), tuple(next_steps), shared)
        edits = _hook_edits(folder, request, commands, with_server=True)
        return install_plan.InstallPlan(edits, tuple(next_steps))

    def own_memory(
        self, request: "InstallRequest", environment: Mapping[str, str]
    ) -> "Iterable[OwnMemory]":
        folder = install_plan.folder_named_by(environment, "CODEX_HOME", ".codex")
        features = toml_block.plain_in(folder / "config.toml").get("features", {})
        remark = "" if features.get("memories") else NO_MEMORIES
        yield adoption.OwnMemory((folder / "memories",), patterns=NOTES, remark=remark)

    def trust(self, request: "InstallRequest", environment: Mapping[str, str]) -> "Trust":
        folder = install_plan.folder_named_by(environment, "CODEX_HOME", ".codex")
        settings = toml_block.plain_in(folder / "config.toml")
        hooks_file = folder / "hooks.json"
        source, hooks = folder / "config.toml", settings.get("hooks", {})
        if hooks_file.exists():
            source = hooks_file
            hooks = jsonc_edit.plain_in(hooks_file).get("hooks", {})
        trusted = settings.get("hooks", {}).get("state", {})
        keys = [*_keys_of_package(settings), *_keys_of_entries(source, hooks)]
        is_trusted = bool(keys) and all(key in trusted for key in keys)
        if request.project is not None:
            # Codex reads nothing beside the code of a folder that is not trusted.
            folders = settings.get("projects", {})
            level = folders.get(str(request.project), {}).get("trust_level")
            is_trusted = is_trusted and level == "trusted"
        return "yes" if is_trusted else "no"

    def package_file(self, environment: Mapping[str, str]) -> Path | None:
        folder = install_plan.folder_named_by(environment, "CODEX_HOME", ".codex")
        settings = folder / "config.toml"
        return settings if is_named(toml_block.plain_in(settings).get("plugins")) else None

    def transcript_line(self, record: Mapping[str, Any]) -> TranscriptLine:
        payload = record.get("payload")
        if not isinstance(payload, dict):
            return TranscriptLine()
        match record.get("type"), payload.get("type"):
            case "turn_context", _:
                return TranscriptLine(host_transcripts.text_in(payload, "turn_id"))
            case "response_item", "message":
                role, text = host_transcripts.message_of(payload)
                return TranscriptLine("", role, text)
            case _:
                return TranscriptLine()


def _keys_of_package(settings: Mapping[str, Any]) -> list[str]:
    """Return how Codex names the hooks of our package; empty without it."""
    if not is_named(settings.get("plugins")):
        return []
    return [f"{PLUGIN_HOOKS}:{key}:0:0" for key in EVENT_KEYS.values()]


def _keys_of_entries(source: Path, hooks: Mapping[str, Any]) -> list[str]:
    """Return how Codex names our hooks in a file: by the event, and the place in the lists."""
    return [
        f"{source}:{key}:{number}:0"
        for event, key in EVENT_KEYS.items()
        for number, group in enumerate(hooks.get(event, ()))
        if "hook codex" in str(group)
    ]


def _hook_edits(
    folder: Path,
    request: "InstallRequest",
    commands: Mapping[str, dict[str, object]],
    *,
    with_server: bool,
) -> "tuple[tuple[Path, Edit], ...]":
    """Return the edits of the person's own files."""
    settings, hooks_file = folder / "config.toml", folder / "hooks.json"
    # Hooks in both files make Codex warn at each start.
    if not hooks_file.exists():
        return ((settings, _block(request, commands, with_server=with_server)),)
    groups = install_plan.hook_groups(Codex.name, request, commands)
    hooks = (hooks_file, config_edits.JsonEdit(groups))
    return ((settings, _block(request, {})), hooks) if with_server else (hooks,)


def _block(
    request: "InstallRequest",
    commands: Mapping[str, dict[str, object]],
    *,
    with_server: bool = True,
) -> "TomlEdit":
    """Return the edit for the server and these hooks, by the event of each."""
    name = config_edits.SERVER_NAME
    tables = []
    values: dict[str, Any] = {}
    if with_server:
        server = install_plan.server_entry(Codex.name, request)
        # Fault: Codex hides variables from a server, which then does not know the sessions of the hooks.
        server["env_vars"] = PLACES
        if request.allow:
            server["default_tools_approval_mode"] = "approve"
        tables.append(toml_block.format_table(f"[mcp_servers.{name}]", server))
        values["mcp_servers"] = {name: server}
    for event, command in commands.items():
        tables.append(f"[[hooks.{event}]]")
        tables.append(toml_block.format_table(f"[[hooks.{event}.hooks]]", command))
    if commands:
        values["hooks"] = {event: [{"hooks": [command]}] for event, command in commands.items()}
    only = request.mark if commands else ""
    return config_edits.TomlEdit(tuple(tables), values, only)
