"""A server, or somebody in its place, that means harm: names that lead out, XML that explodes, detours, and secrets."""

import inspect
import logging
import resource
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from webdav3.client import Client

from tests.every import every
from tests.remote.wire import ROOT, XML, answer, line, listing, multistatus, wire
from vault_memory.errors import BadPath, ConfigError
from vault_memory.remote.address import Address, address
from vault_memory.remote.contract import Entry
from vault_memory.remote.http_transport import Account
from vault_memory.remote.remote_errors import NotUnderstood, RemoteError, RemoteUnreachable
from vault_memory.remote.webdav import WebDav

SECRET = "petrel-9-lantern"

OUT = [
    "/vault/../etc/passwd",
    "/vault/%2e%2e/x.md",
    "/vault/%2e%2e%2fx.md",
    "/vault/..%5cx.md",
    "/vault/%252e%252e%252fx.md",
    "/vault/a%2f%2e%2e%2fb.md",
    "/vault//x.md",
    "/vault/./x.md",
    "/vault/x%00.md",
    "/vaultier/x.md",
    "/x.md",
    "x.md",
    "../x.md",
    "http://elsewhere.example/vault/x.md",
    "https://127.0.0.1/vault/x.md",
    "http://169.254.169.254/vault/x.md",
    "http://user@127.0.0.1/vault/x.md",
    "file:///vault/x.md",
    "//elsewhere.example/vault/x.md",
    "/vault/sub/deeper.md",
]


def listed(*lines: str) -> tuple[tuple[Entry, ...], dict[str, str], int]:
    with wire(listing(ROOT, *lines)) as server:
        remote = WebDav(f"{server.origin}/vault")
        seen = remote.list()
        remote.close()
    return seen.entries, dict(seen.unknown), seen.dropped


@pytest.mark.scenario("H119", "H125")
@every("href", OUT)
def test_a_name_outside_the_root_is_dropped_and_counted(href: str) -> None:
    entries, unknown, dropped = listed(line(href), line("/vault/good.md"))

    assert [entry.path for entry in entries] == ["good.md"]
    assert (unknown, dropped) == ({}, 1)


@pytest.mark.scenario("H119")
@every(
    ("href", "name"),
    [
        ("/vault/a%5cb.md", "a\\b.md"),
        ("/vault/a%0ab.md", "a\nb.md"),
        ("/vault/%ff.md", "\ufffd.md"),
        ("/vault/x.md?y", "x.md?y"),
        ("/vault/x#y.md", "x#y.md"),
    ],
)
def test_an_odd_name_is_listed_as_unknown(href: str, name: str) -> None:
    entries, unknown, dropped = listed(line(href))

    assert (entries, list(unknown), dropped) == ((), [name], 0)


@pytest.mark.scenario("H119")
@given(
    st.text(max_size=30),
    st.sampled_from(["", "%2e", "%2f", "%5c", "/", "..", "%25"]),
    st.text(max_size=10),
)
@example("..", "%2f", "..")
@example("", "/", "")
def test_no_href_becomes_a_path_outside_the_root(start: str, middle: str, end: str) -> None:
    at = Address("http://h", "/vault")

    try:
        path = at.inside(f"/vault/{start}{middle}{end}")
    except BadPath:
        return
    assert path == "" or not {"", ".", ".."} & set(path.replace("\\", "/").split("/"))
    assert "\0" not in path


@given(st.text(min_size=1, max_size=40))
@example("a%2eb.md")
@example("ü/日本")
def test_a_path_survives_encoding_and_decoding_or_is_refused(path: str) -> None:
    at = Address("http://h", "/vault ü%20")

    try:
        target = at.target(path)
    except RemoteError:
        return
    assert at.inside(target) == path
    assert at.inside(f"http://h{target}/") == path


@pytest.mark.parametrize("url", ["https://Cloud.Example/dav", "HTTPS://cloud.example:443/dav/"])
def test_the_default_port_is_omitted_and_recognised(url: str) -> None:
    at = address(url)

    assert at.origin == "https://cloud.example"
    assert (
        at.inside("https://CLOUD.example:443/dav/a.md")
        == at.inside("https://cloud.example/dav/a.md")
        == "a.md"
    )
    assert address("https://[::1]:8443/").origin == "https://[::1]:8443"


