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
    connection_views,
    fact_views,
    home_view,
    inbox_view,
    note_views,
    record_views,
    search_views,
    upkeep_views,
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
    PageRoute("GET", "/", home_view.show, home_view.HomeFields),
    PageRoute("POST", "/remember", home_view.remember, home_view.RememberFields),
    PageRoute("POST", "/today/undo", record_views.undo, record_views.UndoFields),
    PageRoute("POST", "/today/seen", home_view.see_all, home_view.SeenFields),
    PageRoute("POST", "/today/undo-night", record_views.undo_night, record_views.NightUndoFields),
    PageRoute("GET", "/search", search_views.show_search, search_views.SearchFields),
    PageRoute("GET", "/prompt", search_views.show_prompt, search_views.PromptFields),
    PageRoute("GET", "/log", record_views.show_log, record_views.LogFields),
    PageRoute("POST", "/log/undo", record_views.undo, record_views.UndoFields),
    PageRoute("GET", "/nights", record_views.show_nights, record_views.NightsFields),
    PageRoute("GET", "/nights/{night}", record_views.show_night, record_views.NightFields),
    PageRoute("GET", "/people", fact_views.show_people, fact_views.PeopleFields),
    PageRoute("GET", "/people/{name}", fact_views.show_person, fact_views.PersonFields),
    PageRoute("GET", "/about", about_view.show, about_view.AboutFields),
    PageRoute("GET", "/source", fact_views.show_source, fact_views.SourceFields),
    PageRoute("GET", "/facts", fact_views.show_facts, fact_views.FactsFields),
    PageRoute("POST", "/facts/add", fact_views.add, fact_views.AddFactFields),
    PageRoute("POST", "/facts/confirm", fact_views.confirm, fact_views.FactButtonFields),
    PageRoute("POST", "/facts/correct", fact_views.correct, fact_views.CorrectFactFields),
    PageRoute("POST", "/facts/end", fact_views.end, fact_views.FactButtonFields),
    PageRoute("POST", "/facts/delete", fact_views.delete, fact_views.FactButtonFields),
    PageRoute("GET", "/inbox", inbox_view.show, inbox_view.InboxFields),
    PageRoute("POST", "/inbox/approve", inbox_view.approve, inbox_view.DecisionFields),
    PageRoute("POST", "/inbox/reject", inbox_view.reject, inbox_view.DecisionFields),
    PageRoute("GET", "/conflicts", conflicts_view.show_all, conflicts_view.ConflictsFields),
    PageRoute("GET", "/conflicts/{id}", conflicts_view.show, conflicts_view.ConflictFields),
    PageRoute("POST", "/resolve/merge", conflicts_view.merge, conflicts_view.ConflictFields),
    PageRoute("POST", "/resolve/both", conflicts_view.keep_both, conflicts_view.ConflictFields),
    PageRoute("POST", "/resolve/place", conflicts_view.settle_place, conflicts_view.PlaceFields),
    PageRoute("POST", "/resolve/take", conflicts_view.take, conflicts_view.ConflictFields),
    PageRoute("POST", "/resolve/discard", conflicts_view.discard, conflicts_view.ConflictFields),
    PageRoute(
        "POST",
        "/resolve/hand",
        conflicts_view.save_by_hand,
        conflicts_view.HandFields,
        LARGEST_TEXT,
    ),
    PageRoute(
        "GET", "/connection", connection_views.show_question, connection_views.QuestionFields
    ),
    PageRoute("POST", "/connection/allow", connection_views.allow, connection_views.AllowFields),
    PageRoute(
        "POST", "/connection/refuse", connection_views.refuse, connection_views.QuestionFields
    ),
    PageRoute("GET", "/connections", connection_views.show_all, connection_views.ConnectionsFields),
    PageRoute("POST", "/connections/end", connection_views.end, connection_views.EndFields),
    PageRoute("GET", "/trash", conflicts_view.show_trash, conflicts_view.TrashFields),
    PageRoute("POST", "/trash/restore", conflicts_view.restore, conflicts_view.RestoreFields),
    PageRoute("GET", "/setup", upkeep_views.show_setup, upkeep_views.SetupFields),
    PageRoute("POST", "/setup/undo", upkeep_views.undo_setup, upkeep_views.SetupFields),
    PageRoute("POST", "/setup/sign-out", upkeep_views.sign_out, upkeep_views.SetupFields),
    PageRoute("POST", "/setup/layout", upkeep_views.set_layout, upkeep_views.NameFields),
    PageRoute("POST", "/setup/owner", upkeep_views.name_owner, upkeep_views.NameFields),
    PageRoute("POST", "/setup/meaning", upkeep_views.switch_meaning, upkeep_views.MeaningFields),
    PageRoute("GET", "/notes", note_views.show_notes, note_views.NotesFields),
    PageRoute("GET", "/note/{note}", note_views.show_note, note_views.NoteFields),
    PageRoute("POST", "/note/append", note_views.append, note_views.ItemButtonFields),
    PageRoute("POST", "/note/add-section", note_views.add_section, note_views.ItemButtonFields),
    PageRoute("POST", "/note/change", note_views.change, note_views.ItemButtonFields),
    PageRoute("POST", "/note/remove", note_views.remove, note_views.ItemButtonFields),
    PageRoute("GET", "/edit/{note}", note_views.show_editor, note_views.EditFields),
    PageRoute("POST", "/edit/{note}", note_views.save, note_views.SaveFields, LARGEST_TEXT),
    PageRoute("GET", "/history/{note}", note_views.show_history, note_views.HistoryFields),
    PageRoute("POST", "/history/restore", note_views.restore, note_views.RestoreVersionFields),
    PageRoute("GET", "/sync", upkeep_views.show_sync, upkeep_views.UpkeepFields),
    PageRoute("POST", "/sync/now", upkeep_views.sync_now, upkeep_views.UpkeepFields),
    PageRoute("GET", "/doctor", upkeep_views.show_doctor, upkeep_views.UpkeepFields),
    PageRoute("POST", "/doctor/examine", upkeep_views.examine, upkeep_views.UpkeepFields),
)
