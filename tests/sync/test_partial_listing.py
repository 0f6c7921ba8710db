"""A vault with more files than the memory that its owner gives allows loses none of them by sync."""

from pathlib import Path

import pytest

from tests.remote.ram_remote import PLAIN, RamServer
from tests.sync.devices import pair
from vault_memory.vault import listing


@pytest.mark.scenario("F110")
def test_files_that_a_partial_listing_lacks_are_deleted_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = RamServer(traits=PLAIN)
    one, other, _ = pair(tmp_path, server)
    for number in range(20):
        one.save(f"d{number % 10}/n{number}.md", f"- {number}\n")
    one.settle()

    monkeypatch.setattr(listing, "MOST", 15)
    reports = one.settle()

    assert sum(report.deleted_remote for report in reports) == 0
    assert reports[-1].skipped == (("", "there are more than 15 files"),)
    monkeypatch.undo()
    other.settle()
    assert other.files() == one.files()
    assert len(other.files()) == 20
