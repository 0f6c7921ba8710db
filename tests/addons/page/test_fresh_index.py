"""A view does not look through the folder when the daemon has done so, and a write always does."""

import pytest

from tests.addons.page.served_page import ServedPage
from tests.addons.page.test_log_view import MIRAS
from vault_memory.addons.page.events import News
from vault_memory.addons.page.shared_answers import SharedAnswers
from vault_memory.ingest.scan import Ingest


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each look through the folder."""
    made: list[str] = []
    scan = Ingest.scan

    def counted(self: Ingest, *args: object, **options: object) -> object:
        made.append("scan")
        return scan(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Ingest, "scan", counted)
    return made


def test_a_view_trusts_a_daemon_that_is_heard(
    own_page: ServedPage, scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = own_page.browser("mira")
    assert browser.get("/about?name=mira").status_code == 200
    assert scans
    monkeypatch.setattr(SharedAnswers, "is_fresh", lambda shared: True)
    scans.clear()

    assert browser.get("/about?name=mira").status_code == 200

    assert not scans
    # The note is written by what it says now.
    fields = {"subject": "mira", "predicate": "likes", "object": "kites", "to": "/facts"}
    assert browser.post("/facts/add", fields).status_code == 303
    assert scans
    assert "kites" in own_page.memory.read(MIRAS.replace("USER", "FACTS")).text


def test_an_index_is_fresh_until_the_page_writes_and_the_daemon_answers() -> None:
    news = News("1", "1", is_complete=True)
    answers = SharedAnswers(lambda: news)

    assert answers.is_fresh()
    answers.forget()
    assert not answers.is_fresh()
    news = News("2", "1", is_complete=True)
    assert answers.is_fresh()
    news = news._replace(is_complete=False)
    assert not answers.is_fresh()
