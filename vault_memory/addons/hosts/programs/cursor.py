"""Cursor: the MCP server in its configuration."""

from collections.abc import Mapping
from pathlib import Path

from vault_memory.addons.hosts import install_plan
from vault_memory.addons.hosts.editor_host import EditorHost


class Cursor(EditorHost):
    """Its servers are in `mcp.json` in `.cursor`: in the home, or in a project's folder."""

    name = "cursor"
    file = "mcp.json"
    project_folder = ".cursor"
    servers = "mcpServers"
    # `type` is a required field of a server that Cursor starts itself.
    entry_type = "stdio"
    advice = "start Cursor again, and switch the server on in its settings of MCP"
    # It asks the person, and keeps the answer in a database of its own.
    trusted = "unknown"

    def folder(self, environment: Mapping[str, str]) -> Path:
        return install_plan.home(environment) / ".cursor"


HOST = Cursor()
