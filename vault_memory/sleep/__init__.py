"""The night: from what was said to what is known, for each person and channel. Cheap to import."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.sleep.gather import Log, moment_of
    from vault_memory.sleep.kept import Last, NightRuns, Shelf
    from vault_memory.sleep.night import Desk, Night, Outcome, Wanted
    from vault_memory.sleep.nights import Schedule
    from vault_memory.sleep.places import Places, places_of, scopes_in
    from vault_memory.sleep.report import joined, morning_report
    from vault_memory.sleep.rules import rule_ops, rules_in

__all__ = [
    "Desk",
    "Last",
    "Log",
    "Night",
    "NightRuns",
    "Outcome",
    "Places",
    "Schedule",
    "Shelf",
    "Wanted",
    "joined",
    "moment_of",
    "morning_report",
    "places_of",
    "rule_ops",
    "rules_in",
    "scopes_in",
]

_MODULES = {
    **dict.fromkeys(("Last", "NightRuns", "Shelf"), "kept"),
    **dict.fromkeys(("Desk", "Night", "Outcome", "Wanted"), "night"),
    "Schedule": "nights",
    **dict.fromkeys(("Places", "places_of", "scopes_in"), "places"),
    **dict.fromkeys(("Log", "moment_of"), "gather"),
    **dict.fromkeys(("joined", "morning_report"), "report"),
    **dict.fromkeys(("rule_ops", "rules_in"), "rules"),
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"vault_memory.sleep.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
