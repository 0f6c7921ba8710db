"""The hosts. Each module of this package has one, as `HOST`, and its name is the host's name.

A hook starts at every prompt: it imports the module of one host, not all of them.
"""

import os
from importlib import import_module

from vault_memory.addons.hosts.host import Host
from vault_memory.errors import UsageError


class NoSuchHost(UsageError):
    """No host has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no host `{name}`", hint=f"the hosts are {', '.join(names())}")


def names() -> tuple[str, ...]:
    """Return the names of all hosts in alphabetical order."""
    files = os.listdir(os.path.dirname(__file__))
    modules = [
        name.removesuffix(".py")
        for name in files
        if name.endswith(".py") and not name.startswith("_")
    ]
    return tuple(sorted(module.replace("_", "-") for module in modules))


def host(name: str) -> Host:
    """Return the host with this name. Raises NoSuchHost."""
    # `name` comes from a command line: only a module of this package may be imported.
    if name not in names():
        raise NoSuchHost(name)
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    described: Host = module.HOST
    return described


def hosts() -> tuple[Host, ...]:
    """Return all hosts in the order of their names."""
    return tuple(host(name) for name in names())


def runs_hooks(name: str) -> bool:
    """Return whether a program of this name is a host that runs hooks."""
    return name in names() and bool(host(name).events)
