"""Laws of what is learned, over random days: scopes stay apart, and a model changes no permission."""

import json
import random
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.effort import costly
from tests.models.llm.test_policy_tables import CUE_REASONS
from tests.models.llm.test_policy_tables import cases as sentences_of
from tests.models.scripted import Asked, ScriptedModel, Sent, completion
from vault_memory import VaultMemory
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.errors import NoteNotFound
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.conversations.turn import read_turn
from vault_memory.rules.learning.write_policy import Candidate, decide

NOON = datetime(2026, 5, 25, 12, tzinfo=UTC)
NIGHT = NOON + timedelta(days=1)
SEEDS = range(costly(8))
PLAIN = ("I like plum jam.", "I have a boat.", "The bell weighs ninety kilos.")
SENTENCES = [
    *(
        sentence.removeprefix("not: ")
        for _, _, sentence in sentences_of(*CUE_REASONS, "stable", "other")
    ),
    *PLAIN,
]
NEVER_TOLD = ("crisis", "secret")
CUES = policy_cues()
REF = re.compile(r"ref:(\w+)")


def environment(folder: Path, **settings: str) -> dict[str, str]:
    return {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
        "VAULT_MEMORY_SLEEP_CYCLE_ZONE": "UTC",
        "VAULT_MEMORY_BRAIN_MODE": "full",
        **{f"VAULT_MEMORY_{name}": value for name, value in settings.items()},
    }


def stored(vault: Path, folder: str = "") -> dict[str, str]:
    """Everything that is stored below a folder, except what was said."""
    return {
        path.relative_to(vault).as_posix(): path.read_text()
        for path in sorted((vault / folder).rglob("*"))
        if path.is_file() and "transcripts" not in path.parts and path.name != ".vault-memory.lease"
    }


# ---- scopes -----------------------------------------------------------------------------

FOLDERS = {"user:ann": "Users/ann", "user:bob": "Users/bob", "channel:dev": "Channels/dev"}
WORDS = {"user:ann": "quokka", "user:bob": "axolotl", "channel:dev": "pangolin"}
ALIASES = {"user:ann": "Clanger", "user:bob": "Tinker"}
"""Each person has another name for the Harbour Bell"""
TALK = (
    "Could you find out how many barrels of hay the {} needs until the end of winter?",
    "We decided to build a larger shed for the {} behind the old mill by the river.",
    "The roof has to wait for the spring. Which of us looks after the {} in July?",
)
"""A conversation that is worth an episode; its session has the same name everywhere"""
OPENINGS = (
    "I hate myself and the {}",
    "I am a failure with the {}",
    "I like the {}",
    "Remember that the {} sleeps in the loft",
    "We decided to feed the {}",
    "I am allergic to the {}",
    "I want to kill myself and the {}",
    "I like plum jam",
)


@dataclass
class Neighbours:
    """Two persons and a channel that say the same things, after two nights."""

    memory: VaultMemory
    turns: dict[str, set[str]]
    """the ids of the turns of each scope"""
    spoken: dict[str, set[str]]
    """the ids of the turns that each person said, in channels too"""


