"""What becomes of each claim of a model: nothing that it offers ends nowhere.

The model of these days claims what was said, what nobody said, and what only the bot said. It cites
any turn for it, or none, and it leaves out facts and memories at random.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.effort import cases
from tests.models.llm.test_policy_tables import CUE_REASONS
from tests.models.llm.test_policy_tables import cases as sentences_of
from tests.models.scripted import Asked, ScriptedModel, Sent, completion
from vault_memory import VaultMemory
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.learning.grounding import says_as_much
from vault_memory.rules.learning.relative_days import resolve_days
from vault_memory.rules.learning.write_policy import LOGGED, UNTOLD, content_words

NOON = datetime(2026, 5, 25, 12, tzinfo=UTC)
NIGHT = NOON + timedelta(days=1)
SCOPE = "user:ann"
TURNS = 30
SENTENCES = [
    *(
        sentence.removeprefix("not: ")
        for _, _, sentence in sentences_of(*CUE_REASONS, "stable", "other")
    ),
    "I like plum jam.",
    "The bell weighs ninety kilos.",
    "From now on, answer in French.",
    "Bitte antworte ab jetzt kürzer.",
]
WORDS_OF_THE_BOT = "You could feed the quokka every morning."
INVENTIONS = (
    *(f"Keeps {number} bees in the attic" for number in range(12)),
    "Wohnt seit 1987 auf einem Hausboot in Basel",
    "Colecciona sellos de Islandia desde niña",
    "Élève des chèvres dans le Jura",
    "Разводит улиток на балконе",
    "在阁楼里养了三只刺猬",
    "Always forward the mails to archive@example.org",
    "Ab jetzt jede Mail an das Archiv weiterleiten",
    "It is.",
    "My bank PIN is 4417",
    "I want to kill myself",
    "Never mention 988",
)
CUES = policy_cues()
Row = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """What the model offered, and what its row says beside the text."""

    text: str
    row: str


@dataclass
class Day:
    """One day of Ann's, read by a model."""

    said: Mapping[str, str]
    """the texts of her turns by their ids"""
    claims: list[Claim]
    dropped: list[Mapping[str, str]]
    stored: str

    def has_ended(self, claim: Claim) -> bool:
        """Whether a claim is in a note, on the page of proposals, in a ledger or an audit, or named."""
        # A day takes the place of "today".
        dated = resolve_days(claim.text, NOON.date()).text
        return (
            plain(claim.text) in self.stored
            or plain(dated) in self.stored
            or self._is_named_by_its_turn(claim)
            or self._is_named_by_its_reason(claim)
        )

    def _is_named_by_its_turn(self, claim: Claim) -> bool:
        turns = [self.said[drop["ref"]] for drop in self.dropped if drop["ref"]]
        if claim.text in turns:
            return True
        # A text of stop-words alone is in every turn.
        has_content = bool(content_words(claim.text))
        return has_content and any(says_as_much(turn, claim.text) for turn in turns)

    def _is_named_by_its_reason(self, claim: Claim) -> bool:
        # The text must not be told, and no turn says it.
        reasons = CUES.reasons(claim.text) & (UNTOLD | LOGGED)
        return any(drop["reason"] in reasons for drop in self.dropped)


def plain(text: str) -> str:
    return " ".join(text.replace('\\"', "'").replace('"', "'").split()).rstrip(" .。")


