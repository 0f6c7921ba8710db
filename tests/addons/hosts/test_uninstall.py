"""`install --uninstall` leaves the files of hosts as they were, also when the vault is away."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.addons.hosts.conftest import Install
from tests.addons.hosts.test_installer import FILES, HOSTS, folder, given_files, shared_files
from tests.scenarios.outside import Outside


def delete(outside: Outside) -> None:
    shutil.rmtree(outside.vault)


def move(outside: Outside) -> None:
    outside.vault.rename(outside.vault.with_name("moved"))


def unmount(outside: Outside) -> None:
    delete(outside)
    outside.vault.mkdir()


def damage_marker(outside: Outside) -> None:
    (outside.vault / ".vault-memory").write_bytes(b"\xff{")


def damage_settings(outside: Outside) -> None:
    (outside.state / "vault-memory.toml").write_text("[[[")


def damage_index(outside: Outside) -> None:
    shutil.rmtree(outside.state / "index")
    (outside.state / "index").write_text("no folder")


def replace_with_file(outside: Outside) -> None:
    delete(outside)
    outside.vault.write_text("")


def remaining(outside: Outside) -> dict[str, bytes]:
    """Every file outside vault and state, but the backups."""
    return {name: raw for name, raw in folder(outside.home).items() if not name.endswith(".bak")}


@pytest.mark.parametrize(
    "lose", [delete, move, unmount, damage_marker, damage_settings, damage_index, replace_with_file]
)
def test_hosts_are_disconnected_from_a_vault_that_is_away(
    outside: Outside, install: Install, lose: Callable[[Outside], None]
) -> None:
    for host in HOSTS:
        given_files(outside, host)
    # An object that was empty before is the person's: only the record knows.
    (outside.home / ".cursor" / "mcp.json").write_text('{"mcpServers": {}}')
    before = remaining(outside)
    for host in HOSTS:
        install(host)
    lose(outside)
    installed = remaining(outside)
    shown = outside.ok("install", "cursor", "--uninstall", "--dry-run")
    assert [one["changed"] for one in shown["files"]] == [True]
    assert remaining(outside) == installed

    for host in HOSTS:
        answer = outside.ok("install", host, "--uninstall")
        assert any(one["changed"] for one in answer["files"])

    assert remaining(outside) == before
    again = outside.ok("install", "cursor", "--uninstall")
    assert not any(one["changed"] for one in again["files"])


@pytest.mark.parametrize("named", ["--vault", "variable", "moved", "other", "nothing", "inside"])
def test_the_record_is_found_however_the_vault_is_named(
    outside: Outside, install: Install, named: str
) -> None:
    settings = outside.home / ".cursor" / "mcp.json"
    settings.parent.mkdir()
    settings.write_text('{"mcpServers": {}}')
    install("cursor")
    command = ["install", "cursor", "--uninstall"]
    place = outside.home
    if named == "moved":
        move(outside)
        command += ["--vault", str(outside.vault.with_name("moved"))]
    elif named == "inside":
        place = outside.vault
    else:
        delete(outside)
    if named == "variable":
        outside.settings["VAULT_MEMORY_VAULT"] = str(outside.vault)
    elif named == "--vault":
        command += ["--vault", str(outside.vault)]
    elif named == "other":
        command += ["--vault", str(outside.home / "never")]

    done = outside.bare(*command, cwd=place)

    assert (done.code, settings.read_text()) == (0, '{"mcpServers": {}}'), done
    assert str(settings) in done.out


def test_hosts_are_disconnected_from_inside_a_deleted_vault(
    outside: Outside, install: Install
) -> None:
    install("cursor")
    gone = 'rmdir "$PWD" && shift && exec "$@"'
    shutil.rmtree(outside.vault)
    outside.vault.mkdir()

    done = outside.bare(
        "install", "cursor", "--uninstall", before=("sh", "-c", gone, "sh", "-"), cwd=outside.vault
    )

    assert done.code == 0, done
    assert not (outside.home / ".cursor" / "mcp.json").exists()


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "hermes"])
def test_what_is_empty_in_a_file_that_is_not_connected_stays(
    outside: Outside, install: Install, host: str
) -> None:
    files = shared_files([outside.home / name for name in FILES[host]])
    text = "[mcp_servers]\n[hooks]\n" if host == "codex" else '{"mcpServers": {}, "hooks": {}}'
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    never = outside.ok("install", host, "--uninstall")
    install(host)
    install(host, "--uninstall")
    again = outside.ok("install", host, "--uninstall")

    assert not any(one["changed"] for one in never["files"] + again["files"])
    assert [file.read_text() for file in files] == [text for _ in files]


@pytest.mark.parametrize("host", HOSTS)
def test_without_a_record_all_that_is_empty_counts_as_ours(
    outside: Outside, install: Install, host: str
) -> None:
    install(host)
    delete(outside)
    shutil.rmtree(outside.home / "state")

    outside.ok("install", host, "--uninstall")

    left = remaining(outside)
    assert all("vault-memory" not in raw.decode() for raw in left.values()), left
    assert all(not raw.strip() or raw.strip() == b"{}" for raw in left.values()), left
    assert not (outside.home / "state").exists()


def test_a_project_is_disconnected_from_a_vault_that_is_away(
    outside: Outside, install: Install
) -> None:
    code = outside.home / "code" / "heron"
    code.mkdir(parents=True)
    other = outside.home / "code" / "tern"
    other.mkdir()
    before = folder(outside.home)
    install("claude-code", "--project", str(code))
    install("claude-code", "--project", str(other))
    delete(outside)

    outside.ok("install", "claude-code", "--project", str(code), "--uninstall")
    assert "--projects" in Path(outside.home / ".claude" / "settings.json").read_text()
    outside.ok("install", "claude-code", "--project", str(other), "--uninstall")

    assert folder(outside.home) == before
