"""Programs outside: whether one may have a memory, and which ones have it."""

from datetime import UTC, datetime

import msgspec

from vault_memory.addons.page.forms import IdFields, NoFields
from vault_memory.addons.page.outside_programs import Program, ProgramGate, QuestionGone
from vault_memory.addons.page.page_answers import NotHere, PageView, Redirect
from vault_memory.addons.page.viewer import Viewer


class AllowFields(msgspec.Struct):
    """The question of a program, and whose memory it may have."""

    id: str
    user: str


def show_question(viewer: Viewer, query: IdFields) -> PageView:
    """Show which program asks for whose memory."""
    _, program = _asked(viewer, query.id)
    people = _people(viewer)
    if not people:
        raise NotHere("this session opens nobody's memory", hint="sign in as a person")
    data = {"program": program, "people": people, "id": query.id}
    return PageView("connection.html", f"Let {program.name} in?", data)


def allow(viewer: Viewer, form: AllowFields) -> PageView:
    """Let a program in."""
    # Fault: a form may name anybody.
    if form.user not in _people(viewer):
        raise NotHere("this session does not open that memory", hint="sign in as that person")
    connector, program = _asked(viewer, form.id)
    return _lead_on("It is let in", program, connector.allow(form.id, form.user))


def refuse(viewer: Viewer, form: IdFields) -> PageView:
    """Do not let a program in."""
    connector, program = _asked(viewer, form.id)
    return _lead_on("It is not let in", program, connector.refuse(form.id))


def _people(viewer: Viewer) -> list[str]:
    """Return whose memory this session may open."""
    # Fault: in a new vault, nobody has a note yet.
    owner = [viewer.owner()] if viewer.sees_all else []
    return viewer.names("user") or owner


def _asked(viewer: Viewer, key: str) -> tuple[ProgramGate, Program]:
    """Return who asks, and which program is asked about. Raises QuestionGone."""
    connector = viewer.shared.connector
    program = connector.program_of(key) if connector else None
    if connector is None or program is None:
        raise QuestionGone
    return connector, program


def _lead_on(title: str, program: Program, target: str | None) -> PageView:
    if target is None:
        raise QuestionGone
    return PageView("lead_on.html", title, {"to": target, "name": program.name})


def show_all(viewer: Viewer, query: NoFields) -> PageView:
    """Show the programs that were let in."""
    data = {"rows": viewer.connections().all(), "iso": _iso}
    return PageView("connections.html", "Connections", data)


def end(viewer: Viewer, form: IdFields) -> Redirect:
    """Send a program away."""
    viewer.connections().end(form.id)
    return Redirect("/connections")


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
