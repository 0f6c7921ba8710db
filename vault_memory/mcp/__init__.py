"""MCP: tools and resources for a model, over stdio and over HTTP, with the official SDK. Needs the extra `mcp`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.mcp.handlers import server as server
    from vault_memory.mcp.transports import application as application
    from vault_memory.mcp.transports import over_stdio as over_stdio

__all__ = ["application", "over_stdio", "server"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    module = "handlers" if name == "server" else "transports"  # only when it is used: the SDK comes with an extra
    return getattr(import_module(f"vault_memory.mcp.{module}"), name)
