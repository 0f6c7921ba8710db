"""A Nextcloud made by hand, with the measured traits of a real one, for tests."""

from tests.remote.servers.nextcloud.app import FakeNextcloud
from tests.remote.servers.nextcloud.controls import Clock

__all__ = ["Clock", "FakeNextcloud"]
