"""What the tests of config share."""

from tests.scenarios.outside import outside

__all__ = ["outside"]
