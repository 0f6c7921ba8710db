"""`vault-memory web` and `serve --web`: real processes, asked over real sockets."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.browser.web_process import WebProcess
from tests.scenarios.outside import PATIENCE_SECONDS, Outside, until
from vault_memory.addons.page.browser_sessions import BrowserSessions
from vault_memory.addons.page.running import announced_host
from vault_memory.errors import Locked
from vault_memory.vault.marker import ensure_marker

Start = Callable[..., WebProcess]


@pytest.fixture
def start(outside: Outside) -> Iterator[Start]:
    """Starts a page with these options, and ends it after the test."""
    outside.write("USER.md", "- Keeps bees\n")
    processes: list[WebProcess] = []

    def start_page(*options: str, **settings: tuple[str, ...]) -> WebProcess:
        process = WebProcess(outside, options, **settings)
        processes.append(process)
        return process

    yield start_page
    for process in processes:
        process.end()


def ask(link: str, method: str = "GET") -> httpx.Response:
    """Opens a URL of the page without a resolver for its host name."""
    url = urlsplit(link)
    return httpx.request(
        method,
        f"http://127.0.0.1:{url.port}{url.path}",
        headers={"host": url.netloc, "origin": f"http://{url.netloc}"},
    )


@pytest.mark.smoke
def test_the_page_has_the_same_address_at_each_start(start: Start) -> None:
    first = start()
    one = urlsplit(first.start())
    assert one.hostname is not None
    assert one.hostname.startswith("vault-")
    assert one.hostname.endswith(".localhost")
    assert first.stop()[0] == 0

    assert urlsplit(start().start()).netloc == one.netloc


@pytest.mark.sampled
def test_a_second_start_prints_one_more_link_to_the_first(start: Start, outside: Outside) -> None:
    process = start()
    link = process.start()

    again = outside.run("web", "--no-browser")

    assert again.code == 0
    assert "runs already" in again.err
    second = again.out.strip()
    assert urlsplit(second).netloc == urlsplit(link).netloc
    assert ask(link, "POST").status_code == 303
    assert ask(second, "POST").status_code == 303


@pytest.mark.sampled
def test_a_link_needs_a_page_that_runs(start: Start, outside: Outside) -> None:
    without = outside.run("web", "--link")
    assert without.code == 3
    assert "start it with `vault-memory web`" in without.err

    process = start()
    process.start()
    assert process.link().startswith("http://vault-")
    # Fault: a page that was killed leaves its record.
    process.stop(signal.SIGKILL)

    assert outside.run("web", "--link").code == 3


@pytest.mark.sampled
def test_a_link_shows_no_more_people_than_the_page(start: Start, outside: Outside) -> None:
    process = start("--user", "mira")
    process.start()

    refused = outside.run("web", "--link", "--user", "tomas")

    assert refused.code == 2
    assert "does not show `tomas`" in refused.err


@pytest.mark.sampled
def test_serve_has_the_page_beside_the_calls(start: Start) -> None:
    process = start(command=("serve", "--web", "--port", "0"))
    link = process.start()
    url = link.partition("/open/")[0]

    assert ask(link, "POST").headers["location"] == "/"
    assert ask(f"{url}/search").status_code == 401
    assert "vault-memory web --link" in ask(f"{url}/search").text
    health = ask(f"{url}/healthz")
    # The calls have a list of their own of the names of this machine.
    assert health.status_code in (200, 421, 403)
    port = urlsplit(link).port
    assert httpx.get(f"http://127.0.0.1:{port}/healthz").json() == {"ok": True}
    notes = httpx.get(f"http://127.0.0.1:{port}/v1/notes")
    assert notes.json()["error"]["code"] == "unauthorised"
    assert process.stop()[0] == 0


def test_serve_on_a_socket_has_no_page(outside: Outside) -> None:
    outside.write("USER.md", "- Keeps bees\n")

    refused = outside.run("serve", "--web", "--socket", "s", "--user", "mira", "--new")

    assert refused.code == 2
    assert "no browser opens a socket" in refused.err


def test_beside_a_host_a_link_leads_to_the_host(outside: Outside) -> None:
    outside.write("USER.md", "- Keeps bees\n")
    ensure_marker(outside.vault)
    vaults, states = outside.vault.parent, outside.state.parent
    vault = outside.state.name

    with announced_host(vaults, states, "https://memory.example.org"):
        printed = outside.run("web", "--no-browser")
        linked = outside.run("web", "--link", "--user", "mira")

        assert printed.code == 0, printed.err
        assert "runs already" in printed.err
        for link in (printed.out.strip(), linked.out.strip()):
            url, _, key = link.partition("/open/")
            assert url == "https://memory.example.org"
            assert key.startswith(f"{vault}.")
            assert BrowserSessions(outside.state).rights_of_link(key)

    # The host has ended.
    assert outside.run("web", "--link").code == 3


def test_a_host_of_other_vaults_has_no_link(outside: Outside, tmp_path: Path) -> None:
    outside.write("USER.md", "- Keeps bees\n")
    others = tmp_path / "others"
    others.mkdir()
    ensure_marker(outside.vault)

    with announced_host(others, outside.state.parent, "https://memory.example.org"):
        assert outside.run("web", "--link").code == 3


def test_two_hosts_of_one_folder_are_refused(tmp_path: Path) -> None:
    with announced_host(tmp_path, tmp_path, "http://localhost:1"):
        again = announced_host(tmp_path / ".", tmp_path, "http://localhost:2")
        with pytest.raises(Locked), again:
            pass


def has_ended(link: str) -> bool:
    """Whether nobody listens any more at the address of a link."""
    try:
        ask(link)
    except httpx.TransportError:
        return True
    return False


@pytest.mark.sampled
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_run_has_the_page_beside_the_daemon_and_ends_it(start: Start, number: int) -> None:
    process = start(command=("run", "--web"))
    link = process.start()
    until(lambda: any("Open this link" in line for line in process.errors))
    assert ask(link, "POST").headers["location"] == "/"

    code, _ = process.stop(number)

    # Fault: nobody waits for the page of a daemon that was killed.
    until(lambda: has_ended(link))
    if number != signal.SIGKILL:
        assert code == 0, process.errors
        until(lambda: process.errors.count("stopped\n") == 1)


@pytest.mark.sampled
def test_the_page_beside_a_daemon_follows_what_it_reads(start: Start, outside: Outside) -> None:
    process = start(command=("run", "--web"))
    link = process.start()
    cookie = ask(link, "POST").headers["set-cookie"].partition(";")[0]
    url = urlsplit(link)

    answer = httpx.get(
        f"http://127.0.0.1:{url.port}/", headers={"host": url.netloc, "cookie": cookie}
    )

    assert "Live" in answer.text
    assert process.link().startswith(f"http://{url.netloc}/open/")
    assert outside.socket.exists()


@pytest.mark.parametrize("command", [("web",), ("run", "--web")])
def test_without_its_packages_the_page_says_how_to_get_them(
    outside: Outside, command: tuple[str, ...]
) -> None:
    outside.write("USER.md", "- Keeps bees\n")
    hide = "import sys; sys.modules['jinja2'] = None; from vault_memory.cli import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", hide, "--vault", str(outside.vault), *command],
        env=outside.environment,
        cwd=outside.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )

    assert done.returncode == 3
    assert "pip install 'vault-memory[web]'" in done.stderr
    assert "bug" not in done.stderr
