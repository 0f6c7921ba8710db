"""The hosts, and the table of them.

A hook starts at every prompt: it imports the module of one host, not all of them.
"""

from importlib import import_module

from vault_memory.addons.hosts.host import Host
from vault_memory.errors import UsageError

PROGRAMS = {
    "claude-code": "claude_code.ClaudeCode",
    "claude-desktop": "editors.ClaudeDesktop",
    "codex": "codex.Codex",
    "cursor": "editors.Cursor",
    "gemini-cli": "gemini_cli.GeminiCli",
    "hermes": "hermes.Hermes",
    "openclaw": "openclaw.OpenClaw",
    "opencode": "opencode.Opencode",
    "qwen-code": "qwen_code.QwenCode",
    "vscode": "editors.VsCode",
    "windsurf": "editors.Windsurf",
    "zed": "editors.Zed",
}
"""Name of a host, in alphabetical order → its module in this package, and its class there"""


class NoSuchHost(UsageError):
    """No host has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no host `{name}`", hint=f"the hosts are {', '.join(names())}")


def names() -> tuple[str, ...]:
    """Return the names of all hosts in alphabetical order."""
    return tuple(PROGRAMS)


def host(name: str) -> Host:
    """Return the host with this name. Raises NoSuchHost."""
    # `name` comes from a command line: only a class of the table may be imported.
    if name not in PROGRAMS:
        raise NoSuchHost(name)
    module, _, described = PROGRAMS[name].partition(".")
    kind: type[Host] = getattr(import_module(f"{__name__}.{module}"), described)
    return kind()


def hosts() -> tuple[Host, ...]:
    """Return all hosts in the order of their names."""
    return tuple(host(name) for name in names())


def runs_hooks(name: str) -> bool:
    """Return whether a program of this name is a host that runs hooks."""
    return name in names() and bool(host(name).events)
