"""opencode: a plugin of ours, which runs in it and calls hooks, and the MCP server."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.addons.hosts import config_edits, install_plan, jsonc_edit
from vault_memory.addons.hosts.host import CONVERSATION_EVENTS, Host

if TYPE_CHECKING:
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest

NPM_NAME = "vault-memory-opencode"
"""Our package at npm"""
QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»"}
"""An opening quotation mark → the one that closes it"""
MARK = "// Written by `vault-memory install opencode`; `--uninstall` takes it out."


class Opencode(Host):
    """Its folder is `opencode` in the folder of configurations (`XDG_CONFIG_HOME`)."""

    name = "opencode"
    events = CONVERSATION_EVENTS
    takes_project = True

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        configurations = install_plan.folder_named_by(environment, "XDG_CONFIG_HOME", ".config")
        folder = configurations / "opencode"
        command = install_plan.server_command(self.name, request)
        entry = {"type": "local", "command": command}
        server = config_edits.Member(("mcp", config_edits.SERVER_NAME), entry)
        settings = config_edits.JsonEdit((server,), strict=False)
        words = json.dumps(request.hook_words(self.name), ensure_ascii=False, indent=2)
        text = install_plan.template("opencode_plugin.js", "CONFIG").replace("@HOOK@", words)
        plugin = (
            folder / "plugins" / "vault-memory.js",
            config_edits.OwnFile(text, MARK, request.mark),
        )
        next_steps = ("start opencode again; `opencode mcp list` shows what it knows",)
        if request.project is not None:
            return install_plan.InstallPlan(
                ((_settings_file(request.project), settings),), next_steps, (plugin,)
            )
        return install_plan.InstallPlan(((_settings_file(folder), settings), plugin), next_steps)

    def package_file(self, environment: Mapping[str, str]) -> Path | None:
        configurations = install_plan.folder_named_by(environment, "XDG_CONFIG_HOME", ".config")
        for file in sorted((configurations / "opencode").glob("opencode.json*")):
            plugins = jsonc_edit.plain_in(file).get("plugin")
            if isinstance(plugins, list) and any(map(_is_our_package, plugins)):
                return file
        return None

    def common_payload(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        # `opencode run` puts a prompt with a blank into quotation marks. Words in quotation marks
        # are another author's, and nothing of them would be learned.
        prompt = payload.get("prompt")
        if not isinstance(prompt, str):
            return payload
        return {**payload, "prompt": without_quotes(prompt)}

    def format_answer(self, event: str, text: str, notice: str = "") -> str:
        return text


def _is_our_package(plugin: object) -> bool:
    """Whether a plugin is ours: by its name at npm, or by the folder that a person named."""
    name = str(plugin)
    if name.startswith("/"):
        name = str(jsonc_edit.plain_in(Path(name) / "package.json").get("name"))
    return name.partition("@")[0] == NPM_NAME


def without_quotes(prompt: str) -> str:
    """Return a prompt without the one pair of quotation marks around all of it."""
    text = prompt.strip()
    opening, inner, closing = text[:1], text[1:-1], text[-1:]
    if len(text) < 3 or QUOTES.get(opening) != closing:
        return prompt
    # opencode escapes the marks within: others end a quotation before the end of the text.
    plain = inner.replace(f"\\{closing}", "")
    if opening in plain or closing in plain:
        return prompt
    return inner.replace(f"\\{closing}", closing)


def _settings_file(folder: Path) -> Path:
    file = folder / "opencode.jsonc"
    return file if file.exists() else folder / "opencode.json"
