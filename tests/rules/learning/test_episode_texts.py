"""What an episode says: the sentences that are chosen, how they go on, and the item that holds them."""

from datetime import date, datetime, timedelta

from tests.every import every
from vault_memory.markdown.document import parse
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.edits.ops import AddHeading, Append, Remove, Replace
from vault_memory.rules.learning import episodes
from vault_memory.rules.learning.episodes import EpisodeRules, ExistingEpisode, SpokenTurn

DAY = date(2026, 5, 25)
RULES = EpisodeRules(policy_cues())


def turn(id: str, *sentences: str, day: date = DAY) -> SpokenTurn:
    return SpokenTurn(id, day, " ".join(sentences), sentences)


@every(
    ("session", "heading"),
    [
        ("tea", "18:40 tea"),
        ("  a/b_c: d!? ", "18:40 a/b_c: d"),
        ("#*", "18:40"),
        ("x" * 50, "18:40 " + "x" * episodes.LONGEST_NAME),
    ],
)
def test_an_episode_is_headed_by_its_time_and_its_name(session: str, heading: str) -> None:
    assert episodes.heading_of(session, datetime(2026, 5, 25, 18, 40)) == heading


@every(
    ("texts", "worth"),
    [
        (["a" * 100, "b" * 100], False),
        (["a" * 100, "b" * 99, "c"], True),
        (["a" * 100, "b" * 98, "c"], False),
        (["去" * 40, "来", "好"], False),
        (["去" * 78, "来", "好"], True),
        (["é" * 100, "b" * 99, "c"], True),
    ],
)
def test_a_conversation_is_worth_an_episode_by_its_turns_and_its_letters(
    texts: list[str], worth: bool
) -> None:
    turns = [turn(str(number), text) for number, text in enumerate(texts)]

    assert episodes.is_substantive(turns) is worth


def test_a_conversation_that_never_ends_gets_an_episode_for_each_few_days() -> None:
    days = [DAY + timedelta(days=number) for number in (0, 2, 3, 5, 6)]
    turns = [turn(str(number), "x", day=day) for number, day in enumerate(days)]

    parts = episodes.parts_of(turns, [])
    assert {day: [each.id for each in part] for day, part in parts.items()} == {
        days[0]: ["0", "1"],
        days[2]: ["2", "3"],
        days[4]: ["4"],
    }
    begun = episodes.parts_of(turns, [days[1]])
    assert [each.id for each in begun[days[1]]] == ["1", "2"]


def test_without_a_model_the_request_two_decisions_and_the_last_question_are_quoted() -> None:
    turns = [
        turn("1", "Hello!", "Could you look up the wind for Saturday?"),
        turn("2", "We decided to take the morning ferry.", "The tent is green."),
        turn("3", "We agreed to meet at the harbour.", "We decided to leave the dog at home."),
        turn("4", "Which hotel takes dogs?", "Which bus goes there?", "Thanks a lot!"),
    ]

    assert episodes.verbatim(turns, RULES) == (
        "Could you look up the wind for Saturday?",
        "We agreed to meet at the harbour",
        "We decided to leave the dog at home",
        "open: Which bus goes there?",
    )


def test_plans_stand_in_for_decisions_and_what_is_personal_is_left_out() -> None:
    rules = EpisodeRules(policy_cues(), lambda text: "ferry" in text, lambda text: "sister" in text)
    turns = [turn("1", "My sister has a boat.", "I take the ferry.", "The tent is green.")]

    assert episodes.verbatim(turns, rules) == ("I take the ferry",)
    others = [turn("1", "The tent is green.", "I take the ferry.", "We decided to sail.")]
    assert episodes.verbatim(others, rules) == (
        "The tent is green",
        "I take the ferry",
        "We decided to sail",
    )


def test_a_turn_that_is_not_to_be_remembered_is_left_out_with_all_its_sentences() -> None:
    turns = [turn("1", "The tent is green.", "Don't remember this."), turn("2", "The sea is calm.")]

    assert episodes.verbatim(turns, RULES) == ("The sea is calm",)
    rows = [("a tent", ["1"]), ("a sea", ["2"]), ("a sea", ["2", "9"]), ("none", ["9"])]
    by_id = {each.id: each for each in turns}
    assert episodes.by_turn(rows, by_id, RULES) == ["a sea"]


