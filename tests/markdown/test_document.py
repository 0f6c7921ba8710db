"""A note is bytes: what is parsed is given back, whatever the bytes are."""

from hypothesis import example, given
from hypothesis import strategies as st

from vault_memory.markdown import chunk, parse, render

FRAGMENTS = [
    *[b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x0c", b"\t", b"  "],
    *[b"## A", b"B", b"---", b"===", b"- a", b"```", b"> ", b"...", b"title: x", b"[a]: b", b"<!--", b"-->"],
]
ANY_BYTES = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(FRAGMENTS), max_size=14).map(b"".join))


@given(ANY_BYTES)
@example(b"")
@example(b"\xef\xbb\xbf## BOM\n")
@example(b"\xef\xbb\xbf")
@example(b"## A\r## B\r\n## C\n\r")
@example(b"## \xff\xfe\0\n- \0")
@example("## A\u2028## B\x0c\n## C".encode())
@example(b"---\n## A\n---\n## B")
def test_render_gives_back_every_byte_that_parse_was_given(raw: bytes) -> None:
    assert render(parse(raw)) == raw


@given(ANY_BYTES)
def test_chunk_takes_any_bytes(raw: bytes) -> None:
    chunk(raw)