@pytest.mark.scenario("E88")
def test_an_incomplete_entry_makes_only_its_own_file_unknown() -> None:
    no_tag = (
        line("/vault/a.md")
        .replace("<d:getetag>", "<d:other>")
        .replace("</d:getetag>", "</d:other>")
    )
    no_size = line("/vault/b.md").replace("getcontentlength", "displayname")
    no_kind = line("/vault/c.md").replace("<d:resourcetype></d:resourcetype>", "")
    failed = line("/vault/d.md").replace("HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found")
    refused = "<d:response><d:href>/vault/e.md</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>"
    bad_tag = line("/vault/f.md", etag="two\nlines")
    twice = line("/vault/g.md") + line("/vault/g.md", etag='"t2"')

    entries, unknown, dropped = listed(
        no_tag, no_size, no_kind, failed, refused, bad_tag, twice, line("/vault/z.md")
    )

    assert [entry.path for entry in entries] == ["z.md"]
    assert sorted(unknown) == [f"{name}.md" for name in "abcdefg"]
    assert dropped == 0


@pytest.mark.scenario("E101")
@every(
    ("date", "confirmed"),
    [
        ("Thu, 01 Jan 1970 00:00:00 GMT", True),
        ("Mon, 01 Jan 2106 00:00:00 GMT", True),
        ("Sun, 22 Nov 2026 12:00:01 GMT", False),
        ("Sun, 22 Nov 2026 11:59:59 GMT", False),
        ("-1", False),
        ("", False),
        ("Mon, 99 Foo 99999 99:99:99 GMT", False),
    ],
)
def test_an_odd_time_hides_no_file_and_only_affects_the_confirmation_of_its_tag(
    date: str, confirmed: bool
) -> None:
    entries, unknown, _ = listed(line("/vault/a.md").replace("Sun, 22 Nov 2026 11:00:00 GMT", date))

    assert [(entry.path, entry.confirmed) for entry in entries] == [("a.md", confirmed)]
    assert not unknown


@pytest.mark.scenario("E88")
@every("own", ["", line("/vault/"), line("/other/", folder=True), line("/vault/", folder=True) * 2])
def test_a_listing_without_exactly_one_entry_for_its_folder_is_refused(own: str) -> None:
    with wire(answer(207, multistatus(own, line("/vault/a.md")), XML)) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood):
            remote.list()
        remote.close()


@every("spelt", ["/vault", "/%76ault/", "{origin}/vault/", "{ORIGIN}/vault"])
def test_the_listed_folder_is_recognised_in_every_spelling(spelt: str) -> None:
    def say(head: str) -> list[bytes]:
        origin = server.origin
        href = spelt.format(origin=origin, ORIGIN=origin.replace("http", "HTTP"))
        return [listing(line(href, folder=True), line(f"{href.rstrip('/')}/%c3%BC.md"))]

    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault/")
        assert [entry.path for entry in remote.list().entries] == ["ü.md"]
        remote.close()


LAUGHS = (
    '<!DOCTYPE l [<!ENTITY a "lol">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "]>"
)


@pytest.mark.scenario("H121")
@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        LAUGHS,
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x">',
    ],
    ids=["external", "laughs", "system"],
)
def test_a_document_type_is_refused_before_any_entity_is_read(head: str) -> None:
    with wire(answer(207, multistatus(ROOT, line("/vault/&a;.md"), head=head), XML)) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood, match="document type"):
            remote.list()
        remote.close()


@pytest.mark.scenario("H121")
@pytest.mark.parametrize(
    "inside",
    [
        "<d:x>" * 100,
        "<d:response><d:href>/" + "x" * 100_000 + "</d:href></d:response>",
        "<d:response></d:response>",
    ],
    ids=["deep", "long", "nameless"],
)
def test_malformed_listings_are_refused(inside: str) -> None:
    with wire(answer(207, multistatus(ROOT, inside), XML)) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood):
            remote.list()
        remote.close()


