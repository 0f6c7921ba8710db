"""A run reads, writes only what its ops name, records once, and tells the index."""

from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.edits.conftest import Desk
from vault_memory.edits.edit_errors import NotCurated, NoteChanged


def sha(raw: bytes) -> str:
    return sha256(raw).hexdigest()


def file_identity(path: Path) -> tuple[int, int, int]:
    """What any write would change. Reading may change the time of access, and does so once a day."""
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns


def test_an_op_changes_its_line_and_is_recorded_with_a_diff(desk: Desk):
    before = desk.raw()

    edit = desk.append("black")

    assert desk.text() == "# Me\n\n## Tea\n\n- green\n- black\n\n## Boats\n\nAll of them.\n"
    assert (edit.before, edit.after) == (sha(before), sha(desk.raw()))
    [record] = desk.records()
    assert record["id"] == edit.audit_id
    assert (record["before"], record["after"], record["source"]) == (edit.before, edit.after, "cli")
    assert record["user_id"] == "main"
    assert "+- black\n" in record["diff"]
    assert record["applied"] == [
        {"op": {"op": "append", "heading": "Tea", "line": "black"}, "outcome": "applied"}
    ]
    assert edit.summary == "Added “black”"
    assert desk.learnt == ["USER.md"]


def test_a_run_without_effect_leaves_the_file_untouched_and_is_recorded(desk: Desk):
    before = file_identity(desk.vault / "USER.md")

    edit = desk.append("GREEN")

    assert file_identity(desk.vault / "USER.md") == before
    assert [done.outcome for done in edit.applied] == ["noop_dup"]
    assert len(desk.records()) == 1
    assert desk.learnt == []


def test_a_run_with_only_refused_ops_leaves_one_record(desk: Desk):
    edit = desk.do({"op": "append", "heading": "Tee", "line": "x"}, {"op": "fly"}, 7)

    assert [refused.reason for refused in edit.rejected] == [
        "heading_missing",
        "unknown_op",
        "wrong_type",
    ]
    assert edit.rejected[0].headings == ("Me", "Tea", "Boats")
    assert len(desk.records()) == 1


def test_a_run_without_ops_leaves_no_record(desk: Desk):
    edit = desk.do()

    assert (edit.audit_id, edit.changed, desk.records()) == (None, False, [])


def test_valid_ops_are_applied_although_others_are_refused(desk: Desk):
    edit = desk.do(
        {"op": "append", "heading": "Tea", "line": "black"},
        {"op": "append", "heading": "Tea", "line": ""},
    )

    assert "- black\n" in desk.text()
    assert [refused.reason for refused in edit.rejected] == ["empty_line"]


def test_adding_a_heading_creates_a_missing_note(desk: Desk):
    edit = desk.do(
        {"op": "add_heading", "heading": "Tides", "lines": ["high at six"]},
        note="memory/sea/tides.md",
    )

    assert desk.text("memory/sea/tides.md") == "## Tides\n\n- high at six\n"
    assert edit.before is None
    assert len(desk.records("memory/sea/tides.md")) == 1


def test_a_refused_op_does_not_create_a_missing_note(desk: Desk):
    edit = desk.append("x", note="memory/sea/typo.md")

    assert [refused.reason for refused in edit.rejected] == ["heading_missing"]
    assert not (desk.vault / "memory").exists()


def test_an_unexpected_revision_changes_nothing(desk: Desk):
    seen = sha(desk.raw())
    desk.save("# Me\n\n## Tea\n\n- white\n")

    with pytest.raises(NoteChanged) as raised:
        desk.append("black", expected=seen)

    assert raised.value.exit_code == 5
    assert (desk.text(), desk.records()) == ("# Me\n\n## Tea\n\n- white\n", [])


def test_an_unexpected_revision_gets_the_ops_if_merging_is_requested(desk: Desk):
    seen = sha(desk.raw())
    desk.save("# Me\n\n## Tea\n\n- white\n")

    desk.append("black", expected=seen, merge=True)

    assert desk.text() == "# Me\n\n## Tea\n\n- white\n- black\n"


def test_the_expected_revision_lets_the_op_pass(desk: Desk):
    assert desk.append("black", expected=sha(desk.raw())).changed


def test_a_dry_run_computes_everything_and_writes_nothing(desk: Desk):
    before = {path: path.read_bytes() for path in desk.vault.rglob("*") if path.is_file()}

    edit = desk.append("black", dry_run=True)

    assert edit.changed
    assert "+- black" in edit.diff
    assert edit.audit_id is None
    assert {path: path.read_bytes() for path in desk.vault.rglob("*") if path.is_file()} == before
    assert (desk.learnt, desk.curator.waiting()) == ([], [])


