"""What search leaves out of a note: navigation, comments, queries and settings of editors."""

from tests.every import every
from vault_memory.markdown.chunking.chunk_text import embed_text
from vault_memory.markdown.chunking.chunker import chunk


def texts(note: str) -> list[str]:
    return [entry.text for entry in chunk(note.encode())]


@every(
    "hidden",
    [
        "[[Home]]",
        "← [[Monday]] | [[Wednesday]] →",
        "up:: [[Home]]",
        "- [[A]]\n- [[B|b]]\n  - [[C#d]]",
        "1. [A](a.md)\n2. [B](b.md)",
        "![[photo.png]]",
        "[boat]: ../boats/boat.md",
        "[a]: a.md 'A'\n[b c]: b.md \"B C\"",
        "%% a note to myself %%",
        "%%\nlong\n\nmore\n\n```js\nx\n```\n%%",
        "```dataview\nLIST FROM #boat\n```",
        "~~~ tasks\nnot done\n~~~",
        '%% kanban:settings\n```\n{"kanban-plugin":"basic"}\n```\n%%',
    ],
)
def test_what_no_reader_looks_for_is_not_a_hit(hidden):
    assert texts(f"before\n\n{hidden}\n\nafter\n") == ["before", "after"]


@every(
    "text",
    [
        "see [[Home]] for more",
        "[the harbour](https://example.org/)",
        "- [ ] call [[Ann]]",
        "[harbour]: https://example.org/",
        "[note]: the boat is late",
        "50%% of the boats, 60%% of the nets",
        "```matlab\n%% first cell\n```",
        "```\nLIST\n```",
        "%% never closed",
        "[[Broken",
    ],
)
def test_text_that_looks_similar_is_found(text):
    assert texts(f"before\n\n{text}\n\nafter\n") == ["before", text, "after"]


def test_settings_in_front_matter_are_not_a_hit():
    assert texts("---\nkanban-plugin: board\ncssclass: wide\n---\ntext") == ["text"]
    assert len(texts("---\nkanban-plugin: board\nowner: ann\n---\ntext")) == 2


@every(
    ("front", "expected"),
    [
        ("tags: [boat, lake]", []),
        ("tags:\n  - boat\n  - lake\ndate: 2026-03-10", []),
        ("Tags:\n- boat\ncreated: 2026-03-10\nid: 20260310", []),
        ("title: The boat\naliases: [hull]\ntags: lake", ["title: The boat\naliases: [hull]"]),
        ("born: 1980-05-03\ntags: [a]\ncity: Porto", ["born: 1980-05-03", "city: Porto"]),
        ("summary: |\n  about tags: and\n  dates", ["summary: |\n  about tags: and\n  dates"]),
        ("created by: ann", ["created by: ann"]),
    ],
)
def test_of_front_matter_only_what_says_something_is_a_hit(front, expected):
    assert texts(f"---\n{front}\n---\ntext\n") == [*expected, "text"]


def test_lines_of_front_matter_keep_their_numbers():
    chunks = chunk(b"---\ntags: x\ncity: Porto\ndate: 2026-03-10\nowner: ann\n---\ntext")

    assert [(entry.first_line, entry.last_line) for entry in chunks] == [(3, 3), (5, 5), (7, 7)]


def test_of_a_drawing_only_its_texts_are_found():
    drawing = (
        "---\nexcalidraw-plugin: parsed\n---\n==⚠  Switch to EXCALIDRAW VIEW ==\n\n"
        "# Text Elements\nthe old pier ^a1\n\n# Embedded Files\nabc: [[p.png]] x\n\n"
        "# Drawing\n```compressed-json\nN4IgLgngDgpiBcIYA8DGBDANgSwCYCd0B3\n```\n"
    )

    assert [text for text in texts(drawing) if "pier" not in text] == []
    assert any("pier" in text for text in texts(drawing))


def test_a_comment_within_a_text_is_shown_and_not_searched():
    [only] = chunk(b"the pier %%secret%% is old")

    assert only.text == "the pier %%secret%% is old"
    assert "secret" not in embed_text(only.heading, only.who, only.text)


def test_a_long_note_with_comments_is_cut_like_a_new_one():
    lines = [f"line {number}\n" for number in range(900)]
    note = "\n".join(lines)
    commented = note.replace("line 100\n", "%%\n").replace("line 200\n", "%%\n")

    assert texts(note)
    assert "line 150" not in texts(commented)
    assert "line 150" in texts(note)
    assert "line 250" in texts(commented)
