"""`service` as a person gives it: what is written, what is printed, and that the unit starts what it says."""

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.quick = True
    outside.settings["XDG_CONFIG_HOME"] = str(outside.home / "settings")
    return outside


def unit_of(vault: Outside) -> Path:
    return vault.home / "settings/systemd/user/vault-memory.service"


def test_install_writes_the_unit_and_prints_the_next_commands(vault: Outside):
    done = vault.run("service", "install", "--user", "--for", "systemd")

    assert done.code == 0
    assert done.out.splitlines() == [
        f"written {unit_of(vault)}",
        "next:",
        "  systemctl --user daemon-reload",
        "  systemctl --user enable --now vault-memory.service",
        "  loginctl enable-linger",
    ]
    assert "VAULT_MEMORY_EMBEDDING_KIND is set here but not in the unit" in done.err
    assert vault.ok("service", "install", "--user", "--for", "systemd")["state"] == "unchanged"


def test_a_dry_run_prints_the_unit_and_writes_nothing(vault: Outside):
    done = vault.run("service", "install", "--user", "--for", "systemd", "--dry-run")

    assert f'--vault" "{vault.vault}"' in done.out
    assert not unit_of(vault).exists()


def test_the_unit_starts_the_daemon_of_this_vault(vault: Outside):
    """In the empty environment that a service manager gives."""
    text = vault.ok("service", "install", "--user", "--for", "systemd")["text"]
    [start] = [
        line.partition("=")[2] for line in text.splitlines() if line.startswith("ExecStart=")
    ]
    told = dict(
        shlex.split(line.partition("=")[2])[0].split("=", 1)
        for line in text.splitlines()
        if line.startswith("Environment=")
    )
    program, *words = shlex.split(start.replace(":", "", 1))

    with vault.daemon():  # so that it ends at once, and says of which vault
        done = subprocess.run(
            [program, *words, "--json"], env=told, capture_output=True, text=True, timeout=60
        )

    assert done.returncode == 6
    assert "a daemon already runs on this vault" in done.stdout


def test_uninstalling_removes_the_unit_and_a_second_time_finds_nothing(vault: Outside):
    vault.ok("service", "install", "--user", "--for", "systemd")

    done = vault.ok("service", "uninstall", "--user", "--for", "systemd")

    assert (done["state"], done["next"][0]) == (
        "removed",
        "systemctl --user stop vault-memory.service",
    )
    assert not unit_of(vault).exists()
    assert (
        vault.run("service", "uninstall", "--user", "--for", "systemd").out
        == f"there is no {unit_of(vault)}\n"
    )


def test_installing_a_system_unit_touches_nothing_in_the_vault(vault: Outside):
    """Most likely it is root who says it."""
    done = vault.run("service", "install", "--for", "systemd", "--dry-run", "--json")

    assert (done.code, done.error["code"]) == (4, "vault_unreachable")
    assert list(vault.vault.iterdir()) == []

    vault.ok("index")
    assert (
        "multi-user.target"
        in vault.ok("service", "install", "--for", "systemd", "--dry-run")["text"]
    )


def test_a_foreign_unit_exits_with_5(vault: Outside):
    unit_of(vault).parent.mkdir(parents=True)
    unit_of(vault).write_text("[Service]\n")

    done = vault.run("service", "install", "--user", "--for", "systemd", "--json")

    assert (done.code, done.error["code"]) == (5, "unit_not_ours")
    assert unit_of(vault).read_text() == "[Service]\n"