@pytest.mark.parametrize(
    "note", ["SOUL.md", "INBOX.md", "transcripts/2026-01-01.jsonl", "USER.md.audit.jsonl", "a/b"]
)
def test_a_file_that_is_not_a_curated_note_is_refused(desk: Desk, note: str):
    with pytest.raises(NotCurated):
        desk.append("x", note=note)


@pytest.mark.scenario("A19")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"## Tea\r\n\r\n- green\r\n", b"## Tea\r\n\r\n- green\r\n- black\r\n"),
        (b"\xef\xbb\xbf## Tea\n- green\n", b"\xef\xbb\xbf## Tea\n- green\n- black\n"),
        (b"## Tea\n- green", b"## Tea\n- green\n- black"),
    ],
    ids=["windows", "byte order mark", "no final newline"],
)
def test_an_edit_keeps_the_formatting_of_the_note(desk: Desk, before: bytes, after: bytes):
    desk.save(before)

    desk.append("black")

    assert desk.raw() == after


@pytest.mark.scenario("A20")
def test_prose_is_never_rewritten(desk: Desk):
    prose = "Just a page of thoughts, with no structure at all.\n\nAnd another thought.\n"
    desk.save(prose)

    desk.do({"op": "add_heading", "heading": "Learned", "lines": ["likes prose"]}, source="tool")

    assert desk.text() == prose + "\n## Learned\n\n- likes prose\n"


@pytest.mark.scenario("A30")
def test_a_symlink_within_the_vault_is_kept_and_its_target_is_written(desk: Desk):
    (desk.vault / "USER.md").rename(desk.vault / "profile.md")
    (desk.vault / "USER.md").symlink_to("profile.md")

    desk.append("black")

    assert (desk.vault / "USER.md").is_symlink()
    assert "- black\n" in (desk.vault / "profile.md").read_text()
    assert len(desk.records()) == 1


@pytest.mark.scenario("A30")
def test_a_symlink_out_of_the_vault_is_refused(desk: Desk, tmp_path: Path):
    (desk.vault / "USER.md").rename(tmp_path / "outside.md")
    (desk.vault / "USER.md").symlink_to(tmp_path / "outside.md")
    before = (tmp_path / "outside.md").read_bytes()

    with pytest.raises(Exception, match="link"):
        desk.append("black")

    assert (tmp_path / "outside.md").read_bytes() == before


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["op", "append", "remove", "heading", "Tea", "green", "line", "match"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["op", "heading", "line", "lines", "match", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ops=st.lists(JSON, min_size=1, max_size=3), source=st.sampled_from(["cli", "tool"]))
def test_any_json_as_ops_leaves_the_other_text_of_the_note_intact(
    desk: Desk, ops: list[Any], source: str
):
    records = len(desk.records())

    desk.do(*ops, source=source)

    assert desk.text().startswith("# Me\n")
    assert desk.text().rstrip("\n").find("All of them.") > 0
    assert len(desk.records()) == records + 1


def test_a_waiting_write_records_what_it_did_next_to_a_later_run(desk: Desk):
    desk.append("black", source="tool")
    desk.ahead = timedelta()
    desk.save(desk.text().replace("- green", "- green\n- jasmine"))
    replacing = {"op": "replace", "heading": "Tea", "match": "black", "line": "white"}
    [waits] = desk.do(replacing, source="nightly").pending
    desk.ahead = timedelta(hours=1)

    later = desk.do(
        {"op": "append", "heading": "Tea", "line": "oolong"},
        {
            "op": "append",
            "heading": "Tea",
            "line": "black",
        },  # the write that waited has just taken it away
    )

    assert "- green\n- jasmine\n- white\n- oolong\n- black\n" in desk.text()
    first, second = desk.records()[-2:]
    assert (first["id"], second["id"]) == (waits.id, later.audit_id)
    assert [(done["op"], done["outcome"]) for done in first["applied"]] == [(replacing, "applied")]
    assert "proposed" not in first


def test_a_waiting_write_records_what_it_did_whatever_ran_in_between(desk: Desk):
    loaded = desk.text()
    desk.append("black", source="tool")
    with_black = desk.text().replace("All of them.", "Some of them.")
    desk.ahead = timedelta()
    desk.save(with_black)
    replacing = {"op": "replace", "heading": "Tea", "match": "black", "line": "white"}
    [waits] = desk.do(replacing, source="nightly").pending
    desk.save(loaded.replace("- green", "- jasmine"))
    desk.ahead = timedelta(hours=2)
    desk.curator.keep([desk.curator.folder.read("USER.md")], desk.now)
    assert desk.records()[-1]["source"] == "proposal", "a person is asked about `black`"

    desk.save(with_black)
    desk.curator.tend(desk.now)

    assert desk.text() == with_black.replace("- black", "- white")
    [record] = [record for record in desk.records() if record["id"] == waits.id]
    assert [(done["op"], done["outcome"]) for done in record["applied"]] == [(replacing, "applied")]
