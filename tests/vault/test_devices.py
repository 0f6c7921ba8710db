"""Several devices on one vault: each writes logs of its own, one curates at a time, and all read everything."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.commands import ApplyOps
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.devices import device_of, own_log
from vault_memory.vault.jsonl_log import merge_records


@pytest.fixture
def laptop(desk: Desk) -> Desk:
    return named(desk, "laptop")


@pytest.fixture
def tablet(desk: Desk, tmp_path: Path) -> Iterator[Desk]:
    """Another device on the same folder, with a state of its own."""
    (tmp_path / "other").mkdir()
    made = named(Desk(desk.vault, tmp_path / "other"), "tablet")
    yield made
    made.close()


def named(desk: Desk, name: str) -> Desk:
    (desk.state / "device").write_text(name)
    return desk


def logs(desk: Desk, note: str = "USER.md") -> list[str]:
    return sorted(path.name.removeprefix(note) for path in desk.vault.glob(f"{note}.audit*"))


def who(desk: Desk, note: str = "USER.md") -> list[str]:
    return [record.device for record in desk.curator.trail.of(note)]


def test_a_device_keeps_its_name_and_recovers_it_after_losing_its_state(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = device_of(tmp_path / "one")

    assert device_of(tmp_path / "one") == one != device_of(tmp_path / "two")
    assert Layout([]).place(own_log("USER.md.audit.jsonl", one)) is not None

    (tmp_path / "one/device").write_bytes(b"../\xff")
    assert device_of(tmp_path / "one") == one


def test_a_single_device_writes_one_log_with_its_name_in_each_record(laptop: Desk) -> None:
    laptop.append("sencha")
    laptop.append("matcha")

    assert logs(laptop) == [".audit.jsonl"]
    assert who(laptop) == ["laptop", "laptop"]


@pytest.mark.scenario("G113")
def test_once_a_second_device_is_known_each_writes_its_own_log(laptop: Desk, tablet: Desk) -> None:
    laptop.append("sencha")
    laptop.close()
    tablet.append("matcha", source="tool")
    tablet.close()
    laptop.append("gyokuro", source="tool")
    laptop.append("a boat", note="MEMORY.md")

    assert logs(laptop) == [".audit.jsonl", ".audit.laptop.jsonl", ".audit.tablet.jsonl"]
    assert logs(laptop, "MEMORY.md") == [".audit.laptop.jsonl"], (
        "what is known once is known everywhere"
    )
    assert who(laptop) == who(tablet) == ["laptop", "tablet", "laptop"]
    assert laptop.undo(tablet.records()[-1]["id"]).changed


@pytest.mark.scenario("G113")
def test_two_devices_append_to_the_daily_note_in_the_same_minute(
    laptop: Desk, tablet: Desk
) -> None:
    today = "memory/2026-11-22.md"
    laptop.save("## Log\n\n- 20:31 a walk\n", today)
    for number, device in enumerate([laptop, tablet, laptop, tablet]):
        device.append(f"20:33 said {number}", "Log", note=today, source="tool")
        device.close()

    assert laptop.text(today).splitlines()[3:] == [f"- 20:33 said {number}" for number in range(4)]
    lines = [set(path.read_bytes().splitlines()) for path in laptop.vault.glob(f"{today}.audit*")]
    assert sum(map(len, lines)) == len(set.union(*lines)) == 4
    assert (
        merge_records(
            path.read_bytes() for path in sorted(laptop.vault.glob(f"{today}.audit*"))
        ).count(b"\n")
        == 4
    )


@pytest.mark.scenario("B50")
def test_a_clock_set_back_by_a_year_cancels_no_deletion_by_a_person(laptop: Desk) -> None:
    laptop.append("sencha", source="tool")
    laptop.save(laptop.text() + "Seen.\n")
    laptop.append("matcha", source="tool")
    laptop.save(laptop.text().replace("- sencha\n", ""))
    laptop.append("gyokuro", source="tool")
    now = laptop.now - timedelta(days=365)

    run = laptop.curator.new_command(
        "USER.md", "tool", now, ApplyOps(({"op": "append", "heading": "Tea", "line": "sencha"},))
    )
    edit = laptop.curator.run(run, now)

    assert [refused.reason for refused in edit.rejected] == ["deleted_by_person"]
    assert [record.id for record in laptop.curator.trail.of("USER.md")][-1] == edit.audit_id
