"""A vault for each test, seen from outside, and `install` with the options of every call."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.scenarios.outside import Outside, outside

__all__ = ["Install", "install", "outside"]

Install = Callable[..., dict[str, Any]]


@pytest.fixture
def install(outside: Outside) -> Install:
    """`install` with the options of every call; what it says."""
    outside.quick = True
    outside.settings |= {
        "XDG_CONFIG_HOME": "",
        "CLAUDE_CONFIG_DIR": "",
        "CODEX_HOME": "",
        "HERMES_HOME": "",
        "GEMINI_CLI_HOME": "",
    }

    def run(host: str, *options: str) -> dict[str, Any]:
        return dict(outside.ok("install", host, "--user", "mira", *options))

    return run
