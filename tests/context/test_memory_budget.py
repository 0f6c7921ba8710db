"""The MEMORY.md notes of all scopes share one budget in a prompt, and the line that was asked for is in it."""

import re

import pytest

from tests.context.test_context import MAIN, block, opened
from vault_memory import config
from vault_memory.errors import ConfigError

QUESTION = "What does the lamp of the lighthouse burn on Sundays?"
LAMP = "- The lamp of the lighthouse burns whale oil on Sundays"


def long_note(lines: int, *, asked: str = LAMP) -> str:
    rows = [f"- Crate {number} holds the ropes of berth {number}" for number in range(lines)]
    rows[lines * 2 // 3] = asked
    return "\n".join(rows) + "\n"


def chars_of_memory(found) -> int:
    return sum(part.chars for part in found.parts if part.kind == "memory")


def test_of_three_thousand_lines_the_asked_one_is_in_at_most_six_thousand_characters(tmp_path):
    with opened(tmp_path, {"MEMORY.md": long_note(3_000)}) as memory:
        found = block(memory, QUESTION, MAIN)

    assert "whale oil" in found.text
    assert 0 < chars_of_memory(found) <= 6_000
    assert re.search(r'excerpt="\d+ of 3,000 lines that answer the prompt"', found.text)


def test_without_a_prompt_whole_items_come_from_the_top(tmp_path):
    item = "- A long story\n  that goes on in a second line\n"
    with opened(tmp_path, {"MEMORY.md": item * 500}) as memory:
        found = block(memory, "", MAIN)

    quoted = found.text.partition('kind="memory"')[2].partition("</")[0]
    assert quoted.count("A long story") == quoted.count("goes on in a second line") > 50
    assert chars_of_memory(found) <= 6_000
    assert re.search(r'excerpt="\d+ of 1,000 lines from the top"', found.text)


@pytest.mark.parametrize("prompt", [QUESTION, ""])
def test_two_notes_share_the_budget(tmp_path, prompt):
    notes = {
        "MEMORY.md": long_note(100),
        "groups/harbour/MEMORY.md": long_note(100, asked="- The oil is in the shed"),
    }
    with opened(tmp_path, notes) as memory:
        alone = block(memory, prompt, MAIN)
        both = block(memory, prompt, MAIN, "group:harbour")

    assert 'excerpt="' not in alone.text
    assert 0 < chars_of_memory(both) <= 6_000
    assert 'excerpt="' in both.text
    if prompt:
        assert "whale oil" in both.text


def test_zero_sets_no_limit(tmp_path):
    recall = config.Recall(memory_budget=0)
    with opened(tmp_path, {"MEMORY.md": long_note(1_000)}, recall=recall) as memory:
        found = block(memory, "", MAIN)

    assert found.text.count("Crate") == 999


def test_the_earlier_name_of_the_budget_still_works(tmp_path):
    file = tmp_path / "vault-memory.toml"
    file.write_text("[recall]\nwhole_memory_chars = 900\n")

    assert config.load(file, {}).recall.memory_budget == 900

    file.write_text("[recall]\nwhole_memory_chars = 900\nmemory_budget = 800\n")
    with pytest.raises(ConfigError, match="is now `memory_budget`"):
        config.load(file, {})
