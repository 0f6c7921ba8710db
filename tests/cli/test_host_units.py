"""`service` for a host of many vaults: the unit starts the host, and the host tells the service manager how it is."""

import io
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.addons.fleet.running import OperatedFleet
from tests.remote.servers import s3_stores
from tests.scenarios.outside import free_port
from tests.service.many import Vaults
from tests.service.running_host import run
from tests.service.test_service_manager import Manager
from vault_memory.cli import main, optional_dependencies

OWN = ("--user", "--for", "systemd", "--dry-run", "--json")


@pytest.fixture
def vaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vaults:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    vaults = Vaults(tmp_path)
    vaults.path.mkdir()
    vaults.add_three()
    return vaults


def settings_of(text: str, name: str) -> list[str]:
    lines = [line.partition("=") for line in text.splitlines()]
    return [value for key, _, value in lines if key == name]


def unit_text(vaults: Vaults, *arguments: str) -> str:
    done = run(vaults, "service", "install", *arguments, *OWN)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(parsed(done.stdout)["text"])


def parsed(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text)
    return answer


def start_of(text: str) -> tuple[list[str], dict[str, str]]:
    """The words and the variables with which the service manager starts a unit."""
    [start] = settings_of(text, "ExecStart")
    program, *words = shlex.split(start)
    variables = (shlex.split(line)[0] for line in settings_of(text, "Environment"))
    return [program.removeprefix(":"), *words], dict(
        variable.split("=", 1) for variable in variables
    )


