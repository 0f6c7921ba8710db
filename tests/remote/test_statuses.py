"""What each answer that is no success becomes, and that an answer nobody can rely on is never an answer."""

import gzip
from collections.abc import Callable

import pytest

from tests.every import every
from tests.remote.wire import DATE, HTML, ROOT, XML, answer, line, listing, multistatus, wire
from vault_memory.remote.contract import Capabilities
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
)
from vault_memory.remote.webdav import WebDav

LOGIN = b"<!DOCTYPE html><html><title>Log in</title></html>"

VERBS: dict[str, Callable[[WebDav], object]] = {
    "list": lambda remote: remote.list("sub"),
    "look": lambda remote: remote.look("a.md"),
    "get": lambda remote: remote.get("a.md", max_bytes=999),
    "put": lambda remote: remote.put("a.md", b"x", expected=None),
    "delete": lambda remote: remote.delete("a.md", expected='"t"'),
    "move": lambda remote: remote.move("a.md", "b.md", expected='"t"'),
    "mkcol": lambda remote: remote.mkcol("sub"),
}
READS = ("list", "look", "get")
WRITES = ("put", "delete", "move", "mkcol")

MEANINGS: list[tuple[int, tuple[str, ...], type[RemoteError]]] = [
    (401, tuple(VERBS), Unauthorised),
    (403, tuple(VERBS), Refused),
    (404, (*READS, "delete", "move"), RemoteMissing),
    (410, (*READS, "delete", "move"), RemoteMissing),
    (404, ("put", "mkcol"), ParentMissing),
    (405, ("mkcol",), RemoteChanged),
    (409, WRITES, ParentMissing),
    (412, WRITES, RemoteChanged),
    (413, ("put",), Refused),
    (423, tuple(VERBS), RemoteLocked),
    (429, tuple(VERBS), RemoteBusy),
    (503, tuple(VERBS), RemoteBusy),
    (507, ("put", "mkcol", "move"), RemoteFull),
    (500, READS, NotUnderstood),
    (500, WRITES, OutcomeUnknown),
    (502, READS, RemoteUnreachable),
    (504, WRITES, OutcomeUnknown),
    (202, WRITES, OutcomeUnknown),
    (207, ("delete", "move"), OutcomeUnknown),
]
CASES = [(status, verb, error) for status, verbs, error in MEANINGS for verb in verbs]


@pytest.mark.scenario("E83", "E84", "E85", "E97", "E99")
@every(("status", "verb", "error"), CASES)
def test_each_status_becomes_the_right_error(
    status: int, verb: str, error: type[RemoteError]
) -> None:
    with wire(answer(status, b"<html>no</html>", HTML)) as server:
        remote = WebDav(f"{server.origin}/vault")
        remote.traits = Capabilities(conditional_move=True)
        with pytest.raises(error) as caught:
            VERBS[verb](remote)
        remote.close()

    assert type(caught.value) is error
    assert caught.value.hint


@pytest.mark.scenario("E87", "E98")
@every("verb", sorted(VERBS))
@every(
    ("status", "to"),
    [
        (302, "/login"),
        (301, "https://elsewhere.example/dav/"),
        (308, "http://169.254.169.254/"),
        (303, ""),
        (307, "/vault"),
    ],
)
def test_redirects_to_other_places_are_not_followed(verb: str, status: int, to: str) -> None:
    with wire(answer(status, b"", f"Location: {to}")) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood):
            VERBS[verb](remote)
        assert len(server.heard) == 1
        remote.close()


@pytest.mark.scenario("E98")
def test_a_server_that_moved_to_https_is_named_in_the_hint() -> None:
    with wire(
        answer(301, b"", "Location: https://user:secret@cloud.example/vault/?token=secret")
    ) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood) as caught:
            remote.list()
        remote.close()

    assert "https://cloud.example" in caught.value.hint
    assert "secret" not in caught.value.hint


@pytest.mark.scenario("E87")
@every("verb", sorted(VERBS))
def test_a_login_page_with_status_200_is_not_accepted(verb: str) -> None:
    with wire(answer(200, LOGIN, HTML, 'ETag: "page"')) as server:
        remote = WebDav(f"{server.origin}/vault")
        remote.traits = Capabilities(conditional_move=True)
        with pytest.raises(OutcomeUnknown if verb in WRITES else (NotUnderstood, Refused)):
            VERBS[verb](remote)
        remote.close()


