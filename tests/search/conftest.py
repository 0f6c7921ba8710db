"""What the tests of search share."""

from tests.scenarios.outside import outside

__all__ = ["outside"]
