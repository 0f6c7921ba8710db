"""What a person deleted comes back when the person says it later, and by no words from before."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.learning.test_law_of_deleted_lines import (
    FACTS,
    MINE,
    SAID,
    SCOPE,
    notes_of,
    open_vault,
    stands,
)
from vault_memory.api.vault_memory import VaultMemory

DELETED = datetime.now(UTC) - timedelta(hours=6)
"""The moment of each deletion, in the middle of the turns"""
FIRST = DELETED - timedelta(days=2)
BEFORE, AFTER = DELETED - timedelta(minutes=2), DELETED + timedelta(minutes=2)

HOME = ("I moved to Bergen.", "Bergen")
KEY = ("Remember that the boiler key hangs behind the door.", "boiler key")
GRAMS = ("From now on, always answer in grams.", "grams")
PILOT = ("My sister Mira is a pilot.", "pilot")
KINDS = [HOME, KEY, GRAMS, PILOT]
"""A fact, a request, a rule and a memory"""

OTHER_LANGUAGES = [
    ("Ich bin nach Bergen gezogen.", "Bergen"),
    ("Merk dir, dass der Kesselschlüssel hinter der Tür hängt.", "Kesselschlüssel"),
    ("Ab jetzt antworte immer in Gramm.", "Gramm"),
    ("Me mudé a Bergen.", "Bergen"),
    ("Recuerda que la llave de la caldera cuelga detrás de la puerta.", "caldera"),
    ("A partir de ahora responde siempre en gramos.", "gramos"),
    ("J'ai déménagé à Bergen.", "Bergen"),
    ("Souviens-toi que la clé de la chaudière est derrière la porte.", "chaudière"),
    ("Désormais, réponds toujours en grammes.", "grammes"),
    ("Я переехал в Берген.", "Берген"),
    ("Запомни, что ключ от котла висит за дверью.", "котла"),
    ("Отныне всегда отвечай в граммах.", "граммах"),
    ("我住在卑尔根。", "卑尔根"),
    ("记住锅炉钥匙挂在门后面。", "锅炉钥匙"),
    ("从现在起总是用克回答。", "克回答"),
]

Act = Callable[[VaultMemory, str], None]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    with open_vault(tmp_path, "laptop") as opened:
        yield opened


# ---- what the person does ------------------------------------------------------------------------


def say(memory: VaultMemory, text: str, now: datetime, **more: str) -> None:
    turn = {**SAID, "session": f"{now:%j %H %M}", **more}
    memory.record_turn(text=text, now=now, **turn)


def place_of(memory: VaultMemory, words: str) -> tuple[Path, str]:
    """Returns the note that has some words, and the heading above them."""
    for path in notes_of(memory):
        heading = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            heading = line.removeprefix("## ") if line.startswith("## ") else heading
            if words in line:
                return path, heading
    raise AssertionError(f"no note has {words}")


def set_time(path: Path) -> None:
    os.utime(path, (DELETED.timestamp(),) * 2)


def save(memory: VaultMemory, words: str, new: str) -> None:
    while stands(memory, words):
        path, _ = place_of(memory, words)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [new if words in line else line for line in lines]
        path.write_text("".join(kept), encoding="utf-8")
        set_time(path)


def by_hand(memory: VaultMemory, words: str) -> None:
    save(memory, words, MINE)


def replaced_by_hand(memory: VaultMemory, words: str) -> None:
    save(memory, words, "- lives_in: Bath\n")


def by_hand_and_seen(memory: VaultMemory, words: str) -> None:
    path, _ = place_of(memory, words)
    by_hand(memory, words)
    op = {"op": "add_heading", "heading": "harbour", "lines": ["has: a crane"]}
    note = str(path.relative_to(memory.root))
    memory.apply(note, [op], source="tool", now=DELETED)


def with_the_note(memory: VaultMemory, words: str) -> None:
    path, _ = place_of(memory, words)
    path.unlink()
    set_time(path.parent)


def by_op(memory: VaultMemory, words: str) -> None:
    path, heading = place_of(memory, words)
    op = {"op": "remove", "heading": heading, "match": words}
    note = str(path.relative_to(memory.root))
    memory.apply(note, [op], source="cli", now=DELETED)


def replaced_by_op(memory: VaultMemory, words: str) -> None:
    path, heading = place_of(memory, words)
    op = {"op": "replace", "heading": heading, "match": words, "line": "tea is drunk"}
    note = str(path.relative_to(memory.root))
    memory.apply(note, [op], source="cli", now=DELETED)


def by_undo(memory: VaultMemory, words: str) -> None:
    path, _ = place_of(memory, words)
    records = memory.log(note=str(path.relative_to(memory.root)))
    [wrote] = [
        record
        for record in records
        if any(words in str(applied.op.get("lines")) for applied in record.applied)
    ]
    memory.undo(wrote.id, now=DELETED)


DELETIONS = (
    by_hand,
    replaced_by_hand,
    by_hand_and_seen,
    with_the_note,
    by_op,
    replaced_by_op,
    by_undo,
)


# ---- what the bot does ---------------------------------------------------------------------------


def at_stop(memory: VaultMemory, now: datetime) -> None:
    memory.end_session(f"{now:%j %H %M}", user="alice", now=now + timedelta(minutes=6))


def by_night(memory: VaultMemory, now: datetime) -> None:
    memory.sleep(scopes=SCOPE, now=now + timedelta(hours=5))


def learned(memory: VaultMemory, text: str, words: str) -> None:
    say(memory, text, FIRST)
    at_stop(memory, FIRST)
    assert stands(memory, words)


READERS = (at_stop, by_night)


@pytest.mark.sampled
@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("delete", DELETIONS)
@pytest.mark.parametrize(("text", "words"), KINDS)
def test_later_words_bring_back_what_a_person_deleted(
    memory: VaultMemory,
    text: str,
    words: str,
    delete: Act,
    read: Callable[[VaultMemory, datetime], None],
):
    learned(memory, text, words)
    places = stands(memory, words)
    delete(memory, words)
    assert stands(memory, words) == []

    say(memory, text, AFTER)
    read(memory, AFTER)

    # A memory is in the note of its day.
    assert len(stands(memory, words)) == len(places)


@pytest.mark.sampled
@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("delete", DELETIONS)
@pytest.mark.parametrize(("text", "words"), KINDS)
def test_words_from_before_bring_nothing_back(
    memory: VaultMemory,
    text: str,
    words: str,
    delete: Act,
    read: Callable[[VaultMemory, datetime], None],
):
    learned(memory, text, words)
    say(memory, text, BEFORE)
    delete(memory, words)

    read(memory, BEFORE if read is at_stop else AFTER)

    assert stands(memory, words) == []


@pytest.mark.sampled
@pytest.mark.parametrize(("text", "words"), OTHER_LANGUAGES)
def test_words_are_later_or_not_in_each_language(memory: VaultMemory, text: str, words: str):
    learned(memory, text, words)
    say(memory, text, BEFORE)
    by_hand(memory, words)

    at_stop(memory, BEFORE)
    assert stands(memory, words) == []

    say(memory, text, AFTER)
    at_stop(memory, AFTER)
    assert stands(memory, words)


@pytest.mark.sampled
@pytest.mark.parametrize(("text", "words"), KINDS)
def test_who_says_it_before_and_after_the_deletion_says_it_later(
    memory: VaultMemory, text: str, words: str
):
    learned(memory, text, words)
    say(memory, text, BEFORE)
    by_hand(memory, words)
    say(memory, text, AFTER)

    by_night(memory, AFTER)

    assert stands(memory, words)


@pytest.mark.sampled
@pytest.mark.parametrize(("text", "words"), KINDS)
def test_a_second_device_learns_late_and_brings_nothing_back(
    memory: VaultMemory, tmp_path: Path, text: str, words: str
):
    learned(memory, text, words)
    with open_vault(tmp_path, "phone") as phone:
        say(phone, text, BEFORE)
        by_hand(memory, words)

        at_stop(phone, BEFORE)
        by_night(phone, AFTER)
        assert stands(phone, words) == []

        say(phone, text, AFTER)
        at_stop(phone, AFTER)
        assert stands(phone, words)


@pytest.mark.sampled
@pytest.mark.parametrize(("text", "words"), KINDS)
def test_what_was_forgotten_comes_back_by_later_words_alone(
    memory: VaultMemory, text: str, words: str
):
    learned(memory, text, words)
    say(memory, text, BEFORE)
    memory.forget(words)

    at_stop(memory, BEFORE)
    by_night(memory, BEFORE)
    assert stands(memory, words) == []

    say(memory, text, AFTER)
    at_stop(memory, AFTER)
    assert stands(memory, words)


def test_the_home_of_another_person_is_not_that_of_the_speaker(memory: VaultMemory):
    text, words = HOME
    learned(memory, text, words)
    say(memory, text, BEFORE)
    by_hand(memory, words)
    page = memory.root / FACTS
    before = f"{page.read_text(encoding='utf-8')}\n## bo\n\n- lives_in: Bergen\n"
    page.write_text(before, encoding="utf-8")
    set_time(page)

    at_stop(memory, BEFORE)
    memory.remember("Alice lives in Bergen", scope="user:alice", source="tool")
    assert page.read_text(encoding="utf-8") == before
    assert stands(memory, words) == ["FACTS.md"]

    say(memory, text, AFTER)
    at_stop(memory, AFTER)
    assert page.read_text(encoding="utf-8").count("lives_in: Bergen") == 2


CROSSING = (
    "Could you look up the wind for the crossing to Ostervik on Saturday, please?",
    "We decided to take the morning ferry, since the afternoon one is full of lorries.",
    "The tent stays at home this time. Which hotel near the harbour takes dogs?",
)


@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_an_episode_has_a_deleted_sentence_by_later_words_alone(
    memory: VaultMemory, when: datetime
):
    learned(memory, f"Remember that {CROSSING[1]}", "morning ferry")
    for text in CROSSING:
        say(memory, text, when)
    by_hand(memory, "morning ferry")

    memory.end_session(f"{when:%j %H %M}", user="alice", now=AFTER)

    [episode] = memory.root.glob("Users/alice/memories/sessions/*.md")
    assert "the wind for the crossing" in episode.read_text(encoding="utf-8")
    assert bool(stands(memory, "morning ferry")) is (when == AFTER)


@pytest.mark.parametrize("again", [False, True])
def test_a_deleted_episode_has_no_old_sentences_when_its_conversation_goes_on(
    memory: VaultMemory, again: bool
):
    for text in CROSSING:
        memory.record_turn(text=text, now=FIRST, **SAID)
    memory.end_session("s", user="alice", now=FIRST + timedelta(minutes=6))
    assert stands(memory, "morning ferry")
    by_hand(memory, "morning ferry")

    for text in ("We decided to buy a rope for the bell.", *CROSSING[1:2] * again):
        memory.record_turn(text=text, now=AFTER, **SAID)
    memory.end_session("s", user="alice", now=AFTER + timedelta(minutes=6))

    assert stands(memory, "a rope for the bell")
    assert stands(memory, "the wind for the crossing") == []
    assert bool(stands(memory, "morning ferry")) is again


def test_a_corrected_episode_deletes_no_sentence(memory: VaultMemory):
    for text in CROSSING:
        memory.record_turn(text=text, now=FIRST, **SAID)
    memory.end_session("s", user="alice", now=FIRST + timedelta(minutes=6))
    path, _ = place_of(memory, "morning ferry")
    page = path.read_text(encoding="utf-8").replace("the crossing", "the passage")
    path.write_text(page, encoding="utf-8")
    memory.record_turn(text=CROSSING[1], **SAID)

    done = memory.remember(CROSSING[1], scope="user:alice", source="tool")

    assert done.outcome != "refused"


@pytest.mark.parametrize(("text", "words"), KINDS)
def test_a_tool_brings_nothing_back_to_any_note(memory: VaultMemory, text: str, words: str):
    learned(memory, text, words)
    by_hand(memory, words)
    line = text.removeprefix("Remember that ")
    op = {"op": "add_heading", "heading": "Harbour", "lines": [line]}

    for note in ("Users/alice/bot/config/USER.md", "Users/alice/memories/boats.md"):
        edit = memory.apply(note, [op], source="tool")
        assert [refused.reason for refused in edit.rejected] == ["deleted_by_person"]

    assert stands(memory, words) == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("moved", "moved_back", "home"),
    [
        ("I moved to Bergen.", "I moved back to Bergen.", "Bergen"),
        ("I live in Bergen.", "We have moved back to Bergen.", "Bergen"),
        ("Ich wohne in Bergen.", "Ich bin wieder nach Bergen gezogen.", "Bergen"),
        ("Me mudé a Bergen.", "Volví a mudarme a Bergen.", "Bergen"),
        ("J'habite à Bergen.", "Je suis retournée vivre à Bergen.", "Bergen"),
        ("Я живу в Берген.", "Я снова переехала в Берген.", "Берген"),
        ("我住在卑尔根。", "我搬回了卑尔根。", "卑尔根"),
    ],
)
def test_who_moves_back_is_heard(memory: VaultMemory, moved: str, moved_back: str, home: str):
    learned(memory, moved, home)
    save(memory, home, f"- lives_in: Oslo\n{MINE}")

    say(memory, moved_back, AFTER)
    at_stop(memory, AFTER)

    page = (memory.root / FACTS).read_text(encoding="utf-8")
    assert f"\n- lives_in: {home} " in page


@pytest.mark.parametrize("time", [0.0, 1.0])
def test_a_file_with_a_time_of_old_is_as_old_as_its_change(memory: VaultMemory, time: float):
    text, words = HOME
    learned(memory, text, words)
    say(memory, text, AFTER)
    by_hand(memory, words)
    os.utime(memory.root / FACTS, (time, time))

    memory.sleep(scopes=SCOPE, now=datetime.now(UTC) + timedelta(minutes=1))

    assert stands(memory, words) == []


def test_later_words_hold_till_the_next_deletion(memory: VaultMemory):
    text, words = HOME
    learned(memory, text, words)
    by_hand(memory, words)
    say(memory, text, AFTER)
    at_stop(memory, AFTER)
    assert "FACTS.md" in stands(memory, words)

    path = memory.root / FACTS
    path.write_text(path.read_text().replace("lives_in: Bergen", "likes: tea"))
    memory.add_fact("alice", "lives_in", "Bergen", scope="user:alice", source="tool")
    assert stands(memory, words) == []

    later = datetime.now(UTC) + timedelta(hours=1)
    say(memory, text, later)
    at_stop(memory, later)
    assert "FACTS.md" in stands(memory, words)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "others", [{"role": "assistant"}, {"role": "tool"}, {"origin": "email"}, {"user": "bob"}]
)
def test_later_words_of_others_bring_no_fact_back(memory: VaultMemory, others: dict[str, str]):
    text, words = HOME
    learned(memory, text, words)
    by_hand(memory, words)

    say(memory, text, AFTER, **others)
    at_stop(memory, AFTER)
    by_night(memory, AFTER)

    assert stands(memory, words) == []


def test_a_tool_leaves_it_to_the_words_themselves(memory: VaultMemory):
    text, words = HOME
    learned(memory, text, words)
    by_hand(memory, words)
    say(memory, text, AFTER)

    memory.remember("Alice moved to Bergen", scope="user:alice", source="tool")
    memory.add_fact("alice", "lives_in", "Bergen", scope="user:alice", source="tool")
    assert stands(memory, words) == []

    at_stop(memory, AFTER)
    assert "FACTS.md" in stands(memory, words)
