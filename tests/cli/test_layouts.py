"""People's own vaults: two commands from nothing to the right first hit, and no file changes."""

import hashlib
import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside
from tests.vaults import obsidian, others
from tests.vaults.obsidian import NEEDLE, QUESTION, write
from vault_memory import VaultMemory

MARKER = ".vault-memory"
NAMES = ["shared", "workspace", "obsidian", "logseq", "plain"]


def contents(vault: Path) -> dict[str, str]:
    """Returns the digest of every file, hidden ones included."""
    files = (file for file in vault.rglob("*") if file.is_file())
    return {
        file.relative_to(vault).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


def first_hit(outside: Outside, question: str = QUESTION) -> str:
    return str(outside.ok("search", question)["hits"][0]["note"])


def make_obsidian(root: Path) -> str:
    obsidian.make(root, 2_000)
    return obsidian.NEEDLE_NOTE


VAULTS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "obsidian": ("obsidian", make_obsidian),
    "logseq": ("logseq", others.logseq),
    "zettelkasten": ("plain", others.zettelkasten),
    "plain": ("plain", others.plain),
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", VAULTS)
def test_two_commands_lead_to_the_right_first_hit_and_change_no_file(outside: Outside, kind: str):
    layout, make = VAULTS[kind]
    note = make(outside.vault)
    before = contents(outside.vault)

    made = outside.run("init", str(outside.vault))
    answer = outside.run("search", *QUESTION.split())

    assert answer.out.startswith(f"{note}:")
    assert NEEDLE in answer.out.split("\n\n")[0]
    files = [path for path in before if path.lower().endswith((".md", ".markdown"))]
    visible = [path for path in files if not path.startswith(".")]
    count = f"layout: {layout}, which fits best: of {len(visible):,} Markdown files, "
    assert count in made.err
    after = contents(outside.vault)
    assert after.pop(MARKER)
    assert after == before
    report = outside.ok("status")["layout"]
    assert (report["name"], report["chosen_by"]) == (layout, "program")
    assert report["claimed"] + report["excluded"] == len(visible)
    assert report["unclaimed"] == 0
    told = f"{report['claimed']:,} are memory"
    if report["excluded"]:
        verb = "is" if report["excluded"] == 1 else "are"
        told += f", {report['excluded']} {verb} excluded"
    assert f"{told}\n" in made.err


def test_only_the_note_that_holds_the_answer_shows_it(outside: Outside):
    """Neither a comment of the author, nor a template, nor a deleted note is an answer."""
    obsidian.make(outside.vault, 400)
    outside.ok("init", str(outside.vault))

    hits = outside.search(QUESTION, "--limit", "50")["hits"]

    notes = [hit["note"] for hit in hits if NEEDLE in hit["text"]]
    assert notes == [obsidian.NEEDLE_NOTE]


@pytest.mark.parametrize(
    ("make", "layout", "daily", "question"),
    [
        (others.german, "obsidian", "Tagebuch/{date:DD.MM.YYYY}.md", others.GERMAN),
        (others.japanese, "obsidian", "日記/{date:YYYY年/MM月/YYYY年MM月DD日}.md", others.JAPANESE),
        (others.windows, "plain", "", others.RUSSIAN),
    ],
    ids=["German", "Japanese", "Russian"],
)
def test_a_vault_in_another_language_works_in_two_commands(
    outside: Outside, make: Callable[[Path], str], layout: str, daily: str, question: str
):
    note = make(outside.vault)
    before = contents(outside.vault)

    report = outside.ok("init", str(outside.vault))["layout"]

    assert first_hit(outside, question) == note
    assert (report["name"], report["daily"]) == (layout, daily)
    after = contents(outside.vault)
    assert after.pop(MARKER)
    assert after == before


@pytest.mark.sampled
@pytest.mark.parametrize("command", ["search", "context", "status"])
def test_a_command_that_reads_writes_nothing_to_a_folder(outside: Outside, command: str):
    obsidian.make(outside.vault, 400)
    before = contents(outside.vault)
    words = [] if command == "status" else [QUESTION]

    done = outside.run(command, *words)

    assert done.code == 0, done.err
    if words:
        assert NEEDLE in done.out
    assert contents(outside.vault) == before


def test_the_state_of_a_folder_that_was_only_read_serves_the_vault_later(outside: Outside):
    obsidian.make(outside.vault, 400)
    assert first_hit(outside) == obsidian.NEEDLE_NOTE
    index = outside.ok("status")["index"]

    outside.ok("init", str(outside.vault))

    # The notes have an owner now, so the index of their scopes is another generation.
    index["generation"] += 1
    assert outside.ok("status")["index"] == index
    assert len(list((outside.home / "state").glob("*/index"))) == 1
    # The marker protects the vault from here on: an empty mount point is not taken for it.
    (outside.vault / MARKER).unlink()
    assert outside.run("search", QUESTION).code == 4


def test_what_is_no_note_is_no_hit(outside: Outside):
    obsidian.make(outside.vault, 400)

    notes = [note["note"] for note in outside.ok("notes")["notes"]]

    assert not set(notes) & set(obsidian.NOT_READ)
    assert {"Windows.MD", "Export/long ending.markdown", "日本/旅行の計画.md"} <= set(notes)


def test_the_text_of_a_board_is_found_and_cannot_be_edited(outside: Outside):
    obsidian.make(outside.vault, 400)

    hit = outside.ok("search", "kayak before Easter")["hits"][0]

    assert (hit["note"], hit["kind"]) == ("Plans/Summer.canvas", "canvas")
    line = (outside.vault / hit["note"]).read_text().split("\n")[hit["lines"][0] - 1]
    assert "Rent the kayak" in line
    assert "Rent the kayak" in outside.run("context", "kayak before Easter").out
    done = outside.run("append", hit["note"], "Plans", "x", "--json")
    assert done.error["code"] == "not_curated"


def test_what_is_forgotten_leaves_a_board_that_opens(outside: Outside):
    obsidian.make(outside.vault, 400)
    file = outside.vault / "Plans/Summer.canvas"
    board = json.loads(file.read_text())

    forgotten = outside.ok("forget", "the kayak before easter", "--yes")

    assert forgotten["removed"][0] == {"place": "Plans/Summer.canvas", "count": 2}
    assert not forgotten["remaining"]
    assert "kayak" not in file.read_text()
    board["nodes"][0]["text"] = json.loads(file.read_text())["nodes"][0]["text"]
    assert json.loads(file.read_text()) == board


def test_a_note_with_another_ending_is_edited_and_taken_back(outside: Outside):
    for name in ("A.MD", "b.markdown"):
        write(outside.vault, name, "# Boats\r\n\r\n## Ropes\r\n\r\n- hemp\r\n")
    for name in ("A.MD", "b.markdown"):
        raw = (outside.vault / name).read_bytes()

        edit = outside.ok("append", name, "Ropes", "sisal")

        assert (outside.vault / name).read_bytes() == raw + b"- sisal\r\n"
        outside.ok("undo", edit["audit_id"])
        assert (outside.vault / name).read_bytes() == raw
        assert len(outside.ok("log", name)["records"]) == 2


def test_what_the_bot_notes_on_a_day_goes_into_the_daily_note_of_the_vault(outside: Outside):
    obsidian.make(outside.vault, 400)
    note = outside.vault / "Journal/2026/05/2026-05-04.md"
    before = note.read_bytes()

    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        for moment in ("2026-05-04T12:00:00+00:00", "2026-07-09T12:00:00+00:00"):
            memory.learning.append_summary("user:main", "We sailed.", moment)

    assert note.read_bytes().startswith(before)
    assert b"- We sailed" in note.read_bytes()
    assert (outside.vault / "Journal/2026/07/2026-07-09.md").exists()


def test_a_folder_with_memory_keeps_its_layout_and_is_told_what_is_left(outside: Outside):
    write(outside.vault, "Users/ann/bot/config/USER.md", "- likes tea\n")
    for number in range(9):
        write(outside.vault, f"Users/ann/diary/{number}.md", f"- day {number}\n")

    report = outside.ok("init", str(outside.vault))["layout"]
    done = outside.run("doctor")

    assert (report["name"], report["chosen_by"]) == ("", "default")
    assert (report["claimed"], report["unclaimed"]) == (1, 9)
    assert report["examples"][0] == "Users/ann/diary/0.md"
    assert "Markdown files: 1 are memory, 9 are not (`Users/ann/diary/0.md`" in done.out
    assert "fix: vault-memory layout" in done.out


def test_notes_beside_those_of_a_person_never_become_those_of_another(outside: Outside):
    write(outside.vault, "README.md", "- a boat\n")
    outside.ok("index")

    write(outside.vault, "Users/ann/memories/x.md", "- ann keeps a boat\n")
    write(outside.vault, "Users/ann/diary/x.md", "- ann hides a boat\n")
    hits = outside.ok("search", "boat")["hits"]

    places = {hit["note"]: hit["scope"] for hit in hits}
    assert places == {"README.md": "user:main", "Users/ann/memories/x.md": "user:ann"}


def test_a_layout_is_set_and_its_configuration_can_be_put_back(outside: Outside):
    others.plain(outside.vault)
    config = outside.home / "own.toml"
    config.write_text("# mine\n[recall]\nmemory_budget = 3\n")
    before = contents(outside.vault)

    change = outside.ok("layout", "plain", "--config", str(config))

    assert change["layout"]["chosen_by"] == "configuration"
    assert Path(change["backup"]).read_text() == "# mine\n[recall]\nmemory_budget = 3\n"
    assert config.read_text().startswith("# mine\n[recall]\nmemory_budget = 3\n")
    assert 'name = "plain"' in config.read_text()
    after = contents(outside.vault)
    after.pop(MARKER)
    assert after == before
    Path(change["backup"]).replace(config)
    again = outside.ok("layout", "--config", str(config))
    assert again["layout"]["chosen_by"] != "configuration"


@pytest.mark.sampled
@pytest.mark.parametrize("command", ["init", "index", "doctor"])
def test_the_first_command_takes_the_name_of_a_layout(outside: Outside, command: str):
    obsidian.make(outside.vault, 400)
    words = [str(outside.vault)] if command == "init" else []

    done = outside.run(command, *words, "--layout", "plain")

    assert done.code == 0, done.err
    assert "layout: plain" in done.err
    assert outside.ok("layout")["layout"]["name"] == "plain"


def test_the_first_index_says_what_was_chosen_and_how_to_change_it(outside: Outside):
    others.logseq(outside.vault)

    done = outside.run("index")
    again = outside.run("index")

    assert (
        "layout: logseq, which fits best: of 277 Markdown files, "
        "276 are memory, 1 is excluded" in done.err
    )
    assert "`vault-memory layout` shows the layouts" in done.err
    assert "layout" not in again.err


def test_a_vault_of_one_layout_stays_the_same_while_it_grows(outside: Outside):
    others.plain(outside.vault)
    outside.ok("index")

    write(outside.vault, ".obsidian/app.json", "{}")
    write(outside.vault, "new.md", "- a new note\n")

    assert first_hit(outside, "a new note") == "new.md"
    assert outside.ok("layout")["layout"]["name"] == "plain"


def test_notes_that_came_after_the_first_index_are_not_silently_left_out(outside: Outside):
    """As after an update from a version without layouts: the index exists and is empty."""
    outside.ok("index")
    note = others.plain(outside.vault)

    done = outside.run("search", QUESTION)
    assert "none of 208 Markdown files is memory" in done.err
    assert "`vault-memory layout`" in done.err
    assert "layout: plain, which fits best" in outside.run("index").err

    assert first_hit(outside) == note


def test_the_status_is_told_while_the_vault_is_away(outside: Outside):
    others.plain(outside.vault)
    outside.ok("index")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        outside.vault.rename(outside.home / "elsewhere")

        report = memory.status(refresh=False)

    assert report["index"]["notes"] == 207
    assert report["layout"]["name"] == "plain"
    assert "there is no folder" in report["layout"]["remark"]


def test_a_configuration_inside_the_vault_is_not_read_and_reported(outside: Outside):
    others.plain(outside.vault)
    write(outside.vault, "vault-memory.toml", '[layout]\nuser = "mallory"\n')

    report = outside.ok("status")["layout"]

    assert "is not read" in report["remark"]
    assert "vault-memory.toml" in outside.run("doctor").out
    assert {note["scope"] for note in outside.ok("notes")["notes"]} == {"user:main"}


def test_damaged_settings_of_obsidian_leave_the_names_of_the_notes(outside: Outside):
    obsidian.make(outside.vault, 400)
    for text in ("{", "[1]", '{"folder": 3, "format": "HH"}', "\xff\xfe"):
        write(outside.vault, ".obsidian/daily-notes.json", text)

        proposals = outside.ok("layout")["proposals"]

        assert proposals[0]["name"] == "obsidian"
        assert proposals[0]["daily"] == obsidian.DAILY


@pytest.mark.sampled
def test_a_person_at_a_terminal_is_asked_once(outside: Outside):
    obsidian.make(outside.vault, 400)

    shown = on_terminal(outside.command("init"), outside, "obsidian\nmira\n")

    assert "395 Markdown files" in shown or "396 Markdown files" in shown
    assert all(name in shown for name in NAMES)
    assert "Whose notes are these? [keeper]" in shown
    assert "these notes belong to mira" in shown
    assert outside.ok("layout")["layout"]["name"] == "obsidian"
    assert first_hit(outside) == obsidian.NEEDLE_NOTE


def on_terminal(command: list[str], outside: Outside, answer: str) -> str:
    """Runs a command on a terminal of its own, and returns what it shows."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=child,
        stdout=child,
        stderr=child,
        env=outside.environment | {"TERM": "dumb"},
        cwd=outside.home,
    )
    os.close(child)
    os.write(parent, answer.encode())
    shown = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([parent], [], [], 0.1)
        if ready:
            try:
                block = os.read(parent, 4096)
            except OSError:
                # The other end of a terminal is gone when its process has ended.
                break
            shown += block
        elif process.poll() is not None:
            break
    assert process.wait(120) == 0, shown
    os.close(parent)
    return shown.decode("utf-8", "replace")
