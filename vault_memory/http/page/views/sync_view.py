"""Sync: the state of the sync with the server, and a pass now."""

import msgspec

from vault_memory.http.page.page_answers import PageView, Redirect
from vault_memory.http.page.vault_state import SYNC_WORDS
from vault_memory.http.page.viewer import Viewer


class SyncFields(msgspec.Struct):
    """The fields of `/sync`."""


def show(
    viewer: Viewer,
    query: SyncFields,
) -> PageView:
    status = viewer.sync_status()
    words = SYNC_WORDS[status["state"]] if status else ""
    return PageView("sync.html", "Sync", {"status": status, "words": words})


def run(
    viewer: Viewer,
    form: SyncFields,
) -> Redirect:
    viewer.sync_now()
    return Redirect("/sync")
