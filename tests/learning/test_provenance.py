"""`source`: from a remembered line back to what was said, within the scopes that are open."""

import json
import time
from datetime import UTC, date, datetime, timedelta

import pytest

from vault_memory import VaultMemory, config
from vault_memory.conversations import turn_lookup
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.errors import NoteNotFound
from vault_memory.learning.policy.feedback import Feedback

NOW = datetime(2026, 5, 25, 18, tzinfo=UTC)
ANN, BO, DEV = "user:ann", "user:bo", "channel:dev"
FACTS = "Users/ann/bot/config/FACTS.md"
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "vault").mkdir()
    environment = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    with VaultMemory.open(tmp_path / "vault", OFF, environment=environment) as vault:
        yield vault


def say(memory, text, minute, *, user="ann", session="tea", role="user", **more):
    moment = NOW + timedelta(minutes=minute)
    recorded = memory.record_turn(
        session=session, role=role, text=text, user=user, now=moment, **more
    )
    return recorded.id


def texts(turns):
    return [turn.text for turn in turns]


@pytest.fixture
def talk(memory):
    """Ann's conversation, with a fact that cites its third turn. Returns the ids of its turns."""
    ids = [
        say(memory, "Hello", 0),
        say(memory, "Hello Ann", 1, role="assistant"),
        say(memory, "I moved to Bergen", 2),
        say(memory, "How is the rain?", 3, role="assistant"),
        say(memory, "Wet", 4),
    ]
    say(memory, "The staging server is down", 2, user="bo", session="ops")
    memory.add_fact(
        "ann",
        "lives_in",
        "Bergen",
        scope=ANN,
        ref=ids[2],
        valid_from=date(2026, 5, 25),
        why="from a conversation",
        now=NOW,
    )
    return ids


def test_a_fact_leads_to_its_turn_and_the_conversation_around_it(memory, talk):
    [fact] = memory.facts(scopes=[ANN], now=NOW)

    origin = memory.source(fact.id, scopes=[ANN], around=1, now=NOW)

    assert (origin.kind, origin.id, origin.note) == ("fact", fact.id, FACTS)
    assert origin.record.why == "from a conversation"
    [turn] = origin.turns
    assert (turn.id, turn.turn.text) == (talk[2], "I moved to Bergen")
    assert texts(turn.before) == ["Hello Ann"]
    assert texts(turn.after) == ["How is the rain?"]


def test_a_line_of_a_note_leads_to_the_same_turn_as_its_fact(memory, talk):
    lines = (memory.root / FACTS).read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "Bergen" in line)

    origin = memory.source(f"{FACTS}:{number}", scopes=[ANN], now=NOW)

    assert (origin.kind, origin.lines) == ("item", (number, number))
    assert [turn.id for turn in origin.turns] == [talk[2]]
    with pytest.raises(UnclearId) as error:
        memory.source(f"{FACTS}:1", scopes=[ANN], now=NOW)
    assert error.value.details["candidates"] == [f"{FACTS}:{number}"]


def test_a_turn_and_the_change_that_wrote_a_line_are_sources_too(memory, talk):
    turn = memory.source(talk[0], scopes=[ANN], around=1, now=NOW)
    [record] = memory.log(FACTS)
    change = memory.source(record.id[:12], scopes=[ANN], now=NOW)

    assert (turn.kind, turn.text) == ("turn", "Hello")
    assert texts(turn.turns[0].after) == ["Hello Ann"]
    assert change.kind == "record"
    assert [found.turn.text for found in change.turns] == ["I moved to Bergen"]


def test_each_line_of_a_transcript_is_a_turn(memory, talk):
    [path] = (memory.root / "Users/ann/transcripts").iterdir()
    place = path.relative_to(memory.root).as_posix()

    origin = memory.source(f"{place}:3", scopes=[ANN], now=NOW)

    assert (origin.kind, origin.id, origin.lines) == ("turn", talk[2], (3, 3))


def test_another_session_of_the_same_day_is_no_neighbour(memory, talk):
    say(memory, "Buy a lamp", 2.5, session="shop")

    [turn] = memory.source(talk[2], scopes=[ANN], around=9, now=NOW).turns

    assert "Buy a lamp" not in texts([*turn.before, *turn.after])
    assert texts(turn.before) == ["Hello", "Hello Ann"]


def test_a_line_that_a_person_wrote_has_no_turn_and_says_so(memory):
    note = memory.root / "Users/ann/bot/config/USER.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Ann\n\n## Likes\n\n- tea\n")

    origin = memory.source("Users/ann/bot/config/USER.md:5", scopes=[ANN], now=NOW)

    assert (origin.text, origin.turns) == ("tea", ())
    assert "a person wrote this line" in origin.reason


@pytest.mark.sampled
def test_a_line_of_a_very_long_note_is_found_in_time(memory):
    lines = "".join(f"- Saw boat {number}\r\n" for number in range(20_000))
    note = memory.root / "Users/ann/memories/boats.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_bytes(f"## Boats\r\n\r\n{lines}".encode())
    before = time.process_time()

    origin = memory.source("Users/ann/memories/boats.md:20002", scopes=["user:ann"])

    # Counted anew for each item, the lines took more than a minute.
    assert time.process_time() - before < 20
    assert origin.text == "Saw boat 19999"
    assert origin.lines == (20_002, 20_002)


