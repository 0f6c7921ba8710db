"""The stored reports of nights: each person reads what their own nights did, and no other's."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from vault_memory import VaultMemory
from vault_memory.errors import UsageError
from vault_memory.learning.checkpoint import CheckpointStore, OpenCycle

EVENING = datetime(2026, 5, 26, 20, 0, tzinfo=UTC)
NIGHT = datetime(2026, 5, 27, 6, 0, tzinfo=UTC)


@pytest.fixture
def memory(sample_vault: Path, monkeypatch: pytest.MonkeyPatch) -> VaultMemory:
    """The sample vault after a night in which both people had said something."""
    monkeypatch.setenv("VAULT_MEMORY_EMBEDDING_KIND", "off")
    opened = VaultMemory.open(sample_vault)
    say(opened, EVENING)
    opened.sleep(now=NIGHT)
    return opened


def say(memory: VaultMemory, now: datetime) -> None:
    for user, text in (
        ("mira", "I am allergic to mackerel."),
        ("tomas", "I work as a tuner of balalaikas."),
    ):
        memory.record_turn(session=user, role="user", user=user, text=text, now=now)


def store_of(memory: VaultMemory) -> CheckpointStore:
    return CheckpointStore(memory.vault.state.path)


@pytest.mark.sampled
def test_a_person_reads_the_report_of_their_own_nights(memory: VaultMemory) -> None:
    with memory:
        [report] = memory.learning.night_reports(["user:mira"])

    assert (report.night, report.scopes) == ("2026-05-27", ("user:mira",))
    assert report.text.startswith("## user:mira\n")
    assert "1 fact" in report.text
    assert "tomas" not in report.text
    assert report.unfinished == ()


@pytest.mark.sampled
def test_the_newest_night_is_the_first(memory: VaultMemory) -> None:
    later = NIGHT.replace(day=29)
    with memory:
        say(memory, later.replace(day=28))
        memory.sleep(now=later)
        reports = memory.learning.night_reports(["user:mira", "user:tomas"])

        recent = memory.learning.night_reports(["user:mira"], since=later.date())

    assert [report.night for report in reports] == ["2026-05-29", "2026-05-27"]
    assert [report.night for report in recent] == ["2026-05-29"]
    assert set(reports[1].scopes) == {"user:mira", "user:tomas"}


def test_nobody_learns_that_another_person_had_a_night(memory: VaultMemory) -> None:
    with memory:
        assert memory.learning.night_reports(["group:main"]) == []
        assert memory.learning.night_reports([]) == []


def test_an_unfinished_night_is_listed_until_it_is_done(memory: VaultMemory) -> None:
    store = store_of(memory)
    serial = store.last("user:mira").serial
    store.save("user:mira", OpenCycle("user:mira", "2026-05-28", serial + 1))
    with memory:
        newest = memory.learning.night_reports(["user:mira"])[0]
        others = memory.learning.night_reports(["user:tomas"])

    assert (newest.night, newest.text) == ("2026-05-28", "")
    assert newest.unfinished == ("user:mira",)
    assert [report.night for report in others] == ["2026-05-27"]

    # The night before may have crashed before it removed its checkpoint.
    store.save("user:mira", OpenCycle("user:mira", "2026-05-27", serial))
    with VaultMemory.open(memory.root) as again:
        [report] = again.learning.night_reports(["user:mira"])
    assert report.unfinished == ()


def test_files_that_are_no_reports_are_no_nights(memory: VaultMemory) -> None:
    folder = store_of(memory).folder / "reports"
    (folder / "todo.md").write_text("## user:mira\n\n- secret\n", "utf-8")
    (folder / "2026-05-30.md").write_bytes(b"\xff\xfe## user:mira")
    (folder / "2026-05-31.md").mkdir()
    with memory:
        reports = memory.learning.night_reports(["user:mira"])

    assert [report.night for report in reports] == ["2026-05-27"]


def test_scopes_are_a_list(memory: VaultMemory) -> None:
    with memory, pytest.raises(UsageError):
        memory.learning.night_reports("user:mira")
