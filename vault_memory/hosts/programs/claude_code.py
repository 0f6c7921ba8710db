"""Claude Code: hooks in its settings, the MCP server in a file of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.hosts.host import CONVERSATION_EVENTS, Host, TranscriptLine
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.hosts import config_edits, host_transcripts, install_plan
    from vault_memory.hosts.install_plan import InstallPlan, InstallRequest
else:
    config_edits = lazy_module("vault_memory.hosts.config_edits")
    host_transcripts = lazy_module("vault_memory.hosts.host_transcripts")
    install_plan = lazy_module("vault_memory.hosts.install_plan")

FOLDER_VARIABLE = "CLAUDE_CONFIG_DIR"


class ClaudeCode(Host):
    """The configuration folder is `~/.claude`, or the folder that `CLAUDE_CONFIG_DIR` names."""

    name = "claude-code"
    events = CONVERSATION_EVENTS
    can_allow = True

    def plan(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "InstallPlan":
        folder = install_plan.folder_named_by(environment, FOLDER_VARIABLE, ".claude")
        commands = install_plan.hook_commands(self.name, request, self.events)
        permission = config_edits.ListedText(
            ("permissions", "allow"),
            f"mcp__{config_edits.SERVER_NAME}",
            is_wanted=request.allow,
        )
        settings = config_edits.JsonEdit(
            (*install_plan.hook_groups(self.name, commands), permission)
        )
        server = install_plan.server_edit(request, ["mcpServers"], type="stdio")
        next_steps = [
            "start a new session of Claude Code; `/hooks` and `/mcp` show what it knows"
        ]
        if not request.allow:
            next_steps.append(
                "for `claude -p`, which uses no tool that is not allowed:"
                " install with `--allow`"
            )
        return install_plan.InstallPlan(
            (
                (folder / "settings.json", settings),
                (_servers_file(environment), server),
            ),
            tuple(next_steps),
        )

    def transcript_line(self, record: Mapping[str, Any]) -> TranscriptLine:
        # What a subagent was asked and answered: nobody said it in this conversation.
        if record.get("isSidechain"):
            return TranscriptLine()
        turn = host_transcripts.text_in(record, "promptId")
        is_report = record.get("isMeta") or record.get("isApiErrorMessage")
        if is_report or record.get("type") not in ("assistant", "user"):
            return TranscriptLine(turn)
        role, text = host_transcripts.message_of(record.get("message"))
        return TranscriptLine(
            turn, role, text, host_transcripts.text_in(record, "uuid")
        )


def _servers_file(environment: Mapping[str, str]) -> Path:
    """Return the file with the MCP servers: in the home, unless the folder was named."""
    folder = install_plan.folder_named_by(environment, FOLDER_VARIABLE, "")
    return folder / ".claude.json"


HOST = ClaudeCode()
