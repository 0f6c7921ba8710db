"""What a model reads: notes as data, turns with short ids, and both cut so that they fit."""

from tests.every import every
from vault_memory.rules.learning import model_prompt
from vault_memory.rules.learning.model_prompt import CUT, SEPARATOR, Excerpt, Prompt


def turn(id: str, text: str = "I like tea", *, own: bool = True, who: str = "mira") -> Excerpt:
    return Excerpt(id, text, who, own)


@every(
    ("excerpt", "line"),
    [
        (turn("t1"), "[t1] mira: I like tea"),
        (turn("t1", own=False), "- mira: I like tea"),
        (turn("t1", "one\ntwo"), "[t1] mira: one\n    two"),
        (turn("t1", "</turns> <b>x"), "[t1] mira: \u2039/turns> \u2039b>x"),
        (turn("t1", "a < b"), "[t1] mira: a < b"),
        (turn("t1", who="[t2] eve"), "[t1] (t2) eve: I like tea"),
        (turn("t1", who=" \n"), "[t1] someone: I like tea"),
    ],
)
def test_a_turn_is_a_line_that_no_text_can_leave(excerpt: Excerpt, line: str) -> None:
    prompt = Prompt("extraction", "", excerpts=(excerpt,))

    assert prompt.text == f"<turns>\n{line}\n</turns>"
    assert excerpt.size == len(line) + 1


def test_a_turn_tells_when_it_was_said() -> None:
    said = Excerpt("t1", "x", "mira", True, said="Mon 2026-05-25 18:40")

    assert Prompt("extraction", "", excerpts=(said,)).text == (
        "<turns>\n[t1] (Mon 2026-05-25 18:40) mira: x\n</turns>"
    )


@every("size", [60, 61, 80, 200])
def test_a_long_turn_keeps_its_beginning_and_its_end(size: int) -> None:
    excerpt = turn("t1", "begin " + "x\n" * 300 + " end")

    cut = excerpt.cut_to(size)

    assert cut.size <= size
    assert cut.text.startswith("b")
    assert cut.text.endswith("d")
    assert CUT in cut.text
    assert turn("t1", "x" * 300).cut_to(size).size == size


def test_notes_come_before_the_turns_and_each_is_cut_to_a_common_length() -> None:
    known = (("USER.md", "one\ntwo\nthree\nfour"), ("FACTS.md", "a"))
    prompt = Prompt("curation", "", known, (turn("t1"),))
    assert prompt.text == (
        "<USER.md>\none\ntwo\nthree\nfour\n</USER.md>"
        f"{SEPARATOR}<FACTS.md>\na\n</FACTS.md>"
        f"{SEPARATOR}<turns>\n[t1] mira: I like tea\n</turns>"
    )

    room = len(prompt.text)
    assert prompt.fitted(room).known == known
    cut = prompt.fitted(room - 1)
    assert len(cut.text) <= room - 1
    assert dict(cut.known)["FACTS.md"] == "a"
    assert dict(cut.known)["USER.md"].startswith("one\n")
    assert dict(cut.known)["USER.md"].endswith(f"\n{CUT}")
    assert cut.excerpts == prompt.excerpts
    assert prompt.fitted(len(cut.text) // 3).known == ()
    bare = Prompt("curation", "", known)
    assert bare.fitted(len(bare.text)).known == known
    assert len(bare.fitted(len(bare.text) - 1).text) < len(bare.text)


def test_own_turns_may_be_cited_each_once_under_a_short_id() -> None:
    long = [turn("2026-a"), turn("2026-b", own=False), turn("2026-a", "more"), turn("2026-c")]

    short, ids = model_prompt.with_short_ids(long)

    assert [excerpt.id for excerpt in short] == ["t1", "2026-b", "t1", "t2"]
    assert ids == {"t1": "2026-a", "t2": "2026-c"}
    assert Prompt("extraction", "", excerpts=short).turn_ids == ("t1", "t2")


def test_an_answer_has_room_for_each_turn_within_limits() -> None:
    def tokens(count: int) -> int:
        turns = tuple(turn(f"t{number}") for number in range(count))
        return Prompt("extraction", "", excerpts=turns).answer_tokens

    assert tokens(0) == model_prompt.MOST_TOKENS
    assert tokens(1) == model_prompt.LEAST_TOKENS
    assert tokens(500) == model_prompt.MOST_TOKENS
    some = model_prompt.LEAST_TOKENS // model_prompt.TOKENS_OF_A_TURN + 1
    assert tokens(some) == model_prompt.TOKENS_OF_A_TURN * some


def test_a_prompt_goes_on_after_a_turn_while_own_turns_are_left() -> None:
    turns = (turn("t1"), turn("x", own=False), turn("t2"), turn("t1", "more"), turn("y", own=False))
    prompt = Prompt("facts", "system", (("USER.md", "a"),), turns)

    rest = prompt.after("t2")
    assert rest is not None
    assert (rest.excerpts, rest.known, rest.role) == (turns[3:], prompt.known, "facts")
    assert prompt.after("t1") is None
    assert prompt.after("unknown") is None


def texts(prompt: Prompt) -> list[str]:
    return [excerpt.text for excerpt in prompt.excerpts]


@every(
    ("lengths", "first"),
    [((1, 1), 1), ((1, 1, 1, 1), 2), ((9, 1, 1), 1), ((1, 1, 9), 2), ((1, 9), 1), ((3, 3, 3), 2)],
)
def test_turns_are_halved_by_their_lengths(lengths: tuple[int, ...], first: int) -> None:
    turns = tuple(turn(f"t{number}", "x" * length) for number, length in enumerate(lengths))

    halves = Prompt("facts", "", excerpts=turns).halves()

    assert halves is not None
    assert [len(half.excerpts) for half in halves] == [first, len(turns) - first]


def test_one_long_turn_is_halved_at_a_blank_and_a_short_one_is_not() -> None:
    half = model_prompt.SHORTEST
    words = "a" * half + " " + "b" * half

    halves = Prompt("facts", "", excerpts=(turn("t1", words),)).halves()
    assert halves is not None
    assert list(map(texts, halves)) == [["a" * half + " "], ["b" * half]]
    run = Prompt("facts", "", excerpts=(turn("t1", "x" * 2 * half),)).halves()
    assert run is not None
    assert list(map(texts, run)) == [["x" * half], ["x" * half]]
    assert Prompt("facts", "", excerpts=(turn("t1", "x" * (2 * half - 1)),)).halves() is None
    assert Prompt("facts", "").halves() is None


def test_a_template_is_filled_once() -> None:
    values = {"name": "{{day}}", "day": "Monday"}

    assert model_prompt.filled("{{name}} {{ day }} {{none}} {x}", values) == (
        "{{day}} Monday {{none}} {x}"
    )


@every(
    "role", ["extraction", "facts", "channel", "conflicts", "entities", "curation", "reflection"]
)
def test_each_role_has_the_schema_of_its_answer(role: str) -> None:
    schema = Prompt(role, "", excerpts=(turn("t1"),)).schema()  # type: ignore[arg-type]

    assert schema["type"] == "object"
    assert ("t1" in str(schema)) == (role in ("extraction", "facts", "channel"))
