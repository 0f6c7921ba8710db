"""The sample vault answers its own ten questions right, at the first place."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.context.test_context import opened
from tests.every import every
from vault_memory import VaultMemory

NOW = datetime(2026, 5, 26, 12, tzinfo=UTC)
SAMPLE = Path(__file__).parents[2] / "sample_vault"
SCOPES = ["user:mira", "user:tomas", "channel:harbour", "channel:fogbell", "group:main"]
QUESTIONS = {
    "where is the spare key of the lighthouse?": ("spare key", "barometer"),
    "on which day does the Petrel arrive?": ("Thursday",),
    "where does Mira live?": ("keeper's house",),
    "how many strokes does the pump of the well need?": ("two strokes",),
    "what colour is the gallery railing painted?": ("grey",),
    "when does Anneke arrive?": ("11 June",),
    "who teaches Mira Chinese?": ("Mei Lin",),
    "what is the height of the Gull Rock light?": ("31 metres",),
    "what did the doctor say about the wrist?": ("wrist",),
    "where are the fuses now?": ("fuses", "drawer"),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VaultMemory]:
    notes = {
        note.relative_to(SAMPLE).as_posix(): note.read_text(encoding="utf-8")
        for note in SAMPLE.rglob("*.md")
    }
    with opened(tmp_path_factory.mktemp("sample"), notes) as vault:
        yield vault


@every("question", QUESTIONS)
def test_the_first_line_answers_the_question(memory: VaultMemory, question: str) -> None:
    first = memory.search(question, scopes=SCOPES, now=NOW).hits[0]

    assert all(word in first.text for word in QUESTIONS[question]), first.text
