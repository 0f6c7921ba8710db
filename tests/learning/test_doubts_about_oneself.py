"""What one only supposes, or says against oneself, is written after one session by nobody."""

import pytest

from tests.every import every
from tests.in_memory import folder_in_memory
from tests.learning.test_fixed_turns import says_yes
from tests.learning.turns.measuring import FixedTurn, learned
from tests.models.scripted import ScriptedModel
from tests.rules.learning.test_self_beliefs import JUDGEMENTS
from vault_memory.api.vault_memory import VaultMemory

HEDGES = {
    "en": ("Maybe work stresses me", "I guess i'm allergic to rum", "I might move to Porto in May"),
    "de": ("Vielleicht stresst mich die Arbeit", "Ich ziehe vermutlich nach Lund"),
    "es": ("Quizá el trabajo me estresa", "Creo que soy alérgica al kiwi"),
    "fr": ("Peut-être que le travail me stresse", "Je pense que je suis allergique au kiwi"),
    "ru": ("Наверное, меня стрессует работа", "Кажется, у меня аллергия на киви"),
    "zh": ("也许工作让我有压力", "我可能对猕猴桃过敏"),
}  # fmt: skip
TURNS = [
    FixedTurn(f"{language}{number:03}", f"{text}.", (), "doubt")
    for language in HEDGES
    for number, text in enumerate((*HEDGES[language], *JUDGEMENTS[language][::2]))
]


def written_by(**model: str) -> list[str]:
    with folder_in_memory() as folder:
        found = learned(TURNS, folder, **model)
    return [line.text for lines in found.values() for line in lines]


@pytest.mark.sampled
def test_phrases_write_no_doubt():
    assert written_by() == []


@pytest.mark.sampled
def test_a_model_that_keeps_everything_writes_no_doubt():
    with ScriptedModel(says_yes) as model:
        lines = written_by(
            BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small", BRAIN_MODE="labels"
        )

        assert model.asked
        assert lines == []


@pytest.mark.sampled
@every("language", sorted(HEDGES))
def test_a_tool_writes_no_doubt(language: str):
    with folder_in_memory() as folder:
        environment = {"VAULT_MEMORY_STATE": str(folder / "state")}
        (folder / "vault").mkdir()
        with VaultMemory.open(folder / "vault", environment=environment) as memory:
            for text in (*HEDGES[language], *JUDGEMENTS[language]):
                memory.record_turn(session="s", role="user", user="mira", text=f"{text}.")
                assert memory.remember(text, scope="user:mira").outcome == "held", text
            block = memory.context("", scopes=["user:mira"]).text

    assert not any(text in block for text in JUDGEMENTS[language])
