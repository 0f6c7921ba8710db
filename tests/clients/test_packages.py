"""The packages of `make packages`, installed by each program's own command, against a scripted model."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import programs
from tests.clients.clients import SECONDS
from tests.clients.conftest import GREETING, REPLY, opened
from tests.clients.packages import BUILT, PACKAGED, Packaged
from tests.clients.test_clients import turns
from tests.conftest import PROJECT

pytestmark = pytest.mark.clients

FETCHING_SECONDS = 600
"""So long may packages come from their registry"""


@pytest.fixture(params=PACKAGED, ids=lambda client: client.name)
def packaged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Packaged]:
    """Each client in its turn, with nothing of ours yet."""
    with opened(request.param, tmp_path) as started:
        yield started


def said_by(*command: str) -> str:
    """What a program prints that checks a package; it must end well."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


def test_the_validators_of_the_programs_accept_the_packages(tmp_path: Path) -> None:
    marketplace = BUILT / "marketplace"
    [bundle] = BUILT.glob("*.mcpb")
    with zipfile.ZipFile(bundle) as opened_bundle:
        opened_bundle.extractall(tmp_path / "bundle")
    # The inspector of OpenClaw writes its report beside the package.
    shutil.copytree(BUILT / "openclaw", tmp_path / "openclaw")

    for folder in (marketplace, marketplace / "plugins" / "vault-memory"):
        assert "Validation passed" in said_by(programs.claude(), "plugin", "validate", str(folder))
    gemini = said_by(*programs.gemini(), "extensions", "validate", str(BUILT / "gemini-cli"))
    assert "successfully validated" in gemini
    manifest = said_by(*programs.script("mcpb"), "validate", str(tmp_path / "bundle/manifest.json"))
    assert "passes" in manifest
    inspector = said_by(
        *programs.script("clawhub"), "package", "validate", str(tmp_path / "openclaw")
    )
    assert "PASS" in inspector
    assert "Findings: none" in inspector


def test_the_entry_of_the_registry_fits_its_schema_and_names_what_is_released(
    tmp_path: Path,
) -> None:
    entry = json.loads((BUILT / "server.json").read_text(encoding="utf-8"))
    [bundle] = BUILT.glob("*.mcpb")
    for file in (BUILT / "server.json", PROJECT / "pyproject.toml", PROJECT / "README.md"):
        shutil.copy(file, tmp_path)

    said = said_by(str(programs.skillsaw()), "lint", str(tmp_path))

    assert "Repo type: mcp-registry" in said
    assert "All checks passed" in said
    assert f"mcp-name: {entry['name']}" in (PROJECT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {entry["version"], entry["packages"][0]["version"]} == {project["version"]}
    assert hashlib.sha256(bundle.read_bytes()).hexdigest() == entry["packages"][1]["fileSha256"]


def of_pip(name: str) -> str:
    """What pip is configured for, such as an index of packages; empty without."""
    command = (sys.executable, "-m", "pip", "config", "get", f"global.{name}")
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def fetching(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has uv, and not the program."""
    folder = tmp_path / "uv"
    folder.mkdir()
    for name in ("uv", "uvx"):
        (folder / name).symlink_to(programs.skillsaw().parent / name)
    index = {
        "UV_DEFAULT_INDEX": of_pip("index-url"),
        "UV_EXTRA_INDEX_URL": of_pip("extra-index-url"),
        "UV_FIND_LINKS": ",".join([str(PROJECT / "build" / "dist"), *of_pip("find-links").split()]),
    }
    proxies = {name: value for name, value in os.environ.items() if "proxy" in name.lower()}
    own = {
        "HOME": str(tmp_path),
        "PATH": f"{folder}:/usr/bin:/bin",
        "UV_PYTHON": sys.executable,
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_SYSTEM_CERTS": "1",
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    return own | proxies | {name: value for name, value in index.items() if value}


@pytest.fixture
def boat_vault(tmp_path: Path) -> Path:
    note = tmp_path / "vault" / "Users" / "mira" / "wren" / "config" / "USER.md"
    note.parent.mkdir(parents=True)
    note.write_text("- rows the heron boat\n")
    return tmp_path / "vault"


def test_a_program_that_is_not_installed_is_fetched_by_uvx(
    fetching: dict[str, str], boat_vault: Path
) -> None:
    start = str(BUILT / "gemini-cli" / "start.sh")
    event = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}

    done = subprocess.run(
        ("/bin/sh", start, str(boat_vault), "mira", "hook", "claude-code"),
        input=json.dumps(event),
        env=fetching,
        capture_output=True,
        text=True,
        timeout=FETCHING_SECONDS,
    )

    assert "rows the heron boat" in done.stdout, done.stderr


def test_the_bundle_starts_the_server_from_its_own_wheel(
    fetching: dict[str, str], boat_vault: Path, tmp_path: Path
) -> None:
    [bundle] = BUILT.glob("*.mcpb")
    folder = tmp_path / "bundle"
    with zipfile.ZipFile(bundle) as opened_bundle:
        opened_bundle.extractall(folder)
    start = json.loads((folder / "manifest.json").read_text())["server"]["mcp_config"]
    filled = {
        "${__dirname}": str(folder),
        "${user_config.vault}": str(boat_vault),
        "${user_config.person}": "mira",
    }
    words = [filled.get(word, word) for word in (start["command"], *start["args"])]
    search = {"name": "memory_search", "arguments": {"query": "heron boat"}}
    requests = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": search},
    ]

    done = subprocess.run(
        words,
        input="".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests),
        env=fetching,
        capture_output=True,
        text=True,
        timeout=FETCHING_SECONDS,
    )

    assert "rows the heron boat" in done.stdout, done.stderr


def status(client: Packaged) -> dict[str, object]:
    [host] = client.ours("install", "--check", client.name)["hosts"]
    return dict(host)


def test_a_package_gives_the_memory_and_records_both_sides_until_it_is_removed(
    packaged: Packaged,
) -> None:
    assert status(packaged)["wired"] == "no"
    packaged.add_package()
    packaged.trust()

    assert REPLY in packaged.ask(GREETING)

    assert packaged.model.turns[0].text.count("rows the heron boat") == 1
    assert turns(packaged) == [("user", GREETING), ("assistant", REPLY)]
    assert status(packaged)["wired"] == "yes"

    packaged.remove_package()

    asked = len(packaged.model.turns)
    packaged.ask("And to the boat")
    assert "rows the heron boat" not in packaged.model.turns[asked].text
    assert len(turns(packaged)) == 2
    assert status(packaged)["wired"] == "no"


def test_the_tools_of_a_package_are_offered(packaged: Packaged) -> None:
    packaged.add_package()
    packaged.trust()

    assert "vault-memory" in packaged.own_check()


def test_beside_the_entries_of_install_a_turn_is_recorded_once_and_the_block_given_once(
    packaged: Packaged,
) -> None:
    packaged.add_package()
    packaged.install()
    packaged.trust()

    packaged.ask(GREETING)

    assert turns(packaged) == [("user", GREETING), ("assistant", REPLY)]
    assert packaged.model.turns[0].text.count("rows the heron boat") == 1
