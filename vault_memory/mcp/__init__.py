"""MCP: tools and resources for a model.

Over stdio by a loop of our own, over HTTP with the SDK of the extra `mcp`.

Cheap to import: a host that starts the server waits for its list of tools.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.mcp.handlers import server as server
    from vault_memory.mcp.stdio import serve as serve
    from vault_memory.mcp.transports import application as application

__all__ = ["application", "serve", "server"]

_MODULES = {"application": "transports", "serve": "stdio", "server": "handlers"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"vault_memory.mcp.{_MODULES[name]}"), name)
