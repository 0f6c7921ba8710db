"""Notes that are no UTF-8 are read as their programs meant them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.markdown.blocks.outline import decode
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.encodings import as_utf8, encoding_of, in_encoding_of, text_of

TEXT = "# Küche\n\n- Müller kocht für 5 €\n- „Grüße“ – bald\n"
ENCODED = {
    "": TEXT.encode(),
    "UTF-16": TEXT.encode("utf-16"),
    "Windows-1252": TEXT.encode("cp1252"),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_each_encoding_is_recognised_and_read(encoding: str):
    raw = ENCODED[encoding]
    assert encoding_of(raw) == encoding
    assert text_of(raw) == TEXT
    assert as_utf8(raw) == TEXT.encode()


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_utf16_is_written_back_in_its_byte_order(name: str):
    raw = f"\ufeff{TEXT}".encode(name)
    assert text_of(raw) == TEXT
    assert in_encoding_of(raw, as_utf8(raw)) == raw


def test_a_mark_of_utf8_is_no_other_encoding():
    raw = b"\xef\xbb\xbf" + TEXT.encode()
    assert encoding_of(raw) == ""
    assert as_utf8(raw) is raw


def test_lines_of_two_programs_are_read_as_both_meant_them():
    assert text_of("für\n".encode() + "Müller\n".encode("cp1252")) == "für\nMüller\n"


def test_a_byte_that_windows_1252_does_not_define_is_read_too():
    assert text_of(b"a\x81b\xff") == "a\x81bÿ"


@pytest.mark.sampled
@given(st.text(alphabet=st.characters(codec="cp1252", exclude_characters="\r")))
def test_any_latin_text_is_read(text: str):
    raw = text.encode("cp1252")
    # Two letters such as `Ã¼` are UTF-8 by chance.
    if encoding_of(raw):
        assert len(decode(raw)) == len(text.split("\n"))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_note_that_is_rendered_as_it_was(raw: bytes):
    assert encoding_of(as_utf8(raw)) == ""
    assert text_of(as_utf8(raw)).encode("utf-8", "replace") == as_utf8(raw)
    assert render(parse(raw)) == raw
