"""A pooler before PostgreSQL drops what a host sets for its sessions: it is refused, with the next step."""

import pytest

from tests.addons.fleet.ledger.books import PostgresBook
from tests.addons.fleet.ledger.pooler import PACKAGE, PROGRAM, pooler
from vault_memory.addons.fleet.ledger.ledger_errors import LedgerRefused
from vault_memory.addons.fleet.ledger.postgres import PostgresLedger

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason=f"PgBouncer is not installed (Debian: {PACKAGE})"
)


@pytest.mark.parametrize("mode", ["session", "transaction"])
@pytest.mark.parametrize("more", ["", "ignore_startup_parameters = options"])
def test_a_pooler_that_drops_settings_is_refused(
    postgres_book: PostgresBook, mode: str, more: str
) -> None:
    server = postgres_book.server
    postgres_book.open().close()
    with pooler(server, mode, more) as port:
        url = postgres_book.url.replace(f":{server.port}/", f":{port}/")
        with pytest.raises(LedgerRefused, match="pooler") as refusal:
            PostgresLedger(url)

    assert "directly" in refusal.value.hint
