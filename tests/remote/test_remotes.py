"""Which remote a URL gets."""

import pytest

from tests.every import every
from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.remote.wire import HTML, answer, wire
from vault_memory.errors import ConfigError
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.nextcloud_links import read_link
from vault_memory.remote.remote_errors import RemoteUnreachable
from vault_memory.remote.remotes import find, open_remote
from vault_memory.remote.webdav import WebDav

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
def test_any_typed_address_of_a_nextcloud_leads_to_its_files(
    typed: str, nextcloud: FakeNextcloud
) -> None:
    account = Account("mira", nextcloud.app_password)

    url = find(typed, account, adapter=DirectAdapter(nextcloud))
    remote = open_remote(url, account, adapter=DirectAdapter(nextcloud))

    assert url == "http://cloud.example/remote.php/dav/files/mira"
    assert isinstance(remote, Nextcloud)
    assert remote.list().entries == ()
    remote.close()


FILES = "http://cloud.example/remote.php/dav/files/mira"


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("http://cloud.example/index.php", FILES),
        ("http://cloud.example/login", FILES),
        ("http://cloud.example/index.php/login?redirect_url=/apps/files", FILES),
        ("http://cloud.example/apps/dashboard/", FILES),
        ("http://cloud.example/status.php", FILES),
        ("http://cloud.example/remote.php", FILES),
        ("http://cloud.example/remote.php/dav", FILES),
        ("http://cloud.example/remote.php/dav/", FILES),
        ("http://cloud.example/remote.php/dav/files", FILES),
        ("http://cloud.example/remote.php/webdav", FILES),
        ("http://cloud.example/remote.php/webdav/Gull%20Rock/x", f"{FILES}/Gull%20Rock/x"),
        ("http://cloud.example/remote.php/dav/files/mira/Gull%20Rock/", f"{FILES}/Gull%20Rock"),
        ("http://cloud.example/index.php/apps/files/?dir=/", FILES),
        (
            "http://cloud.example/index.php/apps/files/?dir=/Gull%20Rock&fileid=7",
            f"{FILES}/Gull%20Rock",
        ),
        ("http://cloud.example/apps/files/files/77?dir=/N%C3%B6tes/a", f"{FILES}/N%C3%B6tes/a"),
        ("http://cloud.example/apps/files/favorites", FILES),
    ],
)
def test_each_copied_browser_link_leads_to_its_folder(
    pasted: str, meant: str, nextcloud: FakeNextcloud
) -> None:
    assert (
        find(pasted, Account("mira", nextcloud.app_password), adapter=DirectAdapter(nextcloud))
        == meant
    )


@every(
    ("pasted", "base"),
    [
        ("https://x.example/nextcloud/index.php/apps/files/?dir=/N", "/nextcloud"),
        ("https://x.example/a/b/apps/files/files/1", "/a/b"),
        ("https://x.example/cloud/remote.php/webdav/X", "/cloud"),
        ("https://x.example/cloud/login", "/cloud"),
        ("https://x.example/cloud", "/cloud"),
    ],
)
def test_a_nextcloud_may_be_installed_below_another_page(pasted: str, base: str) -> None:
    assert read_link(pasted).base == base


@pytest.mark.parametrize(
    ("pasted", "words", "hint"),
    [
        ("http://cloud.example/s/Tq7wZb2mKp9LxYc", "public share", "a Nextcloud account of yours"),
        (
            "http://cloud.example/index.php/s/Tq7wZb2mKp9LxYc",
            "public share",
            "a Nextcloud account of yours",
        ),
        (
            "http://cloud.example/index.php/s/Tq7wZb2mKp9LxYc?path=/a",
            "public share",
            "a Nextcloud account of yours",
        ),
        (
            "http://cloud.example/public.php/dav/files/Tq7wZb2mKp9LxYc/",
            "public share",
            "a Nextcloud account of yours",
        ),
        ("http://cloud.example/public.php/webdav", "public share", "a Nextcloud account of yours"),
        ("http://cloud.example/f/1234", "by its number", "give `http://cloud.example/`"),
        ("http://cloud.example/index.php/f/1234", "by its number", "`--folder`"),
        (
            "http://cloud.example/remote.php/dav/calendars/mira/",
            "not the address",
            "give `http://cloud.example/`",
        ),
        (
            "http://cloud.example/remote.php/caldav/",
            "not the address",
            "give `http://cloud.example/`",
        ),
    ],
)
def test_a_link_without_a_folder_is_refused_with_the_right_address(
    pasted: str, words: str, hint: str, nextcloud: FakeNextcloud
) -> None:
    with pytest.raises(ConfigError) as caught:
        find(pasted, Account("mira", nextcloud.app_password), adapter=DirectAdapter(nextcloud))

    assert words in caught.value.message
    assert hint in caught.value.hint


def test_a_configured_public_share_is_refused_with_a_specific_error() -> None:
    with pytest.raises(ConfigError, match="public share"):
        open_remote("https://cloud.example/public.php/dav/files/Tq7wZb2mKp9LxYc", Account())


@every("path", ["/s/Tq7wZb2mKp9LxYc", "/apps/files", "/f/12", "/login/notes"])
def test_folders_of_other_servers_may_be_named_like_nextcloud_pages(path: str) -> None:
    with wire(answer(404, b"<html>", HTML)) as server:
        assert find(f"{server.origin}{path}", Account("mira", SECRET)) == f"{server.origin}{path}"


@pytest.mark.parametrize(
    ("location", "hint"),
    [
        ("https://cloud.example/status.php", "give `https://cloud.example`"),
        ("/nextcloud/status.php", "give `{origin}/nextcloud`"),
        ("https://login.example/start", "give `https://login.example`"),
    ],
)
def test_a_redirecting_server_is_refused_with_the_right_address(location: str, hint: str) -> None:
    with wire(answer(301, b"<html>", HTML, f"Location: {location}")) as server:
        with pytest.raises(ConfigError) as caught:
            find(server.origin, Account("mira", SECRET))
        assert hint.format(origin=server.origin) in caught.value.hint


@every("status", [404, 200, 500, 401, 302])
def test_any_other_server_is_accepted_without_receiving_the_password(status: int) -> None:
    with wire(answer(status, b"<html>", HTML)) as server:
        url = find(f"{server.origin}/dav/", Account("mira", SECRET))
        remote = open_remote(url, Account("mira", SECRET))
        remote.close()

    assert url == f"{server.origin}/dav"
    assert type(remote) is WebDav
    assert "authorization" not in "".join(server.heard).lower()


def test_a_missing_server_is_reported_as_unreachable() -> None:
    with wire(b"") as server:
        origin = server.origin
    with pytest.raises(RemoteUnreachable):
        find(origin, Account("mira", SECRET))


@pytest.mark.parametrize(
    ("url", "kind"), [(FILES, "Nextcloud"), ("http://dav.example/notes", "WebDAV")]
)
def test_a_remote_names_its_kind_of_server(url: str, kind: str) -> None:
    remote = open_remote(url, Account("mira", SECRET))

    assert remote.kind == kind
    remote.close()
