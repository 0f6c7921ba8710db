"""The table of add-ons: what each brings, and the only way to it.

An add-on is a folder beside this module. The core names a part of it and imports none, so a wheel
without the folder works but for what the add-on brings. Another package brings an add-on by the
entry point `vault_memory.addons`: a package with the dictionary COMMANDS, SCHEMES, or both.
"""

from importlib import import_module

from vault_memory import errors, logs

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

OFFERS = {
    "connector": "letting programs outside in by OAuth",
    "dialogue": "the prompts and questions of MCP",
    "documents": "finding PDFs, images and office files",
    "fleet": "sharing vaults between several hosts",
    "hosts": "connecting programs such as Claude Code",
    "page": "the page for the browser",
    "s3": "a home in a bucket of S3",
    "talk": "recording rooms of Nextcloud Talk",
    "transfer": "import and export",
}
"""Add-on → what is missing without it"""
COMMANDS = {
    "fleet": {"fleet": "Share the vaults of many people between several hosts."},
    "hosts": {
        "install": "Connect the vault to a program such as Claude Code.",
        "uninstall": "Take everything of ours away from this machine, but no note.",
        "hook": "Answer one event of such a program, read from standard input.",
    },
    "page": {"web": "Show in a browser what is remembered, and correct it there."},
    "transfer": {
        "import": "Import the memory of another system.",
        "export": "Export the vault as files and JSON Lines.",
    },
}
"""Add-on → the commands in its module `NAME_commands`, each with its line in the help"""
COMPANIONS = {
    "checks": ("hosts.host_checks", "documents.document_checks"),
    "index": ("documents.companion",),
}
"""What the core asks of add-ons → the modules that answer: for `doctor`, and beside its index"""
SCHEMES = {"s3": "s3"}
"""Scheme of the address of a home → its add-on, which has the module `homes`"""


def part(name: str) -> "Any":
    """Return a module of an add-on, such as `hosts.programs`. Raises AddonMissing."""
    module = optional_part(name)
    if module is None:
        raise errors.AddonMissing(OFFERS[name.partition(".")[0]])
    return module


def optional_part(name: str) -> "Any":
    """Return a module of an add-on, such as `hosts.programs`; None without the add-on."""
    package = f"{__package__}.{name.partition('.')[0]}"
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        # A bug in the add-on is no missing add-on.
        if error.name != package:
            raise
        return None
    return import_module(f"{__package__}.{name}")


def companions(kind: str) -> "Iterator[Any]":
    """Yield the modules of a row of `COMPANIONS`, without those of add-ons that are missing."""
    return filter(None, map(optional_part, COMPANIONS[kind]))


def commands_of(name: str) -> "ModuleType | None":
    """Return the module with a command; None when no add-on brings it. Raises AddonMissing."""
    for addon, commands in COMMANDS.items():
        if name in commands:
            module: ModuleType = part(f"{addon}.{addon}_commands")
            return module
    for package in packages():
        if name in commands_in(package):
            return _module_of(package, "commands")
    return None


def homes_of(url: str) -> "Any":
    """Return the module for homes at such an address; None for an address of the core.

    Raises AddonMissing.
    """
    scheme, mark, _ = url.lower().partition("://")
    if not mark or scheme in ("http", "https"):
        return None
    if scheme in SCHEMES:
        return part(f"{SCHEMES[scheme]}.homes")
    for package in packages():
        if scheme in getattr(package, "SCHEMES", ()):
            return _module_of(package, "homes")
    return None


def packages() -> "list[Any]":
    """Return the add-ons of other packages. It reads what is installed, so ask for it last."""
    from importlib.metadata import entry_points

    loaded = []
    for point in entry_points(group=__package__):
        try:
            loaded.append(point.load())
        except Exception as error:
            # Fault: one package that cannot be imported would break the help and each wrong name.
            logs.Logger(__name__).warning(
                "the add-on `%s` is left out, as `%s` cannot be imported: %s: %s",
                point.name,
                point.value,
                type(error).__name__,
                error,
            )
    return loaded


def commands_in(package: "Any") -> dict[str, str]:
    """Return the commands of an add-on of another package, each with its line in the help."""
    return dict(getattr(package, "COMMANDS", {}))


def _module_of(package: "ModuleType", name: str) -> "ModuleType":
    """Return a module of an add-on of another package. Raises ConfigError."""
    try:
        return import_module(f"{package.__name__}.{name}")
    except Exception as error:
        raise errors.ConfigError(
            f"`{package.__name__}.{name}` cannot be imported: {error!r}",
            hint=f"update or remove the package that brings `{package.__name__}`",
        ) from error
