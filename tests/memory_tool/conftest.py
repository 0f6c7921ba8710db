"""What the tests of memory_tool share."""

from tests.scenarios.outside import outside

__all__ = ["outside"]
