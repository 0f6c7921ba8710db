"""Forgetting, from outside: afterwards the text stands nowhere, and all else is as it was."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.scenarios.forgotten import KEPT, TEXT, Everywhere, fill, says, traces, tree
from tests.scenarios.index_dump import dump, rows
from tests.scenarios.outside import Outside
from vault_memory.models.embedding.packaged import MINILM_WEIGHTS, installed
from vault_memory.rules.forgetting.redaction import Redacted
from vault_memory.vault.write import purge as erasing

KIND = "onnx" if installed(MINILM_WEIGHTS) else "off"


@pytest.fixture
def vault_with_traces(outside: Outside) -> Everywhere:
    outside.quick = True
    return fill(outside)


@pytest.mark.sampled
def test_a_forgotten_text_is_left_in_no_file_or_row(outside: Outside):
    everywhere = fill(outside, kind=KIND)
    before = traces(outside.vault, outside.state)
    assert {
        "USER.md: bytes",
        "USER.md.audit.jsonl: bytes",
        "USER.INBOX.md: bytes",
        "SOUL.md: bytes",
        "journal.sqlite: blobs",
        "journal.sqlite: ops",
        "index-1.sqlite.damaged: chunk",
        "index-77.sqlite: chunk",
    } <= {*before}

    done = outside.run("forget", TEXT, "--yes", "--json")

    assert traces(outside.vault, outside.state) == []
    assert done.code == 0, done
    said = done.json
    assert said["remaining"] == 0
    assert said["matches"] == sum(one["count"] for one in said["removed"]) > 20
    assert {
        "USER.md",
        "USER.INBOX.md",
        "FACTS.md",
        "SOUL.md",
        "transcripts/2026-03-01.jsonl",
        "history",
        "trash",
        "waiting writes",
        "index",
    } <= {one["place"] for one in said["removed"]}
    assert not says(done.out.encode() + done.err.encode())
    assert rows(
        outside.state,
        "SELECT count(*) FROM vector WHERE identity NOT IN (SELECT identity FROM chunk)",
    ) == [(0,)]
    assert (rows(outside.state, "SELECT count(*) FROM vector")[0][0] > 0) == (KIND == "onnx")
    assert_the_rest_is_there(everywhere)


@pytest.mark.sampled
def test_unfinished_nights_and_rejected_dropped_lines_forget_the_text_too(
    vault_with_traces: Everywhere,
):
    outside = vault_with_traces.outside
    (state,) = (path.parent for path in outside.state.rglob("journal.sqlite"))
    for name in ("nights/0123456789.open.json", "drop/bot.rejected"):
        (state / name).parent.mkdir(exist_ok=True)
        (state / name).write_text(json.dumps({"text": f"she said: {TEXT}"}))

    done = outside.run("forget", TEXT, "--yes", "--json")

    assert done.code == 0, done
    assert traces(outside.vault, outside.state) == []


def assert_the_rest_is_there(everywhere: Everywhere) -> None:
    outside = everywhere.outside
    text = (outside.vault / "USER.md").read_text()
    assert text == f"# Page\n\n## Tea\n\n- green\n- {KEPT}\n\n## Boats\n\nbut one.\n"
    assert (outside.vault / "MEMORY.md").read_bytes().count(b"\r\n") == 11
    assert (outside.vault / "FACTS.md").read_text() == "## ann\n\n- likes: tea\n"
    assert (outside.vault / "SOUL.md").read_text() == "I am calm.\n"
    turns = (outside.vault / "transcripts/2026-03-01.jsonl").read_text().splitlines()
    assert [json.loads(turn)["text"] for turn in turns] == ["", KEPT]
    with everywhere.open() as memory:
        assert memory.search(TEXT, scopes=memory.scopes()).hits == ()
        assert any(
            KEPT in hit.text for hit in memory.search("harbour seal", scopes=memory.scopes()).hits
        )
        assert not any(one.state == "open" for one in memory.inbox())
        [thrown] = [
            one for one in memory.edits.editor.writer.thrown() if one.path == "memory/gone.md"
        ]
        assert (
            memory.edits.editor.writer.snapshots.bytes_of(thrown.revision)
            == f"# Gone\n\n- {KEPT}\n".encode()
        )


@pytest.mark.sampled
def test_history_undo_and_trash_do_not_bring_a_forgotten_text_back(vault_with_traces: Everywhere):
    outside = vault_with_traces.outside
    outside.ok("forget", TEXT, "--yes")

    with vault_with_traces.open() as memory:
        assert len(memory.history("USER.md")) > 1
        for version in memory.history("USER.md"):
            assert not says(memory.edits.read_version("USER.md", version.revision).text.encode())
            memory.restore("USER.md", version.revision)
        for record in memory.log():
            outside.here("undo", record.id)
        for thrown in memory.edits.editor.writer.thrown():
            memory.edits.editor.writer.untrash(
                thrown.id, now=vault_with_traces.soon(), op_id=f"back-{thrown.id}"
            )
    assert traces(outside.vault, outside.state) == []


@pytest.mark.sampled
def test_audit_records_are_kept_and_one_documents_the_forgetting(vault_with_traces: Everywhere):
    outside = vault_with_traces.outside
    ids = [record["id"] for record in outside.ok("log")["records"]]

    outside.ok("forget", TEXT, "--yes")

    records = outside.ok("log")["records"]
    assert [record["id"] for record in records if record["source"] != "forget"] == ids
    told = [record for record in records if record["source"] == "forget"]
    assert {"USER.md", "MEMORY.md", "FACTS.md"} <= {record["note"] for record in told}
    assert all(
        record["redacted"] and not record["diff"] and not record["before"] for record in told
    )
    refused = outside.run("undo", vault_with_traces.note_ids["USER.md"], "--json")
    assert refused.error["code"] == "not_undoable"


@pytest.mark.sampled
def test_the_index_equals_a_rebuilt_one_after_forgetting(vault_with_traces: Everywhere):
    outside = vault_with_traces.outside
    outside.ok("forget", TEXT, "--yes")
    kept = dump(outside.state)

    shutil.rmtree(outside.state / "index")
    outside.ok("index")

    assert dump(outside.state) == kept


@pytest.mark.sampled
def test_a_dry_run_lists_the_places_and_changes_no_byte(vault_with_traces: Everywhere):
    outside = vault_with_traces.outside
    before = tree(outside.vault, outside.state)

    found = outside.ok("forget", TEXT, "--dry-run")

    assert tree(outside.vault, outside.state) == before
    assert (found["receipt"], found["remaining"]) == (None, 0)
    assert found["matches"] == outside.ok("forget", TEXT, "--yes")["matches"]


@pytest.mark.sampled
def test_forgetting_the_same_text_twice_does_nothing(vault_with_traces: Everywhere):
    vault_with_traces.outside.ok("forget", TEXT, "--yes")
    before = tree(vault_with_traces.outside.vault)

    again = vault_with_traces.outside.ok("forget", TEXT, "--yes")

    assert (again["matches"], again["removed"], again["remaining"]) == (0, [], 0)
    assert tree(vault_with_traces.outside.vault) == before


def test_forget_asks_for_confirmation_and_refuses_without_a_terminal(vault_with_traces: Everywhere):
    outside = vault_with_traces.outside
    before = tree(outside.vault, outside.state)

    done = outside.run("forget", TEXT, "--json")

    assert (done.code, done.error["code"]) == (2, "cannot_ask")
    assert "--yes" in done.error["hint"]
    assert tree(outside.vault, outside.state) == before


@pytest.mark.sampled
@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_forget_shows_the_places_and_asks(vault_with_traces: Everywhere, answer: str):
    outside = vault_with_traces.outside
    ours, theirs = os.openpty()
    with subprocess.Popen(
        outside.command("forget", TEXT, "--json"),
        env=outside.environment,
        cwd=outside.home,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        out, err = process.communicate(timeout=120)
    os.close(ours)

    assert process.returncode == 0
    assert "  USER.md  4" in err
    assert "You cannot undo this" in err
    assert not says((out + err).encode())
    assert (traces(outside.vault, outside.state) == []) == (answer == "y")


@pytest.mark.sampled
def test_the_text_may_come_from_standard_input_to_stay_out_of_shell_history(
    vault_with_traces: Everywhere,
):
    outside = vault_with_traces.outside
    with subprocess.Popen(
        outside.command("forget", "-", "--yes", "--quiet"),
        env=outside.environment,
        cwd=outside.home,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        process.communicate(f"{TEXT}\n".encode(), timeout=60)

    assert process.returncode == 0
    assert traces(outside.vault, outside.state) == []


def test_a_text_that_is_too_short_is_refused_and_not_repeated(outside: Outside):
    done = outside.run("forget", "qx", "--yes", "--json")

    assert (done.code, done.error["code"]) == (2, "text_too_short")
    assert "qx" not in done.out


def test_only_the_named_scope_forgets(outside: Outside):
    outside.write("Users/ann/bot/config/USER.md", f"# Ann\n\n- {TEXT}\n")
    outside.write("Users/ben/bot/config/USER.md", f"# Ben\n\n- {TEXT}\n")
    outside.ok("index")

    outside.ok("forget", TEXT, "--yes", "--user", "ann")

    assert (outside.vault / "Users/ann/bot/config/USER.md").read_text() == "# Ann\n\n"
    assert (outside.vault / "Users/ben/bot/config/USER.md").read_text() == f"# Ben\n\n- {TEXT}\n"
    assert outside.search(TEXT, "--user", "ann")["hits"] == []
    assert outside.search(TEXT, "--user", "ben")["hits"]


@pytest.mark.sampled
def test_places_that_cannot_be_changed_are_listed_and_the_command_fails(
    vault_with_traces: Everywhere,
):
    outside = vault_with_traces.outside
    outside.write("README.md", f"not memory: {TEXT}\n")
    outside.write("notes/.draft.md.swp", f"\0\0{TEXT}\0")
    outside.write(f"memory/{TEXT}.md", "# nothing\n")

    done = outside.run("forget", TEXT, "--yes", "--json")

    assert done.code == 1
    assert {one["place"] for one in done.json["remaining"]} >= {
        "README.md",
        "notes/.draft.md.swp",
        "memory/….md",
    }
    assert not says(done.out.encode())


@pytest.mark.sampled
def test_a_note_open_in_an_editor_is_left_and_reported(vault_with_traces: Everywhere):
    outside = vault_with_traces.outside
    lock = outside.write("memory/.2026-03-01.md.swp", "")

    done = outside.run("forget", TEXT, "--yes", "--json")

    assert done.code == 1
    assert {one["place"] for one in done.json["remaining"]} >= {"memory/2026-03-01.md"}
    lock.unlink()
    assert outside.ok("forget", TEXT, "--yes")["remaining"] == 0
    assert traces(outside.vault, outside.state) == []


@pytest.mark.sampled
def test_a_displaced_file_that_is_still_open_is_kept_until_it_is_closed(
    vault_with_traces: Everywhere,
):
    outside = vault_with_traces.outside
    with (outside.vault / "USER.md").open("rb"):
        done = outside.run("forget", TEXT, "--yes", "--json")
        assert done.code == 1
        assert all("open" in one["why"] for one in done.json["remaining"]), done.json
        assert not says((outside.vault / "USER.md").read_bytes())

    assert outside.ok("forget", TEXT, "--yes")["remaining"] == 0
    assert traces(outside.vault, outside.state) == []


@pytest.mark.sampled
def test_a_running_daemon_forgets_too(vault_with_traces: Everywhere):
    outside = vault_with_traces.outside
    with outside.daemon() as daemon:
        assert daemon.finds(TEXT)

        assert outside.ok("forget", TEXT, "--yes")["remaining"] == 0

        assert not daemon.finds(TEXT)
        assert traces(outside.vault, outside.state) == []
        outside.write("MEMORY.md", f"# Page\n\n## Tea\n\n- {KEPT} again\n")
        daemon.until_found(f"{KEPT} again")
        assert traces(outside.vault, outside.state) == []
        assert not says("".join(daemon.errors + daemon.lines).encode())
    assert traces(outside.vault, outside.state) == []


@pytest.mark.sampled
def test_an_interrupted_forget_is_completed_by_the_next_run(
    vault_with_traces: Everywhere, tmp_path: Path
):
    kills(vault_with_traces, tmp_path, 3)


@pytest.mark.deep
def test_a_forget_interrupted_at_very_many_moments_is_completed_by_the_next_run(
    vault_with_traces: Everywhere, tmp_path: Path
):
    kills(vault_with_traces, tmp_path, 80)


def kills(everywhere: Everywhere, aside: Path, times: int) -> None:
    outside = everywhere.outside
    for folder in (outside.vault, outside.state):
        shutil.copytree(folder, aside / "kept" / folder.name)
    started = time.monotonic()
    outside.ok("forget", TEXT, "--yes")
    takes = time.monotonic() - started
    unfinished = 0
    for number in range(times):
        for folder in (outside.vault, outside.state):
            shutil.rmtree(folder)
            shutil.copytree(aside / "kept" / folder.name, folder)
        with subprocess.Popen(
            outside.command("forget", TEXT, "--yes"),
            env=outside.environment,
            cwd=outside.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            time.sleep(takes * (number + 1) / (times + 1))
            os.kill(process.pid, signal.SIGKILL)
        unfinished += bool(traces(outside.vault, outside.state))

        assert outside.ok("forget", TEXT, "--yes")["remaining"] == 0
        assert traces(outside.vault, outside.state) == []
        assert_the_rest_is_there(everywhere)
    assert unfinished


@pytest.mark.sampled
@pytest.mark.parametrize("broken", ["history", "index", "notes", "audit"])
def test_these_tests_detect_an_eraser_that_skips_a_place(
    vault_with_traces: Everywhere, monkeypatch: pytest.MonkeyPatch, broken: str
):
    match broken:
        case "history":
            monkeypatch.setattr(
                erasing,
                "erase",
                lambda context, eraser: erasing.look_through(context.journal, eraser),
            )
        case "index":
            monkeypatch.setattr("vault_memory.index.index_erase.sweep", lambda index: True)
        case "notes":
            monkeypatch.setattr(
                "vault_memory.forgetting.vault_files.Forgetter._rewrite", lambda *_: None
            )
        case "audit":
            monkeypatch.setattr(
                "vault_memory.forgetting.vault_files.cut_audit", lambda raw, *_: Redacted(raw)
            )

    with vault_with_traces.open() as memory:
        done = memory.forget(TEXT)

    assert done.remaining
    assert traces(vault_with_traces.outside.vault, vault_with_traces.outside.state)
