"""`serve --web`: bots reach the calls and people the page, on one port."""

from starlette.testclient import TestClient

from tests.http.served import CALLERS, MIRA, app_of, tokens_of
from vault_memory.addons.page.events import EventHub
from vault_memory.addons.page.page_app import PageSettings, page_application
from vault_memory.addons.page.running import PageAddress
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.server_sections import Serve
from vault_memory.http.auth import Access


def test_bots_get_the_same_answers_beside_the_page(sample: VaultMemory) -> None:
    access = Access(tokens_of(CALLERS), Serve())
    settings = PageSettings(PageAddress("localhost", 80))
    page = page_application(sample, settings, EventHub(sample))
    headers = {"authorization": f"Bearer {MIRA}"}
    base = "http://localhost"
    note = "/v1/notes/Users/mira/lantern/config/USER.md"

    with (
        TestClient(app_of(sample, access), base, headers=headers) as alone,
        TestClient(app_of(sample, access, page=page), base, headers=headers) as beside,
    ):
        for path in ("/v1/notes", note, "/v1/held", "/v1/facts?entity=mira"):
            assert alone.get(path).status_code == 200
            assert beside.get(path).json() == alone.get(path).json()
        assert beside.get("/search").status_code == 401
