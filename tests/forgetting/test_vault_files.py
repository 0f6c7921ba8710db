"""Forgetting beside writes that wait, files that are open, and versions that are kept."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.edits.conftest import Desk
from vault_memory.forgetting import vault_files
from vault_memory.forgetting.vault_files import Forgetter, RedactionReport
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.forgetting.redaction import Redacted
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.snapshots import revision_of

TEXT = "green lantern"


def forget(desk: Desk, text: str = TEXT) -> RedactionReport:
    found = RedactionReport()
    forgetter = Forgetter(desk.curator, Layout([]), TextMatcher.of(text))
    forgetter.count_in_vault(found)
    forgetter.count_in_history(found, desk.now)
    forgetter.redact(found, desk.now, patience=0.0)
    return found


def test_only_ops_containing_the_text_are_removed_from_a_waiting_write(desk: Desk):
    lock = desk.vault / ".USER.md.swp"
    lock.touch()
    waits = desk.do(
        {"op": "append", "heading": "Tea", "line": "the green lantern"},
        {"op": "append", "heading": "Tea", "line": "oolong"},
        source="nightly",
    )
    assert len(waits.pending) == 2

    found = forget(desk)
    lock.unlink()
    desk.curator.tend(desk.now)

    assert found.removed == {"waiting writes": 1}
    assert desk.text() == "# Me\n\n## Tea\n\n- green\n- oolong\n\n## Boats\n\nAll of them.\n"
    [record] = desk.records()
    assert [done["op"]["line"] for done in record["applied"]] == ["oolong"]


def test_a_waiting_write_based_on_the_text_is_written_without_it(desk: Desk):
    desk.save("# Me\n\n## Tea\n\n- green\n- the green lantern\n")
    desk.append("oolong", source="nightly")
    lock = desk.vault / ".USER.md.swp"
    lock.touch()
    assert desk.append("sencha", source="nightly").pending

    found = forget(desk)
    assert list(found.remaining) == ["USER.md"]
    lock.unlink()
    again = forget(desk)
    desk.curator.tend(desk.now)

    assert again.remaining == {}
    assert desk.text() == "# Me\n\n## Tea\n\n- green\n- oolong\n- sencha\n"


def test_a_displaced_file_that_is_open_is_removed_once_it_is_closed(desk: Desk):
    desk.append("the green lantern")
    with (desk.vault / "USER.md").open("rb") as held:
        found = forget(desk)
        [place] = found.remaining
        assert b"green lantern" in held.read()
        assert (desk.vault / place).exists()

    desk.curator.writer.tend(desk.now + timedelta(seconds=70))

    assert not (desk.vault / place).exists()
    assert TEXT not in desk.text()


def test_old_versions_keep_their_other_text(desk: Desk):
    desk.append("the green lantern")
    desk.append("oolong")
    desk.do({"op": "remove", "heading": "Tea", "match": "oolong"})
    undone = desk.append("sencha").audit_id

    forget(desk)

    snapshots = desk.curator.writer.snapshots
    texts = [snapshots.bytes_of(one.revision) or b"" for one in snapshots.chain("USER.md")]
    assert not any(TEXT.encode() in text for text in texts)
    assert [text.count(b"- ") for text in texts] == [2, 1, 2, 1]
    head = snapshots.head("USER.md")
    assert head is not None
    assert (head.by, head.revision) == ("bot", revision_of(desk.raw()))
    assert desk.undo(undone).changed
    assert desk.text() == "# Me\n\n## Tea\n\n- green\n\n## Boats\n\nAll of them.\n"


def test_the_bot_may_write_forgotten_text_again(desk: Desk):
    desk.append("the green lantern", source="tool")
    forget(desk)

    assert desk.append("the green lantern", source="tool").applied[0].outcome == "applied"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_all_other_bytes_are_kept(desk: Desk, ending: str):
    page = (
        "\ufeff---\nx: y\n---\n\n# A \n\n- one  \n- {}* two\n\n\ttabbed\n\x0c\n## B ##\n\n1. three"
    )
    path: Path = desk.save(page.format("the Green  Lantern\n  goes\n").replace("\n", ending))

    forget(desk)

    assert path.read_bytes() == page.replace("- {}", "").replace("\n", ending).encode()


def test_identical_texts_of_a_note_are_redacted_only_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    desk.append("the green lantern")
    texts: list[bytes] = []
    redact = vault_files.cut_note

    def counting(raw: bytes, matcher: TextMatcher, *, facts: bool) -> Redacted:
        redacted = redact(raw, matcher, facts=facts)
        if redacted.count:
            texts.append(raw)
        return redacted

    monkeypatch.setattr(vault_files, "cut_note", counting)

    forget(desk)

    assert texts == [desk.raw().replace(b"- green\n", b"- green\n- the green lantern\n")]
