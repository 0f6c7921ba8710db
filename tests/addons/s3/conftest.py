"""Folders in memory, a vault for each test, seen from outside, and stores that speak S3."""

from collections.abc import Callable

import pytest

from tests.remote.servers import s3_stores
from tests.remote.servers.s3_stores import S3Store
from tests.scenarios.outside import outside
from tests.sync.conftest import base

__all__ = ["StoreNamed", "base", "outside"]

StoreNamed = Callable[[str], S3Store]


@pytest.fixture(params=s3_stores.NAMES)
def store(request: pytest.FixtureRequest, s3_store_named: StoreNamed) -> S3Store:
    return s3_store_named(request.param)


@pytest.fixture
def moto(s3_store_named: StoreNamed) -> S3Store:
    return s3_store_named("s3-moto")


@pytest.fixture
def seaweed(s3_store_named: StoreNamed) -> S3Store:
    return s3_store_named("s3-seaweed")
