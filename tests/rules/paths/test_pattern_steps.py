"""A pattern of several variable parts means what its regular expression means, in few steps."""

import re

from tests.every import every
from vault_memory.rules.paths import globs, pattern_steps

NAME = rf"(?!\.){globs.LETTER}+"
EXPRESSIONS = {
    "user": re.compile(rf"(?P<user>{NAME})"),
    "name": re.compile(rf"(?P<name>{NAME})"),
    "path": re.compile(rf"(?P<path>(?:{NAME}/)*{NAME})"),
    "date": re.compile(r"(?P<date>\d{4}-\d\d(?:-\d\d)?)"),
}
GLOBS = {"*": f"{globs.LETTER}*", "**/": f"(?:(?!\\.){globs.LETTER}+/)*"}


def tokens_of(pattern: str) -> list[tuple[str, str]]:
    """Literals, globs and captures, each by itself."""
    parts = re.findall(r"\{(\w+)\}|(\*\*/|\*|[^*{]+)", pattern)
    return [(literal, capture) for capture, literal in parts]


def captured(pattern: str, path: str) -> dict[str, str] | None:
    tokens = tokens_of(pattern)
    expressions = {
        index: EXPRESSIONS[capture] for index, (_, capture) in enumerate(tokens) if capture
    }
    texts = pattern_steps.match(pattern_steps.steps_of(tokens, expressions), path)
    return None if texts is None else pattern_steps.groups(texts, expressions)


def captured_by_expression(pattern: str, path: str) -> dict[str, str] | None:
    expression = "".join(
        EXPRESSIONS[capture].pattern if capture else GLOBS.get(literal, re.escape(literal))
        for literal, capture in tokens_of(pattern)
    )
    match = re.fullmatch(expression, path)
    return match.groupdict() if match else None


PATTERNS = [
    "{user}/{name}.md",
    "{user}-{name}.md",
    "a/{path}/{name}.md",
    "{path}.md",
    "**/{name}.md",
    "**/a*/{user}/*.md",
    "{user}/**/{date}*.md",
    "{date}{name}.md",
    "a*b*c.md",
    "{path}/**/{user}_{name}.md",
]
PATHS = [
    "a/b.md",
    "a-b-c.md",
    "-a.md",
    "a/b/c/d.md",
    "a//b.md",
    "a/.b/c.md",
    ".a/b.md",
    "x/a1/ann/n.md",
    "a1/ann/n.md",
    "ann/2026-04-01.md",
    "ann/x/y/2026-04.md",
    "2026-04-01.md",
    "2026-041.md",
    "axbyc.md",
    "abcbc.md",
    "abc.md.md",
    "a/b/c_d_e.md",
    "a/b/_.md",
    "",
]


@every("pattern", PATTERNS)
def test_the_steps_capture_what_the_expression_captures(pattern: str) -> None:
    matched = 0
    for path in PATHS:
        expected = captured_by_expression(pattern, path)
        matched += expected is not None
        assert captured(pattern, path) == expected, path
    assert matched


def test_a_star_at_the_start_of_a_name_passes_over_hidden_files() -> None:
    assert captured("{user}/*.md", "ann/.b.md") is None
    assert captured("{user}/a*.md", "ann/a.b.md") == {"user": "ann"}


def test_a_path_with_a_name_that_no_file_system_has_matches_nothing() -> None:
    longest = "a" * (pattern_steps.LONGEST_NAME - len(".md"))

    assert captured("{path}.md", f"x/{longest}.md") is not None
    assert captured("{path}.md", f"x/{longest}a.md") is None


def test_a_path_that_almost_matches_is_refused_without_trying_each_division() -> None:
    """An expression goes back into each of these twelve variables for each one behind it."""
    pattern = "-".join(["{name}", *["*"] * 11]) + ".md"

    assert captured(pattern, "-a" * 120 + ".mx") is None
