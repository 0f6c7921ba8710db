"""What people see on terminals of 80 and 40 columns, without colours, and in a pipe."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.terminals import COLOUR, opened, shown
from tests.every import every
from tests.scenarios.outside import Outside
from vault_memory.cli.screen import wrapped, wrapped_cells

NOW = "2026-05-26T14:05+00:00"
COMMANDS: dict[str, tuple[str, ...]] = {
    "search": ("search", "where is the spare key of the lighthouse?", "--why"),
    "status": ("status",),
    "log": ("log",),
    "facts": ("facts", "--user", "ann"),
    "entity": ("entity", "ann"),
    "doctor": ("doctor",),
}
WIDTHS = (80, 40)


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory, project: object) -> Outside:
    """A vault with a long line, facts, and a change."""
    home = tmp_path_factory.mktemp("h")
    outside = Outside(home / "v", home)
    outside.settings["TZ"] = "UTC"
    outside.write(
        "Users/ann/bot/config/USER.md",
        "# Ann\n\n## House\n\n"
        "- The spare key of the lighthouse hangs behind the barometer, in the tin with\n"
        "  the blue lid (2026-05-18)\n"
        "- Keys of the boat: in the café 茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶茶\n",
    )
    outside.write(
        "Users/ann/bot/config/FACTS.md",
        "# Facts\n\n## ann (person)\n\n- lives_in: the white house on the hill above "
        "the harbour of Ostervik\n- likes: tea\n",
    )
    assert outside.here("index", "--no-embed").code == 0
    changed = outside.here(
        "append",
        "Users/ann/bot/config/USER.md",
        "House",
        "the lamp oil is stored in the cellar, on the lowest shelf, behind the paint",
        "--now",
        "2026-05-26T12:01+00:00",
    )
    assert changed.code == 0, changed
    return outside


def columns(line: str) -> int:
    """The columns that a line takes on a terminal."""
    widths = (
        2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in COLOUR.sub("", line)
        if unicodedata.category(letter) != "Mn"
    )
    return sum(widths)


def too_long(text: str, width: int) -> list[str]:
    """The lines that do not fit, apart from a path or an address that must stay in one piece."""
    return [
        line
        for line in text.splitlines()
        if columns(line) > width and (" " in line.strip() or "/" not in line)
    ]


@pytest.mark.sampled
@every("width", WIDTHS)
@every("command", COMMANDS)
def test_each_line_fits_the_terminal(vault: Outside, command: str, width: int) -> None:
    text = shown(vault, *COMMANDS[command], "--now", NOW, columns=width)

    assert text.strip()
    assert too_long(text, width) == []


@pytest.mark.sampled
@every("command", COMMANDS)
def test_a_terminal_without_colours_gets_the_same_text_without_codes(
    vault: Outside, command: str
) -> None:
    line = (*COMMANDS[command], "--now", NOW)

    coloured = shown(vault, *line)

    assert "\x1b[" in coloured
    for style in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = shown(vault, *line, **style)
        assert "\x1b" not in plain, style
        assert COLOUR.sub("", coloured) == plain, style


@every("command", COMMANDS)
def test_a_pipe_gets_unbroken_lines_without_codes(vault: Outside, command: str) -> None:
    line = (*COMMANDS[command], "--now", NOW)
    settings = {**vault.environment, "NO_COLOR": "", "COLUMNS": "40", "TERM": "xterm"}

    done = vault.run(*line, env=settings)

    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "today" not in done.out
    if command in ("search", "log", "facts"):
        assert any(len(text) > 60 for text in done.out.splitlines())


def test_hits_wrap_at_words_and_bold_marks_what_matched(vault: Outside) -> None:
    text = shown(vault, "search", "spare key", "--limit", "1", "--now", NOW, columns=40)

    lines = text.splitlines()
    hit = lines[: lines.index(next(line for line in lines if "semantic" in line))]
    assert hit == [
        "\x1b[36mUsers/ann/bot/config/USER.md:5-6\x1b[0m",
        "\x1b[2m  Ann › House · Mon 18 May · user:ann\x1b[0m",
        "  - The \x1b[1mspare\x1b[0m \x1b[1mkey\x1b[0m of the lighthouse",
        "    hangs behind the barometer, in the",
        "    tin with the blue lid (2026-05-18)",
        "",
    ]


def test_a_date_and_a_command_stay_in_one_piece() -> None:
    details = ["How often, and on what current", "Mon 13 Apr", "channel:fogbell"]

    assert wrapped_cells(details, 40, gap=" · ", first="  ") == [
        "  How often, and on what current ·",
        "  Mon 13 Apr · channel:fogbell",
    ]
    assert wrapped("1 conflict copy: `vault-memory conflicts`", 38, indent="  ") == [
        "1 conflict copy:",
        "  `vault-memory conflicts`",
    ]


@given(st.lists(st.text("ab `·茶", max_size=12).map(str.strip), max_size=8), st.integers(20, 40))
def test_texts_side_by_side_fit_and_lose_no_letter(texts: list[str], width: int) -> None:
    lines = wrapped_cells(texts, width, gap=" · ", first="  ")

    assert all(columns(line) <= width for line in lines)
    letters = re.sub(r"[\s·]", "", "".join(lines))
    assert letters == re.sub(r"[\s·]", "", "".join(texts))


def test_letters_without_blanks_are_broken_at_the_edge(vault: Outside) -> None:
    text = shown(vault, "search", "茶茶", "--now", NOW, columns=40, NO_COLOR="1")

    assert text.count("茶") == 24
    assert too_long(text, 40) == []


@pytest.mark.sampled
def test_a_score_is_shown_only_with_why(vault: Outside) -> None:
    line = ("search", "spare key", "--limit", "1", "--now", NOW)
    score = re.compile(r"\d\.\d\d")

    assert not score.search(shown(vault, *line))
    assert not score.search(vault.here(*line).out)
    assert "why: " in shown(vault, *line, "--why")
    assert score.search(vault.here(*line, "--why").out)


@pytest.mark.sampled
@every(
    ("now", "told"),
    [
        ("2026-05-26T14:05+00:00", "today 12:01"),
        ("2026-05-27T09:00+00:00", "yesterday 12:01"),
        ("2026-05-30T09:00+00:00", "Tue 26 May 12:01"),
        ("2026-08-01T09:00+00:00", "Tue 26 May "),
        ("2027-01-01T09:00+00:00", "26 May 2026"),
        ("2026-05-26T23:05+09:00", "today 21:01"),
    ],
)
def test_a_change_is_told_by_a_short_local_time(vault: Outside, now: str, told: str) -> None:
    text = shown(vault, "log", "--now", now)

    assert told in text.splitlines()[0]


@pytest.mark.sampled
def test_tables_have_headers_on_a_terminal(vault: Outside) -> None:
    wide = shown(vault, "facts", "--user", "ann", "--now", NOW, NO_COLOR="1")
    narrow = shown(vault, "facts", "--user", "ann", "--now", NOW, NO_COLOR="1", columns=40)

    head, first, second, *_ = wide.splitlines()
    assert head.split() == ["ID", "ABOUT", "FACT"]
    assert first.index("ann") == head.index("ABOUT")
    assert first.index("lives_in") == second.index("harbour") == head.index("FACT")
    assert narrow.splitlines()[0].startswith("ID  ABOUT")
    assert shown(vault, "notes", NO_COLOR="1").split()[:3] == ["NOTE", "KIND", "SCOPE"]
    history = shown(vault, "history", "Users/ann/bot/config/USER.md", NO_COLOR="1")
    assert history.split()[:4] == ["REVISION", "WHEN", "BY", "SIZE"]


def test_status_says_in_words_what_to_do(vault: Outside) -> None:
    for text in (shown(vault, "status", NO_COLOR="1"), vault.here("status").out):
        assert "Daemon\n  not running: start it with `vault-memory run`\n" in text
        assert "Waiting for you\n  nothing\n" in text
        assert "False" not in text
        assert "None" not in text


def test_a_terminal_without_a_size_is_80_columns_wide(vault: Outside) -> None:
    assert too_long(shown(vault, "log", columns=0), 80) == []


def test_remarks_wrap_as_well(vault: Outside) -> None:
    terminal = opened(vault, "search", "key", "--user", "anna", columns=40)
    terminal.end()

    assert too_long(terminal.text, 40) == []


def rows(help_text: str) -> list[str]:
    """The commands that a help lists."""
    _, commands = help_text.split("Commands:\n") if "Commands:" in help_text else ("", help_text)
    return re.findall(r"^  ([a-z-]+)  ", commands, re.MULTILINE)


def test_help_lists_each_command_under_one_heading(outside: Outside) -> None:
    from vault_memory.cli.root import COMMANDS, UNLISTED, grouped_commands

    groups = grouped_commands()
    names = [name for names in groups.values() for name in names]

    assert sorted(names) == sorted(COMMANDS)
    done = outside.bare("help", "all")
    for heading in groups:
        assert f"{heading}:\n" in done.out
    assert sorted(rows(done.out)) == sorted([*COMMANDS, *UNLISTED])


def test_help_shows_twelve_commands_and_counts_the_others(outside: Outside) -> None:
    from vault_memory.cli.root import COMMANDS

    shown_first = rows(outside.bare("--help").out)

    assert len(shown_first) == 12
    assert f"\n{len(COMMANDS) - 12} more: `vault-memory help all`\n" in outside.bare("help").out


@pytest.mark.parametrize("words", [["search"], ["add-fact"], ["fact", "add"], ["install"], []])
def test_help_of_a_command_is_what_the_command_shows(outside: Outside, words: list[str]) -> None:
    assert outside.bare("help", *words).out == outside.bare(*words, "--help").out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["help", "serach"], "Did you mean `search`?"),
        (["help", "fact", "ad"], "There is no command `ad`. Did you mean `add`?"),
        (["help", "search", "boat"], "`search` has no command `boat`."),
        (["fact", "conform"], "There is no command `conform`. Did you mean `confirm`?"),
    ],
    ids=" ".join,
)
def test_help_of_an_unknown_command_names_one_that_is_meant(
    outside: Outside, words: list[str], reason: str
) -> None:
    done = outside.bare(*words)

    assert done.code == 2
    assert reason in done.err
