"""A ledger in SQLite is found by its address alone, and is never where it could be lost or shared."""

from pathlib import Path

import pytest

from vault_memory.addons.fleet import fleet_config
from vault_memory.addons.fleet.fleet_config import FleetConfig
from vault_memory.addons.fleet.ledger.ledger_errors import LedgerMissing
from vault_memory.config.sections import Config
from vault_memory.errors import ConfigError, VaultMemoryError
from vault_memory.vault.marker import ensure_marker
from vault_memory.vault.watch import mounts

PASSWORD = "lantern"
MOUNTED = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / /srv/team rw - nfs4 nas:/team rw
31 22 0:41 / /srv/phone rw - fuse.sshfs phone:/ rw
32 22 0:42 / /srv/windows rw - fuseblk /dev/sdb1 rw
33 22 0:43 / /srv/layers rw - fuse.fuse-overlayfs overlay rw
"""


def _config(tmp_path: Path, database: str, **settings: str) -> FleetConfig:
    config = Config()
    fleet = config.fleet._replace(database=database, name="east", **settings)
    environment = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    return FleetConfig(config._replace(fleet=fleet), environment)


def _error(config: FleetConfig) -> VaultMemoryError:
    with pytest.raises(VaultMemoryError) as error:
        config.open_ledger(create=True)
    return error.value


def test_an_absolute_path_is_the_ledger(tmp_path: Path) -> None:
    file = tmp_path / "a folder" / "ledger.sqlite"
    config = _config(tmp_path, f"SQLite:///{file}")
    assert not config.needs_postgres
    with pytest.raises(LedgerMissing):
        config.open_ledger()
    assert not file.parent.exists()

    config.open_ledger(create=True).close()

    assert file.exists()
    config.open_ledger().close()


@pytest.mark.parametrize(
    "database",
    [
        "sqlite:",
        "sqlite://",
        "sqlite:///",
        "sqlite:///ledger.sqlite",
        "sqlite:///:memory:",
        "sqlite:///~/ledger.sqlite",
        "sqlite:ledger.sqlite",
        f"sqlite://keeper:{PASSWORD}@db.example.org/ledger.sqlite",
        f"sqlite:////srv/ledger.sqlite?key={PASSWORD}",
        "sqlite:////srv/ledger.sqlite?nolock=1",
    ],
)
def test_any_other_address_is_refused_without_its_words(tmp_path: Path, database: str) -> None:
    error = _error(_config(tmp_path, database))

    assert isinstance(error, ConfigError)
    assert "sqlite:////" in error.hint
    assert PASSWORD not in str(error.as_json())


@pytest.mark.parametrize("path", ["/srv/ledger.sqlite", "~/ledger", "./ledger"])
def test_a_bare_path_asks_for_its_scheme_and_for_no_package(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConfigError) as error:
        assert _config(tmp_path, path).needs_postgres

    assert "sqlite:////" in error.value.hint


def test_a_password_file_protects_no_ledger_in_sqlite(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/ledger.sqlite"
    error = _error(_config(tmp_path, database, password_file="db.password"))

    assert "no password" in error.message
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_ledger_in_a_vault_is_refused(tmp_path: Path) -> None:
    vault = tmp_path / "notes"
    vault.mkdir()
    ensure_marker(vault)
    link = tmp_path / "link"
    link.symlink_to(vault / "fleet")
    (vault / "fleet").mkdir()
    for folder in (vault, vault / "fleet", link):
        error = _error(_config(tmp_path, f"sqlite:///{folder}/ledger.sqlite"))
        assert "in the vault" in error.message
    assert not list(vault.rglob("*.sqlite*"))


@pytest.mark.parametrize("place", ["state/fleet/east", "state/fleet", "scratch/deep"])
def test_a_ledger_in_a_scratch_is_refused(tmp_path: Path, place: str) -> None:
    database = f"sqlite:///{tmp_path / place}/ledger.sqlite"
    error = _error(_config(tmp_path, database, scratch=str(tmp_path / "scratch")))

    assert "in the scratch" in error.message
    assert not (tmp_path / place).exists()


def test_a_file_system_that_other_machines_share_is_told_from_a_disk(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTED)
    kinds = {
        place: mounts.network_file_system(f"/srv/{place}/fleet", mounts=str(table))
        for place in ("team", "phone", "windows", "layers", "own")
    }
    assert kinds == {"team": "nfs4", "phone": "fuse.sshfs", "windows": "", "layers": "", "own": ""}


def test_a_ledger_on_the_network_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"30 22 0:40 / {tmp_path} rw - nfs4 nas:/team rw\n")
    read = mounts.network_file_system

    def of_table(path: Path) -> str:
        return read(path, mounts=str(table))

    monkeypatch.setattr(fleet_config.mounts, "network_file_system", of_table)
    error = _error(_config(tmp_path, f"sqlite:///{tmp_path}/ledger.sqlite"))

    assert "nfs4" in error.message
    assert "PostgreSQL" in error.hint
    assert not (tmp_path / "ledger.sqlite").exists()
