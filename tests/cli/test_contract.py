"""The JSON contract: one object on stdout, stable keys, each of the type that was promised."""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest

from tests.every import every
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory

NUMBER = (int, float)
REVISION = re.compile(r"[0-9a-f]{64}").fullmatch


def has(found: Mapping[str, Any], /, **keys: Any) -> None:
    """Each key is there with its type; a bool is no number."""
    for name, kind in keys.items():
        assert name in found, (name, found)
        assert isinstance(found[name], kind), (name, found[name])
        assert (
            kind is bool
            or not isinstance(found[name], bool)
            or bool in (kind if isinstance(kind, tuple) else ())
        )


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, project: Any) -> Outside:
    """The example notes, indexed once, and never changed."""
    home = tmp_path_factory.mktemp("sample")
    outside = Outside(home / "vault", home)
    outside.ok("init", str(outside.vault))
    return outside


def test_init_reports_the_vault_it_created(outside: Outside):
    made = outside.ok("init", str(outside.vault / "new"))

    has(made, vault=str, id=str, notes_written=int)
    assert made["notes_written"] > 5


def test_index_counts_notes_and_chunks(outside: Outside):
    outside.write("USER.md", "# Me\n\n- tea\n- coffee\n")

    report = outside.ok("index")

    whole = (
        "notes",
        "changed",
        "removed",
        "chunks_added",
        "chunks_kept",
        "chunks_removed",
        "embedded",
    )
    has(report, seconds=NUMBER, **dict.fromkeys(whole, int))
    assert (report["notes"], report["changed"], report["chunks_added"] > 0) == (1, 1, True)
    assert outside.ok("index")["changed"] == 0


def test_a_hit_reports_its_place_and_an_answer_its_freshness(sample: Outside):
    answer = sample.search("where is the spare key of the lighthouse?", "--why")

    hit = answer["hits"][0]
    has(
        hit,
        note=str,
        lines=list,
        heading=str,
        date=(str, type(None)),
        scope=str,
        kind=str,
        text=str,
        score=float,
    )
    has(hit["why"], terms=dict, arms=dict)
    first, last = hit["lines"]
    shown = sample.ok("read", hit["note"])["text"].splitlines()
    assert hit["text"].splitlines() == shown[first - 1 : last]
    has(answer["freshness"], stale_files=list, semantic=str, reason=str)
    assert answer["freshness"] == {
        "stale_files": [],
        "semantic": "off",
        "reason": "switched off in the configuration",
    }


def test_without_why_a_hit_does_not_explain_its_score(sample: Outside):
    assert all("why" not in hit for hit in sample.search("key")["hits"])


def test_read_returns_text_revision_and_sections(outside: Outside):
    outside.write("USER.md", "# Me\n\nhello\n\n## Tea\n- green\n")

    note = outside.ok("read", "USER.md")

    assert note["note"] == "USER.md"
    assert note["text"] == "# Me\n\nhello\n\n## Tea\n- green\n"
    assert REVISION(note["revision"])
    assert note["sections"] == ["Me", "Tea"] or note["sections"] == ["Tea"]


def test_notes_lists_each_note_once(sample: Outside):
    listed = sample.ok("notes")["notes"]

    for note in listed:
        has(note, note=str, scope=str, kind=str, revision=str, bytes=int)
        assert REVISION(note["revision"])
        assert (sample.vault / note["note"]).stat().st_size == note["bytes"]
    assert len({note["note"] for note in listed}) == len(listed) > 5


def test_notes_of_one_scope_belong_to_that_scope(sample: Outside):
    scopes = {note["scope"] for note in sample.ok("notes")["notes"]}
    kind, _, name = min(scopes).partition(":")

    of_one = sample.ok("notes", f"--{kind}", name)["notes"]

    assert {note["scope"] for note in of_one} == {f"{kind}:{name}"}


@every(
    "command",
    [["notes"], ["facts"], ["timeline", "mira"], ["entity", "mira"], ["context", "x"]],
    ids=lambda command: command[0],
)
def test_a_misspelt_person_is_reported_in_the_answer(sample: Outside, command: list[str]):
    answer = sample.ok(*command, "--user", "zoe")

    assert answer["unknown_scopes"] == ["user:zoe"]


