"""Upkeep: the state of the sync and a pass now; the last examination and a new one."""

import msgspec

from vault_memory.addons.page.page_answers import PageView, Redirect
from vault_memory.addons.page.vault_state import SYNC_WORDS
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.period_counts import search_days

WORDS = {"ok": "in order", "warn": "warning", "fail": "failed"}
"""State of a check → its word"""


class UpkeepFields(msgspec.Struct):
    """The fields of `/doctor` and `/sync`: none."""


def show_doctor(viewer: Viewer, query: UpkeepFields) -> PageView:
    viewer.check_sees_all()
    data = {
        "examination": viewer.shared.examination,
        "words": WORDS,
        "search_days": search_days(viewer.shared.search_times()),
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
