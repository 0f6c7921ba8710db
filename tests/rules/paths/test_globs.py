"""Globs match what they say, within limits and in steps that grow with the length of a path."""

import re
from collections.abc import Callable
from time import process_time_ns

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from vault_memory.errors import ConfigError, UsageError
from vault_memory.rules.paths import globs
from vault_memory.rules.paths.layout import Layout, Pattern
from vault_memory.search import filter_values
from vault_memory.sync.plan import sync_exclusions

LETTERS = "ab."
names = st.text(LETTERS, min_size=1, max_size=4)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
glob_names = st.text(LETTERS + "*", min_size=1, max_size=4).filter(lambda name: "**" not in name)
glob_parts = st.one_of(glob_names, st.just("**"))
any_globs = st.lists(glob_parts, min_size=1, max_size=4).map("/".join)


def backtracking(glob: str, *, hidden: bool) -> "re.Pattern[str]":
    """The same meaning as one expression, which is right, and slow for long names."""
    letter = "[^/]" if hidden else globs.LETTER
    first = "" if hidden else globs.NOT_HIDDEN
    trimmed = glob if "/" in glob else f"**/{glob}"
    tail = ""
    while trimmed.endswith("/**"):
        trimmed = trimmed.removesuffix("/**")
        tail = "/.*" if hidden else "(?:/.*)?"
    if trimmed == "**":
        return re.compile("(?s).*")
    marked = re.sub(r"(^|/)\*(?!\*)", r"\1\0", trimmed)
    wild = {"**/": f"(?:{first}{letter}+/)*", "\0": f"{first}{letter}*", "*": f"{letter}*"}
    tokens = re.split(r"(\*\*/|\0|\*)", marked)
    body = "".join(wild.get(token) or re.escape(token) for token in tokens)
    return re.compile(f"(?s){body}{tail or '(?:/.*)?'}")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("matcher", "hidden"), [(globs.matcher, False), (globs.file_matcher, True)]
)
@settings(max_examples=cases(400), deadline=None)
@given(glob=any_globs, path=paths)
@example(glob="*a*b", path="aabab")
@example(glob="**/a/**/b", path="a/a/b/a/b")
@example(glob="**/.a/**/b", path=".a/.a/b")
@example(glob="a/**/**/b", path="a/b")
@example(glob="*a*/b", path="ba/b/a")
def test_a_glob_matches_the_same_paths_as_an_expression_that_goes_back(
    matcher: Callable[[list[str]], Callable[[str], bool]], hidden: bool, glob: str, path: str
) -> None:
    expected = backtracking(glob, hidden=hidden).fullmatch(path) is not None

    assert matcher([glob])(path) == expected


HOSTILE = {
    "stars before a letter that is missing": ("*a" * 7 + "*b", "a"),
    "stars between letters": ("a*" * 8 + "b", "a"),
    "any folders": ("**/a/" * 8 + "b", "a/"),
    "any folders, each with a star": ("**/*a/" * 4 + "b", "aa/"),
    "folders and stars in turns": ("*a*/**/" * 2 + "*a*b", "aa/a"),
    "stars beside each other in a path": ("*/" * 7 + "*b", "a/"),
}


def cpu_of(call: Callable[[], object]) -> int:
    """The fewest CPU nanoseconds of a few calls."""
    times = []
    for _ in range(5):
        start = process_time_ns()
        for _ in range(20):
            call()
        times.append(process_time_ns() - start)
    return min(times)


