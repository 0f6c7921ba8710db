"""What is said is recorded once, found at once, in the scopes it belongs to and in no other."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.scenarios.index_dump import dump
from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.edit_errors import TurnNotRecorded
from vault_memory.edits.reports import Ended
from vault_memory.errors import UsageError, VaultUnreachable
from vault_memory.rules.conversations.turn import read_turns

NOON = datetime(2026, 4, 6, 12, 0, tzinfo=UTC)
DAY = "2026-04-06.jsonl"


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    outside.write("Users/alice/lantern/config/USER.md", "## Tea\n\n- green\n")
    outside.write("Users/bob/lantern/config/USER.md", "## Tea\n\n- black\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        opened.index()
        yield opened


def say(
    memory: VaultMemory, text: str, user: str = "alice", *, minutes: float = 0, **said: str | bool
) -> str | None:
    asked = {
        "session": "s",
        "role": "user",
        "user": user,
        "now": NOON + timedelta(minutes=minutes),
        **said,
    }
    return memory.record_turn(text=text, **asked).id  # type: ignore[arg-type]


def found_turns(memory: VaultMemory, query: str, *scopes: str) -> list[str]:
    return [
        hit.text
        for hit in memory.search(query, scopes=scopes, limit=50).hits
        if hit.kind == "transcript"
    ]


def test_a_recorded_turn_is_searchable_without_a_rescan(memory):
    recorded = memory.record_turn(
        session="s", role="user", user="alice", text="the kettle sings", now=NOON
    )

    [hit] = memory.search("kettle", scopes=["user:alice"], refresh=False).hits

    assert recorded.note == hit.note == f"Users/alice/transcripts/{DAY}"
    assert (hit.text, hit.lines, hit.date, hit.kind) == (
        "**alice**: the kettle sings",
        (1, 1),
        "2026-04-06",
        "transcript",
    )
    assert hit.heading == ("s",)


def test_a_recorded_line_has_the_keys_of_the_format(memory):
    id_ = say(memory, "hello", source="email", origin="person")

    [line] = (memory.root / f"Users/alice/transcripts/{DAY}").read_text().splitlines()

    said = json.loads(line)
    assert list(said)[:9] == [
        "id",
        "ts",
        "session",
        "role",
        "user",
        "channel",
        "text",
        "origin",
        "source",
    ]
    assert (said["id"], said["source"], said["origin"]) == (id_, "email", "person")
    assert said["ts"] == NOON.isoformat()


def test_an_index_updated_after_each_turn_equals_a_rebuilt_one(memory):
    for number in range(12):
        say(
            memory,
            f"line {number} about the kettle\nand more",
            channel="kitchen" if number % 3 else "",
            minutes=number,
        )
        if number == 6:
            with (memory.root / f"Users/alice/transcripts/{DAY}").open("a") as file:
                file.write("by hand, and no turn\n")
    memory.refresh()
    kept = dump(memory.vault.state.path)

    memory.index(rebuild=True)

    assert dump(memory.vault.state.path) == kept


def test_a_person_cannot_find_turns_of_another_person(memory):
    say(memory, "alice's kettle")
    say(memory, "bob's kettle", "bob", session="t")
    say(
        memory, "for both of you: kettle", "alice", session="u", role="assistant", channel="kitchen"
    )
    say(memory, "alice in the kitchen: kettle", "alice", session="u", channel="kitchen")
    say(memory, "bob in the kitchen: kettle", "bob", session="u", channel="kitchen")

    assert sorted(found_turns(memory, "kettle", "user:alice")) == [
        "**alice**: alice in the kitchen: kettle",
        "**alice**: alice's kettle",
    ]
    assert sorted(found_turns(memory, "kettle", "user:bob")) == [
        "**bob**: bob in the kitchen: kettle",
        "**bob**: bob's kettle",
    ]
    assert len(found_turns(memory, "kettle", "channel:kitchen")) == 3
    assert len(found_turns(memory, "kettle", "channel:kitchen", "user:alice")) == 4
    assert found_turns(memory, "kettle", "user:kitchen", "channel:alice", "group:main") == []


def test_all_turns_in_a_channel_go_to_one_file(memory):
    say(memory, "only once", channel="kitchen")

    holding = [
        path
        for path in memory.root.rglob("*")
        if path.is_file() and b"only once" in path.read_bytes()
    ]

    assert holding == [memory.root / f"Channels/kitchen/transcripts/{DAY}"]


@pytest.mark.parametrize(
    "who", [{}, {"user": ""}, {"user": None, "session": "nobody knows it"}, {"session": ""}]
)
def test_nothing_is_recorded_without_a_person_or_a_known_session(memory, who):
    with pytest.raises(UsageError):
        memory.record_turn(**{"session": "s", "role": "user", "text": "whose is this?", **who})

    assert list(memory.root.rglob("*.jsonl")) == []


def test_a_known_session_identifies_the_person_even_after_a_restart(memory, outside):
    say(memory, "hello", channel="kitchen")
    memory.close()

    with VaultMemory.open(outside.vault, environment=outside.environment) as again:
        recorded = again.record_turn(session="s", role="assistant", text="good morning", now=NOON)

        [_, turn] = again.conversations.transcripts.of("channel:kitchen")
        assert recorded.note == f"Channels/kitchen/transcripts/{DAY}"
        assert (turn.user, turn.channel) == ("alice", "kitchen")


def test_a_session_id_shared_by_two_people_does_not_identify_the_person(memory):
    say(memory, "mine", "alice", session="1")
    say(memory, "mine, too", "bob", session="1")

    with pytest.raises(UsageError) as error:
        memory.record_turn(session="1", role="assistant", text="whose?")
    with pytest.raises(UsageError):
        memory.end_session("1")

    assert not any(name in str(error.value.as_json()) for name in ("alice", "bob"))
    assert len(memory.end_session("1", user="bob").waiting) == 1


def files_containing(folder: Path, needle: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


def test_an_incognito_session_leaves_no_trace_on_disk(memory, outside):
    before = {*outside.home.rglob("*"), *outside.vault.rglob("*")}
    answered = memory.record_turn(
        session="hush-hush",
        role="user",
        user="alice",
        text="xylophone-secret",
        mode="incognito",
        now=NOON,
    )
    later = memory.record_turn(
        session="hush-hush", role="user", user="alice", text="xylophone-again", now=NOON
    )
    assert found_turns(memory, "xylophone", "user:alice") == []
    memory.end_session("hush-hush")
    memory.close()

    assert (answered.id, answered.note, later.id) == (None, None, None)
    for folder in (outside.vault, outside.home):
        assert not files_containing(folder, b"xylophone")
        assert not files_containing(folder, b"hush-hush")
    after = {*outside.home.rglob("*"), *outside.vault.rglob("*")}
    assert {path.name for path in after - before} <= {"index-1.sqlite-wal", "index-1.sqlite-shm"}


def test_the_session_after_an_incognito_one_is_recorded(memory):
    say(memory, "secret", mode="incognito")
    assert say(memory, "still secret") is None
    memory.end_session("s")

    assert say(memory, "not secret any more")


def test_a_silent_turn_is_not_recorded(memory):
    assert say(memory, "nightly report", silent=True, source="cron") is None

    assert list(memory.root.rglob("*.jsonl")) == []
    assert memory.conversations.sessions.all() == []


def test_a_new_session_ends_older_ones_of_the_same_person_and_channel(memory):
    say(memory, "one", session="a")
    say(memory, "elsewhere", session="b", channel="kitchen")
    say(memory, "another's", "bob", session="c")
    say(memory, "two", session="d", minutes=1)

    assert {one.id: one.is_open for one in memory.conversations.sessions.all()} == {
        "a": False,
        "b": True,
        "c": True,
        "d": True,
    }


def test_another_turn_continues_its_session_and_ends_no_other(memory):
    say(memory, "one", session="a")
    say(memory, "two", session="b", minutes=1)
    say(memory, "one more", session="a", minutes=2)

    assert {one.id: one.is_open for one in memory.conversations.sessions.all()} == {
        "a": True,
        "b": True,
    }


def test_a_session_ends_after_a_long_silence(memory):
    say(memory, "one", session="a")
    say(memory, "two", "bob", session="b", minutes=5)

    assert memory.conversations.end_idle_sessions(now=NOON + timedelta(minutes=9)) == 0
    assert memory.conversations.end_idle_sessions(now=NOON + timedelta(minutes=10)) == 1
    assert [one.id for one in memory.conversations.sessions.ended()] == ["a"]


def test_ending_a_session_twice_is_harmless_and_an_unknown_one_is_no_error(memory):
    first = say(memory, "one")
    say(memory, "an answer", role="assistant")
    second = say(memory, "two", minutes=24 * 60)

    ended = memory.end_session("s")

    assert ended == Ended(waiting=(first, second))
    assert memory.end_session("s") == ended
    assert memory.end_session("never heard of") == Ended()


def test_turns_after_a_given_one_are_returned_in_order_of_time(memory):
    ids = [say(memory, f"line {number}", minutes=60 * number) for number in range(30)]

    after = memory.conversations.transcripts.since("user:alice", ids[9], NOON + timedelta(hours=20))

    assert [turn.id for turn in after] == ids[10:21]
    assert [turn.id for turn in memory.conversations.transcripts.since("user:alice")] == ids
    assert memory.conversations.transcripts.since("user:bob") == []


def test_valid_lines_of_a_hand_edited_transcript_are_read(memory):
    say(memory, "first kettle")
    path = memory.root / f"Users/alice/transcripts/{DAY}"
    path.write_bytes(b"\xff torn\n" + path.read_bytes() + b'{"half": ')

    say(memory, "second kettle", minutes=1)

    assert sorted(found_turns(memory, "kettle", "user:alice")) == [
        "**alice**: first kettle",
        "**alice**: second kettle",
    ]
    assert path.read_bytes().startswith(b"\xff torn\n")
    assert [turn.text for turn in read_turns(path.read_bytes())] == [
        "first kettle",
        "second kettle",
    ]


def test_a_line_deleted_by_hand_is_no_longer_found(memory):
    say(memory, "kettle one")
    say(memory, "kettle two", minutes=1)
    path = memory.root / f"Users/alice/transcripts/{DAY}"
    path.write_text(path.read_text().splitlines(keepends=True)[1])

    say(memory, "kettle three", minutes=2)

    assert sorted(found_turns(memory, "kettle", "user:alice")) == [
        "**alice**: kettle three",
        "**alice**: kettle two",
    ]


def test_with_a_second_device_each_device_writes_its_own_file(memory, outside):
    say(memory, "from here")
    path = memory.root / f"Users/alice/transcripts/{DAY}"
    other = json.loads(path.read_text()) | {
        "id": "other",
        "text": "from there",
        "device": "pi4-0000aa",
    }
    path.with_name("2026-04-06.pi4-0000aa.jsonl").write_text(json.dumps(other) + "\n")
    memory.close()

    with VaultMemory.open(outside.vault, environment=outside.environment) as again:
        recorded = again.record_turn(
            session="s", role="user", user="alice", text="from here again", now=NOON
        )

        assert recorded.note not in (None, f"Users/alice/transcripts/{DAY}")
        assert {turn.text for turn in again.conversations.transcripts.of("user:alice")} == {
            "from here",
            "from there",
            "from here again",
        }
        assert len(found_turns(again, "from", "user:alice")) == 3


def test_a_transcript_that_cannot_be_written_is_reported_to_the_caller(memory):
    blocked = memory.root / f"Users/alice/transcripts/{DAY}"
    blocked.mkdir(parents=True)

    with pytest.raises(TurnNotRecorded):
        say(memory, "lost?")


def test_symlinks_are_not_followed(memory, tmp_path):
    (memory.root / "Users/alice/transcripts").symlink_to(tmp_path)

    with pytest.raises(TurnNotRecorded):
        say(memory, "outside?")

    assert list(tmp_path.glob("*.jsonl")) == []


def test_nothing_is_recorded_into_an_unreachable_vault(memory):
    os.rename(memory.root, f"{memory.root}.away")
    os.mkdir(memory.root)

    with pytest.raises(VaultUnreachable):
        say(memory, "into the empty mount point?")

    assert os.listdir(memory.root) == []


def test_a_turn_recorded_without_an_index_is_found_once_there_is_one(outside):
    outside.write("USER.md", "## Tea\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        recorded = memory.record_turn(
            session="s", role="user", user="main", text="kettle", now=NOON
        )
        assert memory.vault.indexing.generations.current == 0

        assert recorded.note == f"transcripts/{DAY}"
        assert found_turns(memory, "kettle", "user:main") == ["**main**: kettle"]
        assert found_turns(memory, "kettle", "group:main") == []


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=()), min_size=1).filter(str.strip))
@example("a\nb\r\nc\x00\u2028d")
@example("\ud800 lone \udfff")
@example('{"id": "x"}\n{"id": "y"}')
@example("\u202e" + "x" * 10_000)
def test_any_text_is_recorded_completely(memory, text):
    scope = f"user:ann-{len(memory.scopes())}"
    user = scope.removeprefix("user:")
    memory.record_turn(session="s", role="user", user=user, text="kettle " + text, now=NOON)
    memory.record_turn(session="s", role="user", user=user, text="after", now=NOON)

    assert [turn.text for turn in memory.conversations.transcripts.of(scope)] == [
        "kettle " + text,
        "after",
    ]
    assert memory.search("kettle", scopes=[scope], refresh=False).hits


@pytest.mark.parametrize(
    "sign", [{"automated": True}, {"source": "heartbeat"}], ids=["marked", "heartbeat"]
)
def test_a_job_does_not_end_a_persons_conversation(memory, sign):
    say(memory, "good morning", session="talk")
    say(memory, "read the mail", session="job", minutes=1, **sign)

    assert {one.id for one in memory.conversations.sessions.all() if one.is_open} == {"talk", "job"}

    say(memory, "good night", session="bed", minutes=2)
    assert {one.id for one in memory.conversations.sessions.all() if one.is_open} == {"bed"}
