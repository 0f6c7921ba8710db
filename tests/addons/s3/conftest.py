"""Folders in memory, and a vault for each test, seen from outside."""

from tests.scenarios.outside import outside
from tests.sync.conftest import base

__all__ = ["base", "outside"]
