"""Settings in TOML get a block at their end; what people wrote, comments and line ends included, stays as it is."""

import tomllib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from vault_memory.addons.hosts.toml_block import (
    BEGIN,
    END,
    NotToml,
    check,
    format_table,
    parse,
    with_block,
    without_block,
)

HOOK = {"type": "command", "command": "/usr/bin/vault-memory hook codex --user mira", "timeout": 10}
TABLES = [
    format_table(
        "[mcp_servers.vault-memory]",
        {"command": "/usr/bin/x", "args": ["mcp", "--user", 'Mira "the 1st" \\ \x7f\t']},
    ),
    "[[hooks.SessionStart]]",
    format_table("[[hooks.SessionStart.hooks]]", HOOK),
]
WANTED = tomllib.loads("\n".join(TABLES))

LINES = st.sampled_from(
    [
        "# mine",
        "",
        "model = 'gpt' # which",
        "[features]",
        "hooks = true",
        "[mcp_servers.other]",
        'command = "x"',
        "[[hooks.SessionStart]]",
        "[[hooks.Stop]]",
        'text = """',
        '"""',
        "notify = ['a', # 1",
        " 'b']",
    ]
)
FILES = st.builds(
    lambda lines, newline, end: newline.join(lines) + end,
    st.lists(LINES, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\n\n"]),
)


@given(FILES)
@settings(max_examples=cases(200))
@example("")
@example("\n")
@example("a = 1")
@example("a = 1\r\n# end\r\n")
def test_adding_and_removing_a_block_restores_the_same_bytes(text: str) -> None:
    block = with_block(text, TABLES)

    assert block.startswith(text)
    assert with_block(block, TABLES) == block
    assert without_block(block) == text
    assert without_block(block + "[later]\n") == text + "[later]\n"


@given(FILES)
@settings(max_examples=cases(200))
@example("[[hooks.SessionStart]]\nmatcher = 'x'\n")
def test_existing_settings_are_kept_or_the_file_is_refused(text: str) -> None:
    try:
        before = tomllib.loads(text)
        changed = with_block(text, TABLES)
        check(text, changed, WANTED)
        after = tomllib.loads(changed)
    except (tomllib.TOMLDecodeError, NotToml):
        return

    assert after["mcp_servers"]["vault-memory"] == WANTED["mcp_servers"]["vault-memory"]
    assert after["hooks"]["SessionStart"] == [
        *before.get("hooks", {}).get("SessionStart", []),
        {"hooks": [HOOK]},
    ]
    assert {name: one for name, one in after.items() if name not in WANTED} == {
        name: one for name, one in before.items() if name not in WANTED
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hooks = {}\n", "a block at its end would break"),
        ("[mcp_servers]\nvault-memory = {command = 'mine'}\n", "is set already, and not by us"),
        ("[hooks]\nSessionStart = []\n", "a block at its end would break"),
        ("a = \n", "not valid TOML"),
        (f"a = 1\n{BEGIN}\n", "one of the two marks"),
        (f"{END}\n", "one of the two marks"),
    ],
)
def test_a_file_that_cannot_hold_the_block_is_refused_with_the_reason(
    text: str, reason: str
) -> None:
    with pytest.raises(NotToml, match=reason):
        check(text, with_block(text, TABLES), WANTED)


THEIRS = '[mcp_servers.new]\ncommand = "y"\n'
STATE = '[hooks.state."config.toml:session_start:0"]\ntrusted_hash = "1"\n'
STOP = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "date"\n'


@pytest.mark.parametrize("theirs", [THEIRS, STATE, STOP, THEIRS + STATE])
@pytest.mark.parametrize("before", ["[mcp_servers", "[[hooks.SessionStart]]", END])
def test_tables_another_program_added_between_the_marks_are_kept(theirs: str, before: str) -> None:
    block = with_block("a = 1\n", TABLES)
    at = block.index(before)
    mixed = block[:at] + theirs + block[at:]
    tomllib.loads(mixed)

    left = without_block(mixed)

    assert tomllib.loads(left) == tomllib.loads("a = 1\n" + theirs)
    again = with_block(mixed, TABLES)
    assert with_block(again, TABLES) == again
    assert without_block(again) == left


def test_written_strings_are_read_back_unchanged() -> None:
    odd = ['"', "\\", "\x7f", "\u0085", "é", "\t", "$HOME", "a b", "#"]

    assert parse(format_table("[t]", {"odd": odd, "n": 3})) == {"t": {"odd": odd, "n": 3}}
