"""The table of what servers do, tried on each that is installed, and on the fake Nextcloud."""

from collections.abc import Callable

import pytest

from tests.remote.servers import matrix_conditions, matrix_verbs
from tests.remote.servers.laboratory import Laboratory
from tests.remote.servers.matrix import Row

ROWS = [*matrix_conditions.matrix.rows, *matrix_verbs.matrix.rows]
CASES = [
    pytest.param(server, row, id=f"{server}-{row.name}")
    for row in ROWS
    for server in sorted(row.expected)
]


@pytest.mark.sampled
@pytest.mark.parametrize(("server", "row"), CASES)
def test_each_server_behaves_as_the_table_says(
    server: str, row: Row, laboratory: Callable[[str], Laboratory]
) -> None:
    assert row.experiment(laboratory(server)) == row.expected[server]
