"""A vault for each test, seen from outside."""

from tests.scenarios.outside import outside

__all__ = ["outside"]
