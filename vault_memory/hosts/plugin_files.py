"""What runs inside a host and calls ours: the memory provider for Hermes, and the plugin for opencode."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.hosts.recipes import Wire

MARK = "# Written by `vault-memory install hermes`; `--uninstall` takes it out."
NAMES = ("__init__.py", "plugin.yaml")
PLUGIN_MARK = (
    "// Written by `vault-memory install opencode`; `--uninstall` takes it out."
)


def files(wire: "Wire") -> dict[str, str]:
    """Name and text of each file of the provider, which runs in the Python of Hermes."""
    hook = _list(wire.command("hook", "hermes"))
    server = _list(wire.command("mcp"))
    texts = {name: _text("hermes", name) for name in NAMES}
    return {
        name: text.replace("@HOOK@", hook).replace("@SERVER@", server)
        for name, text in texts.items()
    }


def plugin(wire: "Wire") -> str:
    """The text of the plugin, which runs in opencode."""
    hook = json.dumps(wire.command("hook", "opencode"), ensure_ascii=False, indent=2)
    return _text("opencode", "vault-memory.js").replace("@HOOK@", hook)


def _text(host: str, name: str) -> str:
    return (
        Path(__file__)
        .with_name(host)
        .joinpath(f"{name}.txt")
        .read_text(encoding="utf-8")
    )


def _list(words: list[str]) -> str:
    return "[" + "".join(f"\n    {word!r}," for word in words) + "\n]"
