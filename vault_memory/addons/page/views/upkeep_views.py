"""Upkeep: the sync and a pass now, an examination, and the set-up."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from vault_memory import config as configuration
from vault_memory.addons.page.browser_sessions import BrowserSessions
from vault_memory.addons.page.forms import OPEN_AGAIN, NoFields
from vault_memory.addons.page.page_answers import NotHere, PageView, Redirect
from vault_memory.addons.page.shared_answers import SYNC_WORDS, MachineSight, host_rows, meaning_of
from vault_memory.addons.page.viewer import Viewer
from vault_memory.admin import config_change, layout_setup, owner
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.sections import LayoutSettings
from vault_memory.errors import UsageError
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.layout_survey import SUMMARIES, LayoutProposal, preset
from vault_memory.search.vault_layout import patterns_of

WORDS = {"ok": ("good", "in order"), "warn": ("warn", "warning"), "fail": ("bad", "failed")}
"""State of a check → its level, and its word"""


def show_doctor(viewer: Viewer, query: NoFields) -> PageView:
    viewer.whole()
    data = {
        "examination": viewer.shared.examination,
        "words": WORDS,
        "searches": viewer.shared.search_times(),
    }
    return PageView("doctor.html", "Health", data)


def examine(viewer: Viewer, form: NoFields) -> Redirect:
    clean = viewer.vault.clean
    checks = viewer.whole().doctor()
    # Fault: a check names places of the machine.
    viewer.shared.keep_examination(
        [replace(each, reason=clean(each.reason), fix=clean(each.fix)) for each in checks]
    )
    return Redirect("/doctor")


def show_sync(viewer: Viewer, query: NoFields) -> PageView:
    status = viewer.sync_status()
    words = SYNC_WORDS[status["state"]] if status else ""
    return PageView("sync.html", "Sync", {"status": status, "words": words})


def sync_now(viewer: Viewer, form: NoFields) -> Redirect:
    viewer.sync_now()
    return Redirect("/sync")


SETUP = "/setup"
MEANING = {"on": "auto", "off": "off"}
"""Button of search by meaning → the kind of embedder that it writes"""
MEANING_VARIABLE = "VAULT_MEMORY_EMBEDDING_KIND"
MOST_SCOPES = 5


class NameFields(msgspec.Struct):
    """The form of a layout, or of the owner of the notes."""

    name: str


class MeaningFields(msgspec.Struct):
    """The form of search by meaning."""

    state: str


def show_setup(viewer: Viewer, query: NoFields) -> PageView:
    machine = viewer.shared.machine
    data = {
        **_overview(viewer.whole(), machine),
        "folder": machine.folder,
        "next_night": viewer.next_night(),
        "can_undo": machine.undo is not None,
    }
    return PageView("setup.html", "Vault", data)


def _overview(memory: VaultMemory, machine: MachineSight) -> dict[str, Any]:
    """Returns what the view of the setup shows. Raises ConfigError."""
    vault = memory.vault
    used = vault.config
    written = configuration.load(vault.config_file, vault.environment)
    settings = written.layout._replace(user=used.layout.user)
    paths = list(vault.folder.listing().entries)
    layouts = [_layout_row(proposal, settings, paths) for proposal in layout_setup.proposals(vault)]
    # The built-in folders are those of the layout `shared`.
    name = written.layout.name or used.layout.name or "shared"
    # A layout that the program chose is in the state folder, not in the configuration.
    is_new_layout = written.layout.name not in ("", used.layout.name)
    # A variable of the environment may say otherwise than the file.
    kind = configuration.load(vault.config_file, {}).embedding.kind
    meaning, embedded, chunks = meaning_of(memory)
    return {
        "layouts": layouts,
        "current": next(row for row in layouts if row["proposal"].name == name),
        "must_restart": is_new_layout or used.embedding != written.embedding,
        "owner": vault.owner,
        "has_meaning": kind != "off",
        "is_overridden": MEANING_VARIABLE in vault.environment,
        "meaning": meaning,
        "embedded": embedded,
        "chunks": chunks,
        "has_daemon": vault.state.socket.exists(),
        "hosts": host_rows(memory, machine, memory.scopes()),
        "browsers": BrowserSessions(vault.state.path).count(),
    }


def _layout_row(
    proposal: LayoutProposal, settings: LayoutSettings, paths: Iterable[str]
) -> dict[str, Any]:
    """Return a layout with the scopes that it would claim, and how many files of each."""
    layout = Layout(
        patterns_of(settings),
        user=settings.user,
        bot=settings.bot,
        exclude=proposal.exclude,
        preset=preset(proposal.name, proposal.daily),
    )
    places = (layout.place(path) for path in paths if path.endswith(MARKDOWN))
    owners = Counter(place.scope for place in places if place is not None)
    return {
        "proposal": proposal,
        "summary": SUMMARIES[proposal.name],
        "owners": owners.most_common(MOST_SCOPES),
    }


def name_owner(viewer: Viewer, form: NameFields) -> Redirect:
    owner.set_owner(viewer.whole().root, form.name.strip())
    return _reopened(viewer)


def undo_setup(viewer: Viewer, form: NoFields) -> Redirect:
    machine = viewer.shared.machine
    if machine.undo is None:
        raise NotHere
    memory = viewer.whole()
    hosts = host_rows(memory, machine, memory.scopes())
    is_wired = any(row["wired"] != "no" for row in hosts)
    # Fault: a vault that something was written to, or waits to be, would be removed.
    if is_wired or memory.log() or memory.vault.state.socket.exists():
        raise UsageError(
            "the vault is in use by now, so it stays one",
            hint="`vault-memory uninstall` takes all of ours away but the notes",
        )
    machine.undo()
    return Redirect(SETUP)


def sign_out(viewer: Viewer, form: NoFields) -> Redirect:
    BrowserSessions(viewer.whole().vault.state.path).end_all()
    return Redirect("/")


def set_layout(viewer: Viewer, form: NameFields) -> Redirect:
    memory = viewer.whole()
    if form.name not in SUMMARIES:
        raise UsageError(f"there is no layout `{form.name}`", hint=OPEN_AGAIN)
    layout_setup.set_layout(memory.vault, form.name)
    return _reopened(viewer)


def switch_meaning(viewer: Viewer, form: MeaningFields) -> Redirect:
    memory = viewer.whole()
    if form.state not in MEANING:
        raise UsageError("the switch is `on` or `off`", hint=OPEN_AGAIN)
    config_change.change_table(memory.vault, "embedding", {"kind": MEANING[form.state]})
    return _reopened(viewer)


def _reopened(viewer: Viewer) -> Redirect:
    viewer.shared.machine.reopen()
    return Redirect(SETUP)
