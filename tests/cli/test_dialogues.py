"""What a person decides on a terminal: undo, the inbox, and when `run` ends."""

import json
from pathlib import Path

import pytest

from tests.cli.terminals import opened, shown
from tests.scenarios.outside import Outside, until

NOTE = "Users/ann/bot/config/USER.md"


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write(NOTE, "# Ann\n\n## Food\n\n- no nuts\n- no figs\n")
    assert outside.here("index", "--no-embed").code == 0
    return outside


def text(vault: Outside) -> str:
    return (vault.vault / NOTE).read_text()


@pytest.fixture
def record_id(vault: Outside) -> str:
    """The id of a change that can be undone."""
    assert vault.here("append", NOTE, "Food", "likes tea").code == 0
    ident: str = vault.ok("log")["records"][-1]["id"]
    return ident


def propose(vault: Outside, *ops: dict[str, str]) -> None:
    file = vault.home / "ops.json"
    file.write_text(json.dumps({"ops": list(ops)}))
    vault.here("apply", NOTE, "--ops", str(file), "--source", "tool")


REPLACE = {"op": "replace", "heading": "Food", "match": "no nuts", "line": "nuts are fine"}
REMOVE = {"op": "remove", "heading": "Food", "match": "no figs"}


@pytest.mark.sampled
def test_a_short_id_is_undone_only_after_a_yes(vault: Outside, record_id: str) -> None:
    before = text(vault)

    refused = opened(vault, "undo", record_id[:6])
    refused.wait_for("Undo this change?")
    assert "-- likes tea" in refused.plain
    assert text(vault) == before
    refused.type("n\n")
    assert refused.end() == 130
    assert text(vault) == before

    agreed = opened(vault, "undo", record_id[:6])
    agreed.wait_for("Undo this change?")
    agreed.type("y\n")
    assert agreed.end() == 0
    assert "likes tea" not in text(vault)


@pytest.mark.sampled
def test_a_complete_id_is_undone_without_a_question(vault: Outside, record_id: str) -> None:
    assert "Undo this change?" not in shown(vault, "undo", record_id)
    assert "likes tea" not in text(vault)


def test_without_a_terminal_a_short_id_is_undone_if_it_is_unique(
    vault: Outside, record_id: str
) -> None:
    assert vault.run("undo", record_id[:6]).code == 0
    assert "likes tea" not in text(vault)


@pytest.mark.sampled
def test_undo_alone_offers_the_newest_change(vault: Outside, record_id: str) -> None:
    refused = vault.run("undo")
    assert refused.code == 2
    assert f"`{NOTE}`: `vault-memory undo {record_id}`" in refused.err
    assert vault.run("undo", "--json").error["hint"]
    assert "likes tea" in text(vault)

    agreed = opened(vault, "undo")
    agreed.wait_for("Undo this change?")
    assert "-- likes tea" in agreed.plain
    agreed.type("y\n")
    assert agreed.end() == 0
    assert "likes tea" not in text(vault)


@pytest.mark.sampled
def test_restore_without_a_version_offers_the_one_before(vault: Outside, record_id: str) -> None:
    after = text(vault)

    refused = vault.run("restore", NOTE)
    assert refused.code == 2
    earlier = vault.ok("history", NOTE)["versions"][1]["revision"]
    assert f"`vault-memory restore {NOTE} --revision {earlier[:16]}`" in refused.err
    assert text(vault) == after

    declined = opened(vault, "restore", NOTE)
    declined.wait_for("Restore the version of")
    declined.type("n\n")
    assert declined.end() == 130
    assert text(vault) == after

    agreed = opened(vault, "restore", NOTE)
    agreed.wait_for("Restore the version of")
    assert "-- likes tea" in agreed.plain
    agreed.type("y\n")
    assert agreed.end() == 0
    assert "likes tea" not in text(vault)


def test_each_proposal_is_decided_on_the_terminal(vault: Outside) -> None:
    propose(vault, REPLACE, REMOVE)

    terminal = opened(vault, "inbox", columns=60)
    terminal.wait_for("1 of 2")
    terminal.wait_for("[q]uit")
    assert "why: you wrote this line, so the bot asks" in terminal.plain
    terminal.type("a\n")
    terminal.wait_for("2 of 2")
    terminal.type("r\n")

    assert terminal.end() == 0
    assert "- nuts are fine\n- no figs\n" in text(vault)
    assert vault.ok("inbox")["items"] == []


def test_a_proposal_is_written_in_the_words_of_the_person(vault: Outside) -> None:
    propose(vault, REPLACE)

    terminal = opened(vault, "inbox")
    terminal.wait_for("[q]uit")
    terminal.type("e\n")
    terminal.wait_for("line [nuts are fine]")
    terminal.type("only hazelnuts\n")

    assert terminal.end() == 0
    assert "- only hazelnuts\n" in text(vault)
    assert vault.ok("inbox")["items"] == []


