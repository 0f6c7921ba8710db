"""A daemon keeps what people save, and finishes what could not be written at once."""

import sqlite3
from contextlib import closing

from tests.scenarios.outside import Outside, until

NOTE = "# Me\n\n## Tea\n\n- green\n"


def version_count(outside: Outside) -> int:
    """Versions in the snapshot chains."""
    journal = outside.state / "journal.sqlite"
    if not journal.exists():
        return 0
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM versions").fetchone()[0])
        except sqlite3.OperationalError:  # it is just being made
            return 0


def test_the_daemon_keeps_the_versions_a_person_saves(outside: Outside):
    outside.quick = True
    outside.write("USER.md", NOTE)
    with outside.daemon():
        until(lambda: version_count(outside) == 1)
        outside.write("USER.md", NOTE + "- white\n")
        until(lambda: version_count(outside) == 2)

    oldest = outside.ok("history", "USER.md")["versions"][-1]["revision"]
    assert outside.run("read", "USER.md", "--revision", oldest).out == NOTE


def test_the_daemon_writes_and_indexes_a_waiting_edit(outside: Outside):
    outside.quick = True
    path = outside.write("USER.md", NOTE)
    with outside.daemon() as daemon:
        path.chmod(0o444)
        waiting = outside.run("append", "USER.md", "Tea", "lapsang", "--json").json["pending"]
        assert [one["reason"] for one in waiting] == ["read_only"]
        assert [one["id"] for one in daemon.ask("status")["pending"]] == [waiting[0]["id"]]

        path.chmod(0o644)
        until(lambda: path.read_text() == NOTE + "- lapsang\n")
        until(lambda: [one["id"] for one in outside.ok("log")["records"]] == [waiting[0]["id"]])
        daemon.until_found("lapsang")
        assert daemon.ask("status")["pending"] == []


def test_the_daemon_does_not_report_its_own_writes_as_changes(outside: Outside):
    outside.quick = True
    outside.write("USER.md", NOTE)
    with outside.daemon() as daemon:
        daemon.until_found("green")
        outside.ok("append", "USER.md", "Tea", "lapsang")
        assert daemon.finds("lapsang")
        outside.write("memory/other.md", "- a sign that the daemon has come round\n")
        until(lambda: any("memory/other.md" in line for line in daemon.lines))

    assert not any("USER.md" in line for line in daemon.lines)
    assert outside.ok("history", "USER.md")["versions"][0]["by"] == "cli"


def test_the_daemon_carries_out_a_ticked_proposal(outside: Outside):
    outside.quick = True
    path = outside.write("USER.md", NOTE)
    with outside.daemon() as daemon:
        outside.ok("remove", "USER.md", "Tea", "green", "--source", "tool")
        page = outside.vault / "USER.INBOX.md"
        assert daemon.ask("status")["inbox_open"] == 1
        page.write_text(page.read_text().replace("- [ ]", "- [x]"))

        until(lambda: path.read_text() == NOTE.replace("- green\n", ""))
        until(lambda: "[x]" not in page.read_text())
        daemon.until_gone("green")

    assert [record["source"] for record in outside.ok("log")["records"]] == ["tool", "inbox"]


def test_a_proposal_ticked_while_no_daemon_ran_is_carried_out(outside: Outside):
    outside.quick = True
    path = outside.write("USER.md", NOTE)
    outside.ok("remove", "USER.md", "Tea", "green", "--source", "tool")
    page = outside.vault / "USER.INBOX.md"
    page.write_text(page.read_text().replace("- [ ]", "- [x]"))

    with outside.daemon():
        until(lambda: path.read_text() == NOTE.replace("- green\n", ""))


def test_the_daemon_removes_displaced_files(outside: Outside):
    outside.quick = True
    path = outside.write("USER.md", NOTE)
    with outside.daemon(), path.open("rb"):
        outside.ok("append", "USER.md", "Tea", "lapsang")
        assert [name.name for name in outside.vault.iterdir() if ".~" in name.name]
    with outside.daemon():
        until(lambda: not [name.name for name in outside.vault.iterdir() if ".~" in name.name])
