"""Real programs find their way from the address of `serve --public` to a memory, and a suite checks the server.

They open the browser by themselves; here they print where they would. The descriptions of Claude Code and Codex are on
the internet, where no test goes: here Codex registers itself, and Claude Code is registered before.
"""

import json
import os
import pty
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.addons.connector.connected import Outsiders, Person
from tests.addons.connector.test_proxies import running
from tests.clients import programs
from tests.conftest import PROJECT
from tests.scenarios.outside import Outside, free_port, outside, until
from vault_memory.addons.page.browser_sessions import BrowserSessions

__all__ = ["outside"]

pytestmark = pytest.mark.clients

PATIENCE_SECONDS = 120
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/authorize\?[!-~]+")


@dataclass
class Signer:
    """A server with `serve --public`, a person who is signed in, and the home of a program."""

    outside: Outside
    outsiders: Outsiders
    person: Person

    @property
    def environment(self) -> dict[str, str]:
        """That of a program, without a browser."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        home = self.outside.home
        return {**kept, "HOME": str(home), "BROWSER": "true", "CODEX_HOME": str(home / "codex")}

    def lets_in(self, *command: str) -> str:
        """Runs a program that asks the person in the browser. Returns what it says."""
        # Claude Code asks only a person at a terminal.
        near, far = pty.openpty()
        # The address stays on one line.
        subprocess.run(["stty", "cols", "2000"], stdin=far, check=True)
        process = subprocess.Popen(
            command,
            env=self.environment,
            cwd=self.outside.home,
            stdin=far,
            stdout=far,
            stderr=far,
            start_new_session=True,
        )
        os.close(far)
        timer = threading.Timer(PATIENCE_SECONDS, process.kill)
        timer.start()
        said, went = "", False
        # A terminal whose programs have ended is none any more.
        with suppress(OSError):
            while block := os.read(near, 65536):
                said += block.decode("utf-8", "replace")
                if not went and (found := ADDRESS.search(said)):
                    went = True
                    question = self.person.asks(found[0])
                    assert httpx.get(self.person.answers(question)).status_code < 400
        timer.cancel()
        os.close(near)
        assert process.wait() == 0, said
        assert went, said
        return said

    def says(self, *command: str) -> str:
        """What a program prints."""
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.outside.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        return done.stdout + done.stderr

    def connections(self) -> str:
        """The view of what was let in."""
        return self.person.client.get("/connections").text


@pytest.fixture
def signer(outside: Outside) -> Iterator[Signer]:
    """A copy of the sample vault, served at an address of this machine."""
    shutil.copytree(PROJECT / "sample_vault", outside.vault, dirs_exist_ok=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = outside.command("serve", "--public", url, "--port", str(port))
    with running(command, port, outside.home / "serve.log", env=outside.environment):
        outsiders = Outsiders(url, BrowserSessions(outside.state))
        yield Signer(outside, outsiders, outsiders.person("mira"))
        for client in outsiders.clients:
            client.close()


def claude_with_a_connection(signer: Signer) -> str:
    """Claude Code, which a person has let in."""
    claude, port = programs.claude(), str(free_port())
    callback = [f"http://localhost:{port}/callback"]
    client = signer.outsiders.registered(
        client_name="Claude Code", redirect_uris=callback, token_endpoint_auth_method="none"
    )
    known = ("--client-id", client["client_id"], "--callback-port", port)
    add = (claude, "mcp", "add", "--transport", "http", "--scope", "user", *known)
    signer.says(*add, "memory", signer.outsiders.resource)
    signer.lets_in(claude, "mcp", "login", "memory")
    return claude


def test_claude_code(signer: Signer) -> None:
    claude = claude_with_a_connection(signer)

    assert "Connected" in signer.says(claude, "mcp", "get", "memory")
    assert "Claude Code" in signer.connections()


def test_codex(signer: Signer) -> None:
    home = Path(signer.environment["CODEX_HOME"])
    home.mkdir()
    (home / "config.toml").write_text(
        'mcp_oauth_credentials_store = "file"\n'
        f'[mcp_servers.memory]\nurl = "{signer.outsiders.url}/mcp"\n'
    )

    registers = ("--oauth-client-registration", "dcr")
    signer.lets_in(programs.codex(), "mcp", "login", "memory", *registers)

    assert "OAuth" in signer.says(programs.codex(), "mcp", "list")
    assert "Codex" in signer.connections()


def test_opencode(signer: Signer) -> None:
    folder = signer.outside.home / ".config" / "opencode"
    folder.mkdir(parents=True)
    server = {"type": "remote", "url": f"{signer.outsiders.url}/mcp", "enabled": True}
    (folder / "opencode.json").write_text(json.dumps({"mcp": {"memory": server}}))

    signer.lets_in(programs.opencode(), "mcp", "auth", "memory")

    assert "connected" in signer.says(programs.opencode(), "mcp", "list")
    assert "OpenCode" in signer.connections()


def test_the_conformance_suite_for_authorization_servers(signer: Signer) -> None:
    outsiders, port = signer.outsiders, free_port()
    # The suite takes a client without a secret where the server knows such.
    callback = [f"http://127.0.0.1:{port}/callback"]
    client = outsiders.registered(redirect_uris=callback, token_endpoint_auth_method="none")
    command = [
        *programs.conformance(),
        "authorization",
        *("--url", outsiders.url),
        *("--client-id", client["client_id"]),
        *("--resource", outsiders.resource),
        *("-p", str(port)),
    ]

    said = signer.lets_in(*command)

    assert "Total: 3 passed, 0 failed" in said


def test_what_is_ended_on_the_page_is_ended_in_the_program(signer: Signer) -> None:
    claude = claude_with_a_connection(signer)
    page = signer.connections()
    csrf, key = (re.findall(f'name="{name}" value="([^"]+)"', page)[0] for name in ("csrf", "id"))

    done = signer.person.client.post("/connections/end", data={"csrf": csrf, "id": key})

    assert done.status_code == 303
    until(
        lambda: "Needs authentication" in signer.says(claude, "mcp", "get", "memory"),
        says=lambda: signer.says(claude, "mcp", "get", "memory"),
    )
