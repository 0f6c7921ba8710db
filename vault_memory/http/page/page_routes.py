"""The table of views and actions: each path with its function and the fields that it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from vault_memory.http.page.forms import LARGEST_FORM
from vault_memory.http.page.page_answers import Answer
from vault_memory.http.page.viewer import Viewer
from vault_memory.http.page.views import (
    log_view,
    prompt_view,
    search_view,
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
    PageRoute("GET", "/search", search_view.show, search_view.SearchFields),
    PageRoute("GET", "/prompt", prompt_view.show, prompt_view.PromptFields),
    PageRoute("GET", "/log", log_view.show, log_view.LogFields),
    PageRoute("POST", "/log/undo", log_view.undo, log_view.UndoFields),
)
