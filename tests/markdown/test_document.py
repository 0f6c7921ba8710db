"""A note is bytes: what is parsed is given back, and sections are where CommonMark sees them."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.every import every
from tests.markdown.shapes import notes, random_note
from vault_memory.markdown import document as document_module
from vault_memory.markdown.document import Section, SectionedDoc, parse, parse_main, render

FRAGMENTS = [
    *[
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\x0c",
        b"\t",
        b"  ",
    ],
    *[
        b"## A",
        b"B",
        b"---",
        b"===",
        b"- a",
        b"```",
        b"> ",
        b"...",
        b"title: x",
        b"[a]: b",
        b"<!--",
        b"-->",
    ],
]
ANY_BYTES = st.one_of(
    st.binary(max_size=200), st.lists(st.sampled_from(FRAGMENTS), max_size=14).map(b"".join)
)


@given(ANY_BYTES)
@example(b"")
@example(b"\xef\xbb\xbf## BOM\n")
@example(b"\xef\xbb\xbf")
@example(b"## A\r## B\r\n## C\n\r")
@example(b"## \xff\xfe\0\n- \0")
@example("## A\u2028## B\x0c\n## C".encode())
@example(b"---\n## A\n---\n## B")
@example("## A\n".encode("utf-16"))
def test_render_returns_every_byte_that_was_parsed(raw: bytes) -> None:
    assert render(parse(raw)) == raw


@cache
def commonmark() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def names_and_lines(text: str) -> list[tuple[str, int]]:
    """The sections as markdown-it-py sees them, told by name and by the number of their first line."""
    tokens = commonmark().parse(text)
    return [
        (" ".join(inline.content.split()), heading.map[0])
        for heading, inline in pairwise(tokens)
        if heading.type == "heading_open" and heading.level == 0 and heading.map
    ]


def names_and_lines_of(doc: SectionedDoc) -> list[tuple[str, int]]:
    opening = doc.sections[0]
    assert (opening.name, opening.heading, opening.level) == ("", b"", 0)
    found, above = [], doc.preamble + opening.body
    for section in doc.sections[1:]:
        found.append(
            (
                section.name,
                len(above.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")) - 1,
            )
        )
        above += section.heading + section.body
    return found


@given(
    notes,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "---\na: b\n---\n", "---\na\n...\n"]),
)
@example("# a\nb\n\n## c\n```\n## d", "\r", "")
def test_sections_are_the_top_level_headings_of_markdown_it(
    note: str, line_end: str, front: str
) -> None:
    body = "\n" + note  # so that the note itself does not begin with front matter
    raw = (front + body).replace("\n", line_end).encode()

    expected = [(name, line + front.count("\n")) for name, line in names_and_lines(body)]
    assert names_and_lines_of(parse(raw)) == expected


def test_a_plain_note_is_split_into_its_sections() -> None:
    assert parse(b"# T\nhi\n## A ##\r\n- x\nB\nb\n---\nend").sections == (
        Section("", b"", b"", 0),
        Section("T", b"# T\n", b"hi\n", 1),
        Section("A", b"## A ##\r\n", b"- x\nB\nb\n---\nend"),
    )
    doc = parse(b"hi\n\n## A ##\r\n- x\n\nB\nb\n---\nend\n#### D")
    assert [(s.name, s.heading, s.body) for s in doc.sections] == [
        ("", b"", b"hi\n\n"),
        ("A", b"## A ##\r\n", b"- x\n\n"),
        ("B b", b"B\nb\n---\n", b"end\n"),
        ("D", b"#### D", b""),
    ]
    assert doc.preamble == b""


@every("raw", [b"", b"text", b"- item\n", b"\xef\xbb\xbf---\na: b\n---\n- item", b"---\n---"])
def test_a_note_without_a_heading_is_an_opening(raw: bytes) -> None:
    doc = parse(raw)

    assert [section.name for section in doc.sections] == [""]
    assert doc.headings == ()
    assert render(doc) == raw


def test_a_main_section_has_all_that_is_below_it() -> None:
    raw = b"\xef\xbb\xbfhi\n# T\n### c\n## A\n- x\n### B\n- y\n# U\n- u\n## C\n"
    doc = parse_main(raw)

    assert doc.preamble == b"\xef\xbb\xbfhi\n# T\n### c\n"
    assert [(s.name, s.body) for s in doc.sections] == [
        ("A", b"- x\n### B\n- y\n# U\n- u\n"),
        ("C", b""),
    ]
    assert render(doc) == raw
    assert parse_main(b"# T\n- x\n") == SectionedDoc(b"# T\n- x\n", ())


@every("sign", ["%%", "$$"])
@every(
    ("text", "names"),
    [
        ("S\n## A\nS\n## B\n", ["B"]),
        ("S\n\n# A\n\ntext\n\n### C\n\nS\n\n## B\n", ["B"]),
        ("text\nS\n## A\nS\n## B\n", ["B"]),
        ("S kanban:settings\n```\n## A\n```\nS\n## B", ["B"]),
        ("## B\nS\n## A\ntext S\n", ["B"]),
        ("- item\nS\n## A\nS\n\n## B\n", ["B"]),
        ("S one line S\n## A\n", ["A"]),
        ("S never closed\n## A\n", ["A"]),
        ("100 S of it\n## A\nS\n", ["A"]),
        ("```\nS\n```\n## A\n```\nS\n```\n", ["A"]),
        ("S\r\n## A\r\nS\r\n## B\r\n", ["B"]),
    ],
)
def test_a_heading_in_a_comment_or_a_formula_is_none(
    text: str, names: list[str], sign: str
) -> None:
    raw = text.replace("S", sign).encode()
    doc = parse(raw)

    assert list(doc.headings) == names
    assert render(doc) == raw


@every(
    ("raw", "names"),
    [
        (b"\xef\xbb\xbf## A\n", ["A"]),
        (b"\xef\xbb\xbf---\nt: x\n---\n## A\n", ["A"]),
        (b"---\nt: x\n---\n", []),
        (b"# A\n### B\n###### C\n####### D\n", ["A", "B", "C"]),
        (b"A\n===\n", ["A"]),
        (b"---\nt: x\n...\n## A\n", ["A"]),
        (b"---\n## t: x\n---\n## A\n", ["A"]),
        (b"---  \r\nt: x\r\n--- \r\n## A\r\n", ["A"]),
        (b"---\r## t\r---\r## A", ["A"]),
        (b"---\nt: x\n## A\n", ["A"]),
        (b"----\nt: x\n---\n", ["t: x"]),
        (b" ---\nt: x\n---\n", ["t: x"]),
        (b"\n---\nt: x\n---\n", ["t: x"]),
        (b"```\n## A\n```\n", []),
        (b"<!--\n## A\n-->\n", []),
        (b"- a\n\n  ## A\n", []),
        (b"> ## A\n", []),
        (b"    ## A\n", []),
        (b"   ## A\n", ["A"]),
        (b"##\n", [""]),
        (b"##A\n", []),
        ("## 日本 ##  \n".encode(), ["日本"]),
        ("##\u00a0A\n".encode(), []),
        ("## A\u2028B\n".encode(), ["A B"]),
        (b"## A\x0cB\n", ["A B"]),
        (b"a\n## \xffb", ["ÿb"]),
    ],
)
def test_only_real_headings_start_a_section(raw: bytes, names: list[str]) -> None:
    doc = parse(raw)

    assert list(doc.headings) == names
    assert render(doc) == raw


def test_sections_after_a_deep_list_are_recognised() -> None:
    for depth in (5, 15, 27):
        outline = "\n".join("  " * level + "- x" for level in range(depth))

        assert parse(f"{outline}\n\n## A\n".encode()).headings == ("A",)


def test_a_bom_stays_before_the_first_section() -> None:
    doc = parse(b"\xef\xbb\xbf## A\n- x\n")

    assert (doc.preamble, doc.sections[1].heading) == (b"\xef\xbb\xbf", b"## A\n")


def lines_of_text(raw: bytes) -> list[int]:
    """Broken: counts the lines that Python sees, form feeds and U+2028 included."""
    starts = [0]
    for line in raw.decode("utf-8", "replace").splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    return [*starts, len(raw)]


def lines_without_the_last(raw: bytes) -> list[int]:
    starts = WHOLE(raw)
    return [*starts[:-1], starts[-2]]


def lines_ending_in_newlines_only(raw: bytes) -> list[int]:
    return [0, *(at + 1 for at, byte in enumerate(raw) if byte == 10), len(raw)]


WHOLE = document_module.line_starts
RANDOMS = [Random(seed) for seed in range(50)]


@pytest.mark.parametrize(
    "broken", [lines_of_text, lines_without_the_last, lines_ending_in_newlines_only]
)
def test_broken_line_counting_is_detected(
    broken: Callable[[bytes], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_module, "line_starts", broken)

    assert any(is_wrong(f"a\u2028b\x0c\r\n{note}\r## x") for note in map(random_note, RANDOMS))


def is_wrong(note: str) -> bool:
    try:
        doc = parse(note.encode())
    except IndexError:
        return True
    if not all(section.heading.strip() for section in doc.sections[1:]):
        return True
    return render(doc) != note.encode() or names_and_lines_of(doc) != names_and_lines(note)
