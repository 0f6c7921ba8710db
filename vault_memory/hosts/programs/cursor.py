"""Cursor: the MCP server in its configuration. `install` writes no hooks for it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vault_memory.hosts.host import Host
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.hosts import install_plan
    from vault_memory.hosts.host import Trust
    from vault_memory.hosts.install_plan import InstallPlan, InstallRequest
else:
    install_plan = lazy_module("vault_memory.hosts.install_plan")


class Cursor(Host):
    """Its servers are in `mcp.json` in `.cursor`: in the home, or in a project's folder."""

    name = "cursor"
    takes_project = True

    def plan(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "InstallPlan":
        folder = request.project or install_plan.home(environment)
        # `type` is a required field of a server that Cursor starts itself.
        edit = install_plan.server_edit(
            self.name, request, ["mcpServers"], strict=False, type="stdio"
        )
        return install_plan.InstallPlan(
            ((folder / ".cursor" / "mcp.json", edit),),
            ("start Cursor again, and switch the server on in its settings of MCP",),
        )

    def trust(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "Trust":
        # It asks the person, and keeps the answer in a database of its own.
        return "unknown"


HOST = Cursor()
