"""Windsurf: the MCP server in the configuration of its bot, Cascade."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vault_memory.addons.hosts import install_plan
from vault_memory.addons.hosts.host import Host

if TYPE_CHECKING:
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest


class Windsurf(Host):
    """Its servers are in `~/.codeium/windsurf/mcp_config.json`; a project has no such file."""

    name = "windsurf"

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        folder = install_plan.home(environment) / ".codeium" / "windsurf"
        edit = install_plan.server_edit(self.name, request, ["mcpServers"])
        return install_plan.InstallPlan(
            ((folder / "mcp_config.json", edit),),
            ("start Windsurf again, or refresh the servers in its settings of Cascade",),
        )


HOST = Windsurf()
