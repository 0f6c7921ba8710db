"""Qwen Code: hooks as Claude Code has them and the MCP server, in one file of settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.hosts import config_edits, install_plan
from vault_memory.addons.hosts.host import CONVERSATION_EVENTS, PACKAGE, Host

if TYPE_CHECKING:
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest


class QwenCode(Host):
    """The configuration folder is `~/.qwen`, or the folder that `QWEN_HOME` names."""

    name = "qwen-code"
    events = CONVERSATION_EVENTS
    can_allow = True

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        commands = install_plan.hook_commands(self.name, request, self.events)
        server = install_plan.server_entry(self.name, request)
        if request.allow:
            server["trust"] = True
        entry = config_edits.Member(("mcpServers", config_edits.SERVER_NAME), server)
        groups = install_plan.hook_groups(self.name, request, commands)
        edit = config_edits.JsonEdit((*groups, entry), strict=False)
        next_steps = ("start Qwen Code again; `qwen mcp list` shows what it knows",)
        return install_plan.InstallPlan(
            ((_folder(environment) / "settings.json", edit),), next_steps
        )

    def package_file(self, environment: Mapping[str, str]) -> Path | None:
        file = _folder(environment) / "extensions" / PACKAGE / "qwen-extension.json"
        return file if file.exists() else None


def _folder(environment: Mapping[str, str]) -> Path:
    return install_plan.folder_named_by(environment, "QWEN_HOME", ".qwen")
