"""Claude Desktop: the MCP server in its configuration. It runs no hooks."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from vault_memory.addons.hosts import install_plan
from vault_memory.addons.hosts.host import Host

if TYPE_CHECKING:
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest


class ClaudeDesktop(Host):
    """Its configuration is where the applications of the system keep theirs."""

    name = "claude-desktop"

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        if sys.platform == "darwin":
            home = install_plan.home(environment)
            folder = home / "Library" / "Application Support"
        else:
            folder = install_plan.folder_named_by(environment, "XDG_CONFIG_HOME", ".config")
        file = folder / "Claude" / "claude_desktop_config.json"
        edit = install_plan.server_edit(self.name, request, ["mcpServers"])
        return install_plan.InstallPlan(
            ((file, edit),), ("quit Claude Desktop and start it again",)
        )


HOST = ClaudeDesktop()
