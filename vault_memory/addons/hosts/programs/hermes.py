"""Hermes: a memory provider of ours, which runs in its Python and asks this program."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.hosts import config_edits, install_plan
from vault_memory.addons.hosts.host import PACKAGE, EventKind, Host, not_of_install
from vault_memory.addons.hosts.own_notes import adoption

if TYPE_CHECKING:
    from vault_memory.addons.hosts.host import Trust
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest
    from vault_memory.addons.hosts.own_notes.adoption import OwnMemory

EVENTS: Mapping[str, EventKind] = {
    "SessionStart": "start",
    "Recall": "prompt",
    "TurnEnd": "turn",
    "SessionEnd": "end",
}
"""What the provider sends"""

MARK = "# Written by `vault-memory install hermes`; `--uninstall` takes it out."
CHOSEN = re.compile(r"""\bprovider["']?\s*:\s*["']?vault-memory\b""")
"""The choice of our provider in YAML, or in JSON, which is YAML too"""
TEMPLATES = {"__init__.py": "hermes_provider.py", "plugin.yaml": "hermes_plugin.yaml"}
"""The template of each file of the provider"""


class Hermes(Host):
    """Its plugins are below `~/.hermes`, or below the folder that `HERMES_HOME` names."""

    name = "hermes"
    events = EVENTS
    can_adopt = True
    exchanges = True

    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        home = install_plan.folder_named_by(environment, "HERMES_HOME", ".hermes")
        folder = home / "plugins" / config_edits.SERVER_NAME
        hook = _python_list(request.command("hook", self.name))
        server = _python_list(install_plan.server_command(self.name, request))
        edits = []
        for name, template in TEMPLATES.items():
            text = install_plan.template(template)
            text = text.replace("@HOOK@", hook).replace("@SERVER@", server)
            edits.append((folder / name, config_edits.OwnFile(text, MARK)))
        next_steps = (
            f"choose it: hermes config set memory.provider {config_edits.SERVER_NAME}",
            "start Hermes again",
        )
        return install_plan.InstallPlan(tuple(edits), next_steps)

    def own_memory(
        self, request: "InstallRequest", environment: Mapping[str, str]
    ) -> "Iterable[OwnMemory]":
        home = install_plan.folder_named_by(environment, "HERMES_HOME", ".hermes")
        yield adoption.OwnMemory((home / "memories",), patterns=("MEMORY.md", "USER.md"))

    def trust(self, request: "InstallRequest", environment: Mapping[str, str]) -> "Trust":
        home = install_plan.folder_named_by(environment, "HERMES_HOME", ".hermes")
        try:
            settings = (home / "config.yaml").read_text(encoding="utf-8")
        except (OSError, ValueError):
            return "no"
        # Hermes loads the one provider that its configuration names.
        return "yes" if CHOSEN.search(settings) else "no"

    def package_file(self, environment: Mapping[str, str]) -> Path | None:
        home = install_plan.folder_named_by(environment, "HERMES_HOME", ".hermes")
        # The provider of `install` lies in the same place.
        return not_of_install(home / "plugins" / PACKAGE / "__init__.py", MARK)

    def format_answer(self, event: str, text: str, notice: str = "") -> str:
        return text


def _python_list(words: list[str]) -> str:
    items = "".join(f"\n    {word!r}," for word in words)
    return f"[{items}\n]"
