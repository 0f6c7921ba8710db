"""Claude Code: hooks in its settings, the MCP server in a file of its own."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.addons.hosts import config_edits, host_transcripts, install_plan, jsonc_edit
from vault_memory.addons.hosts.host import CONVERSATION_EVENTS, Host, TranscriptLine, is_named
from vault_memory.addons.hosts.own_notes import claude_folders

if TYPE_CHECKING:
    from vault_memory.addons.hosts.config_edits import Edit, Entry, JsonEdit
    from vault_memory.addons.hosts.host import Trust
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest
    from vault_memory.addons.hosts.own_notes.adoption import OwnMemory

FOLDER_VARIABLE = "CLAUDE_CONFIG_DIR"
LOCAL_SETTINGS = Path(".claude") / "settings.local.json"
"""Settings of one person in a project, which are not shared with others"""
APPROVED = "enabledMcpjsonServers"
"""The servers of `.mcp.json` that the person has approved"""


class ClaudeCode(Host):
    """The configuration folder is `~/.claude`, or the folder that `CLAUDE_CONFIG_DIR` names."""

    name = "claude-code"
    events = CONVERSATION_EVENTS
    can_allow = True
    takes_project = True
    can_adopt = True

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        folder = install_plan.folder_named_by(environment, FOLDER_VARIABLE, ".claude")
        commands = install_plan.hook_commands(self.name, request, self.events)
        hooks = install_plan.hook_groups(self.name, request, commands)
        permission = config_edits.ListedText(
            ("permissions", "allow"), f"mcp__{config_edits.SERVER_NAME}", is_wanted=request.allow
        )
        server = install_plan.server_edit(self.name, request, ["mcpServers"], type="stdio")
        if request.project is not None:
            return _plan_for_project(
                request.project,
                request,
                server,
                (permission,),
                (folder / "settings.json", config_edits.JsonEdit(hooks)),
            )
        next_steps = ["start a new session of Claude Code; `/hooks` and `/mcp` show what it knows"]
        if not request.allow:
            next_steps.append(
                "for `claude -p`, which uses no tool that is not allowed: install with `--allow`"
            )
        return install_plan.InstallPlan(
            (
                (folder / "settings.json", config_edits.JsonEdit((*hooks, permission))),
                (_servers_file(environment), server),
            ),
            tuple(next_steps),
        )

    def own_memory(
        self, request: "InstallRequest", environment: Mapping[str, str]
    ) -> "Iterable[OwnMemory]":
        folder = install_plan.folder_named_by(environment, FOLDER_VARIABLE, ".claude")
        if request.project is None:
            return claude_folders.own_memory(folder, LOCAL_SETTINGS, environment)
        return (claude_folders.of_project(folder, request.project, LOCAL_SETTINGS, environment),)

    def trust(self, request: "InstallRequest", environment: Mapping[str, str]) -> "Trust":
        if request.project is None:
            return "not_needed"
        settings = jsonc_edit.plain_in(request.project / LOCAL_SETTINGS)
        state = jsonc_edit.plain_in(_servers_file(environment))
        projects = state.get("projects")
        own = projects.get(str(request.project)) if isinstance(projects, dict) else None
        for answers in (settings, own):
            approved = isinstance(answers, dict) and answers.get(APPROVED)
            if isinstance(approved, list) and config_edits.SERVER_NAME in approved:
                return "yes"
        return "no"

    def package_file(self, environment: Mapping[str, str]) -> Path | None:
        folder = install_plan.folder_named_by(environment, FOLDER_VARIABLE, ".claude")
        settings = folder / "settings.json"
        plugins = jsonc_edit.plain_in(settings).get("enabledPlugins")
        return settings if is_named(plugins) else None

    def transcript_line(self, record: Mapping[str, Any]) -> TranscriptLine:
        # What a subagent was asked and answered: nobody said it in this conversation.
        if record.get("isSidechain"):
            return TranscriptLine()
        turn = host_transcripts.text_in(record, "promptId")
        is_report = record.get("isMeta") or record.get("isApiErrorMessage")
        if is_report or record.get("type") not in ("assistant", "user"):
            return TranscriptLine(turn)
        role, text = host_transcripts.message_of(record.get("message"))
        return TranscriptLine(turn, role, text, host_transcripts.text_in(record, "uuid"))


def _plan_for_project(
    project: Path,
    request: "InstallRequest",
    server: "JsonEdit",
    permissions: "tuple[Entry, ...]",
    hooks: "tuple[Path, JsonEdit]",
) -> "InstallPlan":
    """Return the plan of a project: the server in `.mcp.json`, the permissions apart from it."""
    approval = config_edits.ListedText(
        (APPROVED,), config_edits.SERVER_NAME, is_wanted=request.allow
    )
    edits: list[tuple[Path, Edit]] = [(project / ".mcp.json", server)]
    # Without `--allow`, an earlier permission is withdrawn, but no file is created for that.
    settings = project / LOCAL_SETTINGS
    if request.allow or settings.exists():
        edits.append((settings, config_edits.JsonEdit((*permissions, approval))))
    next_steps = [f"start Claude Code in {project}, and approve the server there"]
    if request.allow:
        next_steps = [f"start Claude Code in {project}"]
    return install_plan.InstallPlan(tuple(edits), tuple(next_steps), (hooks,))


def _servers_file(environment: Mapping[str, str]) -> Path:
    """Return the file with the MCP servers: in the home, unless the folder was named."""
    folder = install_plan.folder_named_by(environment, FOLDER_VARIABLE, "")
    return folder / ".claude.json"
