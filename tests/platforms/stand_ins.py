"""Starts processes on Linux as if on another system."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PLATFORMS = Path(__file__).resolve().parent
PROJECT = PLATFORMS.parent.parent


def environment(system: str, usual: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process whose Python is as poor as that of "macos" or "windows"."""
    folders = [str(PLATFORMS / f"as_{system}"), usual.get("PYTHONPATH", "")]
    return {**usual, "PYTHONPATH": os.pathsep.join(filter(None, folders))}


def python(system: str, code: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code as on that system, in the project's folder."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(system, os.environ),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
    )
