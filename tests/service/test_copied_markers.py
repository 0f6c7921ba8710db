"""A marker is copied from one vault of a host into another: the first one goes on, the other says why it does not."""

import asyncio
import re
import shutil

import httpx
import pytest

from tests.service.many import Vaults, token_of
from tests.service.running_host import run, running_host, until
from tests.service.test_vault_catalog import catalog_of, names, vault_of_token
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.sections import Config
from vault_memory.http.tokens import token_digest
from vault_memory.service.vault_catalog import VaultCatalog, VaultTroubled
from vault_memory.service.vault_host import VaultHost
from vault_memory.vault.marker import NAME


def copy_marker(vaults: Vaults, source: str, target: str) -> None:
    shutil.copy(vaults.path / source / NAME, vaults.path / target / NAME)


def open_once(vaults: Vaults, name: str) -> None:
    """A host has opened the vault before, so its state names its folder."""
    with VaultMemory.open(vaults.path / name, environment=vaults.environment):
        pass


def host_with(catalog: VaultCatalog) -> VaultHost:
    """A host with what this catalog has read, which does not run."""
    host = VaultHost(catalog.folder, catalog.environment, Config())
    host.catalog = catalog
    return host


def refusal(catalog: VaultCatalog, name: str) -> str:
    """Why the token of a vault opens nothing, as a host answers."""
    host = host_with(catalog)
    with pytest.raises(VaultTroubled) as refused:
        asyncio.run(host.owner(token_digest(token_of(name))))
    assert refused.value.http_status == 503
    return str(refused.value)


@pytest.mark.parametrize("is_running", [True, False], ids=["while it runs", "before"])
def test_the_vault_that_had_the_id_first_goes_on(vaults: Vaults, is_running: bool) -> None:
    vaults.add_three()
    for name in ("north", "south"):
        open_once(vaults, name)
    north = vaults.vault_of("north")
    catalog = catalog_of(vaults)
    copy_marker(vaults, "north", "south")
    if not is_running:
        catalog = VaultCatalog(vaults.path, vaults.environment)

    changes = catalog.renew()

    assert names(catalog) == ["north", "west"]
    assert vault_of_token(catalog, token_of("north")) == north
    assert north not in changes.removed | changes.changed
    assert [entry.name for entry in catalog.troubled()] == ["south"]
    reason = refusal(catalog, "south")
    assert "carry the same vault id" in reason
    assert "--copied" in reason
    assert str(vaults.path) not in reason


def test_a_copied_marker_that_is_put_right_is_served_again(vaults: Vaults) -> None:
    vaults.add_three()
    for name in ("north", "south"):
        open_once(vaults, name)
    catalog = catalog_of(vaults)
    own = (vaults.path / "south" / NAME).read_bytes()
    copy_marker(vaults, "north", "south")
    catalog.renew()
    (vaults.path / "south" / NAME).write_bytes(own)

    catalog.renew()

    assert names(catalog) == ["north", "south", "west"]
    assert vault_of_token(catalog, token_of("south")) == vaults.vault_of("south")


TROUBLES = {
    "a configuration that is broken": ("vault-memory.toml", "[serve"),
    "a configuration with a wrong value": ("vault-memory.toml", "[serve]\nport = 'x'"),
}


@pytest.mark.parametrize(("file", "text"), TROUBLES.values(), ids=TROUBLES)
def test_the_token_of_a_vault_with_trouble_is_answered_with_the_reason(
    vaults: Vaults, file: str, text: str
) -> None:
    vaults.add_three()
    catalog = catalog_of(vaults)
    vaults.config_file("south").with_name(file).write_text(text)

    catalog.renew()

    reason = refusal(catalog, "south")
    assert str(vaults.path) not in reason
    assert vault_of_token(catalog, token_of("north"))


def test_a_damaged_marker_is_the_reason_of_its_vault(vaults: Vaults) -> None:
    vaults.add_three()
    open_once(vaults, "south")
    (vaults.path / "south" / NAME).write_text("{")

    assert "damaged" in refusal(catalog_of(vaults), "south")


@pytest.mark.parametrize("is_link", [False, True], ids=["deleted", "a link"])
def test_a_vault_without_its_marker_is_no_unknown_vault(vaults: Vaults, is_link: bool) -> None:
    vaults.add_three()
    catalog = catalog_of(vaults)
    marker = vaults.path / "south" / NAME
    own = marker.read_bytes()
    marker.unlink()
    if is_link:
        marker.symlink_to(vaults.path / "north" / NAME)

    catalog.renew()

    reason = refusal(catalog, "south")
    assert "marker" in reason
    assert str(vaults.path) not in reason
    assert names(catalog) == ["north", "west"]
    marker.unlink(missing_ok=True)
    marker.write_bytes(own)
    catalog.renew()
    assert vault_of_token(catalog, token_of("south")) == vaults.vault_of("south")


def test_a_folder_that_is_gone_is_no_vault_with_trouble(vaults: Vaults) -> None:
    vaults.add_three()
    catalog = catalog_of(vaults)
    shutil.rmtree(vaults.path / "south")

    catalog.renew()

    assert [entry.name for entry in catalog.entries()] == ["north", "west"]
    assert catalog.refusal(token_digest(token_of("south"))) == ""


def test_a_token_of_two_vaults_is_answered_with_the_reason(vaults: Vaults) -> None:
    vaults.add_three()
    vaults.set_token("west", token_of("south"))

    assert "another vault has this token" in refusal(catalog_of(vaults), "south")


def test_an_unknown_token_is_no_token_of_a_troubled_vault(vaults: Vaults) -> None:
    vaults.add_three()
    for name in ("north", "south"):
        open_once(vaults, name)
    copy_marker(vaults, "north", "south")
    host = host_with(catalog_of(vaults))

    assert asyncio.run(host.owner(token_digest("x" * 40))) is None


@pytest.mark.sampled
def test_a_running_host_answers_503_with_the_reason_and_serves_the_others(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        for name in ("north", "south", "west"):
            assert host.ask(name, "/v1/search", query="ferry").status_code == 200
        copy_marker(vaults, "north", "south")

        def answer() -> int:
            return host.ask("south", "/v1/search", query="ferry").status_code

        assert until(lambda: answer() == 503)
        refused = host.ask("south", "/v1/search", query="ferry").json()["error"]
        assert "carry the same vault id" in refused["message"]
        for name in ("north", "west"):
            assert host.ask(name, "/v1/search", query="ferry").status_code == 200


def test_a_browser_that_is_signed_in_is_told_the_reason_and_not_signed_out(vaults: Vaults) -> None:
    vaults.add_three()
    root = vaults.path / "south"
    with running_host(vaults, "--web") as host:
        assert host.ask("south", "/v1/search", query="ferry").status_code == 200
        printed = run(vaults, "web", "--link", "--vault", str(root))
        link = re.search(r"http://([^/\s]+)(/open/\S+)", printed.stdout)
        assert link, printed.stderr
        name, path = link.groups()
        headers = {"host": name, "origin": f"http://{name}"}
        with httpx.Client(base_url=host.url, headers=headers, timeout=60) as browser:
            opened = browser.post(path)
            assert opened.status_code == 303, opened.text
            browser.headers["cookie"] = opened.headers["set-cookie"].partition(";")[0]
            own = (root / NAME).read_bytes()
            copy_marker(vaults, "north", "south")

            assert until(lambda: "carry the same vault id" in browser.get("/notes").text)
            told = browser.get("/notes")

            assert told.status_code == 503
            assert str(vaults.path) not in told.text
            (root / NAME).write_bytes(own)
            assert until(lambda: browser.get("/notes").status_code == 200)
