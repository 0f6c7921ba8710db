"""What a night asks fits into its room, and each turn stands in one question of it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vault_memory.learning.unread_turns import LEAST, ROOM, gather
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.model_prompt import CUT, Prompt


def turn(
    number, text="hello", *, session="s", source="talk", role="user", user="ann", origin="owner"
):
    at = f"2026-05-{1 + number // 1000:02}T10:{number % 1000 // 60:02}:{number % 60:02}+00:00"
    return Turn(f"t{number}", at, session, role, user, "", text, origin, source)


def rounds(turns, room=ROOM):
    """What is gathered, question by question, until no turn is left."""
    found = []
    while turns:
        gathered = gather(turns, user="ann", room=room)
        assert gathered.turns == tuple(turns[: len(gathered.turns)])
        assert gathered.turns
        turns = turns[len(gathered.turns) :]
        assert gathered.more == len(turns)
        found.append(gathered)
    return found


def lines(gathered):
    return sum(one.size for one in gathered.excerpts)


def test_turns_that_fit_are_shown_completely():
    turns = [turn(1, "one"), turn(2, "two", role="assistant"), turn(3, "three", session="other")]

    gathered = gather(turns, user="ann")

    assert [(one.id, one.text, one.own) for one in gathered.excerpts] == [
        ("t1", "one", True),
        ("t2", "two", False),
        ("t3", "three", True),
    ]
    assert [one.id for one in gathered.turns] == ["t1", "t2", "t3"]
    assert list(gathered.evidence) == ["t1", "t3"]


@pytest.mark.sampled
def test_each_own_turn_of_a_long_day_is_shown_completely_in_some_prompt():
    turns = [turn(number, f"{number:04}" + "x" * 496) for number in range(200)]

    asked = rounds(turns)

    assert [one.text for gathered in asked for one in gathered.excerpts] == [
        one.text for one in turns
    ]
    assert len(asked) == 3


@pytest.mark.sampled
def test_a_day_of_ten_thousand_short_turns_is_split_into_prompts_that_fit():
    asked = rounds([turn(number, "ok") for number in range(10_000)])

    assert max(len(Prompt("extraction", "", (), one.excerpts).text) for one in asked) <= ROOM + 20
    assert sum(len(one.excerpts) for one in asked) == 10_000


@pytest.mark.sampled
def test_a_turn_longer_than_the_prompt_keeps_its_beginning_and_its_end():
    gathered = gather([turn(1, "a" * ROOM + "b" * ROOM)], user="ann")

    [one] = gathered.excerpts
    assert CUT in one.text
    assert one.text.count("a") == (ROOM - len("[t1] (Fri 2026-05-01 10:00) ann: […]\n")) * 2 // 5
    assert lines(gathered) == ROOM
    assert list(gathered.evidence) == ["t1"]


def test_answers_of_the_bot_are_cut_before_a_turn_of_the_person_is_postponed():
    own = [turn(2 * number, "o" * 1000) for number in range(30)]
    answers = [turn(2 * number + 1, "a" * 5000, role="assistant") for number in range(30)]
    both = sorted([*own, *answers], key=lambda one: one.at)

    [gathered] = rounds(both)

    assert all(one.text == "o" * 1000 for one in gathered.excerpts if one.own)
    shown = [one.text.count("a") for one in gathered.excerpts if not one.own]
    assert len(shown) == 30
    assert min(shown) >= LEAST
    assert max(shown) - min(shown) <= 1
    assert ROOM - 200 <= lines(gathered) <= ROOM


def test_automated_turns_get_a_fifth_of_the_prompt_and_any_unused_part():
    long = [turn(2 * number, "p" * 1000, session="p") for number in range(100)]
    jobs = [turn(2 * number + 1, "j" * 1000, session="j", source="cron") for number in range(100)]
    both = sorted([*long, *jobs], key=lambda one: one.at)

    first, alone = rounds(both)[0], gather([long[0], *jobs], user="ann")

    of_jobs = sum(one.text.count("j") for one in first.excerpts)
    assert 8_500 <= of_jobs <= 10_000
    assert 38_000 <= sum(one.text.count("p") for one in first.excerpts) <= 40_000
    assert sum(one.text.count("j") for one in alone.excerpts) >= 44_000
    assert alone.more == 0


def test_a_thousand_heartbeats_cause_no_additional_prompt():
    beats = [turn(number, "h" * 3000, session="h", source="heartbeat") for number in range(1000)]

    [gathered] = rounds([*beats, turn(2000, "I love sour cherries")])

    assert list(gathered.evidence) == ["t2000"]


def test_only_the_persons_own_words_count_as_evidence():
    turns = [
        turn(1),
        turn(2, role="assistant"),
        turn(3, origin="email"),
        turn(4, user="bob"),
        turn(5, role="tool"),
        turn(6, source="cron"),
    ]

    assert list(gather(turns, user="ann").evidence) == ["t1"]
    assert list(gather(turns, user="").evidence) == ["t1", "t4"]


def test_a_turn_whose_id_fills_the_prompt_delays_no_other():
    odd = turn(1)._replace(id="i" * 5000)

    [gathered] = rounds([odd, turn(2), odd._replace(role="assistant", id="j" * 5000)], 2000)

    assert [one.id for one in gathered.excerpts] == ["t2", "j" * 5000]
    assert lines(gathered) <= 2000


TEXTS = st.one_of(
    st.integers(1, 3000).map("x".__mul__),
    st.integers(1, 400).map("a\n".__mul__),
    st.integers(1, 300).map("<b>\u2028\x85\0\ud800".__mul__),
)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 20),
            TEXTS,
            st.sampled_from(["talk", "cron"]),
            st.sampled_from(["user", "user", "assistant"]),
        ),
        max_size=60,
    ),
    st.sampled_from([300, 2_000, 5_000, ROOM]),
    st.lists(
        st.tuples(st.text("abc\n <", max_size=4000), st.sampled_from(["profile", "facts"])),
        max_size=2,
    ),
)
@example([(0, "x" * 2000, "cron", "user"), (0, "\n" * 999 + "x", "talk", "user")], 300, [])
def test_every_prompt_fits_and_every_own_turn_is_in_exactly_one(said, room, notes):
    turns = [
        turn(number, text, session=f"s{session}", source=source, role=role)
        for number, (session, text, source, role) in enumerate(said)
    ]
    known = tuple((name, text) for text, name in notes)

    shown = []
    for gathered in rounds(turns, room // 2):
        prompt = Prompt("extraction", "", known, gathered.excerpts).fitted(room)
        assert len(prompt.text) <= room
        assert lines(gathered) <= room // 2
        assert {one.id for one in gathered.excerpts} <= {one.id for one in gathered.turns}
        shown += [one.id for one in gathered.excerpts]

    assert len(shown) == len(set(shown))
    assert {one.id for one in turns if one.role == "user" and one.source == "talk"} <= set(shown)
