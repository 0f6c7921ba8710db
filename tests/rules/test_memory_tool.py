"""Names below `/memories` lead nowhere else, and notes are shown as the memory tool shows files."""

import pytest

from tests.every import every
from vault_memory.errors import BadPath
from vault_memory.rules import memory_tool


@every(
    ("path", "name"),
    [
        ("/memories", ""),
        ("/memories/", ""),
        ("/memories/a.md", "a.md"),
        ("/memories/a/b.txt/", "a/b.txt"),
        ("/memories/100%.md", "100%.md"),
        ("/memories/\u00c4pfel.md", "\u00c4pfel.md"),
    ],
)
def test_a_path_is_read_below_the_folder(path: str, name: str) -> None:
    assert memory_tool.relative(path) == name


@every(
    ("path", "reason"),
    [
        ("memories/a", "does not begin with"),
        ("/memoriesx/a", "does not begin with"),
        ("/memories/../a", "contains '..'"),
        ("/memories/a/%2e%2e/b", "contains '..'"),
        ("/memories/a/%252e%252e/b", "contains '..'"),
        ("/memories/a%2fb", "could lead elsewhere"),
        ("/memories/.hidden", "could lead elsewhere"),
        ("/memories/a/.hidden", "could lead elsewhere"),
        ("/memories/a\uff0fb", "could lead elsewhere"),
        ("/memories/a\u2215b", "looks like a slash"),
        ("/memories/a//b", "a part of it is empty"),
        ("/memories//a", "it is absolute"),
        ("/memories/a\\b", "backslash"),
        ("/memories/%" + "25" * 8 + "41", "encoded again and again"),
        ("/memories/" + "a" * (memory_tool.LONGEST_PATH + 1), "too long"),
    ],
)
def test_a_path_that_leads_elsewhere_in_any_spelling_is_refused(path: str, reason: str) -> None:
    with pytest.raises(BadPath, match=reason):
        memory_tool.relative(path)


def test_the_longest_path_is_taken() -> None:
    name = "a/" * (memory_tool.LONGEST_PATH // 2 - 1) + "ab"

    assert memory_tool.relative(f"/memories/{name}") == name


@every(
    ("name", "reason"),
    [
        ("a.jsonl", "logs are named so"),
        ("a/" * memory_tool.DEEPEST + "b", "folders deep"),
        ("a" * (memory_tool.LONGEST + 1), "too long"),
        ("CON.md", "reserved"),
        ("a?.md", "Windows"),
    ],
)
def test_a_name_that_no_new_note_should_have_is_refused(name: str, reason: str) -> None:
    with pytest.raises(BadPath, match=reason):
        memory_tool.check_new(name)


def test_other_names_are_taken_up_to_the_limits() -> None:
    for name in ("a/" * (memory_tool.DEEPEST - 1) + "b", "a" * memory_tool.LONGEST, "a.json"):
        memory_tool.check_new(name)


@every(
    ("name", "note"),
    [("todo.txt", "todo.txt.md"), ("a.md", "a.md"), ("a", "a.md"), ("x/y.PY", "x/y.PY.md")],
)
def test_a_file_is_stored_as_a_note(name: str, note: str) -> None:
    assert memory_tool.note_name(name) == note


@every(
    ("note", "shown"),
    [
        ("todo.txt.md", "todo.txt"),
        ("x/y.PY.md", "x/y.PY"),
        ("a.md", "a.md"),
        ("v1.2.md", "v1.2.md"),
        (".txt.md", ".txt.md"),
        ("a/.txt.md", "a/.txt.md"),
    ],
)
def test_a_note_is_shown_under_the_name_of_the_file(note: str, shown: str) -> None:
    assert memory_tool.shown_name(note) == shown


@every(
    ("view_range", "rows"),
    [
        (None, ["     1\ta", "     2\tb", "     3\tc"]),
        ([2, -1], ["     2\tb", "     3\tc"]),
        ([2, 2], ["     2\tb"]),
        ([0, 1], ["     1\ta"]),
        ([3, 9], ["     3\tc"]),
        ([2, 0], [""]),
    ],
)
def test_lines_are_shown_with_their_numbers(view_range: list[int] | None, rows: list[str]) -> None:
    head, *shown = memory_tool.content("/memories/x", ["a", "b", "c"], view_range).split("\n")

    assert head == "Here's the content of /memories/x with line numbers:"
    assert shown == rows


def test_a_snippet_has_two_lines_around_the_changed_one() -> None:
    text = "\n".join("abcdefg")

    assert [row[-1] for row in memory_tool.snippet(text, 3).split("\n")] == list("bcdef")
    assert memory_tool.snippet(text, 0) == "     1\ta\n     2\tb\n     3\tc"
    assert memory_tool.snippet(text, 6) == "     5\te\n     6\tf\n     7\tg"


def test_a_folder_is_listed_two_levels_deep_with_sizes() -> None:
    files = {
        "z.md": 512,
        "a/b.md": 1024,
        "a/c/d.md": 1536,
        "a/c/e/f.md": 2,
        "node_modules/x.js": 3,
        "a-b.md": 0,
    }

    head, *rows = memory_tool.listing("/memories/", files).split("\n")

    assert "up to 2 levels deep in /memories, excluding" in head
    assert rows == [
        "3.0K\t/memories",
        "2.5K\t/memories/a/",
        "1K\t/memories/a/b.md",
        "1.5K\t/memories/a/c/",
        "0B\t/memories/a-b.md",
        "512B\t/memories/z.md",
    ]


@every(
    ("size", "shown"),
    [(1023, "1023B"), (1024, "1K"), (1536, "1.5K"), (1024**2, "1M"), (5 * 1024**4, "5120G")],
)
def test_a_size_is_written_for_people(size: int, shown: str) -> None:
    assert f"\n{shown}\t/memories/a.md" in memory_tool.listing("/memories", {"a.md": size})
