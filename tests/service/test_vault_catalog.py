"""The catalog knows each vault, its token and its trouble, and opens none."""

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.service.many import WORDS, Vaults, token_of
from vault_memory.errors import VaultUnreachable
from vault_memory.http.tokens import token_digest
from vault_memory.service.host_folder import VaultInVaults
from vault_memory.service.vault_catalog import VaultCatalog
from vault_memory.vault.marker import ensure_marker


def catalog_of(vaults: Vaults) -> VaultCatalog:
    catalog = VaultCatalog(vaults.path, vaults.environment)
    catalog.renew()
    return catalog


def vault_of_token(catalog: VaultCatalog, token: str) -> str:
    owner = asyncio.run(catalog.tokens.owner(token_digest(token)))
    return owner.vault if owner else ""


def names(catalog: VaultCatalog) -> list[str]:
    return sorted(entry.name for entry in catalog.served())


def test_each_token_opens_its_own_vault(vaults: Vaults) -> None:
    vaults.add_three()
    catalog = catalog_of(vaults)
    assert names(catalog) == sorted(WORDS)
    for name in WORDS:
        assert vault_of_token(catalog, token_of(name)) == vaults.vault_of(name)
    assert not vault_of_token(catalog, "x" * 40)


def test_the_catalog_makes_no_state(vaults: Vaults) -> None:
    vaults.add("north")
    catalog_of(vaults)
    assert not (vaults.folder / "state").exists()


def test_vaults_in_folders_are_served_and_vaults_in_vaults_are_not(vaults: Vaults) -> None:
    for name in ("firm/ann", "firm/team/bo", "firm/team/bo/inner", "a/b/c/deep"):
        vaults.add(name)
    vaults.add(".hidden")
    os.symlink(vaults.path / "firm/ann", vaults.path / "again")
    assert names(catalog_of(vaults)) == ["ann", "bo"]


def test_a_folder_that_is_a_vault_or_is_not_there_is_refused(vaults: Vaults) -> None:
    root = vaults.add("north")
    with pytest.raises(VaultInVaults):
        VaultCatalog(root, vaults.environment)
    with pytest.raises(VaultUnreachable):
        VaultCatalog(vaults.path / "absent", vaults.environment)


@pytest.mark.parametrize(
    "configuration",
    [
        "[serve\nport = ",
        "[serve]\nprot = 1",
        '[[serve.tokens]]\nuser = "mira"\ntoken_file = "/no/such/file"',
    ],
)
def test_a_broken_configuration_troubles_only_its_vault(vaults: Vaults, configuration: str) -> None:
    vaults.add_three()
    vaults.configure("south", configuration)
    catalog = catalog_of(vaults)
    assert names(catalog) == ["north", "west"]
    (broken,) = catalog.troubled()
    assert broken.name == "south"
    assert broken.trouble
    assert not vault_of_token(catalog, token_of("south"))


def test_a_token_that_others_can_read_troubles_only_its_vault(vaults: Vaults) -> None:
    vaults.add_three()
    (vaults.folder / "south.token").chmod(0o644)
    catalog = catalog_of(vaults)
    assert names(catalog) == ["north", "west"]
    assert not vault_of_token(catalog, token_of("south"))
    (vaults.folder / "south.token").chmod(0o600)
    catalog.renew_files()
    assert names(catalog) == sorted(WORDS)


def test_a_damaged_marker_troubles_only_its_vault(vaults: Vaults) -> None:
    vaults.add_three()
    (vaults.path / "south/.vault-memory").write_text("{")
    catalog = catalog_of(vaults)
    assert names(catalog) == ["north", "west"]
    (broken,) = catalog.troubled()
    assert "damaged" in broken.trouble


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user who may not read everything; tests may run as root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_vault_that_nobody_may_read_is_named() -> None:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        vaults = Vaults(Path(folder))
        for name in ("north", "south"):
            vaults.add(name)
        (vaults.path / "lost+found").mkdir()
        for name in ("south", "lost+found"):
            (vaults.path / name).chmod(0)
        with without_rights():
            catalog = catalog_of(vaults)
        (vaults.path / "south").chmod(0o755)
    assert names(catalog) == ["north"]
    (broken,) = catalog.troubled()
    assert broken.name == "south"
    assert "Permission denied" in broken.trouble


