"""An address that leads nowhere says why: another account, another path, another scheme."""

import pytest

from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.front import Front
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.remote.wire import answer, wire
from vault_memory.config.sections import RemoteSettings
from vault_memory.errors import ConfigError
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.remote_errors import NotUnderstood, RemoteUnreachable, RootMissing
from vault_memory.remote.webdav import WebDav
from vault_memory.sync import setup

ALERT = b"\x15\x03\x03\x00\x02\x02\x46"
"""What a port with TLS answers to a request that is not encrypted"""
PAGES = [
    b"<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>",
    b"<html><p>Reason: You're speaking plain HTTP to an SSL-enabled server port.</p></html>",
]


def nextcloud(path: str) -> Nextcloud:
    fake = FakeNextcloud()
    fake.add_user("dora", "another password of dora")
    return Nextcloud(
        f"http://cloud.example{path}",
        Account(fake.user, fake.app_password),
        adapter=DirectAdapter(fake),
    )


@pytest.mark.parametrize("folder", ["", "/Notes", "/Notes/Deep%20er"])
def test_the_folder_of_another_account_says_whose_it_is(folder: str) -> None:
    with pytest.raises(RootMissing) as missing:
        nextcloud(f"/remote.php/dav/files/dora{folder}").list()

    assert "this is dora's folder, you are mira" in missing.value.message
    assert "/remote.php/dav/files/mira" in missing.value.hint


@pytest.mark.parametrize("base", ["/cloud", "/nextcloud/nextcloud", "/a%20b"])
def test_a_wrong_base_path_is_named(base: str) -> None:
    with pytest.raises(RootMissing) as missing:
        nextcloud(f"{base}/remote.php/dav/files/mira/Notes").list()

    assert f"no Nextcloud answers at `http://cloud.example{base}/`" in str(missing.value.message)
    assert "/remote.php" in missing.value.hint


def test_a_missing_folder_of_ones_own_names_no_other_cause() -> None:
    with pytest.raises(RootMissing) as missing:
        nextcloud("/remote.php/dav/files/mira/Missing").list()

    assert "dora" not in missing.value.message
    assert "no Nextcloud" not in missing.value.message


@pytest.mark.parametrize("page", PAGES)
def test_http_to_a_port_of_https_is_told(page: bytes) -> None:
    with wire(lambda head: [answer(400, page, "Content-Type: text/html")]) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood) as told:
            remote.list()
        remote.close()

    assert "speaks https://" in told.value.message
    assert "https://" in told.value.hint


def test_http_to_a_port_that_answers_with_an_alert_of_tls_is_told() -> None:
    with wire(lambda head: [ALERT]) as server:
        remote = WebDav(f"{server.origin}/vault")
        with pytest.raises(NotUnderstood) as told:
            remote.list()
        remote.close()

    assert "speaks https://" in told.value.message


def test_https_to_a_port_of_http_is_told() -> None:
    with Front(FakeNextcloud()) as front:
        remote = WebDav(f"{front.url.replace('http://', 'https://')}/vault")
        with pytest.raises(RemoteUnreachable) as told:
            remote.list()
        remote.close()

    assert "speaks http://" in told.value.message
    assert "--allow-http" in told.value.hint


@pytest.mark.parametrize(
    "remote",
    [
        RemoteSettings(url="http://cloud.example.org/vault"),
        RemoteSettings(url="s3://bucket/notes", endpoint="http://s3.example.org"),
    ],
)
def test_an_address_without_encryption_names_the_option_that_allows_it(
    remote: RemoteSettings,
) -> None:
    with pytest.raises(ConfigError) as refused:
        setup.find_remote(remote.url, remote)

    assert "--allow-http" in refused.value.hint
