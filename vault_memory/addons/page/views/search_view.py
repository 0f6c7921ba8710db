"""Search: the lines that answer a question."""

from typing import Any, get_args

import msgspec

from vault_memory.addons.page.page_answers import PageView
from vault_memory.addons.page.viewer import Viewer
from vault_memory.contract import NEAREST_IN_MEANING, SearchedKind
from vault_memory.search.calls import SearchOptions

MOST_HITS = 30


class SearchFields(msgspec.Struct):
    """The fields of `/search`."""

    q: str = ""
    kind: str = ""
    since: str = ""
    until: str = ""
    entity: str = ""


def show(viewer: Viewer, query: SearchFields) -> PageView:
    data: dict[str, Any] = {
        "query": query,
        "kinds": get_args(SearchedKind),
        "answer": None,
        "nearest": NEAREST_IN_MEANING,
    }
    if query.q.strip():
        data["answer"] = viewer.search(query.q, _options(query))
    return PageView("search.html", "Search", data)


def _options(query: SearchFields) -> SearchOptions:
    return SearchOptions(
        limit=MOST_HITS,
        kinds=(query.kind,) if query.kind else (),
        since=query.since or None,
        until=query.until or None,
        entity=query.entity or None,
        why=True,
    )
