"""Signing in by a passphrase: where it leads, and what guesses get."""

from pathlib import Path

import httpx
import pytest

from tests.addons.page.served_page import ServedPage
from tests.scenarios.outside import Outside
from vault_memory.addons.page import passphrases
from vault_memory.addons.page.passphrases import LockedOut, Passphrases, WrongPassphrase
from vault_memory.errors import UsageError

WORDS = "lamp harbour seven geese"


def posted(page: ServedPage, **fields: str) -> httpx.Response:
    """Sends the form of the sign-in."""
    asked = {"user": "mira", "passphrase": WORDS, "to": "/", **fields}
    return page.stranger(origin=page.origin).post("/sign-in", data=asked)


def signed_in(page: ServedPage, answer: httpx.Response) -> httpx.Client:
    """The browser after the answer."""
    cookie = answer.headers["set-cookie"].partition(";")[0]
    return page.stranger(origin=page.origin, cookie=cookie)


def test_a_person_signs_in_by_a_passphrase(own_page: ServedPage) -> None:
    Passphrases(own_page.memory.vault.state.path).set("mira", WORDS)

    refused = own_page.stranger().get("/notes")
    answer = posted(own_page)

    assert refused.status_code == 401
    assert 'action="/sign-in"' in refused.text
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    client = signed_in(own_page, answer)
    assert "mira" in client.get("/notes").text
    assert "Users/tomas" not in client.get("/notes").text


def test_nobody_is_asked_for_a_passphrase_that_nobody_has(page: ServedPage) -> None:
    assert "/sign-in" not in page.stranger().get("/notes").text
    assert posted(page).status_code == 403


@pytest.mark.parametrize(
    "fields",
    [
        {"passphrase": WORDS.upper()},
        {"passphrase": ""},
        {"passphrase": WORDS * 100},
        {"user": "tomas"},
        {"user": ""},
        {"user": "mira\n"},
    ],
)
def test_a_wrong_passphrase_opens_nothing(own_page: ServedPage, fields: dict[str, str]) -> None:
    Passphrases(own_page.memory.vault.state.path).set("mira", WORDS)

    answer = posted(own_page, **fields)

    if fields.get("user") == "mira\n":
        assert answer.status_code == 303
        return
    assert answer.status_code in (403, 413)
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("to", "leads"),
    [
        ("/connection?id=abc-DEF_1", "/connection?id=abc-DEF_1"),
        ("https://evil.example.org", "/"),
        ("//evil.example.org", "/"),
        ("/\\evil.example.org", "/"),
        ("/connection?id=a&x=https://evil.example.org", "/"),
        ("/connection?id=a\nb", "/"),
        ("/connection?id=" + "a" * 65, "/"),
        ("", "/"),
    ],
)
def test_a_sign_in_leads_to_a_view_of_the_page(own_page: ServedPage, to: str, leads: str) -> None:
    Passphrases(own_page.memory.vault.state.path).set("mira", WORDS)

    assert posted(own_page, to=to).headers["location"] == leads


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("mira", "Mira"),
        ("mira", " MIRA "),
        ("ren\u00e9e", "Rene\u0301e"),
        ("Rene\u0301e", "ren\u00e9e"),
    ],
)
def test_a_name_counts_in_each_form_that_a_phone_writes(
    tmp_path: Path, name: str, written: str
) -> None:
    kept = Passphrases(tmp_path)
    kept.set(name, WORDS)

    assert kept.check(written, WORDS) == name
    for guess in (written, name) * passphrases.MOST_WRONG:
        with pytest.raises((WrongPassphrase, LockedOut)):
            kept.check(guess, "a wrong passphrase")
    with pytest.raises(LockedOut):
        kept.check(name, WORDS)


def test_a_session_has_the_name_as_the_vault_writes_it(own_page: ServedPage) -> None:
    Passphrases(own_page.memory.vault.state.path).set("mira", WORDS)

    answer = posted(own_page, user="Mira")

    assert answer.status_code == 303
    assert "mira" in signed_in(own_page, answer).get("/notes").text


@pytest.mark.parametrize(
    ("passphrase", "written"),
    [
        ("\u0438" * passphrases.LONGEST, "\u0438" * passphrases.LONGEST),
        ("\U0001f98a" * passphrases.LONGEST, "\U0001f98a" * passphrases.LONGEST),
        ("caf\u00e9 harbour geese", "cafe\u0301 harbour geese"),
        ("cafe\u0301 harbour geese", "caf\u00e9 harbour geese"),
        ("\u00e9" * passphrases.LONGEST, "e\u0301" * passphrases.LONGEST),
    ],
)
def test_each_letter_of_a_passphrase_counts(
    own_page: ServedPage, passphrase: str, written: str
) -> None:
    Passphrases(own_page.memory.vault.state.path).set("mira", passphrase)

    assert posted(own_page, passphrase=written).status_code == 303
    assert posted(own_page, passphrase=written[1:] + "x").status_code == 403


