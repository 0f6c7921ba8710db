"""Upkeep: the sync and a pass now, an examination, and the set-up."""

import msgspec

from vault_memory.addons.page.forms import NoFields
from vault_memory.addons.page.page_answers import NotHere, PageView, Redirect
from vault_memory.addons.page.shared_answers import SYNC_WORDS
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.viewers.setup_viewer import SetupViewer

WORDS = {"ok": ("good", "in order"), "warn": ("warn", "warning"), "fail": ("bad", "failed")}
"""State of a check → its level, and its word"""


def show_doctor(viewer: Viewer, query: NoFields) -> PageView:
    viewer.check_sees_all()
    data = {
        "examination": viewer.shared.examination,
        "words": WORDS,
        "searches": viewer.shared.search_times(),
    }
    return PageView("doctor.html", "Health", data)


def examine(viewer: Viewer, form: NoFields) -> Redirect:
    viewer.check_sees_all()
    viewer.shared.keep_examination(viewer.examine())
    return Redirect("/doctor")


def show_sync(viewer: Viewer, query: NoFields) -> PageView:
    status = viewer.sync_status()
    words = SYNC_WORDS[status["state"]] if status else ""
    return PageView("sync.html", "Sync", {"status": status, "words": words})


def sync_now(viewer: Viewer, form: NoFields) -> Redirect:
    viewer.sync_now()
    return Redirect("/sync")


SETUP = "/setup"


class NameFields(msgspec.Struct):
    """The form of a layout, or of the owner of the notes."""

    name: str


class MeaningFields(msgspec.Struct):
    """The form of search by meaning."""

    state: str


def show_setup(viewer: Viewer, query: NoFields) -> PageView:
    setup = viewer.setup()
    used, written = setup.used(), setup.written()
    layouts = setup.layouts()
    # The built-in folders are those of the layout `shared`.
    layout = written.layout.name or used.layout.name or "shared"
    next_night = viewer.nights.next_begins()
    meaning, embedded, chunks = setup.meaning()
    data = {
        "folder": viewer.shared.machine.folder,
        "layouts": layouts,
        "current": next(row for row in layouts if row.proposal.name == layout),
        "owner": setup.owner(),
        "has_meaning": setup.kind_of_meaning() != "off",
        "meaning": meaning,
        "embedded": embedded,
        "chunks": chunks,
        "is_overridden": setup.is_meaning_overridden(),
        "must_restart": _must_restart(setup),
        "has_daemon": setup.has_daemon(),
        "next_night": next_night.isoformat() if next_night else "",
        "hosts": setup.hosts(),
        "browsers": setup.browsers.count(),
        "can_undo": viewer.shared.machine.undo is not None,
    }
    return PageView("setup.html", "Vault", data)


def name_owner(viewer: Viewer, form: NameFields) -> Redirect:
    viewer.setup().name_owner(form.name.strip())
    viewer.shared.machine.reopen()
    return Redirect(SETUP)


def undo_setup(viewer: Viewer, form: NoFields) -> Redirect:
    undo = viewer.shared.machine.undo
    if undo is None:
        raise NotHere
    viewer.setup().check_unused()
    undo()
    return Redirect(SETUP)


def sign_out(viewer: Viewer, form: NoFields) -> Redirect:
    viewer.setup().browsers.end_all()
    return Redirect("/")


def set_layout(viewer: Viewer, form: NameFields) -> Redirect:
    viewer.setup().set_layout(form.name)
    viewer.shared.machine.reopen()
    return Redirect(SETUP)


def switch_meaning(viewer: Viewer, form: MeaningFields) -> Redirect:
    viewer.setup().switch_meaning(form.state)
    viewer.shared.machine.reopen()
    return Redirect(SETUP)


def _must_restart(setup: SetupViewer) -> bool:
    """Return whether the page still works with what was written before."""
    used, written = setup.used(), setup.written()
    # A layout that the program chose is in the state folder, not in the configuration.
    is_new_layout = written.layout.name not in ("", used.layout.name)
    return is_new_layout or used.embedding != written.embedding
