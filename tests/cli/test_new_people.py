"""Commands without a daemon see notes of a person who had none when the index was last updated."""

import pytest

from tests.scenarios.outside import Outside

PAGE = "Users/mira/bot/config/FACTS.md"
FACTS = "# Facts\n\n## Zoe\n\n- likes: tea (2026-01-01, conf 0.9, id f3a9)\n"
COMMANDS = {
    "entity": ("entity", "Zoe"),
    "timeline": ("timeline", "Zoe"),
    "facts": ("facts",),
    "about": ("about", "Zoe"),
    "source": ("source", f"{PAGE}:5"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_saved_for_a_new_person_is_found_at_once(outside: Outside, command: str) -> None:
    outside.quick = True
    outside.write("memory/a.md", "- a boat\n")
    outside.ok("index", "--no-embed")
    outside.write(PAGE, FACTS)

    done = outside.run(*COMMANDS[command])

    assert done.code == 0
    assert "tea" in done.out
