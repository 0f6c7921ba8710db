"""The audit is written and read as JSON, joined from several devices, and tells by replay whose items are whose."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from tests.rules.edits.tombstones import tombstones
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.items import normalised
from vault_memory.markdown.note_items import item_id, items_of, resolve
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_reader import read_line, read_record
from vault_memory.rules.edits.audit_record import (
    Proposal,
    Record,
    proposals_of,
    propose,
    record_run,
    union,
)
from vault_memory.rules.edits.ops import Append, Rejected
from vault_memory.rules.edits.ownership import Ownership, allow_again, replay
from vault_memory.rules.forgetting.redaction import redact


def run(raw, *ops, source="nightly", id="1", ts="2026-11-21T03:00:00+01:00"):
    outcome = apply_ops(parse(raw), ops)
    after = render(outcome.doc)
    return after, record_run(
        Record(
            id=id,
            ts=ts,
            user_id="mira",
            source=source,
            note="Users/mira/bot/config/USER.md",
            why="said on Monday",
        ),
        before=raw,
        after=after,
        applied=outcome.applied,
        rejected=outcome.rejected,
    )


def append(line, heading="A"):
    return {"op": "append", "heading": heading, "line": line}


def remove(match, heading="A"):
    return {"op": "remove", "heading": heading, "match": match}


def replace(match, line, heading="A"):
    return {"op": "replace", "heading": heading, "match": match, "line": line}


NOTE = b"## A\n- one\n- two\n"


def test_a_record_lists_the_applied_and_the_refused_ops():
    _, record = run(NOTE, append("three"), remove("two"), append("x", "B"), 7, append("ONE"))
    said = record.as_json()

    assert said["applied"] == [
        {"op": append("three"), "outcome": "applied"},
        {"op": remove("two"), "outcome": "applied", "removed": "- two\n"},
        {"op": append("ONE"), "outcome": "noop_dup"},
    ]
    assert said["rejected"] == [
        {"op": append("x", "B"), "reason": "heading_missing", "headings": ["A"]},
        {"op": 7, "reason": "wrong_type"},
    ]
    assert said["diff"].splitlines()[2:] == [
        "@@ -1,3 +1,3 @@",
        " ## A",
        " - one",
        "-- two",
        "+- three",
    ]
    assert {len(said["before"]), len(said["after"])} == {64}
    assert said["user_id"] == "mira"


def test_a_record_can_contain_anything_sent_as_an_op():
    odd = [
        "\ud800" * 3000,
        float("nan"),
        10**5000,
        {"op": b"\xff", 1: object()},
        [[[[[[[[[["deep"]]]]]]]]]],
    ]
    _, record = run(NOTE, *odd)

    line = json.dumps(record.as_json(), ensure_ascii=False).encode()
    assert len(line) < 10_000
    assert len(read_line(line).rejected) == 5


KEYS = (
    "id ts op of applied rejected proposed diff base64 outcome heading line lines removed added headings note state"
).split()
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS) | st.text(max_size=3),
            inner
            | st.sampled_from(["append", "undo", "applied", "open", "nightly", "A", "2026-01-01"]),
            max_size=8,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=cases(200))
@given(json_values.map(lambda value: {"id": "1", **value} if isinstance(value, dict) else value))
@example(
    {
        "id": "1",
        "diff": {"base64": "é"},
        "applied": [{"op": {"op": "undo", "of": {"heading": "A"}}}],
    }
)
@example(
    {"ts": "2026", "applied": [{"op": "append", "heading": "A", "line": "x", "outcome": "applied"}]}
)
def test_any_json_is_read_as_a_record_or_skipped(value):
    record = read_record(value)
    if record is not None:
        assert read_line(json.dumps(record.as_json()).encode()) == read_record(record.as_json())
        replay([record])
        proposals_of([record])
        union([record], [record])
        redact(record, lambda text: "A" in text)


@given(st.binary(max_size=80))
@example(b"[" * 100_000)
@example(b'{"id": "1", "ts": 1' + b"1" * 5000 + b"}")
def test_any_line_is_read_as_a_record_or_skipped(line):
    read_line(line)


def test_a_record_is_read_back_from_its_line_unchanged():
    _, record = run(NOTE, append("three"), remove("two"), append("x", "B"))

    again = read_line(json.dumps(record.as_json()).encode())

    assert again.as_json() == record.as_json()
    assert again.applied == record.applied


def test_an_old_record_without_an_id_and_with_flat_ops_is_read_too():
    done = {"op": "append", "heading": "A", "line": "x", "outcome": "applied"}
    line = json.dumps({"ts": "2026-01-01T03:00:00Z", "applied": [done]}).encode()

    record = read_line(line)

    assert record.applied[0].op["line"] == "x"
    assert record.id == read_line(line).id != ""


def test_files_of_several_devices_form_one_audit_in_order_of_time():
    first, second, third = (
        Record("b", "2026-11-21T03:00:00+01:00", "", "nightly", "n.md"),
        Record("a", "2026-11-21T02:30:00Z", "", "nightly", "n.md"),
        Record("c", "2026-11-21T02:30:00+00:00", "", "nightly", "n.md"),
    )

    assert union([first, third], [first, second]) == (first, second, third)


@pytest.mark.scenario("B50")
def test_records_of_one_device_keep_their_order_although_its_clock_went_back():
    hours = ("2026-11-21T03", "2036-11-21T03", "2025-11-21T03", "2026-11-21T04")
    mine = [
        Record(f"m{at}", f"{hour}:00:00Z", "", "nightly", "n.md", device="me")
        for at, hour in enumerate(hours)
    ]
    other = Record("o", "2026-11-21T03:30:00Z", "", "nightly", "n.md", device="other")

    assert union(mine, [other]) == (mine[0], other, *mine[1:])
    assert union([mine[0], mine[1], other, mine[2], mine[3]]) == (mine[0], other, *mine[1:])


def test_a_record_redacted_on_one_device_stays_redacted():
    _, record = run(NOTE, append("secret"))
    redacted = redact(record, lambda text: "secret" in text)

    assert union([record], [redacted]) == union([redacted], [record]) == (redacted,)


def test_the_latest_decision_on_a_proposal_counts():
    first = propose("n.md", Append("A", "x"), "why", suspicious=True)
    records = [
        record_run(
            Record(id="1", ts="2026-01-01T00:00:00Z", user_id="", source="proposal", note="n.md"),
            before=b"",
            after=b"",
            proposed=[first],
        ),
        read_record(
            {
                "id": "2",
                "ts": "2026-01-02T00:00:00Z",
                "proposed": [{"id": first.id, "state": "rejected"}, {"id": "?"}],
            }
        ),
    ]

    assert proposals_of(records) == {
        first.id: Proposal(
            first.id, "n.md", first.op, "why", "rejected", "2026-01-02T00:00:00Z", suspicious=True
        )
    }


def bots_items(records, raw):
    return [(item.heading, item.text) for item in replay(records).bots_items(parse(raw))]


def test_items_written_by_the_bot_are_its_own_and_all_others_a_persons():
    after, record = run(
        NOTE, append("three (2026-11-21, ref:1)"), replace("one", "eins"), append("two")
    )

    assert bots_items([record], after) == [("A", "eins"), ("A", "three (2026-11-21, ref:1)")]
    assert bots_items([record], after.replace(b"three", b"four")) == [("A", "eins")]
    assert bots_items([record], after.replace(b"## A", b"## A\n## B")) == []


@every("source", ["cli", "inbox", "undo", "retention", "somebody"])
def test_items_written_by_other_sources_are_a_persons(source):
    after, record = run(NOTE, append("three"), source=source)

    assert bots_items([record], after) == []


def test_an_item_a_person_restores_on_the_command_line_is_theirs():
    after, first = run(NOTE, append("three"))
    gone, second = run(after, remove("three"), source="cli", id="2")
    assert replay([first, second]).deleted(parse(gone), "A", "Three.")

    back, third = run(gone, append("three"), source="cli", id="3")

    assert bots_items([first, second, third], back) == []
    assert not tombstones(replay([first, second, third]), parse(NOTE))


@pytest.mark.scenario("A9")
def test_an_item_a_person_deleted_is_a_tombstone_until_it_is_lifted():
    _, record = run(NOTE, append("Three."), append("four"))
    ownership = replay([record])
    doc = parse(NOTE + b"- four\n")

    assert tombstones(ownership, doc) == {"three"}
    assert ownership.deleted(doc, "A", "- three (2026-12-01)")
    assert not ownership.deleted(doc, "A", "five")

    lifted = Record("2", "", "", "inbox", "n.md", (allow_again("three"),))
    assert not tombstones(replay([record, lifted]), doc)


def test_an_item_the_bot_removed_itself_leaves_no_tombstone():
    after, first = run(NOTE, append("three"))
    _, second = run(after, remove("three"), id="2")
    _, third = run(after, remove("three"), id="2", source="retention")

    assert not tombstones(replay([first, second]), parse(NOTE))
    assert not tombstones(replay([first, third]), parse(NOTE))


@pytest.mark.scenario("A9")
def test_a_deletion_is_remembered_once_the_bot_was_refused():
    _, first = run(NOTE, append("three"))
    refused = record_run(
        Record(id="2", ts="", user_id="", source="nightly", note="n.md"),
        before=NOTE,
        after=NOTE,
        rejected=[Rejected(Append("A", "three"), "deleted_by_person")],
    )
    ownership = replay([first, read_line(json.dumps(refused.as_json()).encode())])

    assert ownership.deleted(parse(NOTE), "A", "three")
    assert ownership.bots_items(parse(NOTE + b"- three\n")) == ()


def test_a_refused_section_implies_nothing_about_its_other_items():
    raw, first = run(NOTE, append("three"), append("four"))
    section = {"op": "add_heading", "heading": "B", "lines": ["three", "four"]}
    refused = read_record(
        {"id": "2", "source": "tool", "rejected": [{"op": section, "reason": "deleted_by_person"}]}
    )

    assert bots_items([first, refused], raw) == [("A", "three"), ("A", "four")]


@pytest.mark.scenario("A10", "A11")
def test_a_line_that_went_to_the_inbox_leaves_no_tombstone():
    _, first = run(NOTE, append("three"))
    back = record_run(
        Record(id="2", ts="", user_id="", source="proposal", note="n.md"),
        before=NOTE,
        after=NOTE,
        proposed=[propose("n.md", Append("A", "three"), "an older version came back")],
    )

    assert not tombstones(replay([first, back]), parse(NOTE))


def test_a_moved_item_becomes_the_persons_and_is_not_rewritten_in_its_old_place():
    _, record = run(b"## A\n## B\n", append("three"))
    doc = parse(b"## A\n## B\n- three\n")

    assert replay([record]).bots_items(doc) == ()
    assert replay([record]).deleted(doc, "A", "three")
    assert not replay([record]).deleted(doc, "C", "three")


# A model of one note: the bot's runs are recorded, a person's edits are not.
WORDS = ["w0", "w1", "w2", "w3"]
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("bot"),
            st.lists(
                st.one_of(
                    st.builds(append, st.sampled_from(WORDS), st.sampled_from("AB")),
                    st.builds(remove, st.sampled_from(WORDS), st.sampled_from("AB")),
                    st.builds(
                        replace,
                        st.sampled_from(WORDS),
                        st.sampled_from(WORDS),
                        st.sampled_from("AB"),
                    ),
                ),
                min_size=1,
                max_size=3,
            ),
        ),
        st.tuples(st.sampled_from(["writes", "deletes", "changes", "cli"]), st.integers(0, 9)),
    ),
    max_size=12,
)


def the_person(raw, act, number, fresh):
    """The note after an edit by hand; new words are such as the bot never wrote."""
    lines = raw.split(b"\n")
    items = [at for at, line in enumerate(lines) if line.startswith(b"- ")]
    if act == "writes":
        lines.insert(1 + number % 2, b"- %s" % fresh)
    elif items and act == "deletes":
        del lines[items[number % len(items)]]
    elif items:
        lines[items[number % len(items)]] += b" " + fresh
    return b"\n".join(lines)


def track_authors(model, ops_applied, wrote):
    """The model's own bookkeeping: who wrote each (heading, text) that stands in the note."""
    for done in ops_applied:
        if done.outcome != "applied":
            continue
        op = done.op
        if done.removed:
            text = done.removed.decode().removeprefix("- ").strip()
            model.pop((op.heading, text), None)
        if hasattr(op, "line"):
            model[op.heading, op.line] = wrote


