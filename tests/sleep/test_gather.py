"""What a night looks at fits into its room, and loses no turn between one night and the next."""

from hypothesis import given
from hypothesis import strategies as st

from vault_memory.memory import Turn
from vault_memory.sleep.gather import FLOOR, ROOM, gather


def turn(number, text="hello", *, session="s", source="talk", role="user", user="ann", origin="owner"):
    at = f"2026-05-{1 + number // 1000:02}T10:{number % 1000 // 60:02}:{number % 60:02}+00:00"
    return Turn(f"t{number}", at, session, role, user, "", text, origin, source)


def shown(gathered):
    return sum(len(one.text) for one in gathered.excerpts)


def test_what_fits_is_shown_whole():
    turns = [turn(1, "one"), turn(2, "two", role="assistant"), turn(3, "three", session="other")]

    gathered = gather(turns, user="ann")

    assert [(one.id, one.text, one.own) for one in gathered.excerpts] == [
        ("t1", "one", True), ("t2", "two", False), ("t3", "three", True)
    ]  # fmt: skip
    assert [one.id for one in gathered.turns] == ["t1", "t2", "t3"]
    assert list(gathered.evidence) == ["t1", "t3"]


def test_of_a_long_conversation_two_fifths_of_the_beginning_and_three_of_the_end_are_kept():
    turns = [turn(number, f"{number:04}" + "x" * 996) for number in range(100)]

    gathered = gather(turns, user="ann")

    ids = [int(one.id[1:]) for one in gathered.excerpts]
    head, tail = [one for one in ids if one < 50], [one for one in ids if one >= 50]
    assert head == list(range(len(head)))
    assert tail == list(range(100 - len(tail), 100))
    assert (len(head), len(tail)) == (20, 30)
    assert gathered.turns[-1].id == "t99"
    assert shown(gathered) <= ROOM + 100


def test_a_turn_that_is_cut_in_the_middle_says_so():
    gathered = gather([turn(1, "a" * ROOM + "b" * ROOM)], user="ann")

    [one] = gathered.excerpts
    assert "[…]" in one.text
    assert one.text.startswith("a" * 20_000)
    assert one.text.endswith("b" * 30_000)


def test_what_came_by_itself_has_a_fifth_and_may_have_what_people_leave():
    long = [turn(number, "p" * 1000, session="p") for number in range(100)]
    jobs = [turn(number + 500, "j" * 1000, session="j", source="cron") for number in range(100)]

    both, alone = gather([*long, *jobs], user="ann"), gather([long[0], *jobs], user="ann")

    of_jobs = sum(one.text.count("j") for one in both.excerpts)
    assert 9_000 <= of_jobs <= 10_000
    assert sum(one.text.count("p") for one in both.excerpts) <= 40_000
    assert sum(one.text.count("j") for one in alone.excerpts) >= 48_000


def test_a_short_conversation_is_not_starved_by_a_long_one():
    turns = [turn(1, "s" * FLOOR, session="short"), *(turn(n, "l" * 1000, session="long") for n in range(2, 200))]

    gathered = gather(turns, user="ann")

    assert gathered.excerpts[0].text == "s" * FLOOR


def test_only_what_the_person_said_in_their_own_words_is_evidence():
    turns = [
        turn(1), turn(2, role="assistant"), turn(3, origin="email"), turn(4, user="bob"), turn(5, role="tool"),
    ]  # fmt: skip

    assert list(gather(turns, user="ann").evidence) == ["t1"]
    assert list(gather(turns, user="").evidence) == ["t1", "t4"]


@given(
    st.lists(st.tuples(st.integers(0, 150), st.integers(0, 3000), st.booleans()), max_size=200),
    st.sampled_from([2_000, 5_000, ROOM]),
)
def test_nothing_is_skipped_between_one_night_and_the_next(said, room):
    turns = [
        turn(number, "x" * length, session=f"s{session}{job}", source="cron" if job else "talk")
        for number, (session, length, job) in enumerate(said)
    ]
    left, taken = turns, []
    while left:
        gathered = gather(left, user="ann", room=room)
        taken += gathered.turns
        assert gathered.turns
        assert shown(gathered) <= room + 3 * len(gathered.excerpts)
        assert {one.id for one in gathered.excerpts} <= {one.id for one in gathered.turns}
        left = left[len(gathered.turns) :]
        assert len(left) == gathered.more
    assert taken == turns
