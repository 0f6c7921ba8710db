"""A vault of two people, and a client of theirs at each door."""

from collections.abc import Iterator

import pytest

from tests.addons.dialogue.doors import Connect, over_http, over_stdio
from tests.mcp.vaults import fill
from tests.scenarios.outside import Outside, outside

__all__ = ["outside"]


@pytest.fixture
def place(outside: Outside) -> Outside:
    fill(outside)
    return outside


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, place: Outside) -> Iterator[Connect]:
    if request.param == "stdio":
        yield over_stdio(place)
    else:
        with over_http(place) as connect:
            yield connect


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
