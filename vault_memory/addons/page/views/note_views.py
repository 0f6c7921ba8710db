"""Notes: the list of all, one as Markdown with buttons, its editor, and its stored versions."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from vault_memory.addons.page import diffs, markdown, render
from vault_memory.addons.page.forms import (
    OPEN_AGAIN,
    AskedFields,
    bytes_of,
    decoded,
    encoded,
    form_text,
)
from vault_memory.addons.page.note_html.hidden_letters import Exact
from vault_memory.addons.page.page_answers import Answer, PageView, Redirect, note_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.about_view import items_of
from vault_memory.addons.page.views.outcome import answer_of, own_path
from vault_memory.addons.page.wording import author_of, note_title
from vault_memory.edits.edit_errors import NoteGone, SaveConflict
from vault_memory.errors import NoteNotFound, UsageError
from vault_memory.rules.edits.text_edits import why_not_editable

if TYPE_CHECKING:
    from vault_memory.addons.page.note_html.link_resolver import NoteUrl
    from vault_memory.addons.page.views.about_view import ShownItem
    from vault_memory.search.note_reports import NoteInfo, NoteText


NOTES = "/notes"


class NoteFields(msgspec.Struct):
    """The fields of `/note/PATH`."""

    note: str
    saved: str = ""
    """`edit` after a save, `unchanged` after one without a change"""
    edit: str = ""
    """the key of the line that is edited in its place"""


class ItemButtonFields(AskedFields):
    """The form of a button on an item, or on a section."""

    note: str
    expected: str
    heading: str
    match: str = ""
    line: str = ""
    to: str = ""
    """where the browser goes next; empty: the note"""


def show_note(viewer: Viewer, query: NoteFields) -> PageView:
    note = viewer.note(query.note).read()
    items = items_of(viewer, note)
    headings = dict.fromkeys(item.heading for item in items)
    forms = {heading: f"lines-{number}" for number, heading in enumerate(headings)}
    links = viewer.note(note.note).searcher.links()
    outgoing = dict.fromkeys(link.note for link in links.outgoing if link.note)
    data = {
        **_frame(viewer, note.note),
        "revision": note.revision,
        "sections": note.sections,
        "forms": forms,
        "html": _html(viewer, note, items, forms, query.edit),
        "raw_html": "",
        # Fault: a link tells of a note that is another person's.
        "links": [path for path in outgoing if path != note.note and viewer.vault.scope_of(path)],
        "linking": [
            path for path in links.incoming if path != note.note and viewer.vault.scope_of(path)
        ],
        "saved": query.saved,
        "waiting": [wait for wait in viewer.waiting() if wait.note == note.note],
        "copies": [copy.id for copy in viewer.conflict_copies() if copy.note == note.note],
        "editor_link": viewer.editor_link(note.note),
        "why_not_editable": why_not_editable(note.raw),
    }
    if not data["html"]:
        data["raw_html"] = markdown.raw_html(note.text)
    title = markdown.title_of(note.text) or note_title(note.note)
    return PageView("note.html", title, data)


def _html(
    viewer: Viewer, note: "NoteText", items: "list[ShownItem]", forms: Mapping[str, str], edit: str
) -> str:
    """Returns the note as HTML; empty when it is too long for that."""
    data = {
        "note": note.note,
        "revision": note.revision,
        "may_write": viewer.may_write,
        "csrf": viewer.csrf,
    }
    beside = {}
    edited = 0
    for item in items:
        is_edited = viewer.may_write and item.key == edit
        row = {**data, "item": item, "form": forms[item.heading], "is_edited": is_edited}
        beside[item.line] = render.fragment("note_item.html", row).strip("\n")
        edited = item.line if is_edited else edited
    link = _note_url(viewer, note.note)
    # Fault: a note of 100,000 items would keep the browser and the server busy.
    try:
        return markdown.render(note.text, link, beside=beside, edited=edited, with_title=False)
    except markdown.TooLong:
        return ""


ENDINGS = ("", ".md", ".markdown", ".MD")


def _note_url(viewer: Viewer, note: str) -> "NoteUrl":
    """Returns what finds the URL of a note that this one names; None when the session sees none."""

    # To list all notes costs 50 times a view, and most notes link to none.
    @cache
    def paths() -> set[str]:
        return {info.note for info in viewer.calls.notes()}

    def url(target: str) -> str | None:
        # A Markdown link begins at its note; many editors begin at the vault, and wiki links
        # name a file in any folder.
        beside = str(PurePosixPath(note).parent / target)
        names = [name + ending for name in (target, beside) for ending in ENDINGS]
        files = {target + ending for ending in ENDINGS}
        names += sorted(path for path in paths() if path.rpartition("/")[2] in files)
        return next((note_path(name) for name in names if name in paths()), None)

    return url


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
    # Fault: after the call, an error about the path would hide what was done.
    own_path(form.to or "/")
    edit = viewer.note(form.note).apply(ops=[op], source="cli", expected=form.expected, merge=True)
    return answer_of(edit, form.to or note_path(edit.note))


CONFLICT = 409


class EditFields(msgspec.Struct):
    """The fields of `/edit/PATH`."""

    note: str
    base: str = ""
    """the revision that an open tab shows: it asks whether the note is another one by now"""


class SaveFields(msgspec.Struct):
    """The form of the button Save."""

    note: str
    text: str
    base: str
    """the bytes that the form showed, as base64: browsers change line ends in any field"""
    revision: str
    """their SHA-256; empty for a new note"""


def show_editor(viewer: Viewer, query: EditFields) -> PageView:
    note = viewer.note(query.note).read()
    reason = why_not_editable(note.raw)
    if reason:
        data = {**_frame(viewer, note.note), "reason": reason}
        return PageView("not_editable.html", _title(note.note), data)
    data = _form(viewer, note.note, note.raw, form_text(note.raw))
    data["disk_change"] = _disk_change(viewer, note, query.base)
    return PageView("edit.html", _title(note.note), data)


def save(viewer: Viewer, form: SaveFields) -> Answer:
    calls = viewer.note(form.note)
    base = _base(form)
    text = bytes_of(form.text, base)
    try:
        edit = calls.edits.save(text=text, base=base)
    except SaveConflict as conflict:
        return _conflict(viewer, form, conflict)
    except NoteGone as error:
        return _gone(viewer, form, error)
    to = note_path(form.note, saved="edit")
    # Fault: "saved" after nothing was typed looks as if something had been changed.
    if text == base:
        return Redirect(note_path(form.note, saved="unchanged"))
    if edit.from_disk and edit.audit_id:
        viewer.shared.keep_from_disk(edit.audit_id, edit.from_disk)
    return answer_of(edit, to)


def _base(form: SaveFields) -> bytes:
    """Returns the bytes that the form showed. Raises UsageError when they are damaged."""
    base = decoded(form.base)
    # Fault: with another base, the merge would take lines of others for deleted ones.
    if (base or form.revision) and _revision(base) != form.revision:
        raise UsageError("the form lacks the text that it showed", hint=OPEN_AGAIN)
    return base


def _conflict(viewer: Viewer, form: SaveFields, conflict: SaveConflict) -> PageView:
    """Returns the three texts; the box has what was typed, based on what is on disk now."""
    data = _form(viewer, form.note, conflict.on_disk, _typed(form))
    data |= {
        "message": conflict.message,
        "hint": conflict.hint,
        "on_disk": _text(conflict.on_disk),
        "yours": _text(conflict.yours),
        "opened": _text(conflict.base),
    }
    return PageView("edit_conflict.html", _title(form.note), data, CONFLICT)


def _gone(viewer: Viewer, form: SaveFields, error: NoteGone) -> PageView:
    """Returns what was typed in a form that saves it as a new note."""
    data = _form(viewer, form.note, b"", _typed(form))
    data |= {"message": error.message, "hint": error.hint}
    return PageView("edit_gone.html", _title(form.note), data, CONFLICT)


def _typed(form: SaveFields) -> str:
    """Returns what was typed, as the box is given it: a browser posts CRLF."""
    return form_text(form.text.encode("utf-8", "replace"))


def _form(viewer: Viewer, path: str, base: bytes, text: str) -> dict[str, Any]:
    """Returns what the form with the box needs."""
    return {
        **_frame(viewer, path),
        "text": Exact(text),
        "base": encoded(base),
        "revision": _revision(base) if base else "",
    }


def _disk_change(viewer: Viewer, note: "NoteText", base: str) -> list[diffs.DiffLine] | None:
    """Returns what changed on disk since an open tab read the note; None for no change."""
    if base in ("", note.revision):
        return None
    try:
        opened = viewer.note(note.note).edits.read_version(revision=base)
    except (NoteNotFound, UsageError):
        # Versions that nobody wrote through the program are not stored.
        return diffs.lines("", note.text)
    return diffs.lines(opened.text, note.text)


def _frame(viewer: Viewer, path: str) -> dict[str, Any]:
    """Returns what the frame around a view of a note needs."""
    return {"tab": NOTES, "note": path, "scope": viewer.vault.scope_of(path)}


def _title(note: str) -> str:
    return f"Edit {note_title(note)}"


def _revision(raw: bytes) -> str:
    return sha256(raw).hexdigest()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


MOST_VERSIONS = 100


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


SHORT = 12
"""Letters of a revision in an address"""


def show_history(viewer: Viewer, query: HistoryFields) -> PageView:
    note = query.note
    versions = viewer.note(note).history()
    first, second = query.first[:SHORT], query.second[:SHORT]
    # Without a choice, the last change is shown.
    if not (first or second) and len(versions) > 1:
        first, second = versions[1].revision[:SHORT], versions[0].revision[:SHORT]
    data: dict[str, Any] = {
        **_frame(viewer, note),
        "versions": versions[:MOST_VERSIONS],
        "left_out": len(versions[MOST_VERSIONS:]),
        "short": SHORT,
        "author_of": author_of,
        "first": first,
        "second": second,
        "diff": _diff(viewer, note, first, second),
    }
    return PageView("history.html", f"Versions of {note_title(note)}", data)


def _diff(viewer: Viewer, note: str, first: str, second: str) -> list[diffs.DiffLine] | None:
    if not second:
        return None
    read = viewer.note(note).edits.read_version
    older = read(revision=first).text if first else ""
    return diffs.lines(older, read(revision=second).text)


def restore(viewer: Viewer, form: RestoreVersionFields) -> Answer:
    note, calls = form.note, viewer.note(form.note)
    # Fault: a version that was chosen by mistake would replace the note at once.
    if form.sure == "yes":
        edit = calls.restore(revision=form.revision, expected=form.expected or None)
        return answer_of(edit, note_path(note))
    plan = calls.restore(revision=form.revision, dry_run=True)
    version = calls.edits.read_version(revision=form.revision)
    data = {
        **_frame(viewer, note),
        "revision": version.revision,
        "expected": plan.before or "",
        "diff": _diff(viewer, note, plan.before or "", version.revision),
    }
    return PageView("restore.html", f"Restore {note_title(note)}", data)


PART = 200
"""Notes and folders in one part of the list"""
MOST_IN_TREE = 100
"""Notes whose folders can be opened in their place; of more, each folder is a view"""
DEEPEST = 8
"""Levels of folders in one view"""


class NotesFields(msgspec.Struct):
    """The fields of `/notes`."""

    scope: str = ""
    kind: str = ""
    named: str = ""
    """words in the name"""
    folder: str = ""
    part: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1


class NoteFolder(NamedTuple):
    """A folder with notes."""

    name: str
    total: int
    folders: "list[NoteFolder]"
    notes: Sequence[str]


def show_notes(viewer: Viewer, query: NotesFields) -> PageView:
    every = viewer.calls.notes()
    paths = [note.note for note in every if _is_wanted(note, query)]
    places, folder = paths, _folder(query)
    below: dict[str, list[str]] = {}
    if len(paths) > MOST_IN_TREE:
        below, inside = _level(paths, folder)
        places = [*below, *inside]
    listed = places[(query.part - 1) * PART : query.part * PART]
    data = {
        "query": query,
        "scopes": sorted({note.scope for note in every}),
        "kinds": sorted({note.kind for note in every}),
        "total": len(paths),
        "closed": {name: len(below[name]) for name in listed if name in below},
        "top": _tree([place for place in listed if place not in below], folder),
        "changed_on": viewer.changed_on,
        "last": -(-len(places) // PART),
    }
    return PageView("notes.html", "All notes", data)


def _folder(query: NotesFields) -> str:
    """Returns the beginning of the paths in a folder; empty for the vault."""
    return f"{query.folder.strip('/')}/" if query.folder else ""


def _is_wanted(note: "NoteInfo", query: NotesFields) -> bool:
    if query.scope not in ("", note.scope) or query.kind not in ("", note.kind):
        return False
    names = f"{note.note} {note_title(note.note)}".casefold()
    is_named = all(word in names for word in query.named.casefold().split())
    return is_named and note.note.startswith(_folder(query))


def _level(paths: Iterable[str], folder: str) -> tuple[dict[str, list[str]], list[str]]:
    """Returns the folders within a folder, each with its notes, and the notes that are in none."""
    below: dict[str, list[str]] = {}
    inside = []
    for path in paths:
        name, slash, _ = path.removeprefix(folder).partition("/")
        if slash:
            below.setdefault(name, []).append(path)
        else:
            inside.append(path)
    return below, inside


def _tree(paths: Sequence[str], folder: str, depth: int = 0) -> NoteFolder:
    """Returns a folder with all below it."""
    below, inside = _level(paths, folder)
    # Fault: a path of a thousand folders would be too deep for a template.
    if depth == DEEPEST:
        below, inside = {}, list(paths)
    folders = [_tree(notes, f"{folder}{name}/", depth + 1) for name, notes in below.items()]
    return NoteFolder(folder.split("/")[-2:][0], len(paths), folders, inside)
