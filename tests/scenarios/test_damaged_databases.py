"""A disk damages files of the state folder: nobody has to repair them, and nothing is lost that a copy holds."""

from pathlib import Path

import pytest

from tests.database.damage import PATTERNS, checkpoint, copied, damage_page, page_count
from tests.effort import some
from tests.scenarios.cloud import running_cloud
from tests.scenarios.index_dump import dump
from tests.scenarios.outside import Outside, until
from vault_memory import VaultMemory
from vault_memory.edits.reports import Check
from vault_memory.vault.snapshots import revision_of

NOTE = "# Me\n\n## Tea\n\n- green\n"
WAITING = "memory/waiting.md"
EACH_PATTERN = [
    PATTERNS[0],
    *(pytest.param(pattern, marks=pytest.mark.deep) for pattern in PATTERNS[1:]),
]
"""Every page is damaged every day; the further patterns take minutes, and are for the long run"""
PERSONAL = "USER.md"


def long_text(number: int) -> str:
    return "## Tea\n\n" + "".join(
        f"- kind {number} {place} {revision_of(b'%d' % place)}\n" for place in range(200)
    )


@pytest.fixture
def filled_vault(outside: Outside) -> Outside:
    """A vault with a history, long notes, a note in the trash and a write that waits."""
    outside.quick = True
    outside.write(PERSONAL, NOTE)
    outside.write(WAITING, NOTE)
    for number in range(6):
        outside.write(f"memory/long{number}.md", long_text(number))
    outside.ok("index", "--no-embed")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        for place in range(20):
            memory.apply(
                PERSONAL,
                [{"op": "append", "heading": "Tea", "line": f"earlier {place}"}],
                source="cli",
            )
        memory.edits.keep_versions([f"memory/long{number}.md" for number in range(6)])
        memory.apply(
            "memory/long0.md",
            [{"op": "append", "heading": "Tea", "line": "a longer one"}],
            source="cli",
        )
        (outside.vault / WAITING).chmod(0o444)
        edit = memory.apply(
            WAITING, [{"op": "append", "heading": "Tea", "line": "lapsang"}], source="cli"
        )
        assert edit.pending
    checkpoint(outside.state / "journal.sqlite")
    return outside


def open_memory(outside: Outside) -> VaultMemory:
    return VaultMemory.open(outside.vault, environment=outside.environment)


