"""Editors with a bot: the MCP server in one file of settings. `install` writes no hooks for them."""

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