def test_what_is_skipped_or_left_by_quitting_still_waits(vault: Outside) -> None:
    propose(vault, REPLACE, REMOVE)

    terminal = opened(vault, "inbox")
    terminal.wait_for("1 of 2")
    terminal.type("\n")
    terminal.wait_for("2 of 2")
    terminal.type("q\n")

    assert terminal.end() == 0
    assert len(vault.ok("inbox")["items"]) == 2


def test_a_removal_offers_no_edit(vault: Outside) -> None:
    propose(vault, REMOVE)

    terminal = opened(vault, "inbox")
    terminal.wait_for("[q]uit")
    terminal.type("e\n")
    terminal.wait_for("Error")
    terminal.type("q\n")

    assert terminal.end() == 0
    assert "- no figs" in text(vault)


@pytest.mark.sampled
@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize(
    "style", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["plain", "none", "dumb"]
)
def test_run_says_how_to_stop_and_what_it_does(
    vault: Outside, columns: int, style: dict[str, str]
) -> None:
    terminal = opened(vault, "run", columns=columns, **style)
    terminal.wait_for("press Ctrl-C to stop")
    vault.write(NOTE, text(vault) + "- tea\n")
    terminal.wait_for(NOTE)
    copy = Path(NOTE).with_name("USER (conflicted copy 2026-01-01 101010).md")
    vault.write(str(copy), text(vault))
    terminal.wait_for("moved the conflict copy")

    assert terminal.interrupt() == 0
    assert "stopped" in terminal.plain
    # The path of the vault stays in one piece, so it may be longer than the line.
    start = terminal.plain[: terminal.plain.index("press Ctrl-C")]
    assert all(len(line) <= columns or "/" in line for line in start.splitlines()), start


def test_run_shows_a_night_when_it_happens(vault: Outside) -> None:
    turn = ("record", "--user", "ann", "--role", "user", "--session", "s")
    assert vault.run(*turn, "Remember that I like green tea.").code == 0

    with vault.daemon() as daemon:
        until(
            lambda: any("night of " in line for line in daemon.lines),
            says=lambda: (daemon.lines, daemon.errors),
        )
        assert "press Ctrl-C" not in "".join(daemon.errors)


def test_the_last_night_is_reported_in_words(vault: Outside) -> None:
    assert "there was no night yet" in vault.run("last-night").out
    assert vault.ok("last-night") == {"night": None, "report": "", "file": "", "learned": []}

    assert vault.run("sleep", "--user", "ann").code == 0
    report = vault.ok("last-night")

    assert f"# The night of {report['night']}" in vault.run("last-night").out
    assert "## user:ann" in report["report"]


SECRETS = (
    "Merk dir, dass mein Passwort quayfish ist",
    "the wifi password quayfish",
    "记住密码quayfish",
    "postgres://keeper:quayfish@db.example/log",
)


def remember(text: str) -> list[str]:
    return ["remember", "--user", "ann", text]


@pytest.mark.parametrize("secret", SECRETS)
def test_without_a_terminal_a_secret_is_not_remembered_and_an_option_is_named(
    vault: Outside, secret: str
) -> None:
    before = text(vault)

    done = vault.here(*remember(secret))

    assert done.code == 2
    assert "tells a password" in done.err
    assert "--yes" in done.err
    assert text(vault) == before


@pytest.mark.sampled
def test_on_a_terminal_remember_asks_whether_to_keep_a_secret(vault: Outside) -> None:
    refused = opened(vault, *remember(SECRETS[0]))
    refused.wait_for("Keep it?")
    refused.type("n\n")
    assert refused.end() == 0
    assert "nothing was remembered" in refused.plain
    assert "quayfish" not in text(vault)

    agreed = opened(vault, *remember(SECRETS[0]))
    agreed.wait_for("Keep it?")
    agreed.type("y\n")
    assert agreed.end() == 0
    assert "quayfish" in text(vault)


def test_with_yes_a_secret_is_remembered_without_a_question(vault: Outside) -> None:
    assert vault.here(*remember(SECRETS[1]), "--yes").code == 0
    assert "quayfish" in text(vault)


def test_remember_asks_nothing_about_other_texts(vault: Outside) -> None:
    assert vault.here(*remember("my password expires in June")).code == 0
    assert "expires in June" in text(vault)


def test_a_tool_is_refused_a_secret_with_yes_as_well(vault: Outside) -> None:
    done = vault.here(*remember(SECRETS[1]), "--source", "tool", "--yes")

    assert done.code == 1
    assert "refused" in done.out
    assert "quayfish" not in text(vault)
