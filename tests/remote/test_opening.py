"""Which remote a URL gets."""

import pytest

from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.remote.wire import HTML, answer, wire
from vault_memory.remote import Account, Nextcloud, RemoteUnreachable, WebDav, find, open_remote

SECRET = "petrel-9-lantern"


@pytest.mark.parametrize(
    "typed",
    [
        "http://cloud.example",
        "http://cloud.example/",
        "http://cloud.example/index.php/apps/files/",
        "http://cloud.example/remote.php/webdav/",
        "http://cloud.example/remote.php/dav/files/mira/",
    ],
)
def test_whatever_address_of_a_nextcloud_is_typed_the_files_are_found(typed: str, nextcloud: FakeNextcloud) -> None:
    account = Account("mira", nextcloud.app_password)

    url = find(typed, account, adapter=DirectAdapter(nextcloud))
    remote = open_remote(url, account, adapter=DirectAdapter(nextcloud))

    assert url == "http://cloud.example/remote.php/dav/files/mira"
    assert isinstance(remote, Nextcloud)
    assert remote.list().entries == ()
    remote.close()


@pytest.mark.parametrize("status", [404, 200, 500, 401, 302])
def test_any_other_server_is_taken_as_it_is_and_hears_no_password(status: int) -> None:
    with wire(answer(status, b"<html>", HTML)) as server:
        url = find(f"{server.origin}/dav/", Account("mira", SECRET))
        remote = open_remote(url, Account("mira", SECRET))
        remote.close()

    assert url == f"{server.origin}/dav"
    assert type(remote) is WebDav
    assert "authorization" not in "".join(server.heard).lower()


def test_a_server_that_is_not_there_is_said_to_be_unreachable() -> None:
    with wire(b"") as server:
        origin = server.origin
    with pytest.raises(RemoteUnreachable):
        find(origin, Account("mira", SECRET))
