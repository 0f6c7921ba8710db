"""Gemini CLI: hooks and the MCP server in one file. It names events and their fields its own way."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.addons.hosts import config_edits, install_plan
from vault_memory.addons.hosts.host import PACKAGE, EventKind, Host

if TYPE_CHECKING:
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest

EVENTS: Mapping[str, EventKind] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterAgent": "answer",
    "PreCompress": "compact",
    "SessionEnd": "end",
}
SETTINGS = ".gemini/settings.json"
HOOK_CONTEXT = re.compile(r"\A<hook_context>.*?</hook_context>\s*", re.DOTALL)
"""Answers of hooks, which it puts in front of a prompt; the mark cannot occur within them"""


class GeminiCli(Host):
    """The configuration folder is `.gemini` in the home, or where `GEMINI_CLI_HOME` points."""

    name = "gemini-cli"
    events = EVENTS
    can_allow = True
    takes_project = True

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        folder = install_plan.folder_named_by(environment, "GEMINI_CLI_HOME", "")
        server = install_plan.server_entry(self.name, request)
        if request.allow:
            server["trust"] = True
        milliseconds = 1000 * install_plan.HOOK_SECONDS
        hook = install_plan.hook_command(self.name, request, timeout=milliseconds)
        hooks = dict.fromkeys(self.events, hook)
        groups = install_plan.hook_groups(self.name, request, hooks)
        entry = config_edits.Member(("mcpServers", config_edits.SERVER_NAME), server)
        next_steps = ["start Gemini CLI again; `gemini mcp list` shows what it knows"]
        if not request.allow:
            next_steps.append(
                "for `gemini -p`, which offers its model no tool that asks: install with `--allow`"
            )
        file = folder / SETTINGS
        if request.project is not None:
            own = config_edits.JsonEdit((entry,), strict=False)
            shared = config_edits.JsonEdit(groups, strict=False)
            next_steps.insert(0, f"trust the folder {request.project} in Gemini CLI")
            return install_plan.InstallPlan(
                ((request.project / SETTINGS, own),), tuple(next_steps), ((file, shared),)
            )
        settings = config_edits.JsonEdit((*groups, entry), strict=False)
        return install_plan.InstallPlan(((file, settings),), tuple(next_steps))

    def package_file(self, environment: Mapping[str, str]) -> Path | None:
        home = install_plan.folder_named_by(environment, "GEMINI_CLI_HOME", "")
        file = home / ".gemini" / "extensions" / PACKAGE / "gemini-extension.json"
        return file if file.exists() else None

    def common_payload(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        match payload.get("hook_event_name"):
            case "BeforeAgent" if isinstance(payload.get("prompt"), str):
                return {**payload, "prompt": HOOK_CONTEXT.sub("", payload["prompt"])}
            case "AfterAgent":
                # It has no id of a turn. The time of the event is the same when it is sent again.
                turn, reply = payload.get("timestamp"), payload.get("prompt_response")
                return {**payload, "prompt_id": turn, "last_assistant_message": reply}
            case _:
                return payload
