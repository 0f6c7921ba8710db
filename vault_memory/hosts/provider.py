"""The memory provider for Hermes: a folder of two files, which run in the Python of Hermes and call ours."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.hosts.wiring import Wire

MARK = "# Written by `vault-memory install hermes`; `--uninstall` takes it out."
NAMES = ("__init__.py", "plugin.yaml")


def files(wire: "Wire") -> dict[str, str]:
    """Name and text of each file."""
    hook = _list(wire.command("hook", "hermes"))
    folder = Path(__file__).with_name("hermes")
    texts = {name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in NAMES}
    return {name: text.replace("@HOOK@", hook) for name, text in texts.items()}


def _list(words: list[str]) -> str:
    return "[" + "".join(f"\n    {word!r}," for word in words) + "\n]"
