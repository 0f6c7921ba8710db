"""The nights on the page: their reports, which one is next, and which ones failed."""

from datetime import timedelta

import pytest

from tests.addons.page.served_page import ServedPage
from tests.addons.page.test_home_view import NIGHT, sleep
from vault_memory.learning.checkpoint import CheckpointStore, OpenCycle


@pytest.mark.sampled
def test_each_night_is_listed_with_what_it_learned(own_page: ServedPage) -> None:
    sleep(own_page.memory)

    text = own_page.browser("mira").get("/nights").text

    assert 'href="/nights/2026-05-27"' in text
    assert "The night of Wed 27 May</a>: learned 2" in text
    assert '<span class="meta">Mira</span>' in text
    assert "The next night begins" in text
    # That night was months ago, and no daemon runs.
    assert "The last night has not run" in text


@pytest.mark.sampled
def test_the_report_of_a_night(own_page: ServedPage) -> None:
    sleep(own_page.memory)
    own_page.memory.sleep(now=NIGHT + timedelta(days=2))
    browser = own_page.browser("mira")

    answer = browser.get("/nights/2026-05-27")

    assert answer.status_code == 200
    assert "The night of Wed 27 May" in answer.text
    assert "1 fact, 1 rule" in answer.text
    assert "Allergic to mackerel" in answer.text
    assert 'href="/nights/2026-05-29"' in answer.text
    assert "Undo night…" in answer.text
    assert ">older" not in browser.get("/nights/2026-05-27").text.lower()


@pytest.mark.sampled
def test_a_night_that_was_undone_offers_no_undo(own_page: ServedPage) -> None:
    memory = own_page.memory
    sleep(memory)
    for record in memory.log():
        if record.before != record.after:
            memory.undo(record.id)

    text = own_page.browser("mira").get("/nights/2026-05-27").text

    assert "Undo night…" not in text


@pytest.mark.sampled
def test_a_failed_night_is_named(own_page: ServedPage) -> None:
    memory = own_page.memory
    sleep(memory)
    store = CheckpointStore(memory.vault.state.path)
    serial = store.last("user:mira").serial
    store.save("user:mira", OpenCycle("user:mira", "2026-05-28", serial + 1))
    browser = own_page.browser("mira")

    text = browser.get("/nights").text

    assert "Failed or interrupted" in text
    assert 'href="/nights/2026-05-28"' in text
    assert "Failed or interrupted" in browser.get("/nights/2026-05-28").text
    assert "2026-05-28" not in own_page.browser("tomas").get("/nights").text


@pytest.mark.sampled
@pytest.mark.parametrize(
    "night", ["2026-01-01", "today", "..%2f..%2fUSER", "2026-05-27/x", "%00", "x" * 4000]
)
def test_a_night_that_was_not_is_not_here(own_page: ServedPage, night: str) -> None:
    sleep(own_page.memory)

    answer = own_page.browser("mira").get(f"/nights/{night}")

    assert answer.status_code == 404
    assert 'role="alert"' in answer.text


@pytest.mark.sampled
def test_the_nights_of_another_person_are_as_absent_ones(own_page: ServedPage) -> None:
    memory = own_page.memory
    sleep(memory)
    memory.record_turn(
        session="tomas",
        role="user",
        user="tomas",
        text="I am allergic to walnuts.",
        now=NIGHT + timedelta(hours=20),
    )
    memory.sleep(scopes=["user:tomas"], now=NIGHT + timedelta(days=1))
    mira = own_page.browser("mira")

    pages = [mira.get("/nights").text, mira.get("/nights/2026-05-27").text]
    others = mira.get("/nights/2026-05-28")
    absent = mira.get("/nights/2026-05-21")

    assert "2026-05-28" in own_page.browser("tomas").get("/nights").text
    assert "2026-05-28" not in "".join(pages)
    assert "omas" not in "".join(pages)
    assert (others.status_code, others.text) == (404, absent.text)


def test_without_a_night_the_view_says_what_to_do_next(own_page: ServedPage) -> None:
    text = own_page.browser().get("/nights").text

    assert "There was no night yet" in text
    assert "vault-memory sleep" in text


@pytest.mark.sampled
def test_a_hostile_report_stays_text(own_page: ServedPage) -> None:
    memory = own_page.memory
    sleep(memory)
    folder = CheckpointStore(memory.vault.state.path).folder / "reports"
    report = "## user:mira\n\n- <script>alert(1)</script> [x](javascript:alert(1))\n"
    (folder / "2026-05-27.md").write_text(report, "utf-8")

    text = own_page.browser("mira").get("/nights/2026-05-27").text

    assert "<script>alert" not in text
    assert 'href="javascript' not in text
    assert "alert(1)" in text
