"""Zed: the MCP server among its settings, which have comments that stay."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.hosts.host import Host
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.hosts import install_plan
    from vault_memory.hosts.install_plan import InstallPlan, InstallRequest
else:
    install_plan = lazy_module("vault_memory.hosts.install_plan")


class Zed(Host):
    """`settings.json` in `~/.config/zed`, or in `.zed` in a project's folder."""

    name = "zed"
    takes_project = True

    def plan(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "InstallPlan":
        folder = _settings_folder(environment)
        if request.project is not None:
            folder = request.project / ".zed"
        edit = install_plan.server_edit(
            self.name, request, ["context_servers"], strict=False
        )
        return install_plan.InstallPlan(
            ((folder / "settings.json", edit),),
            ("look into the settings of Zed's agent panel: a green dot means it runs",),
        )


def _settings_folder(environment: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return install_plan.home(environment) / ".config" / "zed"
    named = install_plan.folder_named_by(environment, "XDG_CONFIG_HOME", ".config")
    return named / "zed"


HOST = Zed()
