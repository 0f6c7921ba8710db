"""OpenClaw: a plugin of ours in its slot `memory`, so that its own recall step asks the vault."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.hosts import config_edits, install_plan, jsonc_edit
from vault_memory.addons.hosts.host import CONVERSATION_EVENTS, PACKAGE, Host, not_of_install
from vault_memory.addons.hosts.own_notes import adoption

if TYPE_CHECKING:
    from vault_memory.addons.hosts.config_edits import JsonEdit
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest
    from vault_memory.addons.hosts.own_notes.adoption import OwnMemory

WRITTEN_BY = "Written by `vault-memory install openclaw`; `--uninstall` takes it out."
FILES = {
    "openclaw.plugin.json": "openclaw_manifest.json",
    "package.json": "openclaw_package.json",
    "index.js": "openclaw_plugin.js",
}
"""The template of each file of the plugin"""
MARKS = {"index.js": f"// {WRITTEN_BY}"}
JSON_MARK = f'  "description": "{WRITTEN_BY}",'
"""JSON has no comments: the line that says whose file it is"""


class OpenClaw(Host):
    """Variables name its configuration file, the folder of that file, or the home of the folder."""

    name = "openclaw"
    events = CONVERSATION_EVENTS
    can_adopt = True
    exchanges = True

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        name = config_edits.SERVER_NAME
        folder = _state_folder(environment) / "extensions" / name
        values = {
            "@HOOK@": request.command("hook", self.name),
            "@SERVER@": install_plan.server_command(self.name, request),
            "@TOOLS@": list(request.tools),
            "@NAMES@": [tool["name"] for tool in request.tools],
        }
        # The plugin comes first: OpenClaw refuses a configuration that names a missing one.
        edits: list[tuple[Path, config_edits.Edit]] = []
        for file, template in FILES.items():
            text = install_plan.template(template, "AT_START")
            for mark, value in values.items():
                text = text.replace(mark, json.dumps(value, ensure_ascii=False))
            edits.append((folder / file, config_edits.OwnFile(text, MARKS.get(file, JSON_MARK))))
        edits.append((_config_file(environment), _settings()))
        next_steps = (
            "restart the gateway: openclaw gateway restart",
            f"see: openclaw plugins inspect {name} --runtime",
        )
        return install_plan.InstallPlan(tuple(edits), next_steps)

    def own_memory(
        self, request: "InstallRequest", environment: Mapping[str, str]
    ) -> "Iterable[OwnMemory]":
        agents = jsonc_edit.plain_in(_config_file(environment)).get("agents")
        defaults = agents.get("defaults") if isinstance(agents, dict) else None
        workspace = defaults.get("workspace") if isinstance(defaults, dict) else None
        folder = Path(workspace or _state_folder(environment) / "workspace").expanduser()
        yield adoption.OwnMemory((folder,), patterns=("MEMORY.md", "memory/*"))

    def package_file(self, environment: Mapping[str, str]) -> Path | None:
        # The plugin of `install` lies in the same place.
        file = _state_folder(environment) / "extensions" / PACKAGE / "index.js"
        return not_of_install(file, MARKS[file.name])

    def format_answer(self, event: str, text: str, notice: str = "") -> str:
        return text


def _settings() -> "JsonEdit":
    """Return the edit that chooses the plugin and lets it see the conversation."""
    name = config_edits.SERVER_NAME
    # OpenClaw gives a plugin that it did not bring itself no prompts without this.
    # Beside the plugin in its slot, it would run its own memory for dreams, with its tools.
    entry = {
        "enabled": True,
        "hooks": {"allowConversationAccess": True},
        "config": {"dreaming": {"enabled": False}},
    }
    return config_edits.JsonEdit(
        (
            # Earlier versions gave OpenClaw the server; its tools would be there twice.
            config_edits.Member(("mcp", "servers", name), {}, is_wanted=False),
            config_edits.ListedText(("plugins", "allow"), name, is_wanted=True, only_in_list=True),
            config_edits.Member(("plugins", "entries", name), entry),
            config_edits.Choice(("plugins", "slots", "memory"), name),
        ),
        strict=False,
    )


def _config_file(environment: Mapping[str, str]) -> Path:
    if file := environment.get("OPENCLAW_CONFIG_PATH"):
        return Path(file).expanduser()
    return _state_folder(environment) / "openclaw.json"


def _state_folder(environment: Mapping[str, str]) -> Path:
    if folder := environment.get("OPENCLAW_STATE_DIR"):
        return Path(folder).expanduser()
    if file := environment.get("OPENCLAW_CONFIG_PATH"):
        return Path(file).expanduser().parent
    profile = environment.get("OPENCLAW_PROFILE", "")
    name = ".openclaw" if profile in ("", "default") else f".openclaw-{profile}"
    return install_plan.folder_named_by(environment, "OPENCLAW_HOME", "") / name
