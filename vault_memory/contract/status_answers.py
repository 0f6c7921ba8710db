"""What the calls return that report the state of a vault, or bring it up to date."""

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from vault_memory.contract import SemanticState, SyncState
from vault_memory.contract.fields import Count, Day


class NoteCountsJson(TypedDict):
    """How many notes there are, and how many chunks they have."""

    notes: Count
    chunks: Count


class SourcesJson(TypedDict):
    """Counts by source."""

    notes: NoteCountsJson


class FactCountsJson(TypedDict):
    """How many facts hold today, and how many do not."""

    current: Count
    ended: Count


class StatsJson(TypedDict):
    """Counts of notes and chunks by kind, scope and source.

    The counts of a bot, which are those of its scopes alone, end with `sources`.
    """

    kinds: dict[str, NoteCountsJson]
    scopes: dict[str, NoteCountsJson]
    sources: SourcesJson
    facts: NotRequired[FactCountsJson]
    newest_day: NotRequired[
        Annotated[Day | None, Meta(description="Newest day of a text, up to today")]
    ]
    vectors: NotRequired[Annotated[dict[str, int], Meta(description="Vectors of each model")]]
    index_bytes: NotRequired[Count]


class PathRemarkJson(TypedDict):
    """A remark about one path; the path is empty when it is about all of them."""

    path: str
    reason: str


class SyncStatusJson(TypedDict):
    """The state of sync between two passes."""

    state: SyncState
    reason: str
    last_good: str | None
    queue: Count
    errors: list[PathRemarkJson]
    held: list[PathRemarkJson]
    next_try: str | None
    server: str


class IndexStatusJson(TypedDict):
    """The state of the index."""

    notes: Count
    chunks: Count
    stale_files: list[str]
    missing_notes: Annotated[
        Count, Meta(description="Notes of a vault with too many files, not indexed")
    ]
    generation: Count
    parked: Annotated[dict[str, str], Meta(description="Notes that cannot be indexed, and why")]
    encodings: Annotated[
        dict[str, str], Meta(description="Notes that are no UTF-8: search reads them, edits do not")
    ]


class WatcherJson(TypedDict):
    """The state of the watcher."""

    mode: str
    healthy: bool
    reason: str


class NightJson(TypedDict):
    """The last and the next night, and the scopes whose night is due."""

    last: str | None
    next: str | None
    due: list[str]
    idle: Count


class PendingWriteJson(TypedDict):
    """A write that waits."""

    note: str
    reason: str
    id: str
    explanation: str


class DaemonJson(TypedDict):
    """Whether a daemon, or a host of many vaults, tends the vault."""

    running: bool
    pid: int | None


class LayoutStatusJson(TypedDict):
    """Which Markdown files of the vault are memory.

    `name` is empty while only the built-in patterns apply. `excluded` files are left out on
    purpose. `examples` names some unclaimed files, and `command` shows layouts that claim more.
    """

    name: str
    chosen_by: Literal["configuration", "program", "default"]
    claimed: Count
    unclaimed: Count
    excluded: Count
    examples: list[str]
    daily: str
    remark: str
    command: str


class StatusJson(TypedDict):
    """The state of a vault."""

    vault: str
    layout: LayoutStatusJson
    index: IndexStatusJson
    semantic: str
    reason: str
    watcher: WatcherJson
    sync: SyncStatusJson | None
    night: NightJson | None
    inbox_open: Count
    conflicts: Count
    pending: list[PendingWriteJson]
    daemon: DaemonJson
    state_folder: str
    drop_folder: str


class VitalsJson(TypedDict):
    """The parts of the status that a daemon has at hand, for metrics."""

    stale_files: Count
    semantic: SemanticState
    watcher: WatcherJson
    sync: SyncStatusJson | None


class ScopesJson(TypedDict):
    """The scopes that have a note, as the daemon answers them to a command."""

    scopes: list[str]


class ChangesJson(TypedDict):
    """What changed in the vault since an id, as the daemon answers a client that waits.

    With `lost` the daemon does not know: anything may have changed. A path may be of any scope.
    """

    id: str
    notes: list[str]
    lost: bool
