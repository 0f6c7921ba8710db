"""Upkeep: the sync and a pass now, an examination, and the set-up."""

import msgspec

from vault_memory.addons.page.page_answers import PageView, Redirect
from vault_memory.addons.page.shared_answers import SYNC_WORDS
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.viewers.setup_viewer import SetupViewer

WORDS = {"ok": "in order", "warn": "warning", "fail": "failed"}
"""State of a check → its word"""


class UpkeepFields(msgspec.Struct):
    """The fields of `/doctor` and `/sync`: none."""


def show_doctor(viewer: Viewer, query: UpkeepFields) -> PageView:
    viewer.check_sees_all()
    data = {
        "examination": viewer.shared.examination,
        "words": WORDS,
        "searches": viewer.shared.search_times(),
    }
    return PageView("doctor.html", "Doctor", data)


def examine(viewer: Viewer, form: UpkeepFields) -> Redirect:
    viewer.check_sees_all()
    viewer.shared.keep_examination(viewer.examine())
    return Redirect("/doctor")


def show_sync(viewer: Viewer, query: UpkeepFields) -> PageView:
    status = viewer.sync_status()
    words = SYNC_WORDS[status["state"]] if status else ""
    return PageView("sync.html", "Sync", {"status": status, "words": words})


def sync_now(viewer: Viewer, form: UpkeepFields) -> Redirect:
    viewer.sync_now()
    return Redirect("/sync")


SETUP = "/setup"


class SetupFields(msgspec.Struct):
    """The fields of `/setup`: none."""


class LayoutFields(msgspec.Struct):
    """The form of a layout."""

    name: str


class MeaningFields(msgspec.Struct):
    """The form of search by meaning."""

    state: str


def show_setup(viewer: Viewer, query: SetupFields) -> PageView:
    setup = viewer.setup()
    used, written = setup.used(), setup.written()
    data = {
        "layouts": setup.layouts(),
        "layout": written.layout.name,
        "used_layout": used.layout.name,
        "has_meaning": setup.meaning() != "off",
        "is_overridden": setup.is_meaning_overridden(),
        "must_restart": _must_restart(setup),
        "has_daemon": setup.has_daemon(),
        "hosts": setup.hosts(),
        "remote": bool(written.remote.url),
    }
    return PageView("setup.html", "Vault", data)


def set_layout(viewer: Viewer, form: LayoutFields) -> Redirect:
    viewer.setup().set_layout(form.name)
    return Redirect(SETUP)


def switch_meaning(viewer: Viewer, form: MeaningFields) -> Redirect:
    viewer.setup().switch_meaning(form.state)
    return Redirect(SETUP)


def _must_restart(setup: SetupViewer) -> bool:
    """Return whether the page still works with what was written before."""
    used, written = setup.used(), setup.written()
    # A layout that the program chose is in the state folder, not in the configuration.
    is_new_layout = bool(written.layout.name) and used.layout != written.layout
    return is_new_layout or used.embedding != written.embedding
