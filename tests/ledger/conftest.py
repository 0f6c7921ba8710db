"""Ledgers for the tests of this room: each in a database of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.books import Book, LocalBook
from vault_memory.ledger.contract import Ledger


@pytest.fixture(params=["local"])
def book(
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Book:
    """An empty database, which several ledgers may open."""
    return LocalBook(tmp_path)


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
