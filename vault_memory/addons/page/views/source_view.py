"""Source: the turns that a line, a fact or a change comes from."""

from typing import Annotated

import msgspec

from vault_memory.addons.page.page_answers import PageView
from vault_memory.addons.page.viewer import Viewer

MOST_AROUND = 50
ROLES = {"user": "a person", "assistant": "the bot", "tool": "a tool"}
"""Role of a turn → who spoke, when the turn names no person"""


class SourceFields(msgspec.Struct):
    """The fields of `/source`."""

    ref: str = ""
    """`NOTE:LINE`, or the id of a turn, a fact, a held candidate, a change or an item"""
    around: Annotated[int, msgspec.Meta(ge=0, le=MOST_AROUND)] = 2
    """how many turns before and after"""


def show(viewer: Viewer, query: SourceFields) -> PageView:
    ref = query.ref.strip()
    data = {
        "ref": ref,
        "around": query.around,
        "most_around": MOST_AROUND,
        "roles": ROLES,
        "origin": viewer.source(ref, query.around) if ref else None,
    }
    return PageView("source.html", "Source", data)
