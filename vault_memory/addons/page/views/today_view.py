"""Today: what is new since it was all seen."""

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from markupsafe import Markup

from vault_memory.addons.page.forms import AskedFields
from vault_memory.addons.page.page_answers import Answer, PageView, Redirect
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.viewers.record_viewer import RecordGroup, RecordRow, grouped, row_of
from vault_memory.addons.page.views.outcome import not_remembered, own_path
from vault_memory.rules.edits.op_words import in_words

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ConflictCopy
    from vault_memory.rules.edits.audit_record import Proposal, Record

MOST_RECORDS = 50
"""New records that are shown; the log has the others"""
MOST_COUNTED = 1_000
"""New records that are counted"""
MOST_SEEN = 200
"""Seen records after which nothing new is expected"""
MOST_PROPOSALS = 20
MOST_REPORTS = 3
"""Nights whose reports are shown"""


class TodayFields(msgspec.Struct):
    """The fields of `/`: none."""


class SeenFields(msgspec.Struct):
    """The form of *All seen*."""

    id: str
    """the newest record of the view: what came later is new still"""


class RememberFields(AskedFields):
    """The form of *Remember*."""

    text: str
    scope: str
    to: str = "/"

    def words(self) -> tuple[str, list[str]]:
        """Returns no heading, and what is to be remembered."""
        return "", [self.text]


class NewRecords(NamedTuple):
    """The records since the seen mark."""

    groups: list[RecordGroup]
    newest: str
    """its id; empty without new records"""
    total: int
    """at most `MOST_COUNTED`"""
    left_out: int
    proposed: frozenset[str]
    """the ids of what they propose"""
    has_older: bool
    """whether there are records that were seen"""


class NewProposal(NamedTuple):
    """A proposal that waits for a person."""

    id: str
    note: str
    words: str
    why: str
    suspicious: bool


def show(viewer: Viewer, query: TodayFields) -> PageView:
    new = _new_records(viewer)
    data = {
        "new": new,
        "proposals": _new_proposals(viewer, new.proposed),
        "conflicts": _conflicts(viewer),
        "reports": _reports(viewer, new.groups),
        "or_more": " or more" if new.total == MOST_COUNTED else "",
    }
    return PageView("today.html", "Today", data)


def see_all(viewer: Viewer, form: SeenFields) -> Redirect:
    record = viewer.records.find(form.id)
    viewer.records.mark_seen(record.id)
    return Redirect("/")


def remember(viewer: Viewer, form: RememberFields) -> Answer:
    own_path(form.to)
    remembered = viewer.remember(form.text, form.scope)
    if remembered["outcome"] == "added":
        return Redirect(form.to, viewer.records.newest_of(remembered["note"]))
    return not_remembered(form.text, remembered, form.to)


def _new_records(viewer: Viewer) -> NewRecords:
    mark = viewer.records.seen_mark()
    rows: list[tuple[Record, RecordRow]] = []
    proposed: set[str] = set()
    newest = ""
    total = seen = 0
    for record, undone_by in viewer.records.with_undoing():
        if record.id <= mark:
            seen += 1
            # Fault: devices with different clocks write ids that are not in order.
            if seen == MOST_SEEN:
                break
            continue
        if total == MOST_COUNTED:
            break
        total += 1
        newest = max(newest, record.id)
        proposed.update(proposal.id for proposal in record.proposed)
        if len(rows) < MOST_RECORDS:
            rows.append((record, row_of(record, undone_by)))
    return NewRecords(
        groups=grouped(rows),
        newest=newest,
        total=total,
        left_out=total - len(rows),
        proposed=frozenset(proposed),
        has_older=bool(seen),
    )


def _new_proposals(viewer: Viewer, ids: frozenset[str]) -> list[NewProposal]:
    if not ids:
        return []
    waiting = viewer.records.proposals()
    proposals = [proposal for proposal in waiting if proposal.id in ids]
    return [_proposal(proposal) for proposal in proposals[:MOST_PROPOSALS]]


def _reports(viewer: Viewer, groups: list[RecordGroup]) -> dict[str, Markup]:
    """Return the reports of the newest nights, by night."""
    nights = [group.night for group in groups if group.night]
    return {night: viewer.nights.report_html(night) for night in nights[:MOST_REPORTS]}


def _conflicts(viewer: Viewer) -> "list[ConflictCopy]":
    # To look for conflict copies is to list all folders, and the count is remembered.
    if not viewer.counts().conflicts:
        return []
    return viewer.records.conflicts()


def _proposal(proposal: "Proposal") -> NewProposal:
    return NewProposal(
        proposal.id, proposal.note, in_words(proposal.op), proposal.why, proposal.suspicious
    )