# --- Gone ---


@pytest.mark.sampled
def test_a_turn_that_was_forgotten_is_gone_and_stays_unsaid(memory, talk):
    [fact] = memory.facts(scopes=[ANN], now=NOW)
    memory.forget("I moved to Bergen", now=NOW)

    origin = memory.source(fact.id, scopes=[ANN], now=NOW)

    [turn] = origin.turns
    assert turn.turn is None
    assert turn.gone == turn_lookup.REMOVED
    assert "I moved" not in repr(origin)


def test_a_turn_whose_transcript_was_deleted_is_gone(memory, talk):
    for path in (memory.root / "Users/ann/transcripts").iterdir():
        path.unlink()

    [turn] = memory.source(talk[2], scopes=[ANN], now=NOW).turns

    assert turn.gone == turn_lookup.NO_TRANSCRIPT


def test_a_turn_that_aged_out_says_after_how_many_days(tmp_path, memory, talk):
    for path in (memory.root / "Users/ann/transcripts").iterdir():
        path.unlink()
    settings = OFF._replace(retention=config.sections.Retention(transcript_days=30))
    environment = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    with VaultMemory.open(memory.root, settings, environment=environment) as later:
        [turn] = later.source(talk[2], scopes=[ANN], now=NOW + timedelta(days=40)).turns

    assert turn.gone == "its transcript aged out after 30 days"


def test_an_unknown_id_lists_candidates(memory, talk):
    with pytest.raises(UnclearId) as error:
        memory.source(talk[2][:-1] + "_", scopes=[ANN], now=NOW)

    assert error.value.exit_code == 2
    assert talk[2] in error.value.details["candidates"]


# --- Scopes ---


def test_nothing_of_another_person_is_a_source(memory, talk):
    [fact] = memory.facts(scopes=[ANN], now=NOW)
    [record] = memory.log(FACTS)

    for ref in (fact.id, talk[2], record.id):
        with pytest.raises(UnclearId) as error:
            memory.source(ref, scopes=[BO, DEV], now=NOW)
        assert not {*talk, fact.id} & {*error.value.details["candidates"]}
    with pytest.raises(NoteNotFound):
        memory.source(f"{FACTS}:3", scopes=[BO, DEV], now=NOW)


def test_own_words_in_a_channel_are_shown_without_those_of_others(memory):
    say(memory, "Who broke the build?", 0, user="bo", session="day", channel="dev")
    own = say(memory, "I did, sorry", 1, session="day", channel="dev")
    said_by_bo = say(memory, "No harm done", 2, user="bo", session="day", channel="dev")

    [alone] = memory.source(own, scopes=[ANN], now=NOW).turns
    [beside] = memory.source(own, scopes=[ANN, DEV], now=NOW).turns

    assert alone.turn.text == "I did, sorry"
    assert (alone.before, alone.after) == ((), ())
    assert alone.closed == turn_lookup.SCOPE_IS_CLOSED
    assert texts(beside.before) == ["Who broke the build?"]
    assert texts(beside.after) == ["No harm done"]
    with pytest.raises(UnclearId):
        memory.source(said_by_bo, scopes=[ANN], now=NOW)


def test_a_line_may_cite_another_persons_turn_and_shows_nothing_of_it(memory, talk):
    memory.add_fact("bo", "knows", "ann", scope=BO, ref=talk[2], source="cli", now=NOW)
    [fact] = memory.facts(scopes=[BO], now=NOW)

    [turn] = memory.source(fact.id, scopes=[BO], now=NOW).turns

    assert turn.turn is None
    assert turn.transcript == ""


def test_a_held_candidate_leads_to_the_turns_that_support_it(memory, talk):
    ledger = memory.root / "Users/ann/learning/held.jsonl"
    ledger.parent.mkdir(parents=True, exist_ok=True)
    supports = [{"turn": talk[2], "session": "tea"}]
    line = {
        "id": "9f3c1a22d0",
        "ts": NOW.isoformat(),
        "state": "held",
        "class": "require_repetition",
        "reason": "self_belief",
        "kind": "fact",
        "text": "dislikes: moving",
        "supports": supports,
    }
    ledger.write_text(json.dumps(line) + "\n")

    origin = memory.source("9f3c1a", scopes=[ANN], now=NOW)

    assert (origin.kind, origin.text) == ("held", "dislikes: moving")
    assert [turn.turn.text for turn in origin.turns] == ["I moved to Bergen"]
    with pytest.raises(UnclearId):
        memory.source("9f3c1a", scopes=[BO], now=NOW)


def test_feedback_reaches_what_is_open_and_nothing_else(memory, talk):
    bos = say(memory, "The build is red", 9, user="bo", session="ops")
    memory.learning.log_feedback(Feedback("good", ANN, about=talk[2]), now=NOW)
    memory.learning.log_feedback(Feedback("bad", ANN, about=bos), [BO], now=NOW)

    with pytest.raises(UnclearId) as refused:
        memory.learning.log_feedback(Feedback("bad", ANN, about=bos), now=NOW)

    assert refused.value.exit_code == 2
    candidates = refused.value.details["candidates"]
    assert talk[2] in candidates
    assert bos not in candidates