@pytest.fixture(scope="module", params=SEEDS)
def neighbours(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Neighbours]:
    chance = random.Random(request.param)
    folder = tmp_path_factory.mktemp("neighbours")
    vault = folder / "vault"
    for name in ("ann", "bob"):
        page = vault / f"Users/{name}/bot/config/FACTS.md"
        page.parent.mkdir(parents=True)
        friend = "Sarah Nilsen" if name == "ann" else "Peter Olsen"
        alias = ALIASES[f"user:{name}"]
        page.write_text(
            f"## {friend}\n\n- is_a: person\n- likes: old clocks\n\n"
            f"## Harbour Bell\n\n- also_known_as: {alias}\n- weighs: ninety kilos\n"
        )
        (vault / f"Users/{name}/memories").mkdir()
        note = vault / f"Users/{name}/memories/bell.md"
        note.write_text("- Harbour Bell rings at noon\n")
    turns: dict[str, set[str]] = {scope: set() for scope in FOLDERS}
    spoken: dict[str, set[str]] = {scope: set() for scope in FOLDERS}
    with VaultMemory.open(vault, environment=environment(folder)) as memory:
        for day in range(2):
            for minute in range(20):
                scope = chance.choice(list(FOLDERS))
                kind, _, name = scope.partition(":")
                user = name if kind == "user" else chance.choice(["ann", "bob"])
                turn = memory.record_turn(
                    session=f"{scope} {day}",
                    role="user",
                    user=user,
                    channel=name if kind == "channel" else None,
                    text=chance.choice(OPENINGS).format(WORDS[scope]),
                    now=NOON + timedelta(days=day, minutes=minute),
                )
                turns[scope].add(str(turn.id))
                spoken[f"user:{user}"].add(str(turn.id))
            for scope in FOLDERS:
                talk(memory, scope, day, turns, spoken)
            for name in ("ann", "bob") if day else ():
                spoken[f"user:{name}"].add(lament(memory, name))
            memory.sleep(now=NIGHT + timedelta(days=day))
        memory.index()
        yield Neighbours(memory, turns, spoken)


def talk(
    memory: VaultMemory,
    scope: str,
    day: int,
    turns: dict[str, set[str]],
    spoken: dict[str, set[str]],
) -> None:
    """Has a conversation that is worth an episode, and says what others say as well."""
    kind, _, name = scope.partition(":")
    user = name if kind == "user" else "ann"
    for number, text in enumerate((*TALK, "I like plum jam.")):
        turn = memory.record_turn(
            session=f"talk {day}",
            role="user",
            user=user,
            channel=name if kind == "channel" else None,
            text=text.format(WORDS[scope]),
            now=NOON + timedelta(days=day, hours=2, minutes=number),
        )
        turns[scope].add(str(turn.id))
        spoken[f"user:{user}"].add(str(turn.id))


def lament(memory: VaultMemory, name: str) -> str:
    """Says what waits for a second evening."""
    turn = memory.record_turn(
        session=f"evening {name}",
        role="user",
        user=name,
        text="I hate myself.",
        now=NOON + timedelta(days=1, hours=1),
    )
    return str(turn.id)


@pytest.mark.sampled
def test_a_scope_stores_no_word_and_no_turn_of_another(neighbours: Neighbours) -> None:
    vault = Path(neighbours.memory.root)
    every_turn = set().union(*neighbours.turns.values())
    for scope, folder in FOLDERS.items():
        texts = stored(vault, folder)
        # What a person says of herself in a channel is hers as well.
        turns = neighbours.turns[scope] | neighbours.spoken[scope]
        words = {WORDS[scope], WORDS["channel:dev"]}
        for name, text in texts.items():
            cited = {turn for turn in every_turn if turn in text}
            assert cited <= turns, (scope, name)
            assert {word for word in WORDS.values() if word in text} <= words, name


@pytest.mark.sampled
def test_a_question_in_one_scope_finds_nothing_of_another(neighbours: Neighbours) -> None:
    memory = neighbours.memory
    for scope, folder in FOLDERS.items():
        for query in (*WORDS.values(), "hate myself", "plum jam"):
            for hit in memory.search(query, scopes=[scope], now=NIGHT).hits:
                places = [(hit.note, hit.lines[0])]
                places += [(copy.note, copy.lines[0]) for copy in hit.also]
                for note, line in places:
                    is_own = note.startswith(f"{folder}/")
                    # A person finds her own turns in channels as well.
                    assert is_own or speaker_of(memory, note, line) == scope, note
        later = NIGHT + timedelta(days=1)
        candidates = memory.learning.held([scope], now=later)
        waiting = {line["scope"] for line in candidates}
        assert waiting == ({scope} if scope.startswith("user:") else set())