def test_a_page_in_place_of_a_note_is_exposed_by_the_listing() -> None:
    def say(head: str) -> list[bytes]:
        if head.startswith("GET"):
            return [answer(200, LOGIN, HTML, 'ETag: "page"')]
        return [listing(line("/vault/a.md", etag='"t1"', size=len(LOGIN)))]

    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood):
            remote.get("a.md", max_bytes=999)
        remote.close()


@every(
    "whole",
    [
        answer(200, multistatus(ROOT), XML),
        answer(207, multistatus(ROOT), HTML),
        answer(207, multistatus(ROOT)),
        answer(207, b"", XML),
        answer(207, LOGIN, XML),
        answer(207, b"<a/>", XML),
        answer(204),
    ],
    ids=["200", "as HTML", "as nothing", "empty", "HTML as XML", "another XML", "204"],
)
@pytest.mark.scenario("E87")
def test_only_a_207_response_with_xml_is_a_listing(whole: bytes) -> None:
    with wire(whole) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood):
            remote.list()
        remote.close()


@pytest.mark.scenario("E86", "E96")
@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refused_or_missing_root_is_neither_empty_nor_a_missing_note(status: int) -> None:
    with wire(answer(status, b"<html>proxy</html>", HTML)) as server:
        remote = WebDav(f"{server.origin}/vault")
        for deep in (False, True):
            with pytest.raises(RootMissing):
                remote.list(deep=deep)
        with pytest.raises(RootMissing):
            remote.identity()
        remote.close()
    assert not issubclass(RootMissing, RemoteMissing)


@pytest.mark.scenario("E97", "E99")
@every("status", [429, 503])
@every(
    ("headers", "seconds"),
    [
        (("Retry-After: 120",), 120),
        (("Retry-After: Sun, 22 Nov 2026 12:01:30 GMT", DATE), 90),
        (("Retry-After: Sun, 22 Nov 2026 11:00:00 GMT", DATE), 0),
        (("Retry-After: 99999999999999999999",), None),
        (("Retry-After: soon",), None),
        (("Retry-After: 987654321",), 86_400),
        ((), None),
    ],
)
def test_the_waiting_time_is_read_in_both_formats(
    status: int, headers: tuple[str, ...], seconds: float | None
) -> None:
    with wire(answer(status, b"", *headers)) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(RemoteBusy) as caught:
            remote.list()
        remote.close()

    assert caught.value.retry_after == seconds
    assert caught.value.everywhere == (status == 429 or seconds is not None)


@pytest.mark.scenario("E84")
def test_after_one_401_no_further_request_is_sent() -> None:
    with wire(answer(401, b"", 'WWW-Authenticate: Basic realm="x"')) as server:
        remote = WebDav(f"{server.origin}/vault")
        for verb in sorted(VERBS) * 3:
            with pytest.raises(Unauthorised):
                VERBS[verb](remote)
        assert len(server.heard) == 1
        remote.close()


@pytest.mark.scenario("E85")
@every("bad", [403, 404, 500, 503, 200])
def test_a_folder_that_cannot_be_listed_is_unknown_and_the_rest_continues(bad: int) -> None:
    def say(head: str) -> list[bytes]:
        match head.split()[1]:
            case "/vault/":
                return [
                    listing(
                        ROOT, *(line(f"/vault/{name}/", folder=True) for name in ("bad", "good"))
                    )
                ]
            case "/vault/good/":
                return [listing(line("/vault/good/", folder=True), line("/vault/good/a.md"))]
            case _:
                return [answer(bad, LOGIN, HTML)]

    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault")
        seen = remote.list(deep=True)
        remote.close()

    assert [entry.path for entry in seen.entries] == ["bad", "good", "good/a.md"]
    assert list(seen.unknown) == ["bad"]


@pytest.mark.scenario("E85", "E99")
@pytest.mark.parametrize(("bad", "error"), [(401, Unauthorised), (429, RemoteBusy)])
def test_an_account_error_ends_a_deep_listing(bad: int, error: type[RemoteError]) -> None:
    def say(head: str) -> list[bytes]:
        if head.split()[1] == "/vault/":
            return [listing(ROOT, *(line(f"/vault/{name}/", folder=True) for name in "abc"))]
        return [answer(bad)]

    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(error):
            remote.list(deep=True)
        assert len(server.heard) == 2
        remote.close()


