"""Compares JSON with the shapes of the contract: keys, their order, and the types of the values."""

import json
from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

from vault_memory.addons.hosts.uninstaller import Row
from vault_memory.addons.page.passphrases import PassphraseJson
from vault_memory.addons.transfer.chat_report import ChatImportJson
from vault_memory.contract import (
    about_answers,
    answers,
    edit_answers,
    fleet_answers,
    host_answers,
    setup_answers,
    status_answers,
)
from vault_memory.edits.reports import Check, ThrownNote
from vault_memory.edits.versions import NoteVersion
from vault_memory.forgetting.forget_text import Forgotten
from vault_memory.forgetting.retract import Remaining
from vault_memory.search.note_reports import IndexReport
from vault_memory.search.notes.note_lookup import NoteLinks
from vault_memory.sync.report import SyncReport

EDIT = edit_answers.EditJson
FACT_CHANGE = answers.FactChangeJson
DOCTOR = {"checks": list[Check]}
FORGOTTEN = {**get_type_hints(Forgotten), "remaining": list[Remaining] | Literal[0]}


class PlannedAction(TypedDict):
    path: str
    action: str


SYNCED = {**get_type_hints(SyncReport), "planned": list[PlannedAction]}
SHAPES: dict[str, Any] = {
    "about": about_answers.AboutJson,
    "add-fact": FACT_CHANGE,
    "add-heading": EDIT,
    "append": EDIT,
    "archive": EDIT,
    "apply": EDIT,
    "confirm": FACT_CHANGE,
    "completion": setup_answers.CompletionJson,
    "config": setup_answers.ConfigJson,
    "conflicts": edit_answers.ConflictsJson,
    "conflicts discard": edit_answers.ResolvedJson,
    "conflicts merge": edit_answers.ResolvedJson,
    "conflicts take": edit_answers.ResolvedJson,
    "context": answers.ContextBlockJson,
    "correct": FACT_CHANGE,
    "delete-fact": FACT_CHANGE,
    "demo": setup_answers.DemoJson,
    "doctor": DOCTOR,
    "end-session": answers.EndedJson,
    "compact": answers.CompactedJson,
    "entity": answers.EntityJson,
    "export": setup_answers.ExportJson,
    "facts": answers.FactsJson,
    "feedback": answers.FeedbackJson,
    "fleet add": fleet_answers.VaultAddedJson,
    "fleet drain": fleet_answers.FleetDrainedJson,
    "fleet export": fleet_answers.FleetExportedJson,
    "fleet forget": {**get_type_hints(fleet_answers.FleetForgottenJson), "forgotten": FORGOTTEN},
    "fleet init": fleet_answers.FleetMadeJson,
    "fleet status": fleet_answers.FleetStatusJson,
    "fleet token": fleet_answers.VaultAddedJson,
    "forget": FORGOTTEN,
    "held": answers.HeldListJson,
    "held drop": answers.DecidedJson,
    "held promote": answers.DecidedJson,
    "history": {"versions": list[NoteVersion]},
    "host": (host_answers.VaultHostJson, DOCTOR),
    "import": setup_answers.ImportJson | ChatImportJson,
    "inbox": edit_answers.InboxJson,
    "inbox approve": EDIT,
    "inbox reject": EDIT,
    "index": IndexReport,
    "init": setup_answers.InitJson,
    "install": setup_answers.InstallJson | setup_answers.InstallCheckJson,
    "last-night": setup_answers.LastNightJson,
    "layout": setup_answers.LayoutJson,
    "invalidate": FACT_CHANGE,
    "log": edit_answers.LogJson,
    "models": setup_answers.ModelsJson,
    "models install": setup_answers.ModelInstalledJson,
    "models remove": setup_answers.ModelRemovedJson,
    "links": {**get_type_hints(NoteLinks), "broken": list[str]},
    "notes": answers.NotesJson,
    "open": setup_answers.OpenJson,
    "read": answers.NoteTextJson,
    "record": answers.RecordedJson,
    "remember": answers.RememberedJson,
    "remote add": setup_answers.RemoteTestJson,
    "remote remove": setup_answers.RemoteRemovedJson,
    "remote status": status_answers.SyncStatusJson,
    "remote test": setup_answers.RemoteTestJson,
    "remove": EDIT,
    "replace": EDIT,
    "restore": EDIT,
    "edit": EDIT,
    "search": answers.SearchAnswerJson,
    "serve": setup_answers.TokenJson,
    "service": setup_answers.ServiceUnitJson,
    "sleep": answers.SleepJson,
    "source": answers.SourceJson,
    "stats": status_answers.StatsJson,
    "status": status_answers.StatusJson,
    "sync": (SYNCED, setup_answers.SyncRequestedJson),
    "timeline": answers.FactsJson,
    "trash": {"items": list[ThrownNote]},
    "undo": EDIT,
    "uninstall": {"items": list[Row], "removed": bool},
    "web": setup_answers.WebLinkJson | setup_answers.SignedOutJson | PassphraseJson,
}
"""The answer of each command; of a subcommand, with its name"""


