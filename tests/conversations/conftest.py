"""What the tests of conversations share."""

from tests.scenarios.outside import outside

__all__ = ["outside"]
