"""Zed: the MCP server among its settings, which have comments that stay."""

import sys
from collections.abc import Mapping
from pathlib import Path

from vault_memory.addons.hosts import install_plan
from vault_memory.addons.hosts.editor_host import EditorHost


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


HOST = Zed()
