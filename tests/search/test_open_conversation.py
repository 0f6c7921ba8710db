"""A search passes over the conversation that asks, and the question that was asked before."""

import json
import random
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.search.towns import VOCABULARY
from vault_memory import VaultMemory
from vault_memory.config.sections import Config, EmbeddingSettings
from vault_memory.search.results import MODES

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
SCOPES = ["user:ann"]
DAY = "Users/ann/transcripts/2026-06-01.jsonl"
YOUNG = {
    "Users/ann/memories/cottage.md": "- Cottage of the herons: 4711 opens the gate\n",
    "Users/ann/memories/boat.md": "- The boat of the herons lies at the red quay\n",
}


class Turn(NamedTuple):
    session: str
    role: str
    text: str


@pytest.fixture
def vaults(tmp_path: Path) -> "Iterator[Vaults]":
    with ExitStack() as stack:
        yield Vaults(tmp_path, stack)


class Vaults:
    """Makes vaults of ann's notes and of what was said to her bot."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack, self._count = folder, stack, 0

    def open(self, notes: dict[str, str], turns: Iterable[Turn] = ()) -> VaultMemory:
        self._count += 1
        root = self._folder / f"vault{self._count}"
        lines = []
        for number, turn in enumerate(turns):
            at = (NOW - timedelta(hours=4) + timedelta(seconds=number)).isoformat()
            row = {**turn._asdict(), "id": f"t{number:04}", "ts": at, "user": "ann", "channel": ""}
            lines.append(json.dumps(row) + "\n")
        for path, text in {**notes, **({DAY: "".join(lines)} if lines else {})}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        state = {"VAULT_MEMORY_STATE": str(self._folder / f"state{self._count}")}
        config = Config(embedding=EmbeddingSettings(kind="off"))
        memory = self._stack.enter_context(VaultMemory.open(root, config, environment=state))
        memory.index()
        return memory


def texts(memory: VaultMemory, query: str, **more: object) -> list[str]:
    hits = memory.search(query, scopes=SCOPES, now=NOW, **more).hits  # type: ignore[arg-type]
    return [hit.text.partition("**: ")[2] or hit.text.removeprefix("- ").strip() for hit in hits]


def block(memory: VaultMemory, prompt: str, **more: object) -> str:
    return memory.context(prompt, scopes=SCOPES, now=NOW, **more).text  # type: ignore[arg-type]


QUESTION = "What opens the gate of the cottage?"
ANSWER = "Cottage of the herons: 4711 opens the gate"


@pytest.mark.parametrize("mode", ["balanced", "keyword", "rrf"])
def test_a_search_does_not_find_the_question_just_asked(vaults: Vaults, mode: str) -> None:
    memory = vaults.open(YOUNG, [Turn("s1", "user", QUESTION)])

    assert texts(memory, QUESTION, mode=mode) == [ANSWER]
    assert texts(memory, "gate of the cottage: what opens?", mode=mode) == [ANSWER]


def test_a_search_does_not_find_the_conversation_it_comes_from(vaults: Vaults) -> None:
    said = [
        Turn("s1", "user", "I stand at the gate of the cottage and it rains."),
        Turn("s1", "assistant", "The cottage has a gate, and it rains."),
        Turn("s1", "user", "Look up how the gate of the cottage opens, please."),
    ]
    memory = vaults.open(YOUNG, said)

    assert texts(memory, "gate of the cottage", session="s1") == [ANSWER]
    assert len(texts(memory, "gate of the cottage", session="s2")) == 4
    assert len(texts(memory, "gate of the cottage")) == 4


def test_the_block_of_a_prompt_does_not_quote_the_question_just_asked(vaults: Vaults) -> None:
    memory = vaults.open(
        YOUNG, [Turn("s1", "user", QUESTION), Turn("s2", "user", QUESTION.lower())]
    )

    for session in ("s1", None):
        text = block(memory, QUESTION, session=session)
        assert ANSWER in text
        assert "transcripts" not in text


def test_turns_of_others_in_another_conversation_are_still_found(vaults: Vaults) -> None:
    memory = vaults.open(YOUNG, [Turn("s1", "user", "The gate of the cottage sticks in winter.")])

    assert "The gate of the cottage sticks in winter." in texts(
        memory, "cottage gate", session="s2"
    )


SAME_LETTERS = [
    "a-b",
    "a b",
    "A-B",
    "a-b-c",
    "b",
    "**a-b**",
    "!!!",
    "…",
    "会议一",
    "Ünïcode 1",
    "x" * 90,
]


@pytest.mark.parametrize("session", SAME_LETTERS)
def test_only_the_session_with_the_exact_id_is_excluded(vaults: Vaults, session: str) -> None:
    said = [
        Turn(name, "user", f"The kettle number {number} is red.")
        for number, name in enumerate(SAME_LETTERS)
    ]
    memory = vaults.open({}, said)
    left_out = {said[SAME_LETTERS.index(session)].text}
    if session in ("a-b", "**a-b**"):  # search has names without asterisks
        left_out = {said[0].text, said[5].text}

    found = set(texts(memory, "red kettle", session=session, limit=50))

    assert found == {turn.text for turn in said} - left_out


def test_the_answer_to_an_earlier_question_is_still_found(vaults: Vaults) -> None:
    """The answer has none of the words: it is known by the question above it."""
    said = [
        Turn("s1", "user", "Where is the piano tuner's card?"),
        Turn("s1", "assistant", "In the blue drawer."),
        Turn("s2", "user", "Is there more tea?"),
        Turn("s2", "assistant", "In the pantry."),
    ]
    memory = vaults.open(YOUNG, said)

    for query in ("where is the piano tuner's card", "Where is the card of the piano tuner?"):
        assert texts(memory, query)[0] == "In the blue drawer."
        assert said[0].text not in texts(memory, query)


def test_the_answer_of_the_bot_is_in_a_block_only_with_a_word_of_the_prompt(vaults: Vaults) -> None:
    said = [
        Turn("s1", "user", "Where is the piano tuner's card?"),
        Turn("s1", "assistant", "In the blue drawer."),
        Turn("s2", "user", "Where is the key of the sauna?"),
        Turn("s2", "assistant", "The key hangs on the nail."),
    ]
    memory = vaults.open(YOUNG, said)

    assert "blue drawer" not in block(memory, "where is the piano tuner's card")
    quoted = block(memory, "where is the key of the sauna")
    assert "Where is the key of the sauna?" in quoted.partition("The key hangs")[0]


def test_an_unanswered_question_adds_nothing_to_a_prompt(vaults: Vaults) -> None:
    said = [
        Turn("s1", "user", "When does the ferry to Bergen leave, do you think?"),
        Turn("s1", "assistant", "I have no information about the ferry to Bergen."),
    ]
    memory = vaults.open(YOUNG, said)

    assert block(memory, "ferry to Bergen?") == ""


def test_the_block_of_a_prompt_quotes_no_empty_answer(vaults: Vaults) -> None:
    said = [
        Turn("s1", "user", "Tell me what opens the gate of the cottage in winter."),
        Turn("s1", "assistant", "I don't know what opens the gate."),
    ]
    text = block(vaults.open(YOUNG, said), "gate of the cottage")

    assert ANSWER in text
    assert "I don't know" not in text


@pytest.mark.parametrize("count", [1, 7, 150])
def test_a_repeated_question_hides_no_answer(vaults: Vaults, count: int) -> None:
    said = [Turn(f"s{number}", "user", QUESTION) for number in range(count)]
    memory = vaults.open(YOUNG, said)

    assert texts(memory, QUESTION)[0] == ANSWER
    assert QUESTION not in texts(memory, QUESTION, limit=200)
    assert ANSWER in block(memory, QUESTION)


# ---- what states above what asks, and empty answers below both -------------------------------------------------------


def test_statements_rank_above_questions_and_empty_answers_rank_last(vaults: Vaults) -> None:
    said = [
        Turn("s1", "user", "Please, do you remember what the gate code of the cottage is?"),
        Turn("s1", "assistant", "I don't know the gate code of the cottage."),
        Turn("s2", "user", "Did Bo write down the gate code of the cottage somewhere?"),
        Turn("s2", "assistant", "Sorry, I have no information about the gate code of the cottage."),
    ]
    memory = vaults.open(
        {"Users/ann/memories/a.md": "- Cottage: 4711 is the code\n- Boat: red\n"}, said
    )

    for query in ("gate code of the cottage", "What is the gate code?", "cottage gate code?"):
        found = texts(memory, query)
        assert found[0] == "Cottage: 4711 is the code", query
        asked, empty = {said[0].text, said[2].text}, {said[1].text, said[3].text}
        assert [text for text in found if text in asked | empty][:2] in (
            sorted(asked),
            sorted(asked)[::-1],
        ), query
        assert set(found[-2:]) == empty, query


TOPICS = ("gate code", "red boat", "piano tuner", "locker key", "ferry ticket")
ASKED = (
    "Where did I put the {0}?",
    "Do you have the {0}?",
    "is the {0} important?",
    "What about the {0} today?",
)
EMPTY = (
    "I don't know the {0}.",
    "I could not find anything about the {0}.",
    "You have not told me about the {0}.",
)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 60))]
)
def test_in_any_order_of_turns_no_question_hides_a_statement(vaults: Vaults, seed: int) -> None:
    source = random.Random(seed)
    topic = source.choice(TOPICS)
    state = f"Ann wrote the {topic} on a card in the drawer."
    asks, empty = ([one.format(topic) for one in ASKED], [one.format(topic) for one in EMPTY])
    said = [Turn(f"s{number}", "user", text) for number, text in enumerate([state, *asks])]
    said += [Turn(f"s{number}", "assistant", text) for number, text in enumerate(empty)]
    source.shuffle(said)
    memory = vaults.open(YOUNG, said)

    found = texts(memory, f"the {topic}", limit=20)

    assert found[0] == state
    assert max(map(found.index, set(found) & set(asks))) < min(map(found.index, empty))


# ---- a young vault --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    [
        "herons",
        "When do the herons migrate this season?",
        "Tell me something about the herons, their nests and their food.",
        "Where did I put the spare key of the gate of the cottage in Bergen?",
    ],
)
@pytest.mark.parametrize(
    "said", [[], [Turn("s1", "user", "{}")], [Turn("s1", "user", "{}"), Turn("s2", "user", "{}")]]
)
def test_a_prompt_with_other_words_is_answered_from_two_notes(
    vaults: Vaults, prompt: str, said: list[Turn]
) -> None:
    turns = [turn._replace(text=turn.text.format(prompt)) for turn in said]
    memory = vaults.open(YOUNG, turns)

    assert "herons" in block(memory, prompt, session="s1")


# ---- the law --------------------------------------------------------------------------------------------------------


def sentence(source: random.Random) -> str:
    words = source.choices(VOCABULARY, k=source.randint(2, 9))
    return " ".join(words).capitalize() + source.choice(".?.!")


def history(source: random.Random, sessions: Iterable[str], count: int) -> list[Turn]:
    named = list(sessions)
    roles = ("user", "assistant")
    return [
        Turn(source.choice(named), source.choice(roles), sentence(source)) for _ in range(count)
    ]


@pytest.mark.sampled
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "semantic"])
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 60))]
)
def test_a_search_answers_as_if_the_open_conversation_did_not_exist(
    vaults: Vaults, seed: int, mode: str
) -> None:
    source = random.Random(seed)
    notes = {
        f"Users/ann/memories/{number}.md": "".join(f"- {sentence(source)}\n" for _ in range(20))
        for number in range(4)
    }
    before = history(source, ("s1", "s2"), 30)
    during = history(source, ("open",), 25)
    alone, beside = vaults.open(notes, before), vaults.open(notes, [*before, *during])

    for _ in range(12):
        query = source.choice([sentence(source), source.choice(during).text])
        asked = {"scopes": SCOPES, "now": NOW, "mode": mode, "limit": 30, "why": True}
        expected = alone.search(query, **asked).hits  # type: ignore[arg-type]
        assert beside.search(query, session="open", **asked).hits == expected  # type: ignore[arg-type]
        blocks = [
            memory.context(query, scopes=SCOPES, now=NOW, session="open").text
            for memory in (alone, beside)
        ]
        assert blocks[0] == blocks[1]


def test_excluding_a_conversation_does_not_affect_other_searches(vaults: Vaults) -> None:
    """What is kept of one search must not show in another one."""
    source = random.Random(7)
    memory = vaults.open(YOUNG, history(source, ("s1", "open"), 60))
    asked = {"scopes": SCOPES, "now": NOW, "limit": 40, "why": True}
    first = memory.search("boat lake garden", **asked).hits  # type: ignore[arg-type]
    without = memory.search("boat lake garden", session="open", **asked).hits  # type: ignore[arg-type]

    assert memory.search("boat lake garden", **asked).hits == first != without  # type: ignore[arg-type]
    assert memory.search("boat lake garden", session="open", **asked).hits == without  # type: ignore[arg-type]


# ---- what is asked of a prompt --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    [
        "what? why?? heron!",
        "A heron! What is that?",
        "heron. why?",
        "Why?? What? Tell me: the herons.",
        "苍鹭! what?",
    ],
)
def test_a_prompt_with_unspecific_questions_is_looked_up_by_its_other_sentences(
    vaults: Vaults, prompt: str
) -> None:
    notes = {"Users/ann/memories/birds.md": "- The heron nests in May\n- 苍鹭在五月筑巢\n"}

    assert texts(vaults.open(notes), prompt)
