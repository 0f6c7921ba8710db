"""A damaged index is noticed and built again; nobody has to repair anything."""

import shutil
from contextlib import closing

import pytest

from vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError, is_damage


@pytest.fixture
def memory(sample_vault):
    with VaultMemory.open(sample_vault) as opened:
        opened.index(embed=False)
        yield opened


def damage(memory):
    """Overwrite the first page of every table; what tables there are can still be read."""
    index = memory.vault.indexing.index()
    index.connection.pragma("wal_checkpoint(truncate)")
    roots = [
        row[0]
        for row in index.connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 1")
    ]
    size = int(index.connection.pragma("page_size"))
    path = memory.vault.indexing.generations.path(memory.vault.indexing.generations.current)
    memory.vault.indexing.close()
    with path.open("r+b") as file:
        for root in roots:
            file.seek((root - 1) * size)
            file.write(b"\xa5" * size)


def test_a_damaged_index_is_set_aside_and_rebuilt(memory):
    damage(memory)

    with pytest.raises(DatabaseError) as error:
        memory.vault.indexing.index().files()

    assert is_damage(error.value)
    memory.vault.indexing.recover(error.value)
    assert memory.search("spare key", scopes=["user:mira"]).hits
    assert list(memory.vault.indexing.generations.folder.glob("*.damaged"))


@pytest.mark.sampled
def test_doctor_repairs_a_damaged_index(memory):
    damage(memory)

    assert "fail" in {check.state for check in memory.doctor()}
    assert "fail" not in {check.state for check in memory.doctor(fix=True)}


def test_a_search_that_meets_a_damaged_index_rebuilds_it(memory):
    damage(memory)

    assert memory.search("spare key", scopes=["user:mira"]).hits


@pytest.mark.sampled
def test_an_open_reader_notices_an_index_rebuilt_under_a_reused_number(memory, sample_vault):
    with closing(memory.fork()) as other:
        assert other.search("barometer", scopes=["user:mira"]).hits
        shutil.rmtree(memory.vault.indexing.generations.folder)
        (sample_vault / "Users/mira/memories/swan.md").write_text("- a swan\n")
        memory.index()

        assert other.search("swan", scopes=["user:mira"], refresh=False).hits