@pytest.mark.sampled
@pytest.mark.scenario("H121")
@pytest.mark.parametrize("announced", [True, False])
def test_an_endless_listing_stops_at_the_limit_without_filling_memory(announced: bool) -> None:
    def say(_: str) -> Iterator[bytes]:
        length = f"Content-Length: {10**9}\r\n" if announced else ""
        yield f"HTTP/1.1 207 As told\r\n{XML}\r\n{length}\r\n".encode() + multistatus(
            ROOT
        ).removesuffix(b"</d:multistatus>")
        for _piece in range(3000):
            yield b" <d:x/>" + b" " * (2**15 - 7)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood, match="longer than"):
            remote.list()
        remote.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


@pytest.mark.scenario("H125")
def test_cloud_metadata_addresses_are_never_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    with wire(listing(ROOT)) as server:
        host, port = server.origin.removeprefix("http://").split(":")
        monkeypatch.setattr("vault_memory.remote.http_adapter.CLOUD_METADATA", frozenset({host}))
        remote = WebDav(f"http://localhost:{port}/vault", Account("mira", SECRET))
        with pytest.raises(RemoteUnreachable, match="own network services"):
            remote.list()
        remote.close()
    assert server.heard == []


def test_netrc_and_proxies_of_the_environment_are_ignored(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_home / ".netrc").write_text(
        "machine 127.0.0.1 login eve password evil\ndefault login eve password evil\n"
    )
    monkeypatch.setenv("NETRC", str(own_home / ".netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")

    with wire(listing(ROOT)) as server:
        for account in (Account("mira", "pässword"), Account()):
            remote = WebDav(f"{server.origin}/vault", account)
            remote.list()
            remote.close()

    told = [
        [h for h in head.splitlines() if h.lower().startswith("authorization:")]
        for head in server.heard
    ]
    assert told == [["Authorization: Basic bWlyYTpww6Rzc3dvcmQ="], []]


def test_a_configured_proxy_is_used() -> None:
    with wire(listing(line("/vault/", folder=True))) as proxy:
        remote = WebDav("http://notes.invalid/vault", Account("mira", SECRET, proxy=proxy.origin))
        remote.list()
        remote.close()

    assert proxy.heard[0].startswith("PROPFIND http://notes.invalid")


@pytest.mark.scenario("H126")
def test_a_password_is_in_no_log_error_or_repr(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    account = Account("mira", SECRET)
    told = [repr(account), str(account)]
    for whole in (
        listing(ROOT),
        answer(401),
        answer(500),
        answer(302, b"", f"Location: http://mira:{SECRET}@x/"),
        b"",
    ):
        with wire(whole) as server:
            remote = WebDav(f"{server.origin}/vault", account)
            told.append(repr(vars(remote)))
            for _ in range(2):
                try:
                    remote.put("a.md", b"x", expected=None)
                    remote.list()
                except RemoteError as error:
                    told += [repr(error), repr(error.as_json()), repr(error.__cause__)]
            remote.close()
    for record in caplog.records:
        told.append(record.getMessage())
        told.append(str(record.exc_info))

    assert SECRET not in "\n".join(told)
    assert quote(SECRET) not in "\n".join(told)
    assert "bWlyYTp" not in "\n".join(told)


@pytest.mark.scenario("H126")
@every(
    "url",
    [
        f"https://mira:{SECRET}@cloud.example/dav",
        "ftp://cloud.example/dav",
        "cloud.example/dav",
        "https:///dav",
        f"https://cloud.example/dav?token={SECRET}",
        "https://cloud.example:99999/dav",
        "https://cloud.example/a/../b",
    ],
)
def test_an_invalid_address_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        address(url)

    assert SECRET not in str(caught.value) + caught.value.hint


def test_webdavclient3_still_calls_the_method_that_we_replace() -> None:
    assert list(inspect.signature(Client.execute_request).parameters) == [
        "self",
        "action",
        "path",
        "data",
        "headers_ext",
    ]
    source = inspect.getsource(Client)
    assert source.count("self.session.request(") == 1
