"""The table of views and actions: each path with its function and the fields that it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from vault_memory.addons.page.forms import LARGEST_FORM, LARGEST_TEXT
from vault_memory.addons.page.page_answers import Answer
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views import (
    about_view,
    conflicts_view,
    edit_view,
    facts_view,
    history_view,
    inbox_view,
    log_view,
    night_undo_view,
    nights_view,
    note_view,
    notes_view,
    people_view,
    prompt_view,
    search_view,
    setup_view,
    source_view,
    today_view,
    trash_view,
    upkeep_view,
)


@dataclass(frozen=True, slots=True)
class PageRoute:
    """One view (GET) or one action (POST)."""

    method: str
    path: str
    """Names in braces are fields; such a field may contain `/`"""
    view: Callable[[Viewer, Any], Answer]
    takes: type[msgspec.Struct]
    longest: int = LARGEST_FORM
    """bytes of the form"""


ROUTES = (
    PageRoute("GET", "/", today_view.show, today_view.TodayFields),
    PageRoute("POST", "/today/undo", log_view.undo, log_view.UndoFields),
    PageRoute("POST", "/today/seen", today_view.see_all, today_view.SeenFields),
    PageRoute(
        "POST", "/today/undo-night", night_undo_view.undo_night, night_undo_view.NightUndoFields
    ),
    PageRoute("GET", "/search", search_view.show, search_view.SearchFields),
    PageRoute("GET", "/prompt", prompt_view.show, prompt_view.PromptFields),
    PageRoute("GET", "/log", log_view.show, log_view.LogFields),
    PageRoute("POST", "/log/undo", log_view.undo, log_view.UndoFields),
    PageRoute("GET", "/nights", nights_view.show_all, nights_view.NightsFields),
    PageRoute("GET", "/nights/{night}", nights_view.show, nights_view.NightFields),
    PageRoute("GET", "/people", people_view.show_all, people_view.PeopleFields),
    PageRoute("GET", "/people/{name}", people_view.show, people_view.PersonFields),
    PageRoute("GET", "/about", about_view.show, about_view.AboutFields),
    PageRoute("GET", "/source", source_view.show, source_view.SourceFields),
    PageRoute("GET", "/facts", facts_view.show, facts_view.FactsFields),
    PageRoute("POST", "/facts/add", facts_view.add, facts_view.AddFactFields),
    PageRoute("POST", "/facts/confirm", facts_view.confirm, facts_view.FactButtonFields),
    PageRoute("POST", "/facts/correct", facts_view.correct, facts_view.CorrectFactFields),
    PageRoute("POST", "/facts/end", facts_view.end, facts_view.FactButtonFields),
    PageRoute("POST", "/facts/delete", facts_view.delete, facts_view.FactButtonFields),
    PageRoute("GET", "/inbox", inbox_view.show, inbox_view.InboxFields),
    PageRoute("POST", "/inbox/approve", inbox_view.approve, inbox_view.DecisionFields),
    PageRoute("POST", "/inbox/reject", inbox_view.reject, inbox_view.DecisionFields),
    PageRoute("GET", "/conflicts", conflicts_view.show_all, conflicts_view.ConflictsFields),
    PageRoute("GET", "/conflicts/{id}", conflicts_view.show, conflicts_view.ConflictFields),
    PageRoute("POST", "/resolve/merge", conflicts_view.merge, conflicts_view.ConflictFields),
    PageRoute("POST", "/resolve/both", conflicts_view.keep_both, conflicts_view.ConflictFields),
    PageRoute("POST", "/resolve/take", conflicts_view.take, conflicts_view.ConflictFields),
    PageRoute("POST", "/resolve/discard", conflicts_view.discard, conflicts_view.ConflictFields),
    PageRoute(
        "POST",
        "/resolve/hand",
        conflicts_view.save_by_hand,
        conflicts_view.HandFields,
        LARGEST_TEXT,
    ),
    PageRoute("GET", "/trash", trash_view.show, trash_view.TrashFields),
    PageRoute("POST", "/trash/restore", trash_view.restore, trash_view.RestoreFields),
    PageRoute("GET", "/setup", setup_view.show, setup_view.SetupFields),
    PageRoute("POST", "/setup/layout", setup_view.set_layout, setup_view.LayoutFields),
    PageRoute("POST", "/setup/meaning", setup_view.switch_meaning, setup_view.MeaningFields),
    PageRoute("GET", "/notes", notes_view.show, notes_view.NotesFields),
    PageRoute("GET", "/note/{note}", note_view.show, note_view.NoteFields),
    PageRoute("POST", "/note/append", note_view.append, note_view.ItemButtonFields),
    PageRoute("POST", "/note/add-section", note_view.add_section, note_view.ItemButtonFields),
    PageRoute("POST", "/note/change", note_view.change, note_view.ItemButtonFields),
    PageRoute("POST", "/note/remove", note_view.remove, note_view.ItemButtonFields),
    PageRoute("GET", "/edit/{note}", edit_view.show, edit_view.EditFields),
    PageRoute("POST", "/edit/{note}", edit_view.save, edit_view.SaveFields, LARGEST_TEXT),
    PageRoute("GET", "/history/{note}", history_view.show, history_view.HistoryFields),
    PageRoute("POST", "/history/restore", history_view.restore, history_view.RestoreVersionFields),
    PageRoute("GET", "/sync", upkeep_view.show_sync, upkeep_view.UpkeepFields),
    PageRoute("POST", "/sync/now", upkeep_view.sync_now, upkeep_view.UpkeepFields),
    PageRoute("GET", "/doctor", upkeep_view.show_doctor, upkeep_view.UpkeepFields),
    PageRoute("POST", "/doctor/examine", upkeep_view.examine, upkeep_view.UpkeepFields),
)