@pytest.mark.scenario("E92")
def test_a_compressed_response_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    for head in ((200, "GET"), (207, "PROPFIND")):
        with wire(answer(head[0], bomb, "Content-Encoding: gzip", XML, 'ETag: "t"')) as server:
            remote = WebDav(f"{server.origin}/vault")
            with pytest.raises(NotUnderstood, match="compressed"):
                remote.get("a.md", max_bytes=10**9) if head[1] == "GET" else remote.list()
            assert "Accept-Encoding: identity" in server.heard[0]
            remote.close()


@pytest.mark.scenario("E93")
def test_the_tag_of_the_download_is_used() -> None:
    with wire(
        answer(200, b"newer", 'ETag: "t2"', DATE, "Last-Modified: Sun, 22 Nov 2026 11:59:00 GMT")
    ) as server:
        remote = WebDav(f"{server.origin}/vault")
        fetched = remote.get("a.md", max_bytes=99)
        remote.close()

    assert (fetched.raw, fetched.etag, fetched.confirmed) == (b"newer", '"t2"', True)


@pytest.mark.scenario("E102b")
@every(
    ("headers", "etag", "confirmed"),
    [
        (('ETag: "abc-gzip"', 'OC-ETag: "abc"'), '"abc"', True),
        (('ETag: W/"abc"',), '"abc"', False),
        (("ETag: abc",), '"abc"', True),
        (('ETag: "abc"',), '"abc"', True),
    ],
)
def test_a_tag_is_kept_in_the_form_that_can_be_sent_back(
    headers: tuple[str, ...], etag: str, confirmed: bool
) -> None:
    old = "Last-Modified: Sun, 22 Nov 2026 11:59:00 GMT"
    with wire(answer(200, b"x", *headers, DATE, old)) as server:
        remote = WebDav(f"{server.origin}/vault")
        fetched = remote.get("a.md", max_bytes=99)
        remote.close()

    assert (fetched.etag, fetched.confirmed) == (etag, confirmed)


@pytest.mark.scenario("E102b")
@pytest.mark.parametrize(
    ("etag", "tries", "waits"), [('W/"t1"', 3, 1), ('"t1"', 1, 0), ('"t2"', 1, 0)]
)
def test_a_412_is_retried_only_while_the_tag_is_weak(etag: str, tries: int, waits: int) -> None:
    def say(head: str) -> list[bytes]:
        return (
            [listing(line("/vault/a.md", etag=etag))]
            if head.startswith("PROPFIND")
            else [answer(412)]
        )

    slept: list[float] = []
    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault", sleep=slept.append)
        with pytest.raises(RemoteChanged):
            remote.put("a.md", b"x", expected='"t1"')
        remote.close()

    puts = [head for head in server.heard if head.startswith("PUT")]
    assert len(puts) == tries
    assert len(slept) == waits
    # The last one asks with the condition that compares weak tags.
    assert ["\r\nIf: " in head for head in puts[2:]] == [True] * (tries - 2 > 0)


@pytest.mark.parametrize("answers", ["one level", "403", "207 cut short of folders"])
def test_a_shallow_or_refused_deep_listing_is_completed_level_by_level(answers: str) -> None:
    inner = (
        line("/vault/a/", folder=True),
        line("/vault/a/n.md"),
        line("/vault/a/b/", folder=True),
    )

    def say(head: str) -> list[bytes]:
        target, deep = head.split()[1], "Depth: infinity" in head
        if deep and answers == "403":
            return [answer(403)]
        if deep and answers != "one level":
            return [listing(ROOT, line("/vault/a/b/n.md"))]
        levels = {
            "/vault/": (ROOT, inner[0]),
            "/vault/a/": inner,
            "/vault/a/b/": (line("/vault/a/b/", folder=True),),
        }
        return [listing(*levels[target])]

    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault")
        remote.traits = Capabilities(infinity=True)
        if answers == "207 cut short of folders":
            with pytest.raises(NotUnderstood):
                remote.list(deep=True)
        else:
            assert [entry.path for entry in remote.list(deep=True).entries] == [
                "a",
                "a/b",
                "a/n.md",
            ]
        remote.close()