@settings(max_examples=cases(150))
@given(steps)
@example(
    [("bot", [append("w0"), append("w1")]), ("deletes", 0), ("bot", [append("w0")]), ("changes", 0)]
)
def test_replay_finds_exactly_the_bots_items_after_any_runs_and_edits(steps):
    raw, records, model = b"## A\n- mine\n\n## B\n", [], {}
    for number, (who, what) in enumerate(steps):
        fresh = b"p%d" % number
        if who in ("bot", "cli"):
            ops = what if who == "bot" else [append(WORDS[what % 4])]
            outcome = apply_ops(parse(raw), ops)
            raw, record = run(
                raw, *ops, source="nightly" if who == "bot" else "cli", id=f"{number:03}"
            )
            records.append(read_line(json.dumps(record.as_json()).encode()))
            track_authors(model, outcome.applied, who)
        else:
            raw = the_person(raw, who, what, fresh)
        here = {(item.heading, item.text) for item in items_of(parse(raw))}
        gone = {key for key in model if key not in here}
        model = {key: by for key, by in model.items() if key not in gone or by == "bot"}

    here = [(item.heading, item.text) for item in items_of(parse(raw))]
    expected = sorted(key for key, by in model.items() if by == "bot" and here.count(key) == 1)
    assert sorted(bots_items(records, raw)) == expected
    vanished = {text for (_, text), by in model.items() if by == "bot"} - {text for _, text in here}
    assert tombstones(replay(records), parse(raw)) == vanished


