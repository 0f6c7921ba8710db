"""Another program syncs the vault, and leaves conflict copies in it: the daemon, seen from outside."""

import pytest

from tests.scenarios.outside import Outside, until

COPY = "USER.sync-conflict-20261121-203312-ABCDEF7.md"
NOTE = "# Me\n\n## Tea\n\n- green\n- black\n"


@pytest.mark.scenario("D70", "D72")
def test_the_daemon_merges_clean_copies_and_leaves_conflicts_alone(outside: Outside):
    note = outside.write("USER.md", NOTE)
    stubborn = outside.write("memory/tides.md", "## Tides\n\n- high at six\n")
    with outside.daemon() as daemon:
        outside.ok("append", "USER.md", "Tea", "white")
        outside.write(
            "USER (Ann's conflicted copy 2026-11-21).md", NOTE + "- xylophone from the phone\n"
        )
        outside.write(COPY, note.read_text())
        stubborn.write_text("## Tides\n\n- high at seven, quokka\n")
        rival = outside.write(
            "memory/tides (conflicted copy 2026-11-21 203312).md",
            "## Tides\n\n- high at eight, wombat\n",
        )
        assert not daemon.finds("wombat"), "a copy is never searched as if it were the note"

        until(
            lambda: [path.name for path in outside.vault.glob("*.md")] == ["USER.md"],
            says=lambda: daemon.errors,
        )

        daemon.until_found("xylophone")
        assert "- white\n" in note.read_text()
        status = daemon.ask("status")
        assert status["conflicts"] == 1
        assert rival.exists()
        assert "wombat" not in stubborn.read_text()
        assert "quokka" in stubborn.read_text()
    assert not outside.finds("wombat")
    assert {one["note"] for one in outside.ok("trash")["items"]} == {
        "USER (Ann's conflicted copy 2026-11-21).md",
        COPY,
    }
    [record] = [one for one in outside.ok("log", "USER.md")["records"] if one["source"] == "merge"]
    assert "+- xylophone from the phone" in record["diff"]
