"""Checks for packages that are installed only on demand."""

from importlib.util import find_spec

from vault_memory.errors import ConfigError

MODULES = {
    "connector": ("mcp",),
    "fleet": ("psycopg",),
    "s3": ("boto3",),
    "web": ("jinja2", "starlette", "uvicorn"),
}
"""Extra → the modules that it installs"""


class ExtraMissing(ConfigError):
    """The command needs packages that are not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(
            f"this command needs packages that are not installed: {', '.join(MODULES[extra])}",
            hint=f"install them with `pip install 'vault-memory[{extra}]'`",
        )


def has(extra: str) -> bool:
    """Return whether the packages of an extra are installed."""
    return all(find_spec(module) for module in MODULES[extra])


def need(extra: str) -> None:
    """Check that the packages of an extra are installed. Raises ExtraMissing."""
    if not has(extra):
        raise ExtraMissing(extra)
