"""Ledgers for the tests of this room: each in a database of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.addons.fleet.ledger.books import Book, LocalBook, PostgresBook
from tests.addons.fleet.ledger.servers import PostgresServer
from vault_memory.addons.fleet.ledger.ledger import Ledger


@pytest.fixture(params=["local", "postgres"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Book:
    """An empty database, which several ledgers may open."""
    if request.param == "local":
        return LocalBook(tmp_path)
    return PostgresBook(request.getfixturevalue("postgres"))


@pytest.fixture
def postgres_book(postgres: PostgresServer) -> PostgresBook:
    return PostgresBook(postgres)


@pytest.fixture
def open_ledger(book: Book) -> Iterator[Callable[..., Ledger]]:
    """Opens a ledger of the book; several of them are several hosts."""
    with ExitStack() as opened:

        def opener(**options: Any) -> Ledger:
            ledger = book.open(**options)
            opened.callback(ledger.close)
            return ledger

        yield opener


@pytest.fixture
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger()
