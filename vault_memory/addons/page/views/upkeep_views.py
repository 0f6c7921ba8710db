"""Upkeep: the sync and a pass now, an examination, and the set-up."""

import msgspec

from vault_memory.addons.page.forms import NoFields
from vault_memory.addons.page.page_answers import NotHere, PageView, Redirect
from vault_memory.addons.page.shared_answers import SYNC_WORDS
from vault_memory.addons.page.viewer import Viewer

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
    machine = viewer.shared.machine
    data = {
        **viewer.setup().overview(),
        "folder": machine.folder,
        "next_night": viewer.next_night(),
        "can_undo": machine.undo is not None,
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
