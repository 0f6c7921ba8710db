"""Codex: one block in its TOML, with the hooks and the MCP server."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.hosts.host import CONVERSATION_EVENTS, Host, TranscriptLine
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.hosts import (
        config_edits,
        host_transcripts,
        install_plan,
        toml_block,
    )
    from vault_memory.hosts.config_edits import Edit, TomlEdit
    from vault_memory.hosts.install_plan import InstallPlan, InstallRequest
else:
    config_edits = lazy_module("vault_memory.hosts.config_edits")
    host_transcripts = lazy_module("vault_memory.hosts.host_transcripts")
    install_plan = lazy_module("vault_memory.hosts.install_plan")
    toml_block = lazy_module("vault_memory.hosts.toml_block")


class Codex(Host):
    """The configuration folder is `~/.codex`, or the folder that `CODEX_HOME` names."""

    name = "codex"
    events = CONVERSATION_EVENTS
    can_allow = True

    def plan(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "InstallPlan":
        folder = install_plan.folder_named_by(environment, "CODEX_HOME", ".codex")
        hooks_file = folder / "hooks.json"
        commands = install_plan.hook_commands(self.name, request, self.events)
        edits: list[tuple[Path, Edit]] = []
        # Hooks in both files make Codex warn at each start.
        if hooks_file.exists():
            groups = install_plan.hook_groups(self.name, commands)
            edits.append((folder / "config.toml", _block(request, {})))
            edits.append((hooks_file, config_edits.JsonEdit(groups)))
        else:
            edits.append((folder / "config.toml", _block(request, commands)))
        next_steps = [
            "start Codex, run `/hooks` there, and trust the five commands:"
            " before that it runs none"
        ]
        if not request.allow:
            next_steps.append(
                "for `codex exec`, which refuses the tools that change notes:"
                " install with `--allow`"
            )
        return install_plan.InstallPlan(tuple(edits), tuple(next_steps))

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


def _block(
    request: "InstallRequest",
    commands: Mapping[str, dict[str, object]],
) -> "TomlEdit":
    """Return the edit for the server and these hooks, by the event of each."""
    server = install_plan.server_entry(request)
    if request.allow:
        server["default_tools_approval_mode"] = "approve"
    name = config_edits.SERVER_NAME
    tables = [toml_block.format_table(f"[mcp_servers.{name}]", server)]
    values: dict[str, Any] = {"mcp_servers": {name: server}}
    for event, command in commands.items():
        tables.append(f"[[hooks.{event}]]")
        tables.append(toml_block.format_table(f"[[hooks.{event}.hooks]]", command))
    if commands:
        values["hooks"] = {
            event: [{"hooks": [command]}] for event, command in commands.items()
        }
    return config_edits.TomlEdit(tuple(tables), values)


HOST = Codex()
