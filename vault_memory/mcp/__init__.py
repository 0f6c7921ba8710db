"""MCP: tools and resources for a model, over standard input and output or over HTTP."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