@settings(max_examples=50)
@given(steps)
def test_replaying_in_two_parts_equals_replaying_at_once(steps):
    raw, records = b"## A\n\n## B\n", []
    for number, (who, what) in enumerate(steps):
        if who == "bot":
            raw, record = run(raw, *what, id=f"{number:03}")
            records.append(record)
    half = len(records) // 2

    assert replay(records[half:], since=replay(records[:half])) == replay(records)
    assert replay([]) == Ownership()


def test_an_item_has_the_same_id_whatever_surrounds_it():
    one = item_id("user:mira", "user", "- [preference] Likes tea. (2026-01-02, ref:7)")

    assert one == item_id("user:mira", "user", "[preference]   LIKES tea")
    assert len(one) == 10
    assert one != item_id("user:ann", "user", "[preference] Likes tea")
    assert normalised("- Likes tea.") == "likes tea"


def test_an_id_prefix_is_enough_and_an_ambiguous_one_lists_the_candidates():
    ids = ["7c1e90ab12", "7c1f000000", "0000000000"]

    assert resolve("7C1E", ids).id == "7c1e90ab12"
    assert resolve("7c1", ids) == resolve(" 7c1 ", reversed(ids))
    assert (resolve("7c1", ids).id, resolve("7c1", ids).candidates) == (
        "",
        ("7c1e90ab12", "7c1f000000"),
    )
    assert resolve("", ids).candidates == resolve("9", ids).candidates == ()
    assert resolve("0000000000", [*ids, "00000000001"]).id == "0000000000"


@pytest.mark.sampled
@settings(max_examples=30)
@given(steps)
def test_a_grown_or_changed_long_audit_is_replayed_correctly(steps):
    raw = b"## A\n\n## B\n"
    records = [
        run(b"## B\n", append(f"line {at}", heading="B"), id=f"0{at:03}")[1] for at in range(64)
    ]
    for number, (who, what) in enumerate(steps):
        if who == "bot":
            raw, record = run(raw, *what, id=f"{number:03}")
            records.append(record)
            assert replay(tuple(records)) == replay(records)
    assert replay(tuple(records[1:])) == replay(records[1:])
    assert replay(tuple(records[:-1])) == replay(records[:-1])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=8))
@example([(1, 0, False), (2, 3, True), (1, 1, True), (2, 2, False)])
def test_records_of_one_device_in_one_file_keep_their_order(said):
    records = [
        Record(
            f"{number}",
            f"202{year}-01-01T00:00:00Z",
            "",
            "nightly",
            "n.md",
            redacted=redacted,
            device="me",
        )
        for number, year, redacted in said
    ]

    assert union(records) == union(records, [])
