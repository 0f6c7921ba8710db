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

View = Callable[[Viewer, Any], Answer]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """One view (GET) or one action (POST)."""

    method: str
    path: str
    """Names in braces are fields; such a field may contain `/`"""
    view: View

    @property
    def takes(self) -> type[msgspec.Struct]:
        """The fields, as the view declares them"""
        shape: type[msgspec.Struct]
        _, shape, *_ = self.view.__annotations__.values()
        return shape

    @property
    def longest(self) -> int:
        """Bytes of the form"""
        return LARGEST_TEXT if self.path in WITH_TEXT else LARGEST_FORM


WITH_TEXT = frozenset({"/edit/{note}", "/resolve/hand"})
"""Actions whose forms have the text of a note"""
VIEWS: dict[str, View] = {
    "/": home_view.show,
    "/search": search_views.show_search,
    "/prompt": search_views.show_prompt,
    "/log": record_views.show_log,
    "/nights": record_views.show_nights,
    "/nights/{night}": record_views.show_night,
    "/people": fact_views.show_people,
    "/people/{name}": fact_views.show_person,
    "/about": about_view.show,
    "/source": fact_views.show_source,
    "/facts": fact_views.show_facts,
    "/inbox": inbox_view.show,
    "/conflicts": conflicts_view.show_all,
    "/conflicts/{id}": conflicts_view.show,
    "/connection": connection_views.show_question,
    "/connections": connection_views.show_all,
    "/trash": conflicts_view.show_trash,
    "/setup": upkeep_views.show_setup,
    "/notes": note_views.show_notes,
    "/note/{note}": note_views.show_note,
    "/edit/{note}": note_views.show_editor,
    "/history/{note}": note_views.show_history,
    "/sync": upkeep_views.show_sync,
    "/doctor": upkeep_views.show_doctor,
}
ACTIONS: dict[str, View] = {
    "/remember": home_view.remember,
    "/today/undo": record_views.undo,
    "/today/seen": home_view.see_all,
    "/today/undo-night": record_views.undo_night,
    "/log/undo": record_views.undo,
    "/facts/add": fact_views.add,
    "/facts/confirm": fact_views.confirm,
    "/facts/correct": fact_views.correct,
    "/facts/end": fact_views.end,
    "/facts/delete": fact_views.delete,
    "/inbox/approve": inbox_view.approve,
    "/inbox/reject": inbox_view.reject,
    "/resolve/merge": conflicts_view.merge,
    "/resolve/both": conflicts_view.keep_both,
    "/resolve/place": conflicts_view.settle_place,
    "/resolve/take": conflicts_view.take,
    "/resolve/discard": conflicts_view.discard,
    "/resolve/hand": conflicts_view.save_by_hand,
    "/connection/allow": connection_views.allow,
    "/connection/refuse": connection_views.refuse,
    "/connections/end": connection_views.end,
    "/trash/restore": conflicts_view.restore,
    "/setup/undo": upkeep_views.undo_setup,
    "/setup/sign-out": upkeep_views.sign_out,
    "/setup/layout": upkeep_views.set_layout,
    "/setup/owner": upkeep_views.name_owner,
    "/setup/meaning": upkeep_views.switch_meaning,
    "/note/append": note_views.append,
    "/note/add-section": note_views.add_section,
    "/note/change": note_views.change,
    "/note/remove": note_views.remove,
    "/edit/{note}": note_views.save,
    "/history/restore": note_views.restore,
    "/sync/now": upkeep_views.sync_now,
    "/doctor/examine": upkeep_views.examine,
}
ROUTES = (
    *(PageRoute("GET", path, view) for path, view in VIEWS.items()),
    *(PageRoute("POST", path, action) for path, action in ACTIONS.items()),
)