def speaker_of(memory: VaultMemory, note: str, line: int) -> str:
    """Returns the scope of whoever said a turn; nothing for a line of a note."""
    lines = (Path(memory.root) / note).read_bytes().splitlines()
    turn = read_turn(lines[line - 1])
    return f"user:{turn.user}" if turn else ""


@pytest.mark.sampled
def test_no_turn_of_another_scope_is_shown_as_a_source(neighbours: Neighbours) -> None:
    memory = neighbours.memory
    for scope, turns in neighbours.turns.items():
        for other in FOLDERS.keys() - {scope}:
            for turn in turns - neighbours.spoken[other]:
                with pytest.raises((NoteNotFound, UnclearId)):
                    memory.source(turn, scopes=[other])
        assert all(memory.source(turn, scopes=[scope]) for turn in turns)


def test_a_first_name_is_known_only_where_its_person_is(neighbours: Neighbours) -> None:
    facts = neighbours.memory.facts
    for scope, name in (("user:ann", "Sarah"), ("user:bob", "Peter")):
        assert facts(scopes=[scope], entity=name, now=NIGHT)
        for other in FOLDERS.keys() - {scope}:
            assert not facts(scopes=[other], entity=name, now=NIGHT)


def test_another_name_is_known_only_where_it_was_given(neighbours: Neighbours) -> None:
    memory = neighbours.memory
    for scope, name in ALIASES.items():
        others = [alias for alias in ALIASES.values() if alias != name]
        assert is_known(memory, scope, name) == [True] * 4
        for other in others:
            assert is_known(memory, scope, other) == [False] * 4


def is_known(memory: VaultMemory, scope: str, alias: str) -> list[bool]:
    """Whether facts, prompts, searches and filters of a scope know another name of the bell."""
    now = NIGHT + timedelta(days=1)
    relevant = memory.facts.relevant(f"What about {alias}?", scopes=[scope], user="nobody", now=now)
    return [
        bool(memory.facts(scopes=[scope], entity=alias, now=now)),
        any(fact.subject == "Harbour Bell" for fact in relevant),
        "bell.md" in notes_of(memory.search(alias, scopes=[scope], now=now)),
        "bell.md" in notes_of(memory.search("rings", scopes=[scope], entity=alias, now=now)),
    ]


def notes_of(answer: Any) -> str:
    return " ".join(hit.note for hit in answer.hits)


def test_a_conversation_begins_with_the_episode_of_its_own_scope(neighbours: Neighbours) -> None:
    memory = neighbours.memory
    for scope in FOLDERS:
        block = memory.context("Hello", scopes=[scope], now=NIGHT + timedelta(days=1))
        [episode] = [part for part in block.parts if part.kind == "episode"]
        assert WORDS[scope] in block.text
        assert str(episode.note).startswith(FOLDERS[scope])
        episodes = stored(Path(memory.root), f"{FOLDERS[scope]}/memories/sessions")
        texts = "\n".join(episodes.values())
        assert {word for word in WORDS.values() if word in texts} == {WORDS[scope]}
        others = {word for word in WORDS.values() if word in block.text}
        assert others <= {WORDS[scope], WORDS["channel:dev"]}


def test_copies_of_a_statement_are_of_one_scope(neighbours: Neighbours) -> None:
    memory = neighbours.memory
    later = NIGHT + timedelta(days=1)
    answer = memory.search("I like plum jam", scopes=["user:ann", "user:bob"], now=later)
    groups = [
        {
            owner_of(memory, note, line)
            for note, line in (
                (hit.note, hit.lines[0]),
                *((copy.note, copy.lines[0]) for copy in hit.also),
            )
        }
        for hit in answer.hits
    ]
    assert {len(group) for group in groups} == {1}
    assert set().union(*groups) >= {"user:ann", "user:bob"}
    assert any(hit.copies > 1 for hit in answer.hits)


