"""The only module here that knows where the parts of the product are. A move of modules changes this file alone."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import vault_memory
from vault_memory import Config, VaultMemory, VaultMemoryError
from vault_memory.api.metrics import Metrics
from vault_memory.cli import COMMANDS, main
from vault_memory.contract.calls import ROUTES
from vault_memory.http.metrics_text import as_text
from vault_memory.http.openapi import document
from vault_memory.http.prometheus import Requests
from vault_memory.mcp import tools

__all__ = [
    "COMMANDS",
    "Config",
    "VaultMemory",
    "error_classes",
    "main",
    "metrics_text",
    "openapi",
    "tools_and_resources",
]

VITALS: dict[str, Any] = {
    "stale_files": 0,
    "watcher": {"healthy": True},
    "semantic": "off",
    "sync": {
        "state": "ok",
        "queue": 0,
        "errors": [],
        "held": [],
        "last_good": "2026-05-26T10:00:00+00:00",
    },
}
"""What a daemon answers when it is asked how it is"""


def error_classes() -> Iterator[type[VaultMemoryError]]:
    """Every class of error, of all modules."""
    for module in pkgutil.walk_packages(vault_memory.__path__, "vault_memory."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    waiting: list[type[VaultMemoryError]] = [VaultMemoryError]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        yield kind


def openapi() -> dict[str, Any]:
    """The document that `/openapi.json` answers."""
    return document(ROUTES)


def tools_and_resources() -> dict[str, Any]:
    """What an MCP client is told before it calls anything."""
    return {**tools.introduction(has_hooks=False), **tools.list_tools(), **tools.list_templates()}


def metrics_text(memory: VaultMemory) -> str:
    """What `/metrics` answers for a vault with a daemon, after one request."""
    requests = Requests()
    requests.took("/v1/search", "POST", 200, 0.1)
    families = Metrics(memory, lambda: VITALS).families()
    return as_text([*families, *requests.families()]).decode()


def state_of(memory: VaultMemory) -> Path:
    """The state folder of an open vault."""
    return memory.vault.state.path
