"""Set up: which files are memory and whose, search by meaning, and commands for the rest."""

import msgspec

from vault_memory.addons.page.decisions.setup_viewer import SetupViewer
from vault_memory.addons.page.page_answers import PageView, Redirect
from vault_memory.addons.page.viewer import Viewer

SETUP = "/setup"


class SetupFields(msgspec.Struct):
    """The fields of `/setup`: none."""


class LayoutFields(msgspec.Struct):
    """The form of a layout."""

    name: str


class MeaningFields(msgspec.Struct):
    """The form of search by meaning."""

    state: str


def show(viewer: Viewer, query: SetupFields) -> PageView:
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
        "hosts": setup.hosts,
        "remote": bool(written.remote.url),
    }
    return PageView("setup.html", "Set up", data)


def set_layout(viewer: Viewer, form: LayoutFields) -> Redirect:
    viewer.setup().set_layout(form.name)
    # Fault: with a layout in the configuration, the view that says so would be absent.
    viewer.shared.keep_setup()
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
