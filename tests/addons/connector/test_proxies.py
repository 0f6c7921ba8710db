"""`serve --public` behind a real server with TLS, and through a tunnel, as the guide says it."""

import contextlib
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.addons.connector.connected import Kept, Outsiders
from tests.conftest import PROJECT
from tests.scenarios.outside import Outside, free_port, until
from vault_memory.addons.page.browser_sessions import BrowserSessions

GUIDE = (PROJECT / "docs/addons/connector.md").read_text("utf-8")
WORDS = "lamp harbour seven geese"


def answers(port: int) -> bool:
    """Whether somebody listens on a port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def running(command: list[str], port: int, log: Path, **options: object) -> Iterator[None]:
    """A program until the end of a test; it listens on the port before the test begins."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, **options)  # type: ignore[call-overload]
    try:
        until(
            lambda: answers(port) or process.poll() is not None,
            says=lambda: log.read_text("utf-8", "replace"),
        )
        assert process.poll() is None, log.read_text("utf-8", "replace")
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def served(outside: Outside, public: str) -> Iterator[int]:
    """The command of the guide, for a vault with a note of Mira; the port where it listens."""
    shutil.copytree(PROJECT / "sample_vault", outside.vault, dirs_exist_ok=True)
    outside.write("Users/mira/memories/2026-06-01.md", "- The lamp of the quay is green.\n")
    outside.ok("index")
    done = outside.run("web", "--passphrase", "--user", "mira", stdin=None, input=WORDS + "\n")
    assert done.code == 0, done
    command = outside.command("serve", "--public", public, "--port", "0")
    log = outside.home / "serve.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=outside.environment)
    try:
        found = until(
            lambda: re.search(r"listening on http://127\.0\.0\.1:(\d+)", log.read_text("utf-8")),
            says=lambda: log.read_text("utf-8"),
        )
        yield int(found[1])
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def caddy(folder: Path, port: int, to: int) -> Iterator[ssl.SSLContext]:
    """Caddy with the file of the guide, for this machine; how its certificate is checked."""
    program = shutil.which("caddy")
    if program is None:
        pytest.skip("caddy is not installed (Debian: caddy)")
    [block] = re.findall(r"```text\n(memory\.example\.org \{.*?\n\})\n```", GUIDE, re.DOTALL)
    site = block.replace("memory.example.org {", f"https://127.0.0.1:{port} {{\n\ttls internal")
    site = site.replace("127.0.0.1:8377", f"127.0.0.1:{to}")
    options = (
        "admin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tdefault_sni 127.0.0.1"
    )
    file = folder / "Caddyfile"
    file.write_text(f"{{\n\t{options}\n}}\n{site}\n")
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "HOME": str(folder)}
    command = [program, "run", "--config", str(file), "--adapter", "caddyfile"]
    with running(command, port, folder / "caddy.log", env=environment):
        root = folder / "caddy/pki/authorities/local/root.crt"
        until(root.exists, says="caddy makes no certificate")
        verify = ssl.create_default_context(cafile=str(root))
        until(lambda: is_certified(port, verify), says="caddy has no certificate for this machine")
        yield verify


def is_certified(port: int, verify: ssl.SSLContext) -> bool:
    """Whether a server shows a certificate that is believed."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as found:
        verify.wrap_socket(found, server_hostname="127.0.0.1").close()
        return True
    return False


@contextlib.contextmanager
def tunnel(folder: Path, port: int, to: int) -> Iterator[None]:
    """The tunnel of the guide, to a server that is this machine."""
    daemon, client, keygen = (shutil.which(name) for name in ("sshd", "ssh", "ssh-keygen"))
    if not (daemon and client and keygen):
        pytest.skip("sshd is not installed (Debian: openssh-server)")
    for name in ("host", "user"):
        make = [keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(make, check=True)
    ssh_port = free_port()
    lines = {
        "Port": ssh_port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
    }
    (folder / "sshd").write_text("".join(f"{key} {value}\n" for key, value in lines.items()))
    # Debian's sshd wants it when root starts it.
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    [words] = re.findall(r"\$ (ssh -N -R \S+) you@memory\.example\.org", GUIDE)
    asked = words.replace("127.0.0.1:8377:", f"127.0.0.1:{port}:", 1).replace("8377", str(to))
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    rest = f"-p {ssh_port} -i {folder / 'user'} -F none -o StrictHostKeyChecking=no"
    known = f"-o UserKnownHostsFile={folder / 'known'} {user}@127.0.0.1"
    command = [client, *shlex.split(asked)[1:], *rest.split(), *known.split()]
    daemon_command = [daemon, "-D", "-e", "-f", str(folder / "sshd")]
    with (
        running(daemon_command, ssh_port, folder / "sshd.log"),
        running(command, port, folder / "ssh.log", stdin=subprocess.DEVNULL),
    ):
        yield


def check(outside: Outside, url: str, verify: ssl.SSLContext) -> None:
    """A program gets from the address to a note, after a person has said the passphrase."""
    outsiders = Outsiders(url, BrowserSessions(outside.state), verify)
    person = outsiders.person(signed_in=False)
    fields = {"user": "mira", "passphrase": WORDS, "to": "/"}
    answer = person.client.post("/sign-in", data=fields)
    assert answer.status_code == 303, answer.text
    cookie = answer.headers["set-cookie"]
    assert "secure" in cookie.lower()
    person.client.headers["cookie"] = cookie.partition(";")[0]

    kept = Kept()
    said = anyio.run(outsiders.call, person, kept, "lamp quay")

    assert "The lamp of the quay is green" in said
    assert kept.tokens is not None
    program = outsiders.client(authorization=f"Bearer {kept.tokens.access_token}")
    assert program.post("/v1/search", json={"query": "lamp"}).status_code == 401
    for client in outsiders.clients:
        client.close()


@pytest.mark.smoke
def test_behind_caddy(outside: Outside, tmp_path: Path) -> None:
    tls = free_port()
    url = f"https://127.0.0.1:{tls}"
    with served(outside, url) as port, caddy(tmp_path, tls, port) as verify:
        check(outside, url, verify)


def test_through_a_tunnel_to_caddy(outside: Outside, tmp_path: Path) -> None:
    tls, end = free_port(), free_port()
    url = f"https://127.0.0.1:{tls}"
    with (
        served(outside, url) as port,
        tunnel(tmp_path, end, port),
        caddy(tmp_path, tls, end) as verify,
    ):
        check(outside, url, verify)


def test_the_link_of_the_terminal_has_the_public_address(outside: Outside) -> None:
    with served(outside, "https://memory.example.org"):
        asked = ("web", "--link", "--user", "mira")
        until(lambda: outside.run(*asked).code == 0, says="the page is not announced")
        link = outside.ok(*asked)["link"]

    assert link.startswith("https://memory.example.org/open/")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--public", ""), "--public https://memory.example.org"),
        (("--public", "memory.example.org"), "--public https://memory.example.org"),
        (("--public", "https://memory.example.org", "--socket", "x.sock"), "leave `--socket` out"),
    ],
)
def test_a_wrong_start_says_what_to_write(
    outside: Outside, arguments: tuple[str, ...], hint: str
) -> None:
    done = outside.run("serve", *arguments)

    assert done.code == 2
    assert hint in done.err
