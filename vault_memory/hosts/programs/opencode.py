"""opencode: a plugin of ours, which runs in it and calls hooks, and the MCP server."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from vault_memory.hosts.host import CONVERSATION_EVENTS, Host
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.hosts import config_edits, install_plan
    from vault_memory.hosts.install_plan import InstallPlan, InstallRequest
else:
    config_edits = lazy_module("vault_memory.hosts.config_edits")
    install_plan = lazy_module("vault_memory.hosts.install_plan")

MARK = "// Written by `vault-memory install opencode`; `--uninstall` takes it out."


class Opencode(Host):
    """Its folder is `opencode` in the folder of configurations (`XDG_CONFIG_HOME`)."""

    name = "opencode"
    events = CONVERSATION_EVENTS

    def plan(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "InstallPlan":
        configurations = install_plan.folder_named_by(
            environment, "XDG_CONFIG_HOME", ".config"
        )
        folder = configurations / "opencode"
        settings_file = folder / "opencode.jsonc"
        if not settings_file.exists():
            settings_file = folder / "opencode.json"
        entry = {"type": "local", "command": request.command("mcp")}
        server = config_edits.Member(("mcp", config_edits.SERVER_NAME), entry)
        hook = request.command("hook", self.name)
        words = json.dumps(hook, ensure_ascii=False, indent=2)
        plugin = install_plan.template("opencode_plugin.js").replace("@HOOK@", words)
        return install_plan.InstallPlan(
            (
                (settings_file, config_edits.JsonEdit((server,), strict=False)),
                (
                    folder / "plugins" / "vault-memory.js",
                    config_edits.OwnFile(plugin, MARK),
                ),
            ),
            ("start opencode again; `opencode mcp list` shows what it knows",),
        )

    def format_answer(
        self,
        event: str,
        text: str,
    ) -> str:
        return text


HOST = Opencode()
