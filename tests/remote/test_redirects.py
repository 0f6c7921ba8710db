"""A redirect is reported as a redirect, costs no memory, and never passes for another answer."""

import resource
from collections.abc import Callable, Iterator

import pytest

from tests.every import every
from tests.remote.servers import real
from tests.remote.test_statuses import VERBS
from tests.remote.wire import HTML, answer, line, listing, wire
from vault_memory.remote.contract import Capabilities
from vault_memory.remote.http_transport import Account
from vault_memory.remote.remote_errors import NotUnderstood, RemoteChanged
from vault_memory.remote.webdav import WebDav

MEGABYTE = 2**20


def redirect(location: str, body: bytes = b"<html>moved</html>", status: int = 301) -> bytes:
    return answer(status, body, HTML, f"Location: {location}")


@every("status", [301, 302, 303, 307, 308])
@every("verb", VERBS)
def test_a_redirect_is_reported_as_a_redirect(verb: str, status: int) -> None:
    with wire(redirect("https://new.example/vault/", status=status)) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood) as caught:
            VERBS[verb](remote)
        remote.close()

    assert f"status {status}" in caught.value.message
    assert "https://new.example" in caught.value.hint
    assert len(server.heard) <= 2  # nothing is asked at the place it names


@every("announced", [True, False])
@every("verb", ["list", "get", "put"])
def test_a_redirect_with_an_endless_body_is_reported_without_filling_memory(
    verb: str, announced: bool
) -> None:
    def say(_: str) -> Iterator[bytes]:
        length = f"Content-Length: {200 * MEGABYTE}\r\n" if announced else ""
        yield f"HTTP/1.1 301 As told\r\n{HTML}\r\nLocation: /elsewhere\r\n{length}\r\n".encode()
        for _piece in range(200):
            yield b"x" * MEGABYTE

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood, match="status 301"):
            VERBS[verb](remote)
        remote.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


@pytest.mark.parametrize(
    "location", ["/vault/sub/", "{origin}/vault/sub/", "http://inner.example/vault/%73ub/"]
)
def test_a_folder_requested_without_its_slash_is_requested_again_with_it(location: str) -> None:
    def say(head: str) -> list[bytes]:
        if head.startswith("PROPFIND /vault/sub/ "):
            return [listing(line("/vault/sub/", folder=True))]
        return [redirect(location.format(origin=server.origin))]

    with wire(say) as server:
        remote = WebDav(f"{server.origin}/vault")
        assert remote.look("sub").is_folder
        remote.close()
    assert len(server.heard) == 2


@every("location", ["/vault/other/", "/vault/sub", "/login/", "/vault/sub/?next=1", ""])
def test_redirects_to_any_other_place_are_not_followed(location: str) -> None:
    with wire(redirect(location)) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood):
            remote.look("sub")
        remote.close()
    assert len(server.heard) <= 2


@every("verb", ["get", "put", "delete", "move"])
def test_a_folder_in_place_of_a_note_counts_as_a_change_on_the_server(verb: str) -> None:
    with wire(redirect("/vault/a.md/")) as server:
        remote = WebDav(f"{server.origin}/vault")
        remote.traits = Capabilities(conditional_move=True)
        with pytest.raises(RemoteChanged):
            VERBS[verb](remote)
        remote.close()


@pytest.mark.parametrize("name", ["apache", "apache-digest", "apache-infinity"])
def test_a_default_apache_is_probed_without_a_single_redirect(
    name: str, server_named: Callable[[str], real.Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_named(name)
    remote = WebDav(server.make_folder("stock"), Account(server.user, server.password))
    statuses = []
    exchange = remote.exchange
    monkeypatch.setattr(
        remote,
        "exchange",
        lambda *asked, **how: statuses.append(exchange(*asked, **how)) or statuses[-1],
    )

    traits = remote.probe()
    remote.close()

    assert traits.two_way
    assert not [answer.status for answer in statuses if 300 <= answer.status < 400]
