"""What the tests of talk share."""

from tests.http.conftest import sample, served

__all__ = ["sample", "served"]
