"""OpenClaw: the MCP server in its configuration. It runs no hooks."""

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


class OpenClaw(Host):
    """Variables name its configuration file, the folder of that file, or the home of the folder."""

    name = "openclaw"

    def plan(
        self,
        request: "InstallRequest",
        environment: Mapping[str, str],
    ) -> "InstallPlan":
        edit = install_plan.server_edit(request, ["mcp", "servers"], strict=False)
        next_steps = (
            "turn off its own memory, which it asks instead of ours:"
            " openclaw config set plugins.slots.memory none",
            "name our tools in its first request:"
            " openclaw config set tools.toolSearch false",
            "restart the gateway: openclaw gateway restart",
            "see: openclaw mcp doctor --probe",
        )
        return install_plan.InstallPlan(
            ((_config_file(environment), edit),), next_steps
        )


def _config_file(environment: Mapping[str, str]) -> Path:
    if file := environment.get("OPENCLAW_CONFIG_PATH"):
        return Path(file).expanduser()
    if folder := environment.get("OPENCLAW_STATE_DIR"):
        return Path(folder).expanduser() / "openclaw.json"
    profile = environment.get("OPENCLAW_PROFILE", "")
    name = ".openclaw" if profile in ("", "default") else f".openclaw-{profile}"
    home = install_plan.folder_named_by(environment, "OPENCLAW_HOME", "")
    return home / name / "openclaw.json"


HOST = OpenClaw()
