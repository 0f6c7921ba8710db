"""VS Code: the MCP server for Copilot, in the person's profile or beside the code."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.hosts.host import Host
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.hosts import install_plan
    from vault_memory.hosts.host import Trust
    from vault_memory.hosts.install_plan import InstallPlan, InstallRequest
else:
    install_plan = lazy_module("vault_memory.hosts.install_plan")


class VsCode(Host):
    """`mcp.json` with `servers`, where other programs have `mcpServers`; comments are allowed."""

    name = "vscode"
    takes_project = True

    def plan(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "InstallPlan":
        folder = _profile(environment)
        if request.project is not None:
            folder = request.project / ".vscode"
        edit = install_plan.server_edit(
            self.name, request, ["servers"], strict=False, type="stdio"
        )
        return install_plan.InstallPlan(
            ((folder / "mcp.json", edit),),
            ("run `MCP: List Servers` in VS Code, start the server and trust it",),
        )

    def trust(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "Trust":
        # It asks the person, and keeps the answer in a database of its own.
        return "unknown"


def _profile(environment: Mapping[str, str]) -> Path:
    """Return the folder of the default profile."""
    if sys.platform == "darwin":
        folder = install_plan.home(environment) / "Library" / "Application Support"
    else:
        folder = install_plan.folder_named_by(environment, "XDG_CONFIG_HOME", ".config")
    return folder / "Code" / "User"


HOST = VsCode()
