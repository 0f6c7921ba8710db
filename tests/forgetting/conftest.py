"""What the tests of forgetting share."""

from tests.edits.conftest import desk
from tests.scenarios.outside import outside

__all__ = ["desk", "outside"]
