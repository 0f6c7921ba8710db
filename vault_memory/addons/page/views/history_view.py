"""History: the stored versions of a note, the difference of any two, and restoring one."""

from typing import Any

import msgspec

from vault_memory.addons.page import diffs
from vault_memory.addons.page.page_answers import Answer, PageView, note_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import answer_of

MOST_VERSIONS = 200


class HistoryFields(msgspec.Struct, rename={"first": "from", "second": "to"}):
    """The fields of `/history/PATH`."""

    note: str
    first: str = ""
    """revision of the older text"""
    second: str = ""


class RestoreVersionFields(msgspec.Struct):
    """The form of the button Restore."""

    note: str
    revision: str
    expected: str = ""
    sure: str = ""


def show(viewer: Viewer, query: HistoryFields) -> PageView:
    versions = viewer.notes.history(query.note)
    note = viewer.notes.path(query.note)
    first, second = query.first, query.second
    # Without a choice, the last change is shown.
    if not (first or second) and len(versions) > 1:
        first, second = versions[1].revision, versions[0].revision
    data: dict[str, Any] = {
        "note": note,
        "versions": versions[:MOST_VERSIONS],
        "total": len(versions),
        "first": first,
        "second": second,
        "diff": _diff(viewer, note, first, second),
    }
    return PageView("history.html", f"History of {note}", data)


def _diff(viewer: Viewer, note: str, first: str, second: str) -> list[diffs.DiffLine] | None:
    if not (first and second):
        return None
    older = viewer.notes.version(note, first)
    newer = viewer.notes.version(note, second)
    return diffs.lines(older.text, newer.text)


def restore(viewer: Viewer, form: RestoreVersionFields) -> Answer:
    note = viewer.notes.path(form.note)
    # Fault: a version that was chosen by mistake would replace the note at once.
    if form.sure == "yes":
        edit = viewer.notes.restore(note, form.revision, expected=form.expected or None)
        return answer_of(edit, note_path(note))
    plan = viewer.notes.restore(note, form.revision, dry_run=True)
    version = viewer.notes.version(note, form.revision)
    data = {
        "note": note,
        "revision": version.revision,
        "expected": plan.before or "",
        "diff": _diff(viewer, note, plan.before or "", version.revision),
    }
    return PageView("restore.html", f"Restore {note}", data)
