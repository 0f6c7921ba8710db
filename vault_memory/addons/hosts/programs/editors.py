"""Programs that run no hooks: editors with a bot, and Claude Desktop. Each has its MCP server in a file."""

import sys
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from vault_memory.addons.hosts import install_plan
from vault_memory.addons.hosts.host import Host

if TYPE_CHECKING:
    from vault_memory.addons.hosts.host import Trust
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest


class EditorHost(Host):
    """An editor whose file of settings is in a folder of the person, or beside the code."""

    takes_project = True
    file: ClassVar[str]
    """The name of the file"""
    project_folder: ClassVar[str]
    """The folder of the file beside the code"""
    servers: ClassVar[str]
    """The key of the servers in the file, which may have comments"""
    entry_type: ClassVar[str] = ""
    """The field `type` of the entry, if it needs one"""
    advice: ClassVar[str]
    """What the person does afterwards"""
    trusted: ClassVar["Trust"] = "not_needed"
    """What `trust` returns"""

    @abstractmethod
    def folder(self, environment: Mapping[str, str]) -> Path:
        """Return the folder of the person's own file."""

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        if request.project is None:
            folder = self.folder(environment)
        else:
            folder = request.project / self.project_folder
        fields = {"type": self.entry_type} if self.entry_type else {}
        edit = install_plan.server_edit(self.name, request, [self.servers], strict=False, **fields)
        return install_plan.InstallPlan(((folder / self.file, edit),), (self.advice,))

    def trust(self, request: "InstallRequest", environment: Mapping[str, str]) -> "Trust":
        return self.trusted


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


class Zed(EditorHost):
    """`settings.json` in `~/.config/zed`, or in `.zed` in a project's folder."""

    name = "zed"
    file = "settings.json"
    project_folder = ".zed"
    servers = "context_servers"
    advice = "look into the settings of Zed's agent panel: a green dot means it runs"

    def folder(self, environment: Mapping[str, str]) -> Path:
        if sys.platform == "darwin":
            return install_plan.home(environment) / ".config" / "zed"
        named = install_plan.folder_named_by(environment, "XDG_CONFIG_HOME", ".config")
        return named / "zed"