def test_of_two_copies_of_a_vault_none_is_served(vaults: Vaults) -> None:
    vaults.add_three()
    shutil.copytree(vaults.path / "south", vaults.path / "copy")
    catalog = catalog_of(vaults)
    assert names(catalog) == ["north", "west"]
    assert {entry.name for entry in catalog.troubled()} == {"south", "copy"}
    assert all("south" in entry.trouble for entry in catalog.troubled())
    assert not vault_of_token(catalog, token_of("south"))


def test_a_token_of_two_vaults_opens_none_and_the_log_names_both(
    vaults: Vaults, caplog: pytest.LogCaptureFixture
) -> None:
    vaults.add_three()
    vaults.set_token("west", token_of("south"))
    with caplog.at_level(logging.WARNING):
        catalog = catalog_of(vaults)
    assert not vault_of_token(catalog, token_of("south"))
    assert vault_of_token(catalog, token_of("north"))
    troubles = catalog.token_troubles()
    assert set(troubles) == {vaults.vault_of("south"), vaults.vault_of("west")}
    assert "south" in caplog.text
    assert "west" in caplog.text
    assert token_of("south") not in caplog.text


def test_a_new_token_counts_as_soon_as_the_catalog_is_renewed(vaults: Vaults) -> None:
    vaults.add_three()
    catalog = catalog_of(vaults)
    assert not catalog.renew_files()
    vaults.set_token("south", "s" * 50)
    assert catalog.renew_files().changed == {vaults.vault_of("south")}
    assert vault_of_token(catalog, "s" * 50) == vaults.vault_of("south")
    assert not vault_of_token(catalog, token_of("south"))


def test_a_first_configuration_counts(vaults: Vaults) -> None:
    vaults.add("north")
    catalog = catalog_of(vaults)
    vaults.set_token("north")
    catalog.renew_files()
    assert vault_of_token(catalog, token_of("north"))


def test_vaults_come_and_go(vaults: Vaults) -> None:
    vaults.add_three()
    catalog = catalog_of(vaults)
    gone = vaults.vault_of("west")
    shutil.rmtree(vaults.path / "west")
    vaults.add("east")
    vaults.set_token("east")
    changes = catalog.renew()
    assert changes.removed == {gone}
    assert changes.added == {vaults.vault_of("east")}
    assert not vault_of_token(catalog, token_of("west"))
    assert vault_of_token(catalog, token_of("east"))


def test_an_unmounted_disk_of_all_vaults_takes_no_vault_away(vaults: Vaults) -> None:
    vaults.add_three()
    catalog = catalog_of(vaults)
    vaults.path.rename(vaults.folder / "away")
    assert not catalog.renew()
    assert names(catalog) == sorted(WORDS)


def test_the_variables_of_one_vault_are_not_those_of_all(vaults: Vaults) -> None:
    vaults.add_three()
    environment = {
        **vaults.environment,
        "VAULT_MEMORY_CONFIG": str(vaults.config_file("north")),
        "VAULT_MEMORY_VAULT": str(vaults.path / "north"),
    }
    catalog = VaultCatalog(vaults.path, environment)
    catalog.renew()
    assert len(catalog.tokens) == 3
    assert (
        not environment.keys()
        & catalog.environment.keys()
        & {"VAULT_MEMORY_CONFIG", "VAULT_MEMORY_VAULT"}
    )


@pytest.mark.sampled
def test_a_thousand_vaults_are_read_in_two_seconds(vaults: Vaults) -> None:
    for number in range(1000):
        root = vaults.path / f"{number:04}"
        root.mkdir()
        ensure_marker(root)
        vaults.set_token(root.name)
    catalog = VaultCatalog(vaults.path, vaults.environment)
    before = time.process_time()
    assert len(catalog.renew().added) == 1000
    middle = time.process_time()
    assert not catalog.renew()
    after = time.process_time()
    assert middle - before < 2.0
    assert after - middle < 0.2


def test_the_folder_may_be_named_by_a_link(vaults: Vaults, tmp_path: Path) -> None:
    vaults.add_three()
    (tmp_path / "link").symlink_to(vaults.path)
    catalog = VaultCatalog(tmp_path / "link", vaults.environment)
    catalog.renew()
    assert names(catalog) == sorted(WORDS)
