"""A line that breaks, at whichever byte: nothing cut is ever taken for whole, and no write for undone or done."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.remote.wire import DATE, ROOT, XML, answer, line, listing, multistatus, wire
from vault_memory.remote.contract import Fetched
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    OutcomeUnknown,
    RemoteError,
    RemoteUnreachable,
)
from vault_memory.remote.webdav import WebDav

LISTED = listing(ROOT, line("/vault/a.md"), line("/vault/sub/", folder=True))
CHUNKED = (
    f"HTTP/1.1 207 Multi-Status\r\n{XML}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    + b"".join(
        b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (multistatus(ROOT, line("/vault/a.md")),)
    )
    + b"0\r\n\r\n"
)
GOT = answer(200, b"the whole note\n", 'ETag: "t1"', DATE, "Content-Type: text/markdown")
PUT = answer(204, b"", 'ETag: "t2"', DATE)
pytestmark = pytest.mark.scenario("E103")


def remote_on(origin: str, *, deadline: float = 20) -> WebDav:
    return WebDav(f"{origin}/vault", deadline=deadline)


@pytest.mark.sampled
@pytest.mark.parametrize("whole", [LISTED, CHUNKED], ids=["by length", "in chunks"])
def test_a_listing_cut_at_any_byte_is_an_error_and_never_a_shorter_listing(whole: bytes) -> None:
    cut_at = iter(range(len(whole)))
    with wire(lambda _: [whole[: next(cut_at)]]) as server:
        remote = remote_on(server.origin)
        for _ in range(len(whole) - (5 if whole is CHUNKED else 0)):
            with pytest.raises((NotUnderstood, RemoteUnreachable)):
                remote.list()
        remote.close()


def test_the_same_listing_is_readable_when_it_is_complete() -> None:
    for whole, count in ((LISTED, 2), (CHUNKED, 1)):
        with wire(whole) as server:
            remote = remote_on(server.origin)
            assert len(remote.list().entries) == count
            remote.close()


def test_a_note_cut_at_any_byte_is_never_returned() -> None:
    cut_at = iter(range(len(GOT) + 1))

    def say(head: str) -> list[bytes]:
        if head.startswith("GET"):
            return [GOT[: next(cut_at)]]
        return [listing(line("/vault/a.md", size=15))]

    with wire(say) as server:
        remote = remote_on(server.origin)
        for _ in range(len(GOT)):
            with pytest.raises(RemoteError):
                remote.get("a.md", max_bytes=1000)
        assert remote.get("a.md", max_bytes=1000) == Fetched(
            b"the whole note\n", '"t1"', confirmed=False
        )
        remote.close()


@pytest.mark.scenario("E81", "E82")
def test_after_a_put_response_is_cut_the_outcome_is_unknown() -> None:
    cut_at = iter(range(len(PUT)))
    with wire(lambda _: [PUT[: next(cut_at)]]) as server:
        remote = remote_on(server.origin)
        for _ in range(len(PUT)):
            with pytest.raises(OutcomeUnknown):
                remote.put("a.md", b"text", expected='"t1"')
        remote.close()
    assert len(server.heard) == len(PUT), "and nothing is sent twice by itself"


@pytest.mark.scenario("E92")
@given(announced=st.integers(0, 40), body=st.binary(max_size=40))
@example(announced=5, body=b"1234")
@example(announced=0, body=b"")
def test_only_a_body_of_the_announced_length_is_accepted(announced: int, body: bytes) -> None:
    with wire(answer(200, body, 'ETag: "t"', DATE, length=announced)) as server:
        remote = remote_on(server.origin)
        try:
            raw = remote.get("a.md", max_bytes=100).raw
        except NotUnderstood:
            assert announced > len(body)
        else:
            assert raw == body[:announced]
        remote.close()


def test_a_note_without_a_length_is_accepted_only_if_the_listing_agrees() -> None:
    def say(head: str) -> list[bytes]:
        if head.startswith("GET"):
            return [b'HTTP/1.1 200 OK\r\nETag: "t1"\r\n\r\nabc']
        return [listing(line("/vault/a.md", size=sizes.pop()))]

    with wire(say) as server:
        remote = remote_on(server.origin)
        sizes = [3, 3]
        assert remote.get("a.md", max_bytes=100).raw == b"abc"
        sizes = [9, 9]
        with pytest.raises(NotUnderstood):
            remote.get("a.md", max_bytes=100)
        remote.close()


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_slowly_dripping_server_is_abandoned_at_the_deadline(part: str) -> None:
    slow = [b"HTTP/1.1 200 OK\r\n"] + [b"X-Drip: 1\r\n"] * 5000
    if part == "body":
        slow = [b'HTTP/1.1 200 OK\r\nETag: "t"\r\nContent-Length: 5000\r\n\r\n'] + [b"x"] * 5000
    with wire(lambda _: slow, pause=0.02) as server:
        remote = remote_on(server.origin, deadline=0.5)
        began = time.monotonic()
        with pytest.raises(NotUnderstood, match="within"):
            remote.get("a.md", max_bytes=10_000)
        with pytest.raises(OutcomeUnknown):
            remote.put("a.md", b"x", expected=None)
        assert time.monotonic() - began < 90, "the whole answer takes 100 s"
        remote.close()


def test_a_refused_connection_means_that_nothing_was_written() -> None:
    with wire(b"") as server:
        origin = server.origin
    remote = remote_on(origin)

    with pytest.raises(RemoteUnreachable, match="nothing listens there"):
        remote.put("a.md", b"x", expected=None)
    with pytest.raises(RemoteUnreachable):
        remote.list()
    remote.close()