@contextmanager
def service(text: str, manager: Manager, **more: str) -> Iterator["subprocess.Popen[str]"]:
    """A unit as the service manager runs it, in the empty environment that it gives."""
    words, variables = start_of(text)
    told = {"NOTIFY_SOCKET": str(manager.socket.getsockname()), **more}
    process = subprocess.Popen(words, env=variables | told, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait(120)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    manager = Manager(str(tmp_path / "notify"))
    with manager.socket:
        yield manager


@pytest.mark.sampled
def test_the_unit_of_a_host_serves_the_vaults_below_its_folder(vaults: Vaults, manager: Manager):
    port = str(free_port())
    text = unit_text(vaults, "--vaults", str(vaults.path), "--port", port)

    with service(text, manager, WATCHDOG_USEC="800000") as process:
        assert manager.until("READY")["STATUS"].startswith("serving 3 vaults")
        assert len(manager.listen(1.5)) >= 3
        process.send_signal(signal.SIGTERM)
        manager.until("STOPPING")
        assert process.wait(120) == 0


def test_the_unit_of_a_host_lets_it_write_to_the_vaults_their_states_and_its_socket(vaults: Vaults):
    sockets = vaults.folder / "run"
    sockets.mkdir()
    asked = ("--vaults", str(vaults.path), "--socket", str(sockets / "s"))
    text = unit_text(vaults, *asked)

    [written] = settings_of(text, "ReadWritePaths")
    cache = vaults.folder / "cache"
    state = vaults.folder / "state"
    assert shlex.split(written) == [str(vaults.path), str(state), str(sockets), f"-{cache}"]
    assert settings_of(text, "ProtectSystem") == ["strict"]
    sockets.rmdir()
    refused = run(vaults, "service", "install", *asked, *OWN)
    assert refused.returncode == 2
    assert "the folder of the socket" in refused.stdout


def test_a_daemon_and_two_hosts_have_units_of_their_own(vaults: Vaults):
    other = vaults.folder / "others"
    other.mkdir()
    (vaults.path / "west").rename(other / "west")

    def unit(action: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return run(vaults, "service", action, *arguments, "--user", "--for", "systemd")

    for arguments in (
        ("--vault", str(vaults.path / "north")),
        ("--vaults", str(vaults.path)),
        ("--vaults", str(other), "--name", "others"),
    ):
        assert unit("install", *arguments).returncode == 0
    clash = unit("install", "--vaults", str(other))
    assert clash.returncode == 5
    assert "belongs to another vault or host" in clash.stderr
    folder = vaults.folder / "settings/systemd/user"
    names = {"vault-memory.service", "vault-memory-host.service", "others.service"}
    assert {file.name for file in folder.iterdir()} == names

    assert unit("uninstall", "--vaults", str(other)).returncode == 5
    removed = unit("uninstall", "--vaults", str(vaults.path))
    assert removed.stdout.startswith("removed ")
    assert "systemctl --user stop vault-memory-host.service" in removed.stdout
    names.discard("vault-memory-host.service")
    assert {file.name for file in folder.iterdir()} == names


def test_the_configuration_of_a_host_is_checked_before_its_unit_is_written(vaults: Vaults):
    config = vaults.folder / "host.toml"
    config.write_text('[[serve.tokens]]\nuser = "mira"\ntoken_file = "t"\n')

    asked = ("--vaults", str(vaults.path), "--config", str(config))
    refused = run(vaults, "service", "install", *asked, *OWN)

    assert refused.returncode == 3
    assert "names no tokens" in refused.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence", "code"),
    [
        (("--vaults", "nowhere"), "cannot be listed", 4),
        (("--vaults", "empty"), "there is no vault below", 4),
        (("--vaults", "people/north"), "is a vault, and no folder", 3),
        (("--vaults", "people", "--config", "away.toml"), "does not exist", 3),
        (("--vaults", "people", "--web", "--socket", "s"), "no browser opens", 2),
        (("--vaults", "people", "--port", "1", "--socket", "s"), "excludes", 2),
        (("--vaults", "people", "--fleet"), "two kinds of host", 2),
        (("--fleet",), "needs its configuration", 2),
        (("--fleet", "--config", "fleet.toml", "--web"), "takes no --no-http", 2),
        (("--fleet", "--config", "away.toml"), "does not exist", 3),
        (("--fleet", "--config", "fleet.toml"), "names no database", 3),
    ],
)
def test_a_wrong_choice_of_a_host_gets_a_sentence_and_the_next_step(
    vaults: Vaults,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    sentence: str,
    code: int,
):
    monkeypatch.chdir(vaults.folder)
    (vaults.folder / "empty").mkdir()
    (vaults.folder / "fleet.toml").touch()

    refused = run(vaults, "service", "install", *arguments, *OWN)

    assert refused.returncode == code, refused.stdout
    error = parsed(refused.stdout)["error"]
    assert sentence in error["message"]
    assert error["hint"]
    assert not (vaults.folder / "settings").exists()


@pytest.mark.parametrize("others", [("--socket", "s"), ("--web",), ("--port", "0")])
def test_a_host_without_the_packages_of_web_is_refused(
    vaults: Vaults, monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...]
):
    monkeypatch.setitem(optional_dependencies.MODULES, "web", ("a_missing_package",))
    for name, value in vaults.environment.items():
        monkeypatch.setenv(name, value)
    words = ["service", "install", "--vaults", str(vaults.path), *others, *OWN]
    output = io.StringIO()

    with redirect_stdout(output), pytest.raises(SystemExit) as ended:
        main(words)

    assert ended.value.code == 3
    error = parsed(output.getvalue())["error"]
    assert error["code"] == "extra_missing"
    assert "vault-memory[web]" in error["hint"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_vaults_of_several_users_get_no_common_service(vaults: Vaults):
    os.chown(vaults.path / "south", 65534, 65534)

    refused = run(vaults, "service", "install", "--vaults", str(vaults.path), *OWN)

    assert refused.returncode == 2
    assert "belong to several users" in parsed(refused.stdout)["error"]["message"]


@pytest.mark.sampled
def test_the_unit_of_a_host_of_a_fleet_serves_until_it_is_drained(tmp_path: Path, manager: Manager):
    name = "s3-moto" if s3_stores.missing("s3-seaweed") else "s3-seaweed"
    store = s3_stores.start(name)
    try:
        fleet = OperatedFleet(tmp_path, None, store)
        fleet.config("east")
        asked = ("service", "install", "--fleet", "--port", "0", *OWN[:-1])
        missing = fleet.ask(*asked, host="east")
        assert "the folder for local copies" in missing["error"]["message"]
        scratch = tmp_path / "scratch/east"
        scratch.mkdir(parents=True)
        missing = fleet.ask(*asked, host="east")
        assert missing["error"]["code"] == "ledger_missing"
        fleet.ask("fleet", "init")
        text = fleet.ask(*asked, host="east")["text"]
        [written] = settings_of(text, "ReadWritePaths")
        folders = [str(scratch), str(fleet.ledger_file.parent)]
        assert shlex.split(written)[:2] == folders

        with service(text, manager, WATCHDOG_USEC="8000000") as process:
            assert manager.until("READY")["STATUS"].startswith("serving")
            manager.until("WATCHDOG")
            fleet.ask("fleet", "drain", "east")
            manager.until("STOPPING")
            assert process.wait(120) == 0
    finally:
        store.stop()
