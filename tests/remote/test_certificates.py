"""A certificate that nobody vouches for is told in words, with the option that makes it good."""

import contextlib
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.remote.wire import Wire, line, listing
from vault_memory.remote.http_transport import Account, _not_sent
from vault_memory.remote.remote_errors import RemoteUnreachable
from vault_memory.remote.webdav import WebDav

ROOT = listing(line("/vault/", folder=True))


@pytest.fixture(scope="module")
def openssl() -> str:
    found = shutil.which("openssl")
    if not found:
        pytest.skip("openssl is not installed (Debian: openssl)")
    return found


def certificate(openssl: str, folder: Path, name: str = "IP:127.0.0.1") -> tuple[Path, Path]:
    """A self-signed certificate and its key."""
    pem, key = folder / "server.pem", folder / "server.key"
    subprocess.run(
        [
            openssl,
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=notes",
            "-addext",
            f"subjectAltName={name}",
            "-keyout",
            str(key),
            "-out",
            str(pem),
            "-days",
            "30",
        ],
        check=True,
        capture_output=True,
    )
    return pem, key


@contextlib.contextmanager
def secure(pem: Path, key: Path) -> Iterator[str]:
    """A server of notes behind TLS; its origin."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    server = Wire(ROOT, tls=context)
    try:
        yield server.origin.replace("http://", "https://")
    finally:
        server.close()


def refused(url: str, ca_file: str = "") -> RemoteUnreachable:
    remote = WebDav(f"{url}/vault", Account("mira", "lantern", ca_file=ca_file))
    with pytest.raises(RemoteUnreachable) as caught:
        remote.list()
    remote.close()
    return caught.value


def test_a_self_signed_certificate_is_explained_and_accepted_once_configured(
    openssl: str, tmp_path: Path
) -> None:
    pem, key = certificate(openssl, tmp_path)

    with secure(pem, key) as url:
        error = refused(url)
        remote = WebDav(f"{url}/vault", Account("mira", "lantern", ca_file=str(pem)))
        assert remote.list().entries == ()
        remote.close()

    assert "self-signed" in error.message
    assert "--ca-file" in error.hint


def test_a_certificate_for_another_name_is_reported_as_such(openssl: str, tmp_path: Path) -> None:
    pem, key = certificate(openssl, tmp_path, name="DNS:other.example")

    with secure(pem, key) as url:
        error = refused(url, str(pem))

    assert "another name" in error.message
    assert "--ca-file" not in error.hint


@pytest.mark.parametrize(
    ("number", "words"), [(9, "not valid yet"), (10, "expired"), (20, "not signed by an authority")]
)
def test_each_certificate_problem_has_its_own_message(number: int, words: str) -> None:
    error = ssl.SSLCertVerificationError("certificate verify failed")
    error.verify_code = number

    assert words in str(_not_sent(requests.exceptions.SSLError(error)))