@pytest.mark.sampled
@every("matcher", [globs.matcher, globs.file_matcher])
@every(("glob", "letters"), HOSTILE.values(), ids=HOSTILE)
def test_a_path_of_twice_the_length_takes_about_twice_the_steps(
    matcher: Callable[[list[str]], Callable[[str], bool]], glob: str, letters: str
) -> None:
    assert globs.problem_of(glob) == ""
    matches = matcher([glob])
    shorter = letters * (4000 // len(letters)) + "x"
    longer = letters * (16000 // len(letters)) + "x"

    growth = cpu_of(lambda: matches(longer)) / cpu_of(lambda: matches(shorter))

    # Steps that grow with the square take 16 times as long.
    assert growth < 10
    assert not matches(longer)


PATTERNS = {
    "stars": "*a*a*a*a*a*a*a*b/{name}.md",
    "stars around captures": "*a*{user}*a*{channel}*a*{name}*a*b.md",
    "captures side by side": "{user}a{bot}a{channel}a{group}a{name}a{date}b.md",
    "any folders": "**/a/**/a/**/a/**/{user}/**/{path}/b.md",
    "a date between stars": "*{date:YYYY-M-D}*a*b.md",
    "months between stars": "*{date:YYYYMMMMD}*a*b.md",
}


@every("pattern", PATTERNS.values(), ids=PATTERNS)
@every("path", ["a" * 252, "a" * 250 + "/a", "aa/" * 80 + "a", "2026-1-1" * 31, "2026May1" * 31])
def test_a_pattern_of_a_layout_reads_no_step_twice(pattern: str, path: str) -> None:
    layout = Layout([Pattern(pattern, "note", "group:x")])
    plain = Layout([Pattern("{path}.md", "note", "group:x")])
    name = f"{path}.md"

    growth = cpu_of_place(layout, name) / max(cpu_of_place(plain, name), 1)

    # Steps that are tried again take longer by more than a million.
    assert growth < 20_000


def cpu_of_place(layout: Layout, path: str) -> int:
    start = process_time_ns()
    layout.place(path)
    return process_time_ns() - start


layout_texts = st.lists(
    st.sampled_from(["a", "b", "-", "/", "/", "*", "{user}", "{name}", "{path}", "**/"]),
    min_size=1,
    max_size=7,
).map(lambda texts: "".join(texts) + ".md")


def is_valid(pattern: str) -> bool:
    try:
        Layout([Pattern(pattern, "note", "group:x")])
    except ConfigError:
        return False
    return "//" not in pattern


def greedy(pattern: str) -> "re.Pattern[str]":
    name = r"(?!\.)[^/]+"
    captures = {
        "{user}": f"(?P<user>{name})",
        "{name}": f"(?P<name>{name})",
        "{path}": f"(?P<path>(?:{name}/)*{name})",
        "**/": f"(?:{name}/)*",
        "\0": r"(?!\.)[^/]*",
        "*": "[^/]*",
    }
    marked = re.sub(r"(^|/)\*(?!\*)", r"\1\0", pattern)
    tokens = re.split(r"(\{\w+\}|\*\*/|\0|\*)", marked)
    return re.compile("".join(captures.get(token) or re.escape(token) for token in tokens))


@settings(max_examples=cases(400), deadline=None)
@given(
    pattern=layout_texts.filter(is_valid),
    path=st.lists(st.text("ab-.", min_size=1, max_size=5), min_size=1, max_size=4),
)
@example(pattern="{user}-{name}.md", path=["a-b-c"])
@example(pattern="*-{user}*.md", path=["a-b-c"])
@example(pattern="**/{user}/**/{name}.md", path=["a", "b", "c"])
@example(pattern="{path}-{name}.md", path=["a-b", "c-d-"])
def test_captures_beside_stars_take_as_much_as_those_of_an_expression(
    pattern: str, path: list[str]
) -> None:
    name = "/".join(path) + ".md"
    expected = greedy(pattern).fullmatch(name)
    scope = "user:{user}" if "{user}" in pattern else "group:own"

    place = Layout([Pattern(pattern, "note", scope)]).place(name)

    claimed = place is not None and place.scope not in ("group:main", "user:main")
    if expected is None or path[-1].startswith("."):
        assert not claimed
    elif claimed and "{user}" in pattern:
        assert place is not None
        assert place.scope == f"user:{expected['user']}"


LIMITS = {
    "letters": ("a" * 201, "201 letters; a glob has at most 200"),
    "stars": ("*a" * 9, "9 stars; a glob has at most 8"),
    "any folders": ("**/" * 20 + "a", "20 stars"),
    "two stars in a name": ("a/b**", "`**` is a part of its own"),
    "nothing": ("/", "it is empty"),
}


@every(("glob", "reason"), LIMITS.values(), ids=LIMITS)
def test_a_glob_over_a_limit_is_refused_with_the_limit(glob: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(reason)):
        Layout(exclude=[glob])
    if glob != "/":
        with pytest.raises(UsageError, match=re.escape(reason)):
            filter_values.paths([glob], "paths")


def test_more_than_sixteen_globs_are_refused() -> None:
    many = [f"a{number}" for number in range(17)]

    assert filter_values.paths(many[:16], "paths") == tuple(many[:16])
    with pytest.raises(UsageError, match="there are 17 globs; at most 16"):
        filter_values.paths(many, "paths")
    with pytest.raises(ConfigError, match="there are 17 globs; at most 16"):
        Layout(exclude=many)


def test_a_pattern_of_a_layout_has_the_limits_of_a_glob() -> None:
    with pytest.raises(ConfigError, match="9 stars"):
        Layout([Pattern("*a" * 9 + "/{name}.md", "note", "group:x")])


def test_a_path_longer_than_any_on_a_disk_has_no_place() -> None:
    layout = Layout([Pattern("**/{path}.md", "note", "group:x")])

    assert layout.place("a/" * 2000 + "a.md") is not None
    assert layout.place("a/" * 3000 + "a.md") is None


@pytest.mark.parametrize("pattern", ["memory/*.md", "?.md", "/memory/"])
def test_the_patterns_of_sync_keep_their_marks(pattern: str) -> None:
    path = {"?.md": "x/a.md", "/memory/": "memory/b.md"}.get(pattern, "memory/a.md")

    assert sync_exclusions.matches(path, [pattern])
    assert not sync_exclusions.matches("other/bb.txt", [pattern])