def owner_of(memory: VaultMemory, note: str, line: int) -> str:
    for scope in ("user:ann", "user:bob"):
        if note.startswith(FOLDERS[scope]):
            return scope
    return speaker_of(memory, note, line)


def test_a_model_reads_no_words_of_others_in_the_night_of_a_person(tmp_path: Path) -> None:
    (tmp_path / "vault/Users").mkdir(parents=True)
    with ScriptedModel(eager(random.Random(1), [])) as model:
        brain = {"BRAIN_KIND": "openai", "BRAIN_BASE_URL": model.url, "BRAIN_MODEL": "small"}
        with VaultMemory.open(
            tmp_path / "vault", environment=environment(tmp_path, **brain)
        ) as memory:
            for minute, (user, channel) in enumerate(
                [("ann", ""), ("ann", "dev"), ("bob", "dev"), ("bob", "")]
            ):
                memory.record_turn(
                    session="talk",
                    role="user",
                    user=user,
                    channel=channel or None,
                    text=f"I feed the {user}bird {channel or 'at home'} each day.",
                    now=NOON + timedelta(minutes=minute),
                )
            memory.sleep(scopes=["user:ann"], now=NIGHT)
        questions = "\n".join(asked.text for asked in model.asked)
    assert "annbird dev" in questions
    assert "annbird at home" in questions
    assert "bobbird" not in questions


# ---- with and without a model -------------------------------------------------------------


@dataclass
class Night:
    """One night over a day of Ann's."""

    report: Mapping[str, Any]
    texts: Mapping[str, str]

    @property
    def notes(self) -> dict[str, str]:
        """What prompts are made of."""
        return {
            name: text
            for name, text in self.texts.items()
            if name.endswith(".md") and not name.endswith("INBOX.md")
        }

    @property
    def cited(self) -> set[str]:
        return set(REF.findall("\n".join(self.notes.values())))

    @property
    def dropped(self) -> dict[str, str]:
        return {drop["ref"]: drop["reason"] for drop in self.report["dropped"]}


@dataclass
class Pair:
    """The same day, read without a model and with one that takes everything for lasting."""

    said: dict[str, str]
    claims: list[tuple[str, str]]
    """(`SAID`, `DOUBTED` or nothing, text) of each memory that the model offered"""
    rules: Night
    model: Night


SAID, DOUBTED = "said", "doubted"
"""Texts that a turn has; the model labels those that it doubts"""
INVENTED = [f"Keeps {number} bees in the attic" for number in range(14)]


def is_seen(text: str) -> bool:
    """Whether the model takes notice of a turn: it overlooks every third."""
    return len(text) % 3 > 0


def eager(chance: random.Random, claims: list[tuple[str, str]]) -> Any:
    """A model that offers most turns as memories of a random type with random labels."""

    def answer(asked: Asked) -> Sent:
        if asked.wants == "ops":
            return Sent(200, completion('{"ops": []}'))
        if asked.wants == "facts":
            facts = [
                {"turn": turn, "subject": who, "predicate": "said", "object": text}
                | {"from": "", "until": ""}
                for turn, who, text in asked.turns
                if is_seen(text)
            ]
            return Sent(200, completion(json.dumps({"facts": facts})))
        if asked.wants not in ("memories", "ops", "facts"):
            return Sent(200, completion("{}"))
        rows = [
            {
                "turn": turn,
                "text": text,
                "type": chance.choice(["identity", "preference", "context", "plan"]),
                "care": chance.choice(["none", "none", "sensitive", "noise"]),
                "scope": chance.choice(["lasting", "lasting", "session", 7]),
                "basis": chance.choice(["said", "inferred"]),
            }
            for turn, _, text in asked.turns
            if is_seen(text)
        ]
        invented = [
            {"turn": asked.turns[0][0], "text": text, "type": "identity"}
            for text in INVENTED[: chance.randint(0, len(INVENTED))]
        ]
        claims.extend((origin_of(row), str(row["text"])) for row in rows)
        claims.extend(("", row["text"]) for row in invented)
        return Sent(200, completion(json.dumps({"memories": [*rows, *invented]})))

    return answer


