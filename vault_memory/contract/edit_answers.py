"""What the calls return that edit notes, show what was edited, or decide about conflict copies."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from vault_memory.contract.fields import Diff, Revision

OpJson = dict[str, Any]


class AppliedJson(TypedDict):
    """An op that was applied, or had nothing to do."""

    op: OpJson
    outcome: str
    remark: NotRequired[str]


class RejectedJson(TypedDict):
    """An op that was refused."""

    op: Any
    reason: str
    headings: NotRequired[
        Annotated[list[str], Meta(description="With `heading_missing`: the headings of the note")]
    ]


class ProposedJson(TypedDict):
    """An op that waits for a person's decision."""

    op: OpJson
    id: str
    why: str


class PendingJson(TypedDict):
    """An op that waits until the note can be written."""

    op: OpJson
    reason: str
    id: str
    explanation: str


class EditJson(TypedDict):
    """What a command did to a note."""

    note: str
    before: Revision | None
    after: Revision | None
    applied: list[AppliedJson]
    rejected: list[RejectedJson]
    proposed: list[ProposedJson]
    pending: list[PendingJson]
    audit_id: str | None
    diff: Diff
    summary: str
    from_disk: NotRequired[
        Annotated[str, Meta(description="Of a save: diff of what others wrote since it was opened")]
    ]


class Base64Json(TypedDict):
    """Bytes that are not UTF-8."""

    base64: str


TextOrBytes = str | Base64Json
"""Bytes of a note: as text where they are UTF-8"""


class RecordedOpJson(TypedDict):
    """An op in an audit record, and the bytes that it removed and added."""

    op: OpJson
    outcome: str
    removed: NotRequired[TextOrBytes]
    added: NotRequired[TextOrBytes]
    remark: NotRequired[str]


class RecordedProposalJson(TypedDict):
    """A proposal in an audit record, or the decision about it."""

    id: str
    op: OpJson
    why: str
    state: str
    reason: NotRequired[str]
    suspicious: NotRequired[
        Annotated[bool, Meta(description="Its text reads like an instruction to a bot")]
    ]


class SentenceJson(TypedDict):
    """What a record did to a line of its note, as a person would say it.

    `before` is what a changed line said, if that were other words.
    """

    change: Literal["added", "changed", "removed"]
    text: str
    before: NotRequired[str]


class AuditRecordJson(TypedDict):
    """An audit record, as it is in the audit log; `sentences` are of the answer of `log` alone.

    `before` and `after` are revisions, and empty where there was no note.
    """

    id: str
    ts: str
    user_id: str
    source: str
    note: str
    applied: list[RecordedOpJson]
    rejected: list[RejectedJson]
    before: str
    after: str
    diff: TextOrBytes
    why: str
    proposed: NotRequired[list[RecordedProposalJson]]
    undoes: NotRequired[str]
    redacted: NotRequired[bool]
    device: NotRequired[str]
    folded: NotRequired[list[str]]
    sentences: NotRequired[list[SentenceJson]]


class LogJson(TypedDict):
    """Audit records, oldest first."""

    records: list[AuditRecordJson]
    lost: list[str]
    """Notes that are gone, and whose history no note continues"""


class ProposalJson(TypedDict):
    """A proposal in INBOX."""

    id: str
    note: str
    op: OpJson
    why: str
    state: str


class InboxJson(TypedDict):
    """The proposals that wait."""

    items: list[ProposalJson]


class ConflictJson(TypedDict):
    """A place that the note and its copy both changed."""

    section: str
    note: str
    copy: str
    reason: str


class CopyJson(TypedDict):
    """A conflict copy, and the op that `conflicts` advises.

    `places` are where it differs from its note and a decision is due: each has an `id`, its first `line` in the
    note, and the lines of `note` and `copy`; `can_keep_both` is there where both may stay.
    """

    id: str
    note: str
    op: dict[str, str]
    why: str
    state: str
    copy: str
    program: str
    date: str
    sure: bool
    revision: str
    conflicts: list[ConflictJson]
    places: list[dict[str, Any]]
    diff: Diff


class ConflictsJson(TypedDict):
    """The conflict copies that wait."""

    items: list[CopyJson]


class ResolvedCopyJson(CopyJson):
    """A conflict copy, and what became of it."""

    outcome: str
    audit_id: str | None


class ResolvedJson(TypedDict):
    """What became of conflict copies."""

    items: list[ResolvedCopyJson]