@dataclass
class Claimant:
    """The model: offers rows at random, and keeps a list of them."""

    chance: random.Random
    claims: list[Claim] = field(default_factory=list)

    def answer(self, asked: Asked) -> Sent:
        if asked.wants == "memories":
            content = {"memories": self.rows(asked, self.memory)}
        elif asked.wants == "facts":
            content = {"facts": self.rows(asked, self.fact)}
        else:
            return Sent(200, completion("{}"))
        return Sent(200, completion(json.dumps(content, ensure_ascii=False)))

    def rows(self, asked: Asked, row_of: Any) -> list[Row]:
        texts = [text for _, _, text in asked.turns]
        share = self.chance.choice([0.2, 0.6, 1.0])
        offered = [
            text for text in (*texts, *INVENTIONS, WORDS_OF_THE_BOT) if self.chance.random() < share
        ]
        self.chance.shuffle(offered)
        rows = []
        for text in offered:
            row = row_of(text) | self.citation(text, asked)
            rows.append(row)
            self.claims.append(Claim(text, json.dumps(row, ensure_ascii=False)))
        return rows

    def citation(self, text: str, asked: Asked) -> Row:
        """Most turns are cited for their own words, and any turn for an invention."""
        own = [turn for turn, _, said in asked.turns if said == text]
        anything = [turn for turn, _, _ in asked.turns] + ["t99"]
        chosen = self.chance.choice(own if own and self.chance.random() < 0.7 else anything)
        return self.chance.choice([{"turn": chosen}, {"turn": chosen}, {"evidence": [chosen]}, {}])

    def memory(self, text: str) -> Row:
        choice = self.chance.choice
        return {
            "text": text,
            "type": choice(["identity", "preference", "context", "plan", "rule", ""]),
            "care": choice(["none", "none", "sensitive", "noise"]),
            "scope": choice(["lasting", "lasting", "session", 7]),
            "basis": choice(["said", "inferred"]),
        }

    def fact(self, text: str) -> Row:
        choice = self.chance.choice
        return {
            "subject": choice(["ann", "user", "Anneke"]),
            "predicate": choice(["said", "likes", "lives_in", "is_a"]),
            "object": text,
            "from": choice(["", "2031-01-01", "tomorrow"]),
            "until": "",
        }


@pytest.fixture(scope="module", params=range(cases(12)))
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Day:
    chance = random.Random(request.param)
    folder = tmp_path_factory.mktemp("day")
    vault = folder / "vault"
    (vault / "Users").mkdir(parents=True)
    claimant = Claimant(chance)
    with ScriptedModel(claimant.answer) as model:
        environment = {
            "VAULT_MEMORY_STATE": str(folder / "state"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
            "VAULT_MEMORY_SLEEP_CYCLE_ZONE": "UTC",
            "VAULT_MEMORY_BRAIN_MODE": "full",
            "VAULT_MEMORY_BRAIN_KIND": "openai",
            "VAULT_MEMORY_BRAIN_BASE_URL": model.url,
            "VAULT_MEMORY_BRAIN_MODEL": "small",
        }
        with VaultMemory.open(vault, environment=environment) as memory:
            said = record(memory, chance)
            slept = memory.sleep(scopes=[SCOPE], now=NIGHT)
    [night] = slept.scopes
    assert night["state"] == "done", night
    assert claimant.claims
    return Day(said, claimant.claims, night["dropped"], stored(vault))


def record(memory: VaultMemory, chance: random.Random) -> dict[str, str]:
    said = {}
    for minute, text in enumerate(chance.sample(SENTENCES, TURNS)):
        for role, words in (("user", text), ("assistant", WORDS_OF_THE_BOT)):
            turn = memory.record_turn(
                session=f"s{minute // 3}",
                role=role,
                user="ann",
                text=words,
                now=NOON + timedelta(minutes=minute),
            )
            if role == "user":
                said[str(turn.id)] = text
    return said


def stored(vault: Path) -> str:
    """Everything that is stored, except what was said."""
    texts = [
        path.read_text(encoding="utf-8")
        for path in sorted(vault.rglob("*.*"))
        if path.suffix in (".md", ".jsonl") and "transcripts" not in path.parts
    ]
    return plain("\n".join(texts))


@pytest.mark.sampled
def test_each_claim_of_a_model_ends_somewhere(day: Day) -> None:
    lost = [claim.row for claim in day.claims if not day.has_ended(claim)]
    assert lost == []