def origin_of(row: Mapping[str, Any]) -> str:
    labels = {row["care"], row["scope"], row["basis"]}
    return DOUBTED if labels & {"sensitive", "session", "inferred"} else SAID


@pytest.fixture(scope="module", params=SEEDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    chance = random.Random(request.param)
    folder = tmp_path_factory.mktemp("pair")
    live = folder / "live"
    (live / "vault/Users").mkdir(parents=True)
    said = {}
    with VaultMemory.open(live / "vault", environment=environment(live)) as memory:
        for minute, text in enumerate(chance.sample(SENTENCES, 30)):
            turn = memory.record_turn(
                session=f"s{minute}",
                role="user",
                user="ann",
                text=text,
                now=NOON + timedelta(minutes=minute),
            )
            said[str(turn.id)] = text
    live.rename(folder / "evening")
    claims: list[tuple[str, str]] = []
    with ScriptedModel(eager(chance, claims)) as model:
        brain = {"BRAIN_KIND": "openai", "BRAIN_BASE_URL": model.url}
        with_model = night(folder, **brain, BRAIN_MODEL="small")
        assert model.asked
    return Pair(said, claims, night(folder), with_model)


def night(folder: Path, **settings: str) -> Night:
    live = folder / "live"
    shutil.rmtree(live, ignore_errors=True)
    shutil.copytree(folder / "evening", live)
    vault = live / "vault"
    with VaultMemory.open(vault, environment=environment(live, **settings)) as memory:
        slept = memory.sleep(scopes=["user:ann"], now=NIGHT)
    [report] = slept.scopes
    assert report["state"] == "done", report
    return Night(report, stored(vault))


@pytest.mark.sampled
def test_what_the_table_refuses_is_refused_with_and_without_a_model(pair: Pair) -> None:
    refused = {turn for turn, text in pair.said.items() if is_refused(text)}
    assert refused
    assert shown(pair, refused & pair.rules.cited) == []
    assert shown(pair, refused & pair.model.cited) == []


def is_refused(text: str) -> bool:
    """Whether the table writes nothing of a sentence that is said once."""
    decision = decide(Candidate("memory", text, turns=(text,)), CUES)
    return decision.policy_class in ("drop", "require_repetition")


def test_a_model_does_not_silence_what_the_rules_find(pair: Pair) -> None:
    missing = set(shown(pair, pair.rules.cited - pair.model.cited))
    # A label may hold a statement back; the absence of an answer may not.
    doubted = {text for origin, text in pair.claims if origin == DOUBTED}
    assert missing - doubted == set()


def test_no_text_of_crises_and_secrets_is_stored_with_or_without_a_model(pair: Pair) -> None:
    for ended in (pair.rules, pair.model):
        everything = "\n".join(ended.texts.values())
        hidden = [pair.said[turn] for turn, reason in ended.dropped.items() if reason in NEVER_TOLD]
        assert [text for text in hidden if text.strip(".!") in everything] == []


def test_each_candidate_of_a_model_ends_somewhere(pair: Pair) -> None:
    ended = pair.model
    everything = "\n".join(ended.texts.values())
    ids = {" ".join(text.split()): turn for turn, text in pair.said.items()}
    lost = []
    for origin, text in pair.claims:
        turn = ids.get(text, "")
        if origin and turn not in ended.dropped and turn not in everything:
            lost.append(text)
        if not origin and text not in everything:
            lost.append(text)
    assert lost == []


def shown(pair: Pair, turns: Iterable[str]) -> list[str]:
    return [pair.said[turn] for turn in turns]
