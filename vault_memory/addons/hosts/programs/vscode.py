"""VS Code: the MCP server for Copilot, in the person's profile or beside the code."""

import sys
from collections.abc import Mapping
from pathlib import Path

from vault_memory.addons.hosts import install_plan
from vault_memory.addons.hosts.editor_host import EditorHost


class VsCode(EditorHost):
    """`mcp.json` with `servers`, where other programs have `mcpServers`."""

    name = "vscode"
    file = "mcp.json"
    project_folder = ".vscode"
    servers = "servers"
    entry_type = "stdio"
    advice = "run `MCP: List Servers` in VS Code, start the server and trust it"
    # It asks the person, and keeps the answer in a database of its own.
    trusted = "unknown"

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Return the folder of the default profile."""
        if sys.platform == "darwin":
            root = install_plan.home(environment) / "Library" / "Application Support"
        else:
            root = install_plan.folder_named_by(environment, "XDG_CONFIG_HOME", ".config")
        return root / "Code" / "User"


HOST = VsCode()