@pytest.mark.sampled
@pytest.mark.parametrize("pattern", EACH_PATTERN)
def test_a_damaged_journal_page_blocks_no_write_and_loses_no_other_version(
    filled_vault: Outside, tmp_path: Path, pattern: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with open_memory(filled_vault) as memory:
        versions = {version.revision for version in memory.history(PERSONAL)}
    checkpoint(filled_vault.state / "journal.sqlite")
    state, vault = (
        copied(filled_vault.state, tmp_path / "saved/state"),
        copied(filled_vault.vault, tmp_path / "saved/vault"),
    )
    lost_versions, lost_writes, repairs = 0, 0, 0
    pages = some(range(1, page_count(filled_vault.state / "journal.sqlite") + 1))

    for page in pages:
        copied(vault, filled_vault.vault)
        copied(state, filled_vault.state)
        damage_page(filled_vault.state / "journal.sqlite", page, pattern)
        caplog.clear()
        with open_memory(filled_vault) as memory:
            edit = memory.apply(
                PERSONAL, [{"op": "append", "heading": "Tea", "line": "after"}], source="cli"
            )
            assert [done.outcome for done in edit.applied] == ["applied"], page
            assert "- after\n" in (filled_vault.vault / PERSONAL).read_text()
            waiting = memory.edits.waiting()
            lost = versions - {version.revision for version in memory.history(PERSONAL)}
            assert memory.log(PERSONAL)[-1].id == edit.audit_id
            memory.undo(str(edit.audit_id))
            assert "- after\n" not in (filled_vault.vault / PERSONAL).read_text()
            assert "earlier 19" in (filled_vault.vault / PERSONAL).read_text(), (
                "what the bot wrote stays"
            )
            for name in ("memory/long1.md", WAITING):
                memory.history(name)
            if journal_state(memory.doctor()) == "fail":  # a page that nothing of this has read
                assert journal_state(memory.doctor(fix=True)) == "ok"
        lost_versions += len(lost)
        if not waiting:
            lost_writes += 1
            assert f"`{WAITING}`" in caplog.text or "0 writes" in caplog.text
        aside = [
            file
            for file in filled_vault.state.glob("journal.sqlite.damaged-*")
            if file.suffix != ".lock"
        ]
        assert bool(aside) == ("journal.sqlite.damaged-1" in caplog.text), (
            "the message names the file"
        )
        repairs += bool(aside)
        with open_memory(filled_vault) as memory:
            assert journal_state(memory.doctor()) == "ok"

    assert repairs > len(pages) / 3
    assert lost_writes <= 2, "the page with the write, and that with its text"
    assert lost_versions <= 3 * len(versions), (
        "each version stands on one page, and its text on another"
    )


def journal_state(checks: list[Check]) -> str:
    """What `doctor` says of the journal that is in use."""
    return next(check.state for check in checks if check.name == "journal")


@pytest.mark.sampled
def test_a_damaged_index_page_prevents_no_answer_and_no_write(
    outside: Outside, tmp_path: Path
) -> None:
    outside.quick = True
    outside.write(PERSONAL, NOTE)
    outside.write("USER.FACTS.md", "## Mira\n\n- works_at: Globex (since 2026-01-31)\n")
    outside.write("memory/long1.md", long_text(1))
    outside.ok("index", "--no-embed")
    [index] = outside.state.glob("index/index-*.sqlite")
    checkpoint(index)
    before = dump(outside.state)
    state, vault = (
        copied(outside.state, tmp_path / "saved/state"),
        copied(outside.vault, tmp_path / "saved/vault"),
    )

    for page in some(range(1, page_count(index) + 1)):
        copied(vault, outside.vault)
        copied(state, outside.state)
        damage_page(index, page)
        with open_memory(outside) as memory:
            edit = memory.apply(
                PERSONAL, [{"op": "append", "heading": "Tea", "line": "lapsang"}], source="cli"
            )
            assert edit.applied, page
            memory.edits.keep_versions(["memory/long1.md"])
            assert memory.search("lapsang", scopes=memory.scopes()).hits, page
            assert memory.context("tea", scopes=memory.scopes())
            assert memory.facts(scopes=memory.scopes()), page
            for look in (memory.status, memory.searcher.stats, memory.notes):
                assert look(), page
            memory.undo(str(edit.audit_id))
            if "fail" in {
                check.state for check in memory.doctor()
            }:  # a page that nothing of this has read
                assert "fail" not in {check.state for check in memory.doctor(fix=True)}, page
        assert dump(outside.state) == before, page


@pytest.mark.sampled
@pytest.mark.parametrize("size", [0, 4096, 4096 * 3 + 100])
def test_a_journal_truncated_under_a_daemon_blocks_no_write(
    filled_vault: Outside, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    journal = filled_vault.state / "journal.sqlite"
    with filled_vault.daemon() as daemon:
        checkpoint(journal)
        with journal.open("r+b") as file:
            file.truncate(size)

        assert filled_vault.ok("append", PERSONAL, "Tea", "after the cut")["applied"]
        daemon.until_found("after the cut")
        filled_vault.write("memory/saved.md", "- a person saves\n")
        daemon.until_found("a person saves")
        until(
            lambda: filled_vault.run("history", "memory/saved.md").code == 0,
            says=lambda: daemon.errors,
        )
        if size > 4096:  # the row of the write that waits was read, its text not
            # The daemon says so, or the command, when that was the first to meet the damage.
            until(lambda: f"a write to `{WAITING}`" in "".join(daemon.errors) + caplog.text)
    states = {check["name"]: check["state"] for check in filled_vault.ok("doctor")["checks"]}
    assert states["journal"] in ("ok", "warn")


@pytest.mark.sampled
@pytest.mark.parametrize("size", [0, 4096, 4096 * 9])
def test_an_index_truncated_under_a_daemon_is_rebuilt(filled_vault: Outside, size: int) -> None:
    with filled_vault.daemon() as daemon:
        [index] = filled_vault.state.glob("index/index-*.sqlite")
        checkpoint(index)
        with index.open("r+b") as file:
            file.truncate(size)

        filled_vault.write("memory/saved.md", "- a person saves\n")
        daemon.until_found("a person saves")
        # The note that was just saved may be taken in before the others are.
        daemon.until_found("kind 3 77")
        until(lambda: daemon.ask("status")["index"]["notes"] == 9)


def test_a_journal_without_access_rights_is_not_reported_as_damaged(filled_vault: Outside) -> None:
    journal = filled_vault.state / "journal.sqlite"
    journal.rename(filled_vault.state / "other")
    journal.mkdir()

    done = filled_vault.run("append", PERSONAL, "Tea", "oolong", "--json")

    assert done.code == 1
    assert "keep the file" in done.error["hint"]


@pytest.mark.sampled
@pytest.mark.parametrize("pattern", EACH_PATTERN)
def test_a_damaged_page_of_the_sync_state_deletes_and_reverts_nothing(
    outside: Outside, pattern: bytes
) -> None:
    with running_cloud() as cloud:
        outside.settings |= cloud.settings
        for number in range(40):
            outside.write(f"memory/note{number} {'x' * 60}.md", f"- note {number}\n")
        with open_memory(outside) as memory:
            assert memory.sync().uploaded == 40
        book = outside.state / "sync.sqlite"
        checkpoint(book)
        pages = page_count(book)

        for page in some(range(1, pages + 1)):
            checkpoint(book)
            if page > page_count(book):
                assert page > pages - 5, "a state that was begun anew is a little smaller, not much"
                break
            damage_page(book, page, pattern)
            here, there = f"- edited here {page}\n", f"- edited there {page}\n"
            first, second, *_ = sorted(path.name for path in outside.vault.glob("memory/*.md"))
            outside.write(f"memory/{first}", here)
            cloud.server.other_client_put(f"Notes/memory/{second}", there.encode())
            with open_memory(outside) as memory:
                report = memory.sync()
                states = {check.name: check.state for check in memory.doctor(fix=True)}
                memory.sync()
            assert (report.deleted_local, report.deleted_remote, report.failed) == (0, 0, ()), page
            texts = {path.name: path.read_bytes() for path in outside.vault.glob("memory/*.md")}
            assert len(texts) == 40, page
            assert here.encode() in texts[first], page
            assert there.encode() in texts[second], page
            assert cloud.files() == {f"memory/{name}": raw for name, raw in texts.items()}, page
            assert states["sync state"] in ("ok", "warn"), page