@pytest.mark.parametrize(
    "text",
    [
        '{"mira": {"salt": "zz", "digest": "00"}}',
        '{"mira": {"salt": "0", "digest": "00"}}',
        '{"mira": {"salt": "00", "digest": "\u00e9"}}',
        '{"mira": 1}',
        "[]",
    ],
)
def test_an_edited_file_is_no_failure(own_page: ServedPage, text: str) -> None:
    state = own_page.memory.vault.state.path
    (state / passphrases.FILE).write_text(text, encoding="utf-8")

    assert posted(own_page).status_code == 403
    Passphrases(state).set("mira", WORDS)
    assert posted(own_page).status_code == 303


def test_another_page_signs_nobody_in(own_page: ServedPage) -> None:
    Passphrases(own_page.memory.vault.state.path).set("mira", WORDS)
    fields = {"user": "mira", "passphrase": WORDS, "to": "/"}

    client = own_page.stranger(origin="https://evil.example.org")

    assert client.post("/sign-in", data=fields).status_code == 403
    assert own_page.stranger().post("/sign-in", data=fields).status_code == 403


def test_guesses_lock_a_person_out_and_nobody_else(tmp_path: Path) -> None:
    now = [0.0]
    kept = Passphrases(tmp_path, lambda: now[0])
    kept.set("mira", WORDS)
    kept.set("tomas", WORDS)
    for _ in range(passphrases.MOST_WRONG):
        with pytest.raises(WrongPassphrase):
            kept.check("mira", "a wrong passphrase")

    with pytest.raises(LockedOut, match="too many wrong passphrases"):
        kept.check("mira", WORDS)
    kept.check("tomas", WORDS)
    now[0] += passphrases.LOCKED_SECONDS + 1
    kept.check("mira", WORDS)


def test_a_right_passphrase_starts_the_count_again(tmp_path: Path) -> None:
    kept = Passphrases(tmp_path)
    kept.set("mira", WORDS)
    for _ in range(2 * passphrases.MOST_WRONG):
        with pytest.raises(WrongPassphrase):
            kept.check("mira", "a wrong passphrase")
        kept.check("mira", WORDS)


def test_invented_names_fill_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passphrases, "MOST_NAMES", 5)
    kept = Passphrases(tmp_path)
    for number in range(9):
        with pytest.raises(WrongPassphrase):
            kept.check(f"name {number}", "x")

    assert len(kept._wrong) == 5


def test_an_unknown_name_costs_as_much_as_a_known_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Passphrases(tmp_path)
    kept.set("mira", WORDS)
    computed: list[str] = []
    right = passphrases._digest
    monkeypatch.setattr(
        passphrases, "_digest", lambda *given: computed.append("x") or right(*given)
    )

    for name in ("mira", "nobody"):
        with pytest.raises(WrongPassphrase):
            kept.check(name, "a wrong passphrase")

    assert len(computed) == 2


def test_the_file_has_no_passphrase(tmp_path: Path) -> None:
    kept = Passphrases(tmp_path / "state")
    kept.set("mira", WORDS)
    kept.set("tomas", WORDS)

    file = tmp_path / "state" / passphrases.FILE
    text = file.read_text("utf-8")
    assert "harbour" not in text
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(set(text.split('"'))) > 8, "each has a salt of its own"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mira": 1}'])
def test_a_damaged_file_opens_nothing(tmp_path: Path, text: str) -> None:
    kept = Passphrases(tmp_path)
    (tmp_path / passphrases.FILE).write_text(text)

    assert not kept.any()
    with pytest.raises(WrongPassphrase):
        kept.check("mira", WORDS)


@pytest.mark.parametrize("words", ["short", "x" * (passphrases.LONGEST + 1)])
def test_a_passphrase_that_can_be_guessed_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(UsageError, match="12 to 256 characters"):
        Passphrases(tmp_path).set("mira", words)


def test_a_passphrase_is_set_and_removed_at_the_terminal(outside: Outside) -> None:
    outside.write("Users/mira/USER.md", "- likes lamps\n")
    asked = ("web", "--passphrase", "--user", "mira")

    done = outside.run(*asked, stdin=None, input=WORDS + "\n")
    short = outside.run(*asked, stdin=None, input="short\n")
    nobody = outside.run("web", "--passphrase", stdin=None, input=WORDS + "\n")
    removed = outside.run(*asked, stdin=None, input="\n")

    assert (done.code, done.out) == (0, "the passphrase of mira is set\n")
    assert short.code == 2
    assert nobody.code == 2
    assert "--user NAME" in nobody.err
    assert removed.out == "the passphrase of mira is removed\n"
