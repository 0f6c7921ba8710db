"""Asks a model about a few fixed turns, to see whether it can fill the JSON object of an answer.

A model that cannot is asked turn by turn (see `labels`). The verdict is stored: the test costs one
answer, and a model does not change.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.models.base import Brain
from vault_memory.models.llm.templates import instructions
from vault_memory.rules.learning.answer_schema import TYPES
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.grounding import OwnTurn, OwnTurns, grounded
from vault_memory.rules.learning.model_prompt import Excerpt, Prompt, filled

if TYPE_CHECKING:
    from vault_memory.config.sections import BrainSettings as Settings

Way = Literal["full", "labels"]
"""A complete answer, or one word for each turn"""

FILE = "brain.json"
VERSION = 2
"""Of the test: a verdict of another version is not used"""
LEAST_RIGHT, MOST_WRONG = 3, 1

_DAY = date(2026, 1, 5)
_PERSON = "user"
_TO_REMEMBER = (
    "I am allergic to penicillin.",
    "My sister works at the harbour.",
    "We are moving to another town in June.",
    "Ich esse kein Fleisch.",
)
_TO_FORGET = (
    "What will the weather be like?",
    "Thanks, that is all for now.",
    "Please make the last answer shorter.",
    "Haha, good one!",
)


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """How a model did."""

    model: str
    """a digest of the settings that name the model"""
    right: int
    """of four turns worth remembering: those that it found, in their words"""
    wrong: int
    """other turns that it took for worth remembering"""
    version: int = VERSION

    @property
    def way(self) -> Way:
        """How the model is asked from now on."""
        passes = self.right >= LEAST_RIGHT and self.wrong <= MOST_WRONG
        return "full" if passes else "labels"


def way_of(settings: "Settings", state: Path, load: Callable[[], Brain]) -> Way:
    """Return how the configured model is asked; tests it when there is no verdict.

    `state` is the state folder of the vault. Raises ``BrainUnavailable``.
    """
    match settings.mode:
        case "full" | "labels":
            return settings.mode
    model = _model_digest(settings)
    verdict = stored_verdict(state, model)
    if verdict is None:
        verdict = judge(load(), model)
        places.make_private(state)
        state_file.write(state / FILE, json.dumps(asdict(verdict)))
    return verdict.way


def stored_verdict(state: Path, model: str) -> SelfTestResult | None:
    """Return the verdict on this model; None when it was not tested by this version."""
    fields = state_file.read_json(state / FILE)
    try:
        verdict = SelfTestResult(**fields)
    except TypeError:
        return None
    is_current = verdict.model == model and verdict.version == VERSION
    return verdict if is_current else None


def judge(brain: Brain, model: str) -> SelfTestResult:
    """Ask the brain about the fixed turns. Raises ``BrainUnavailable``."""
    texts = [text for pair in zip(_TO_REMEMBER, _TO_FORGET, strict=True) for text in pair]
    turns = {f"t{number}": text for number, text in enumerate(texts, start=1)}
    excerpts = tuple(
        Excerpt(turn_id, text, _PERSON, own=True, said=f"Mon {_DAY} 10:00")
        for turn_id, text in turns.items()
    )
    template = instructions("extraction")
    system = filled(template, {"who": _PERSON, "types": ", ".join(TYPES)})
    answer = brain.answer(Prompt("extraction", system, (), excerpts))
    own = {turn_id: OwnTurn(text, _PERSON, _DAY) for turn_id, text in turns.items()}
    extraction = grounded(read_answer(answer.text, turns), OwnTurns(own))
    cited = {turns[turn_id] for memory in extraction.memories for turn_id in memory.evidence}
    return SelfTestResult(
        model,
        right=len(cited.intersection(_TO_REMEMBER)),
        wrong=len(cited.intersection(_TO_FORGET)),
    )


def _model_digest(settings: "Settings") -> str:
    named = (
        settings.kind,
        settings.base_url,
        settings.extraction_model or settings.model,
        *settings.command,
    )
    return sha256("\n".join(named).encode()).hexdigest()[:16]


__all__ = ["SelfTestResult", "Way", "judge", "stored_verdict", "way_of"]