def test_status_without_a_daemon_follows_the_contract(sample: Outside):
    status = sample.ok("status")

    has(status, vault=str, index=dict, semantic=str, watcher=dict, inbox_open=int, daemon=dict)
    has(status["index"], notes=int, chunks=int, stale_files=list, generation=int)
    has(status["watcher"], mode=str, healthy=bool)
    assert {"sync", "night"} <= set(status)
    assert status["daemon"] == {"running": False, "pid": None}


@pytest.mark.parametrize("daemon", [False, True], ids=["no daemon", "daemon"])
def test_search_by_meaning_that_the_configuration_switches_off_is_told_so(
    outside: Outside, daemon: bool
):
    outside.write("USER.md", "- green tea\n")
    with outside.daemon() if daemon else nullcontext():
        status = outside.ok("status")
        answer = outside.search("tea")["freshness"]

    reason = "switched off in the configuration"
    assert (status["semantic"], status["reason"]) == ("off", reason)
    assert (answer["semantic"], answer["reason"]) == ("off", reason)


def test_the_next_night_follows_the_given_time(outside: Outside):
    outside.write("USER.md", "- green tea\n")
    outside.settings["TZ"] = "UTC"

    status = outside.ok("status", "--now", "2031-05-26T14:05+00:00")

    assert status["night"]["next"].startswith("2031-05-27")


def test_doctor_adds_the_hosts_to_the_checks_of_the_vault(outside: Outside):
    outside.write("USER.md", "- green tea\n")
    assert outside.ok("install", "claude-code")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        names = [check.name for check in memory.doctor()]

    checks = outside.ok("doctor")["checks"]

    assert [check["name"] for check in checks] == [*names, "host"]
    assert checks[-1]["reason"].startswith("claude-code: wired")


def test_status_with_a_daemon_follows_the_contract(outside: Outside):
    outside.write("USER.md", "- tea\n")
    with outside.daemon() as daemon:
        status = outside.ok("status")

        assert status["daemon"] == {"running": True, "pid": daemon.pid}
        assert status["watcher"] == {"mode": "inotify", "healthy": True, "reason": ""}
        assert status["index"]["notes"] == 1


def test_stats_counts_by_kind_scope_and_source(sample: Outside):
    stats = sample.ok("stats")

    has(stats, kinds=dict, scopes=dict, sources=dict)
    notes = len(sample.ok("notes")["notes"])
    for counted in (stats["kinds"], stats["scopes"]):
        assert sum(count["notes"] for count in counted.values()) == notes


def test_doctor_lists_each_check_with_a_state(sample: Outside):
    checks = sample.ok("doctor")["checks"]

    for check in checks:
        has(check, name=str, state=str, reason=str, fix=str)
        assert check["state"] in ("ok", "warn", "fail")
    assert {"vault", "index", "index equals notes"} <= {check["name"] for check in checks}


def test_demo_finds_the_line_an_editor_saved_and_removes_its_files(outside: Outside):
    done = outside.bare("demo", "--json")

    assert done.code == 0, done
    has(done.json, questions=list, editor=str, seconds=NUMBER, found=list)
    has(done.json, recorded=list)
    assert "spare batteries" in done.json["found"][0]["text"]
    assert "lamp oil" in done.json["found"][1]["text"]
    assert done.json["found"][1]["note"] == done.json["recorded"][0]
    assert not (outside.home / "state").exists()


@pytest.mark.parametrize("place", ["before", "after"])
def test_common_options_may_precede_or_follow_the_command(sample: Outside, place: str):
    options = ("--json", "--quiet", "--vault", str(sample.vault), "--now", "2026-01-31T10:00+01:00")

    done = (
        sample.bare(*options, "search", "key")
        if place == "before"
        else sample.bare("search", "key", *options)
    )

    assert done.code == 0, done
    assert done.json["hits"]


def test_a_search_without_hits_still_reports_freshness(sample: Outside):
    answer = sample.search("zzzzqqqq")

    assert answer["hits"] == []
    assert set(answer["freshness"]) == {"stale_files", "semantic", "reason"}


def test_forget_lists_the_places_and_returns_a_receipt(outside: Outside):
    outside.write("USER.md", "# Me\n\n- the green lantern\n- tea\n")

    done = outside.ok("forget", "green lantern", "--yes")

    has(done, matches=int, removed=list, remaining=int, receipt=dict)
    has(done["receipt"], id=str, ts=str, places=int, count=int)
    assert done["removed"] == [{"place": "USER.md", "count": 1}]
    assert (outside.vault / "USER.md").read_text() == "# Me\n\n- tea\n"
