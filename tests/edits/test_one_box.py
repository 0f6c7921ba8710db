"""One line has one box in INBOX, whoever asks for its end: a tool, the night, or a contradiction."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vault_memory import VaultMemory

FOLDER = "Users/mira/lantern/config"
LINES = [
    (f"{FOLDER}/USER.md", "Preferences", "Likes morning briefings at 7am"),
    (f"{FOLDER}/RULES.md", "Always", "Answer in grams"),
    (f"{FOLDER}/USER.md", "Gewohnheiten", "Trinkt morgens grünen Tee"),
    (f"{FOLDER}/USER.md", "习惯", "喜欢早上喝绿茶"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    (tmp_path / "vault" / FOLDER).mkdir(parents=True)
    environment = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    with VaultMemory.open(tmp_path / "vault", environment=environment) as memory:
        yield memory


def _ask(memory: VaultMemory, note: str, source: str, op: dict[str, Any]) -> list[str]:
    """The ids of the proposals that answer a request."""
    return [one.id for one in memory.apply(note, [op], source=source).proposed]


@pytest.mark.parametrize("first", ["tool", "nightly"])
@pytest.mark.parametrize(("note", "heading", "text"), LINES)
def test_two_who_ask_for_the_end_of_a_line_share_a_box(
    memory: VaultMemory, note: str, heading: str, text: str, first: str
):
    page = memory.root / note
    page.write_text(f"# Mira\n\n## {heading}\n\n- {text}\n")
    where = {"heading": heading, "match": text}
    remove = {"op": "remove", **where}
    weaken = {"op": "replace", **where, "line": f"{text} (conf:0.3)"}
    ops = [remove, weaken] if first == "tool" else [weaken, remove]
    second = "nightly" if first == "tool" else "tool"

    [id_] = _ask(memory, note, first, ops[0])

    assert _ask(memory, note, second, ops[1]) == [id_]
    assert [one.id for one in memory.inbox()] == [id_]
    inbox = (memory.root / FOLDER / "INBOX.md").read_text()
    assert inbox.count("- [ ]") == 1


def test_another_line_and_another_text_have_their_own_box(memory: VaultMemory):
    note, heading, text = LINES[0]
    page = memory.root / note
    page.write_text(f"# Mira\n\n## {heading}\n\n- {text}\n- Likes tea\n")
    remove = {"op": "remove", "heading": heading}
    other = {"op": "replace", "heading": heading, "match": text, "line": "Likes noon"}

    _ask(memory, note, "tool", {**remove, "match": text})
    _ask(memory, note, "nightly", {**remove, "match": "Likes tea"})
    _ask(memory, note, "tool", other)

    assert len(memory.inbox()) == 3


def test_after_a_decision_the_line_may_be_asked_about_again(memory: VaultMemory):
    note, heading, text = LINES[0]
    page = memory.root / note
    page.write_text(f"# Mira\n\n## {heading}\n\n- {text}\n")
    where = {"heading": heading, "match": text}
    [id_] = _ask(memory, note, "tool", {"op": "remove", **where})
    memory.edits.reject(id_)

    weaken = {"op": "replace", **where, "line": f"{text} (conf:0.3)"}

    assert _ask(memory, note, "nightly", weaken) not in ([], [id_])
