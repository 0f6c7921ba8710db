"""Parts of the program that need packages which are installed only on demand."""

from importlib.util import find_spec

from vault_memory.errors import ConfigError

MODULES = {"mcp": ("mcp",), "web": ("starlette", "uvicorn")}
"""By the name of the extra: what it brings"""


class ExtraMissing(ConfigError):
    """What was asked for needs packages that are not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(
            f"this needs packages that are not installed: {', '.join(MODULES[extra])}",
            hint=f"pip install 'vault-memory[{extra}]'",
        )


def has(extra: str) -> bool:
    """Whether the packages of an extra are installed."""
    return all(find_spec(module) for module in MODULES[extra])


def need(extra: str) -> None:
    """Raises ExtraMissing."""
    if not has(extra):
        raise ExtraMissing(extra)
