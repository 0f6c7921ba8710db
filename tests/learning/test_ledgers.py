"""Ledgers beside the notes: what is appended is read again, whatever crashes and devices do to the files."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.api.doctor import examine
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.plans.merge_copy import fold_log
from vault_memory.learning import ledgers
from vault_memory.learning.ledgers import Ledgers
from vault_memory.rules.learning.ledger_lines import day_of_record
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.scope_notes import Places, places_of
from vault_memory.vault.devices import Devices
from vault_memory.vault.jsonl_log import merge_records
from vault_memory.vault.reader import Folder

HELD = {
    "id": "9f3c1a22d0",
    "ts": "2026-05-25T18:00:00+00:00",
    "state": "held",
    "class": "require_repetition",
    "reason": "self_belief",
    "kind": "memory",
    "text": "I hate myself",
    "supports": [{"turn": "mb3k2", "session": "s1"}],
}


def line_of(turn: str) -> dict[str, object]:
    return HELD | {"supports": [{"turn": turn, "session": "s1"}]}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    (tmp_path / "vault" / "Users").mkdir(parents=True)
    environment = {
        "VAULT_MEMORY_STATE": str(tmp_path / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    with VaultMemory.open(tmp_path / "vault", environment=environment) as opened:
        yield opened


def places(scope: str = "user:alice", *paths: str) -> Places:
    return places_of(scope, paths, Layout())


@every(
    ("scope", "paths", "folder"),
    [
        ("user:alice", (), "Users/alice/learning/"),
        ("channel:dev", (), "Channels/dev/learning/"),
        ("group:g", (), "groups/g/learning/"),
        ("group:main", (), "learning/"),
        ("user:main", ("USER.md",), "learning/"),
    ],
)
def test_each_scope_has_a_folder_of_ledgers(
    scope: str, paths: tuple[str, ...], folder: str
) -> None:
    assert places(scope, *paths).learning == folder
    for name in ("held", "held.laptop-3f9a1c", "safety/2026-05-25"):
        place = Layout().place(f"{folder}{name}.jsonl")
        assert place is not None
        assert (place.kind, place.indexed) == ("ledger", False)


def test_appended_records_are_read_back(memory: VaultMemory) -> None:
    book = ledgers.of_vault(memory.vault)
    book.append(places(), "held", [line_of("t1"), line_of("t2")])
    book.append(places(), "held", [line_of("t1")])
    assert book.records(places(), "held") == [line_of("t1"), line_of("t2")]
    assert book.records(places("user:bob"), "held") == []


def test_each_device_writes_its_own_file_and_reads_both(
    memory: VaultMemory, tmp_path: Path
) -> None:
    other = Ledgers(Folder(memory.root), Layout(), Devices(tmp_path / "state of a second device"))
    (tmp_path / "state of a second device").mkdir()
    mine = ledgers.of_vault(memory.vault)
    own = f"Users/alice/learning/held.{other.device}.jsonl"
    (memory.root / "Users/alice/learning").mkdir(parents=True)
    (memory.root / own).write_text(json.dumps(line_of("t2")) + "\n")
    path = mine.append(places(), "held", [line_of("t1")])
    assert path == f"Users/alice/learning/held.{mine.device}.jsonl"
    for book in (mine, other):
        turns = [one["supports"][0]["turn"] for one in book.records(places(), "held")]
        assert sorted(turns) == ["t1", "t2"]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("held", '{"id":"9f3c1a22d0","ts":"2026-05-25","sta'),
        ("held", json.dumps(HELD | {"supports": ["t1"]})),
        ("held", json.dumps(HELD | {"ts": "yesterday"})),
        ("held", "[1, 2]"),
        ("counts", '{"ts":"2026-05-25","device":"d1","reads":{"9f3c":[-1,"2026-05-25"]}}'),
        ("counts", '{"ts":"2026-05-25","device":"d1","reads":{"9f3c":[true,"2026-05-25"]}}'),
        ("counts", '{"ts":"2026-05-25","device":"d1","reads":{"9f3c":[1,"May"]}}'),
        ("safety/2026-05-25", '{"ts":"2026-05-25","turn":7,"reason":"crisis"}'),
        ("feedback/2026-05-25", '{"ts":"2026-05-25","verdict":"fine"}'),
    ],
)
def test_a_bad_line_is_skipped_and_counted(memory: VaultMemory, name: str, bad: str) -> None:
    book = ledgers.of_vault(memory.vault)
    file = memory.root / f"Users/alice/learning/{name}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(bad)
    path = file.relative_to(memory.root).as_posix()
    assert book.bad_lines() == {path: 1}
    assert book.records(places(), name) == []
    warnings = [item for item in examine(memory, fix=False) if item.name == "ledgers"]
    assert [item.state for item in warnings] == ["warn"]


def test_a_record_after_a_torn_line_is_read(memory: VaultMemory) -> None:
    book = ledgers.of_vault(memory.vault)
    file = memory.root / "Users/alice/learning/held.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text('{"id":"9f3c')
    book.append(places(), "held", [line_of("t1")])
    assert book.records(places(), "held") == [line_of("t1")]


def test_logs_expire_by_the_date_in_their_names(memory: VaultMemory) -> None:
    book = ledgers.of_vault(memory.vault)
    for day in (date(2026, 5, 1), date(2026, 5, 20)):
        record = {"ts": f"{day}T08:00:00+00:00", "turn": "t1", "reason": "crisis"}
        book.append_by_day(places(), "safety", day, record)
    assert len(book.daily_records(places(), "safety")) == 2
    assert book.remove_before(places(), "safety", date(2026, 5, 20)) == 1
    assert [one["ts"][:10] for one in book.daily_records(places(), "safety")] == ["2026-05-20"]


def test_a_log_that_cannot_be_written_blocks_nothing(memory: VaultMemory) -> None:
    (memory.root / "Users/alice").mkdir(parents=True)
    (memory.root / "Users/alice/learning").write_text("a file in place of the folder")
    ledgers.of_vault(memory.vault).append_by_day(
        places(), "safety", date(2026, 5, 25), {"ts": "2026-05-25"}
    )


def test_a_future_day_counts_as_today() -> None:
    today = date(2026, 5, 25)
    assert day_of_record("2099-01-01T00:00:00+00:00", today) == today
    assert day_of_record("2026-05-01T00:00:00+00:00", today) == date(2026, 5, 1)


def test_a_forgotten_text_is_removed_from_the_ledgers(memory: VaultMemory) -> None:
    book = ledgers.of_vault(memory.vault)
    other = line_of("t2") | {"id": "0000000001", "text": "I am a failure"}
    book.append(places(), "held", [line_of("t1"), other])
    memory.forget("I hate myself")
    assert book.records(places(), "held") == [other]


raw_lines = st.lists(
    st.builds(
        lambda turn, state: json.dumps(line_of(turn) | {"state": state}),
        st.sampled_from(["t1", "t2", "t3"]),
        st.sampled_from(["held", "promoted"]),
    ),
    max_size=6,
)


def as_file(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in dict.fromkeys(lines)).encode()


def records_in(raw: bytes) -> set[str]:
    return set(raw.decode().splitlines())


@given(raw_lines, raw_lines, raw_lines)
def test_files_of_a_ledger_merge_without_loss(
    one: list[str], two: list[str], three: list[str]
) -> None:
    files = [as_file(one), as_file(two), as_file(three)]
    merged = merge_records(files)
    assert records_in(merged) == set().union(*map(records_in, files))
    assert records_in(merge_records(files[::-1])) == records_in(merged)
    nested = merge_records([merge_records(files[:2]), files[2]])
    assert records_in(nested) == records_in(merged)
    assert merge_records([merged, merged]) == merged


def test_a_conflict_copy_of_a_ledger_can_be_merged() -> None:
    ours, theirs = (as_file([json.dumps(line_of("t1"))]), as_file([json.dumps(line_of("t2"))]))
    assert fold_log(ours, theirs).state == "mergeable"


@pytest.mark.parametrize("device", ["", ".phone-000002"])
@pytest.mark.parametrize(
    "scope", ["user:alice", "channel:dev", "group:g", "group:main", "user:main"]
)
def test_a_text_is_found_in_the_ledgers_of_every_scope(
    memory: VaultMemory, scope: str, device: str
) -> None:
    paths = ("USER.md",) if scope == "user:main" else ()
    folder = memory.root / places(scope, *paths).learning
    folder.mkdir(parents=True)
    all_ledgers = ledgers.of_vault(memory.vault)
    line = json.dumps(HELD | {"audit": 'the "last" one'})
    (folder / f"held{device}.jsonl").write_text(line + "\n")
    (folder / "counts.jsonl").write_text('{"audit":"another"}\n')

    assert all_ledgers.mentions("held", 'the "last" one')
    assert all_ledgers.mentions("held", "the ")
    assert not all_ledgers.mentions("held", "another")
    assert not all_ledgers.mentions("counts", "the ")
