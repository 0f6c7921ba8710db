"""A note goes through a text field of a browser, as the HTML standard says, and comes back byte for byte."""

import html
import re
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import few
from vault_memory import UsageError
from vault_memory.addons.page.forms import bytes_of, form_text

ENDS = ("\n", "\r\n")
MARK = "\N{BYTE ORDER MARK}"
WORDS = st.sampled_from(
    [
        "",
        "# Me",
        "- green",
        "- white",
        "茶を飲む",
        "🦑 and 𠮷",
        "e\u0301 a\u00a0b",
        "a\u2028b\u0085c\x0bd\x0ce",
        "</textarea>&amp;&#13;&lt;",
        " indented \t",
        MARK,
    ]
)
LINES = st.one_of(WORDS, st.text(st.characters(exclude_characters="\r\n\0"), max_size=9))
LINES = LINES.filter(lambda line: line.isascii() or _is_text(line))


def _is_text(line: str) -> bool:
    return line == line.encode(errors="replace").decode()


@st.composite
def notes(draw: st.DrawFn) -> bytes:
    """UTF-8 notes with LF, CRLF or both, with and without a mark, a last newline, first blank lines."""
    kinds = draw(st.sampled_from([ENDS[:1], ENDS[1:], ENDS]))
    lines = draw(st.lists(LINES, max_size=12))
    text = "\n" * draw(st.integers(0, 2))
    text += "".join(line + draw(st.sampled_from(kinds)) for line in lines)
    if draw(st.booleans()):
        text += draw(LINES)
    if draw(st.booleans()):
        text = MARK + text
    return text.encode()


def shown(raw: bytes) -> str:
    """The value of a text field as a browser parses it from the page."""
    source = f"<textarea>{html.escape(form_text(raw))}</textarea>"
    # 13.2.3.5: the preprocessor of the input makes one newline of each CR and CRLF.
    source = re.sub("\r\n?", "\n", source)
    inner = source.removeprefix("<textarea>").removesuffix("</textarea>")
    # 13.2.6.4.7: a newline right after the start tag is dropped.
    return html.unescape(inner.removeprefix("\n"))


def posted(value: str) -> str:
    """What the server gets when a form with this value is submitted."""
    # 4.10.11: a script, or a paste, may leave a CR; the API value has none.
    value = re.sub("\r\n?", "\n", value)
    # 4.10.21.4: each newline becomes CRLF in the entry list.
    entry = value.replace("\n", "\r\n")
    body = urlencode({"text": entry}).encode()
    [received] = parse_qs(body.decode(), keep_blank_values=True)["text"]
    return received


@settings(max_examples=few(2000), deadline=None)
@given(notes())
@example(b"")
@example(b"\n")
@example(b"\r\n\r\n")
@example(b"\n\n# Me\n")
@example(b"\xef\xbb\xbf\n- a\r\n")
@example(b"\xef\xbb\xbf\xef\xbb\xbf- a")
def test_an_untouched_note_keeps_every_byte(raw: bytes) -> None:
    assert bytes_of(posted(shown(raw)), raw) == raw


@settings(max_examples=few(2000), deadline=None)
@given(notes(), st.data())
def test_one_typed_line_changes_that_line_alone(raw: bytes, data: st.DataObject) -> None:
    value = shown(raw)
    lines = value.split("\n")
    index = data.draw(st.integers(0, len(lines) - 1))
    lines[index] = "- typed 茶 🦑"

    text = bytes_of(posted("\n".join(lines)), raw)

    mark = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
    expected = raw.removeprefix(mark).split(b"\n")
    end = b"\r" if expected[index].endswith(b"\r") else b""
    expected[index] = "- typed 茶 🦑".encode() + end
    assert text == mark + b"\n".join(expected)


@settings(max_examples=few(2000), deadline=None)
@given(notes(), st.data())
def test_lines_that_come_and_go_leave_the_others_their_ends(
    raw: bytes, data: st.DataObject
) -> None:
    lines = [f"{number} {line}" for number, line in enumerate(raw.decode().split("\n"))]
    raw = "\n".join(lines).encode()
    typed = shown(raw).split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(typed)))
        if data.draw(st.booleans()):
            typed.insert(index, "typed")
        else:
            typed[index : index + 1] = []
    value = "\n".join(typed)

    text = bytes_of(posted(value), raw)

    assert re.sub("\r\n?", "\n", text.decode()) == value
    known = set(raw.splitlines(keepends=True))
    kept = [line for line in text.splitlines(keepends=True)[:-1] if line[:1].isdigit()]
    last = raw.split(b"\n")[-1]
    assert all(line in known or line.rstrip(b"\r\n") == last for line in kept)


def test_a_typed_blank_line_at_the_beginning_is_kept() -> None:
    assert bytes_of("\r\n# Me\r\n", b"# Me\n") == b"\n# Me\n"


def test_a_new_line_ends_like_the_line_above() -> None:
    raw = b"- a\r\n- b\n- c\r\n"

    assert bytes_of("- a\r\n- a2\r\n- b\r\n- b2\r\n- c\r\n", raw) == (
        b"- a\r\n- a2\r\n- b\n- b2\n- c\r\n"
    )


def test_a_line_added_at_the_end_keeps_the_last_newline_absent() -> None:
    assert bytes_of("- a\r\n- b\r\n- c", b"- a\r\n- b") == b"- a\r\n- b\r\n- c"
    assert bytes_of("- a\r\n- b\r\n", b"- a\r\n- b") == b"- a\r\n- b\r\n"
    assert bytes_of("- a\r\n- b", b"- a\n- b\n") == b"- a\n- b"


def test_a_new_note_has_plain_newlines() -> None:
    assert bytes_of("# Me\r\n\r\n- a\r\n", b"") == b"# Me\n\n- a\n"


def test_half_a_letter_is_refused() -> None:
    with pytest.raises(UsageError):
        bytes_of("- \ud800", b"- a\n")


def test_a_large_note_of_equal_lines_is_compared_quickly() -> None:
    raw = b"- a\n\r\n" * 40_000
    value = shown(raw).split("\n")
    value[10] = value[-10] = "typed"

    text = bytes_of(posted("\n".join(value)), raw)

    assert len(text) > len(raw)
    assert text.count(b"typed") == 2