def problems(arguments: Sequence[str], out: str) -> list[str]:
    """What differs between the output of a command and its shape."""
    try:
        payload = json.loads(out)
    except ValueError:
        return []
    if "error" in payload:
        # An error has keys of its own after these.
        details = dict(list(payload["error"].items())[:3])
        return list(differences({"error": details}, answers.ErrorJson))
    return list(differences(payload, shape_of(arguments)))


def shape_of(arguments: Sequence[str]) -> Any:
    """The shape of the answer to a command line. Raises LookupError for a command without one."""
    for number, word in enumerate(arguments):
        subcommand = " ".join(arguments[number : number + 2])
        if subcommand in SHAPES:
            return SHAPES[subcommand]
        if word in SHAPES:
            return SHAPES[word]
    raise LookupError(f"no shape in the contract for the answer of {arguments}")


def differences(value: Any, shape: Any, place: str = "$") -> Iterator[str]:
    """Where a value has other keys than its shape, another order, or another type."""
    if isinstance(shape, dict) or is_typeddict(shape) or _is_record(shape):
        yield from _key_differences(value, shape, place)
        return
    origin, parts = get_origin(shape), get_args(shape)
    if isinstance(shape, tuple):
        origin, parts = Union, shape
    if origin in (Annotated, NotRequired):
        yield from differences(value, parts[0], place)
    elif origin in (list, tuple):
        if not isinstance(value, list):
            yield f"{place} is not a list"
            return
        for number, item in enumerate(value):
            yield from differences(item, parts[0], f"{place}[{number}]")
    elif origin in (Union, UnionType):
        choices = [list(differences(value, part, place)) for part in parts]
        if [] not in choices:
            yield from max(choices, key=len)
    elif not _is(value, shape):
        yield f"{place} is {value!r}, not {shape}"


def _key_differences(value: Any, shape: Any, place: str) -> Iterator[str]:
    hints = _hints(shape)
    if not isinstance(value, dict):
        yield f"{place} is not an object"
        return
    optional = {name for name, hint in hints.items() if _is_optional(hint)}
    optional |= {*getattr(shape, "IF_ANY", ()), *getattr(shape, "_field_defaults", ())}
    hints = {name: hint for name, hint in hints.items() if name not in getattr(shape, "HIDDEN", ())}
    expected = [name for name in hints if name in value or name not in optional]
    if list(value) != expected:
        yield f"{place} has the keys {list(value)}, not {expected}"
    for name in hints.keys() & value.keys():
        yield from differences(value[name], hints[name], f"{place}.{name}")


def _hints(shape: Any) -> dict[str, Any]:
    if isinstance(shape, dict):
        return shape
    return get_type_hints(shape, include_extras=True)


def _is_record(shape: Any) -> bool:
    return hasattr(shape, "_fields") or hasattr(shape, "__dataclass_fields__")


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) is NotRequired


def _is(value: Any, shape: Any) -> bool:
    if shape in (None, NoneType):
        return value is None
    if get_origin(shape) is Literal:
        return value in get_args(shape)
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return False
    return True