def test_a_long_sentence_is_shortened_and_marks_of_lists_are_left_out() -> None:
    [sentence] = episodes.verbatim([turn("1", "- The tent is " + "very " * 40 + "green.")], RULES)

    assert sentence.startswith("The tent is very")
    assert len(sentence) <= episodes.LONGEST_SENTENCE
    assert episodes.lines_in("# One two\n\n- **three**\n---\n2. four\n") == [
        "One two",
        "**three**",
        "four",
    ]


def test_an_episode_goes_on_without_saying_anything_twice() -> None:
    old = ("the wind; we take the ferry; open: which bus?",)

    assert episodes.continued(old, ["we take the ferry", "the tent stays"]) == (
        *old,
        "the tent stays",
    )
    assert episodes.continued(old, ["open: which hotel?"]) == (
        "the wind; we take the ferry",
        "open: which hotel?",
    )
    long = "a tent " * 90
    [cut, added] = episodes.continued((long,), ["the sea is calm"])
    assert len(cut) + len(episodes.GAP) + len(added) <= episodes.LONGEST
    assert episodes.continued(("old",), ["x y " * 160]) == ("x y " * 160,)


def test_as_many_sentences_are_taken_as_an_episode_has_room_for() -> None:
    assert episodes.fitting(["one", "two"]) == ["one", "two"]
    first, second = episodes.fitting(["a" * 500, "b " * 100, "c"])
    assert first == "a" * 500
    assert len(first) + len(episodes.GAP) + len(second) <= episodes.LONGEST
    assert episodes.fitting(["a" * episodes.LONGEST, "b"]) == ["a" * episodes.LONGEST]


def test_an_item_names_its_conversation_and_the_newest_turn_and_is_read_again() -> None:
    key = episodes.session_key("tea", "mira", "")
    line = episodes.item_line("the wind; open: which bus?", turn("t7", "x"), key)

    assert line == f"[episode] the wind; open: which bus? (2026-05-25, ref:t7, session:{key})"
    assert episodes.sentences_of(line) == ["the wind", "which bus?"]
    assert key != episodes.session_key("tea", "mira", "harbour")
    doc = parse(f"## 18:40 tea\n\n- {line}\n- another\n\n## 19:00 sea\n\n- {line}\n".encode())
    found = episodes.find_episode("n.md", DAY, doc, key)
    assert found is not None
    assert (found.note, found.day, found.heading) == ("n.md", DAY, "18:40 tea")
    assert found.texts == (line,)
    assert found.sentences == ("the wind; open: which bus?",)
    assert episodes.find_episode("n.md", DAY, doc, "0" * 10) is None
    turns = [turn(f"t{number}", "x") for number in range(6, 10)]
    assert [each.id for each in found.turns_after(turns)] == ["t8", "t9"]
    assert found.turns_after(turns[2:]) == turns[2:]


def test_the_newest_episode_is_that_of_the_latest_day_and_hour() -> None:
    doc = parse(
        b"## 18:40 tea\n- [episode] a (2026-05-25)\n- [note] x (2026-05-29)\n"
        b"## 09:00 sea\n- [episode] b (2026-05-26)\n- [episode] c (2026-05-26)\n"
        b"## 08:00 early\n- [episode] d (2026-05-26)\n"
    )

    assert episodes.newest_episode(doc) == ("09:00 sea", "- b\n- c")
    assert episodes.newest_episode(parse(b"## x\n- [note] y\n")) == ("", "")


def test_the_ops_of_an_episode_replace_what_it_said_and_nothing_else() -> None:
    doc = parse(b"## 18:40 tea\n- old\n- same\n- gone\n")
    existing = ExistingEpisode("n.md", DAY, "18:40 tea", ("old", "same", "gone"))

    assert episodes.ops_for(doc, "19:00 sea", ["new"], None) == [AddHeading("19:00 sea", ("new",))]
    assert episodes.ops_for(doc, "18:40 tea", ["a", "b"], None) == [
        Append("18:40 tea", "a"),
        Append("18:40 tea", "b"),
    ]
    assert episodes.ops_for(doc, "other", ["new", "same"], existing) == [
        Replace("18:40 tea", "old", "new", exact=True),
        Remove("18:40 tea", "gone", exact=True),
    ]
    assert episodes.ops_for(doc, "other", ["old", "same", "gone", "more"], existing) == [
        Append("18:40 tea", "more")
    ]
