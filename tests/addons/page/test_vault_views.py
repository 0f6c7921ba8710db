"""The views of the vault as a whole: its sync and its examination."""

from tests.addons.page.served_page import ServedPage
from vault_memory.addons.page.events import News
from vault_memory.addons.page.shared_answers import KEPT_SECONDS, SharedAnswers


def test_looking_at_the_doctor_examines_nothing(own_page: ServedPage) -> None:
    browser = own_page.browser()

    answer = browser.get("/doctor")

    assert answer.status_code == 200
    assert "Nothing was checked yet" in answer.text


def test_examine_shows_what_the_command_finds(own_page: ServedPage) -> None:
    browser = own_page.browser()
    browser.get("/doctor")

    answer = browser.post("/doctor/examine", {})

    assert answer.headers["location"] == "/doctor"
    text = browser.get("/doctor").text
    for check in own_page.memory.doctor():
        assert f">{check.name.replace('_', ' ').capitalize()}<" in text
    # No place of the machine is shown to a browser, which may be far away.
    assert str(own_page.memory.root) not in text


def test_the_doctor_is_absent_for_a_session_of_some_people(page: ServedPage) -> None:
    browser = page.browser("mira")

    absent = browser.get("/nothing-here")
    doctor = browser.get("/doctor")

    assert (doctor.status_code, doctor.text) == (404, absent.text)
    assert "/doctor" not in browser.get("/search").text
    assert browser.post("/doctor/examine", {}).status_code == 404


def test_a_vault_without_a_server_names_the_command(page: ServedPage) -> None:
    browser = page.browser()

    text = browser.get("/sync").text
    refused = browser.post("/sync/now", {})

    assert "vault-memory remote add" in text
    assert refused.status_code >= 400
    assert "remote" in refused.text


def test_the_doctor_shows_how_long_searches_took(own_page: ServedPage) -> None:
    browser = own_page.browser()
    assert "searches on this page took" not in browser.get("/doctor").text

    for _ in range(3):
        assert browser.get("/search?q=lamp").status_code == 200

    text = browser.get("/doctor").text
    assert "searches on this page took" in text


class Maker:
    """Makes an answer, and another one each time."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> int:
        self.made += 1
        return self.made


def test_answers_are_kept_until_something_changes() -> None:
    now = 100.0
    news = News("1", "1")
    answers = SharedAnswers(lambda: news, lambda: now)
    proposals, conflicts = Maker(), Maker()
    mira = ("user:mira",)

    def both(scopes: tuple[str, ...] = mira) -> tuple[int, int]:
        return (
            answers.kept("proposals", scopes, proposals),
            answers.kept("conflicts", scopes, conflicts),
        )

    assert both() == both() == (1, 1)
    assert both(("user:tomas",)) == (2, 2)
    # A note changed, and no conflict copy: the folder is not listed.
    news = News("2", "1")
    assert both() == (3, 1)
    news = News("3", "3")
    assert both() == (4, 3)
    answers.forget()
    assert both() == (5, 4)


def test_answers_grow_old_only_while_the_daemon_is_not_heard() -> None:
    now = 100.0
    news = News("1", "1", is_complete=True)
    answers = SharedAnswers(lambda: news, lambda: now)
    make = Maker()
    mira = ("user:mira",)

    assert answers.kept("proposals", mira, make) == 1
    now += KEPT_SECONDS + 1
    assert answers.kept("proposals", mira, make) == 1
    news = news._replace(is_complete=False)
    assert answers.kept("proposals", mira, make) == 2
