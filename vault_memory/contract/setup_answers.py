"""What the commands return that set up a vault, a host or a remote, or move memory in and out."""

from typing import Literal, TypedDict

from vault_memory.contract import SemanticState
from vault_memory.contract.answers import HitJson
from vault_memory.contract.fields import Count, Diff
from vault_memory.contract.status_answers import LayoutStatusJson, PathRemarkJson, SyncStatusJson


class InitJson(TypedDict):
    """A vault that was created, copied or moved."""

    vault: str
    id: str
    owner: str
    """who owns the notes at the root; empty where no owner was named"""
    notes_written: Count
    layout: LayoutStatusJson


class LayoutProposalJson(TypedDict):
    """A layout, and what it would claim of the vault."""

    name: str
    claimed: Count
    unclaimed: Count
    excluded: Count
    daily: str
    exclude: list[str]


class LayoutJson(TypedDict):
    """The layout of the vault, and all others, the best first.

    After a change, `file` is the configuration, and `backup` the file from before.
    """

    layout: LayoutStatusJson
    proposals: list[LayoutProposalJson]
    file: str
    backup: str


class DemoJson(TypedDict):
    """What the demo did and found."""

    questions: list[str]
    editor: str
    seconds: float
    found: list[HitJson]
    recorded: list[str]
    learned: list[HitJson]
    by_meaning: list[HitJson]
    semantic: SemanticState


class CompletionJson(TypedDict):
    """The completion of a shell; `file` and `start_file` are empty where nothing was written."""

    shell: str
    script: str
    file: str
    start_file: str


# ---- hosts and services --------------------------------------------------------------


class HostFileJson(TypedDict):
    """A file of the configuration of a host; `backup` is empty without a backup."""

    path: str
    changed: bool
    backup: str
    diff: Diff


class InstallJson(TypedDict):
    """How a host was connected, or disconnected with `--uninstall`."""

    host: str
    user: str
    server: Literal[True]
    then: list[str]
    files: list[HostFileJson]


class WiredFileJson(TypedDict):
    """A file of the configuration of a host, and whether our entries are in it."""

    path: str
    wired: bool


class HostStatusJson(TypedDict):
    """Whether a host is connected; `project` is empty for what the person does everywhere.

    `wired` is `no` when the entries belong to another vault. `last_fired` is when the host last ran
    a hook or the MCP server; null when it never did.
    """

    host: str
    project: str
    wired: Literal["yes", "partly", "no"]
    trusted: Literal["yes", "no", "not_needed", "unknown"]
    last_fired: str | None
    files: list[WiredFileJson]


class InstallCheckJson(TypedDict):
    """The state of each host, from `install --check`."""

    hosts: list[HostStatusJson]


class ServiceUnitJson(TypedDict):
    """The unit of a service manager, and the commands that remain for the person."""

    unit: str
    state: Literal["written", "unchanged", "removed", "absent"]
    text: str
    next: list[str]


class TokenJson(TypedDict):
    """The file of a new token, and the lines of the configuration that name it."""

    token_file: str
    toml: str


class WebLinkJson(TypedDict):
    """A link to the page, which works once."""

    link: str


class SignedOutJson(TypedDict):
    """How many browsers were signed out of the page."""

    ended: Count


# ---- models --------------------------------------------------------------------------


class ModelJson(TypedDict):
    """A model for search by meaning. `path` is empty without the model."""

    name: str
    title: str
    languages: str
    licence: str
    bytes: Count
    installed: Literal["package", "folder", "no"]
    path: str
    in_use: bool
    missing_modules: list[str]


class ModelsJson(TypedDict):
    """The models, and why search by meaning is off; `reason` and `fix` are empty when it is on."""

    kind: str
    model: str
    reason: str
    fix: str
    models: list[ModelJson]


class ModelInstalledJson(TypedDict):
    """A model that was fetched, and the command that remains.

    `config_file` is empty unless the vault was told to use the model.
    """

    model: str
    source: Literal["present", "file", "index", "hub"]
    path: str
    config_file: str
    next: str


class ModelRemovedJson(TypedDict):
    """The folders of a model that were removed."""

    model: str
    removed: list[str]


# ---- remotes -------------------------------------------------------------------------


class CapabilitiesJson(TypedDict):
    """What a server can do."""

    etags: bool
    conditional_create: bool
    conditional_put: bool
    conditional_delete: bool
    conditional_move: bool
    etag_in_put: bool
    recursive_etags: bool
    fileids: bool
    checksums: bool
    normalises_names: bool
    infinity: bool
    versions: bool
    bulk: bool
    trash: bool


class RemoteTestJson(TypedDict):
    """The result of testing a remote; `created` when its folder is new."""

    server: str
    kind: str
    milliseconds: float
    created: bool
    two_way: bool
    traits: CapabilitiesJson
    words: list[str]


class RemoteRemovedJson(TypedDict):
    """The address of a remote that is not synced any more."""

    removed: str


class SyncRequestedJson(TypedDict):
    """The status of sync after a request to sync now; null without a remote."""

    sync: SyncStatusJson | None


# ---- import and export ---------------------------------------------------------------


class ImportJson(TypedDict):
    """What was imported, or would be in a dry run."""

    facts: Count
    items: Count
    known: Count
    notes: list[str]
    copies: list[str]
    left: list[str]
    skipped: list[PathRemarkJson]
    moved: Count
    diff: Diff


class ExportJson(TypedDict):
    """What was exported."""

    target: str
    files: Count
    bytes: Count
    records: Count
    skipped: list[PathRemarkJson]


class LearnedLineJson(TypedDict):
    """A line of a note that a night learned; `ref` is the turn that says it."""

    scope: str
    note: str
    text: str
    ref: str


class LastNightJson(TypedDict):
    """The report of the last night; `night` is null before the first one.

    `learned` has the lines that the notes still have.
    """

    night: str | None
    report: str
    file: str
    learned: list[LearnedLineJson]


class OpenJson(TypedDict):
    """A note, a line of it, and the command that opens it."""

    note: str
    line: int | None
    command: list[str]


class ConfigJson(TypedDict):
    """The configuration file, its text, and what is wrong with it."""

    file: str
    exists: bool
    text: str
    problems: list[str]
