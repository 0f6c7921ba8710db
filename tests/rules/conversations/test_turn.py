"""What a line of a transcript tells, where a turn belongs, and what search reads of it."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.errors import UsageError
from vault_memory.markdown.chunking.splitter import CAP
from vault_memory.rules.conversations.turn import (
    Turn,
    checked,
    new_id,
    read_dropped,
    read_turn,
    read_turns,
    transcript_path,
    turn_chunks,
    union_of_turns,
)
from vault_memory.rules.paths.layout import Layout

NOON = datetime(2026, 4, 6, 12, 0, tzinfo=UTC)
LAYOUT = Layout()
TEXTS = st.text(st.characters(exclude_categories=()), min_size=1).filter(
    lambda text: text.replace("\0", "").strip()
)


def turn(text: str = "the lamp is lit", **said: Any) -> Turn:
    known: dict[str, Any] = {
        "id": "t1",
        "ts": NOON.isoformat(),
        "session": "s",
        "role": "user",
        "user": "mira",
        "channel": "",
    }
    return Turn(**{**known, "text": text, **said})


def line(one: Turn) -> bytes:
    return json.dumps(one.as_json()).encode() + b"\n"


@given(text=TEXTS, session=TEXTS, user=TEXTS)
@example(text="a\nb\r\nc\x00d", session="\ud800", user="\u2028")
@example(text="\udcff", session="s", user="zo\u00eb")
def test_a_turn_with_any_text_is_read_back_unchanged(text, session, user):
    said = turn(text, session=session, user=user)

    assert read_turn(line(said)) == said


@given(st.binary())
@example(b'{"id": 1}')
@example(b"[" * 100_000)
@example(b'{"ts": "2026-04-06", "role": "user", "text": "x", "user": null}')
def test_any_bytes_are_read_without_an_error(raw):
    for one in read_turns(raw):
        assert one.text.strip()
    assert isinstance(turn_chunks(raw, "user:mira"), list)


TRANSCRIPT = b"".join(
    json.dumps(
        {"id": f"t{number % 4}", "ts": NOON.isoformat(), "role": "user", "text": f"line {number}"}
    ).encode()
    + b"\n"
    for number in range(6)
)


@given(st.lists(st.integers(0, len(TRANSCRIPT)), max_size=4))
def test_a_transcript_that_grows_is_read_as_if_it_were_new(lengths):
    for length in lengths:
        read_turns(TRANSCRIPT[:length])
        raw = TRANSCRIPT[:length]
        turns = {}
        for line in raw.split(b"\n"):
            turn = read_turn(line)
            if turn is not None:
                turns.setdefault(turn.id, turn)

        assert read_turns(raw) == tuple(turns.values())


def test_invalid_lines_are_skipped_and_the_others_keep_their_numbers():
    raw = line(turn("one")) + b"torn {\n\n" + line(turn("one again")) + line(turn("two", id="t2"))

    assert [one.text for one in read_turns(raw)] == ["one", "two"]
    assert [part.chunk.first_line for part in turn_chunks(raw, "user:mira")] == [1, 5]


@every("wrong", [{"ts": "noon"}, {"ts": None}, {"role": "king"}, {"text": " "}, {"text": 1}])
def test_a_line_without_time_role_or_text_is_not_a_turn(wrong):
    assert read_turn(json.dumps({**turn().as_json(), **wrong})) is None


def test_a_hand_written_line_without_an_id_always_gets_the_same_one():
    said = {"ts": "2026-04-06T12:00:00Z", "role": "user", "text": "by hand"}
    first, again = read_turn(json.dumps(said)), read_turn(json.dumps(said) + " ")

    assert first is not None
    assert first == again
    assert first.id


@given(TEXTS)
@example("x" * 5_000)
@example("a. " * 900)
def test_a_long_turn_is_split_into_pieces_that_all_name_the_speaker(text):
    parts = turn_chunks(line(turn(text)), "user:mira")

    assert parts
    for part in parts:
        assert part.chunk.text.startswith("**mira**: ")
        assert len(part.chunk.text) <= CAP + len("**mira**: ")
        assert (part.chunk.who, part.chunk.date, part.chunk.heading) == (
            "mira",
            date(2026, 4, 6),
            ("s",),
        )
        part.chunk.text.encode()


@every(
    ("said", "scope", "also"),
    [
        ({}, "user:mira", ""),
        ({"channel": "harbour"}, "channel:harbour", "user:mira"),
        ({"channel": "harbour", "role": "assistant"}, "channel:harbour", ""),
        ({"channel": "harbour", "user": ""}, "channel:harbour", ""),
        ({"user": "main"}, "group:main", "user:main"),
        ({"user": "tomas"}, "user:mira", ""),
    ],
)
def test_a_turn_outside_its_speakers_folder_also_belongs_to_the_speaker(said, scope, also):
    [part] = turn_chunks(line(turn(**said)), scope)

    assert part.also == also


@every(
    ("user", "channel", "workspace", "path"),
    [
        ("mira", "", False, "Users/mira/transcripts/2026-04-06.jsonl"),
        ("mira", "harbour", True, "Channels/harbour/transcripts/2026-04-06.jsonl"),
        ("main", "", True, "transcripts/2026-04-06.jsonl"),
        ("main", "", False, "Users/main/transcripts/2026-04-06.jsonl"),
        ("mira", "", True, "Users/mira/transcripts/2026-04-06.jsonl"),
    ],
)
def test_a_turn_is_stored_with_its_channel_or_else_with_its_person(user, channel, workspace, path):
    found = transcript_path(
        LAYOUT, user=user, channel=channel, day=NOON.date(), workspace=workspace
    )

    assert found == path


@every("name", ["../tomas", "a/b", "..", ".hidden", "a\x00b", "a\nb", "\ud800", "a\\b"])
@every("kind", ["user", "channel"])
def test_no_name_leads_outside_its_folder(kind, name):
    names = {"user": "mira", "channel": "", kind: name}

    with pytest.raises(UsageError):
        transcript_path(LAYOUT, **names, day=NOON.date(), workspace=False)


@every(
    "wrong",
    [
        {"role": "king"},
        {"origin": "god"},
        {"source": ""},
        {"source": "A B"},
        {"text": "  "},
        {"session": ""},
    ],
)
def test_an_invalid_turn_is_refused_with_a_hint(wrong):
    with pytest.raises(UsageError) as error:
        checked(turn(**wrong))

    assert error.value.hint


def test_turn_ids_sort_by_time_and_are_unique():
    ids = [new_id(NOON + timedelta(seconds=number // 10), number * 7919) for number in range(1000)]

    assert len(set(ids)) == 1000
    assert [one[:8] for one in ids] == sorted(one[:8] for one in ids)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3)), max_size=20))
def test_the_union_contains_each_turn_once_in_order_of_time(pairs):
    lines = [
        line(turn(id=id_, ts=(NOON + timedelta(hours=hour)).isoformat())) for id_, hour in pairs
    ]
    found = union_of_turns(iter([b"".join(lines[::2]), b"".join(lines[1::2])]))

    assert len(found) == len({id_ for id_, _ in pairs})
    assert [one.at for one in found] == sorted(one.at for one in found)


@every(
    ("said", "reason"),
    [
        (b"\xff", "no JSON"),
        (b"[]", "no JSON object"),
        (b'{"role": "user", "text": "x", "user": "mira"}', "`source`"),
        (b'{"source": "email", "text": "x", "user": "mira"}', "`role`"),
        (b'{"source": "email", "role": "user", "text": "x"}', "`user`"),
        (b'{"source": "email", "role": "user", "text": "x", "user": "mira", "id": "../x"}', "`id`"),
        (b'{"source": "email", "role": "user", "text": "x", "user": "mira", "ts": "soon"}', "`ts`"),
        (b'{"source": 3, "role": "user", "text": "x", "user": "mira"}', "`source`"),
        (
            b'{"source": "email", "role": "user", "text": "x", "user": "mira", "silent": 1}',
            "`silent`",
        ),
    ],
)
def test_an_invalid_dropped_line_is_refused_with_the_reason(said, reason):
    refused = read_dropped(said, default_id="o", default_time=NOON)

    assert isinstance(refused, str)
    assert reason in refused


@every(
    ("source", "automated"),
    [
        ("talk", False),
        ("cron", True),
        ("cron-morning", True),
        ("job-coach", False),
        ("cli-tool", False),
        ("tool", True),
        ("cronos", False),
    ],
)
def test_an_automated_source_is_recognised_by_its_name(source, automated):
    assert turn("hello", source=source).is_automated is automated


def test_a_turn_of_an_automated_job_is_read_back_unchanged():
    job = turn("hello", automated=True)

    assert read_turn(json.dumps(job.as_json())) == job
    assert "automated" not in turn("hello").as_json()
