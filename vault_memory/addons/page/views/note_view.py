"""Note: one note as Markdown, with who wrote each item, and buttons that change items."""

from typing import TYPE_CHECKING, Any

import msgspec

from vault_memory.addons.page import markdown, render
from vault_memory.addons.page.forms import AskedFields
from vault_memory.addons.page.page_answers import Answer, PageView, note_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import answer_of

if TYPE_CHECKING:
    from vault_memory.addons.page.notes.note_items_shown import ShownItem
    from vault_memory.search.note_reports import NoteText


class NoteFields(msgspec.Struct):
    """The fields of `/note/PATH`."""

    note: str
    saved: str = ""
    """`edit` after a save, `unchanged` after one without a change"""


class ItemButtonFields(AskedFields):
    """The form of a button on an item, or on a section."""

    note: str
    expected: str
    heading: str
    match: str = ""
    line: str = ""


def show(viewer: Viewer, query: NoteFields) -> PageView:
    note = viewer.notes.read(query.note)
    items = viewer.notes.items(note)
    data = {
        "note": note,
        "place": viewer.notes.place(note.note),
        "items": items,
        "html": _html(viewer, note, items),
        "raw_html": "",
        "saved": query.saved,
        "waiting": viewer.notes.waiting(note.note),
        "copies": _copies(viewer, note.note),
        "editor_link": viewer.notes.editor_link(note.note),
        "why_not_editable": viewer.notes.why_not_editable(note.raw),
    }
    if not data["html"]:
        data["raw_html"] = markdown.raw_html(note.text)
    return PageView("note.html", note.note, data)


def _copies(viewer: Viewer, note: str) -> list[str]:
    """Returns the ids of the conflict copies beside a note."""
    # To look for conflict copies is to list all folders, and the count is remembered.
    if not viewer.counts().conflicts:
        return []
    return viewer.notes.copies(note)


def _html(viewer: Viewer, note: "NoteText", items: "list[ShownItem]") -> str:
    """Returns the note as HTML; empty when it is too long for that."""
    beside = {item.line: _beside(viewer, note, item) for item in items}
    link = viewer.notes.link_from(note.note)
    # Fault: a note of 100,000 items would keep the browser and the server busy.
    try:
        return markdown.render(note.text, link, beside=beside)
    except markdown.TooLong:
        return ""


def _beside(viewer: Viewer, note: "NoteText", item: "ShownItem") -> str:
    """Returns the author and the buttons of an item, as HTML."""
    data = {
        "note": note.note,
        "revision": note.revision,
        "item": item,
        "may_write": viewer.may_write,
        "csrf": viewer.csrf,
    }
    return render.fragment("note_item.html", data)


def append(viewer: Viewer, form: ItemButtonFields) -> Answer:
    op = {"op": "append", "heading": form.heading, "line": form.line}
    return _apply(viewer, form, op)


def add_section(viewer: Viewer, form: ItemButtonFields) -> Answer:
    lines = [line for line in form.line.splitlines() if line.strip()]
    op = {"op": "add_heading", "heading": form.heading, "lines": lines}
    return _apply(viewer, form, op)


def change(viewer: Viewer, form: ItemButtonFields) -> Answer:
    op = {"op": "replace", "heading": form.heading, "match": form.match, "line": form.line}
    return _apply(viewer, form, op)


def remove(viewer: Viewer, form: ItemButtonFields) -> Answer:
    op = {"op": "remove", "heading": form.heading, "match": form.match}
    return _apply(viewer, form, op)


def _apply(viewer: Viewer, form: ItemButtonFields, op: dict[str, Any]) -> Answer:
    edit = viewer.notes.apply(form.note, op, form.expected)
    return answer_of(edit, note_path(edit.note))
