"""Finds the notes of a scope among the paths of a vault. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from vault_memory.rules.paths import daily_notes
from vault_memory.rules.paths.layout import Layout, Place

Placed = tuple[Place, str]
"""A path with its place"""


@dataclass(frozen=True, slots=True)
class Places:
    """The notes of a person, a channel or a group."""

    scope: str
    profile: str
    """USER.md, CHANNEL.md or MEMORY.md"""
    facts: str
    rules: str
    """empty for channels and groups"""
    notes: str
    """the folder of dated notes, with a slash"""
    reflections: str
    """with a slash; empty for channels"""
    dated: tuple[tuple[date, str], ...] = ()
    """the existing dated notes, the oldest first"""
    transcripts: tuple[tuple[date, str], ...] = ()
    episodes: tuple[tuple[date, str], ...] = ()
    """the existing notes about conversations, the oldest first"""
    undated: tuple[str, ...] = ()
    """the other notes beside the dated ones"""
    daily: str = ""
    """the pattern of the person's daily notes; "" if dated notes are in `notes`"""

    @property
    def learning(self) -> str:
        """The folder of the ledgers, with a slash."""
        parent = self.notes.rstrip("/").rpartition("/")[0]
        return f"{parent}/learning/" if parent else "learning/"

    def note_of(self, day: date) -> str:
        """Returns the dated note of a day."""
        if self.daily:
            return daily_notes.render(self.daily, day)
        return f"{self.notes}{day}.md"

    def episodes_of(self, day: date) -> str:
        """Returns the note about the conversations of a day."""
        return f"{self.notes}sessions/{day}.md"

    def reflection_of(self, day: date) -> str:
        """Returns the reflection on the week of a day."""
        year, week, _ = day.isocalendar()
        return f"{self.reflections}{year}-W{week:02}.md"


def places_of(scope: str, paths: Iterable[str], layout: Layout) -> Places:
    """Returns the notes of a scope; missing notes get a path beside the existing ones."""
    places = _places_of(scope, paths, layout)
    if not layout.added:
        return places
    daily = daily_notes.path_of_day(layout.added, scope, layout.user)
    return replace(places, daily=daily)


def _places_of(scope: str, paths: Iterable[str], layout: Layout) -> Places:
    kind, _, name = scope.partition(":")
    paths = list(paths)
    placed = _placed(paths, layout)
    own = [(place, path) for place, path in placed if place.scope == scope]
    first_of_kind = {place.kind: path for place, path in reversed(own)}
    if kind == "channel":
        return _with_dates(_places_of_channel(scope, name), own)
    if kind == "group":
        profile = first_of_kind.get("memory")
        return _with_dates(_places_of_group(scope, name, profile), own)
    profile = first_of_kind.get("user")
    at_root = _places_at_root(scope, profile, paths, layout)
    if at_root is not None:
        # The person at the root owns the dated notes of the workspace.
        scopes = (scope, "group:main")
        return _with_dates(at_root, [row for row in placed if row[0].scope in scopes])
    neighbour = profile or first_of_kind.get("facts") or first_of_kind.get("rules")
    if neighbour:
        folder = neighbour[: neighbour.rfind("/") + 1]
    else:
        folder = f"Users/{name}/{_bot(placed, layout)}/config/"
    return _with_dates(_places_of_person(scope, name, folder), own)


def _places_at_root(
    scope: str, profile: str | None, paths: Sequence[str], layout: Layout
) -> Places | None:
    """Returns the notes of the person whose notes are at the root; None for another person."""
    is_owner = scope == f"user:{layout.user}"
    if is_owner and layout.bot_folder:
        return _places_in(layout.bot_folder, scope)
    is_of_workspace = is_owner and (layout.at_root or "MEMORY.md" in paths)
    if profile == "USER.md" or (not profile and is_of_workspace):
        return _places_of_workspace(scope)
    return None


def _placed(paths: Iterable[str], layout: Layout) -> list[Placed]:
    candidates = ((layout.place(path), path) for path in paths)
    return [(place, path) for place, path in candidates if place is not None]


def _places_of_channel(scope: str, name: str) -> Places:
    folder = f"Channels/{name}/"
    return Places(
        scope=scope,
        profile=folder + "CHANNEL.md",
        facts=folder + "FACTS.md",
        rules="",
        notes=folder + "memories/",
        reflections="",
    )


def _places_of_group(scope: str, name: str, profile: str | None) -> Places:
    folder = "" if name == "main" else f"groups/{name}/"
    return Places(
        scope=scope,
        profile=profile or folder + "MEMORY.md",
        facts=folder + "FACTS.md",
        rules="",
        notes=folder + "memory/",
        reflections=folder + "memory/reflections/",
    )


def _places_of_workspace(scope: str) -> Places:
    return Places(
        scope=scope,
        profile="USER.md",
        facts="USER.FACTS.md",
        rules="RULES.md",
        notes="memory/",
        reflections="memory/reflections/",
    )


def _places_in(folder: str, scope: str) -> Places:
    """Returns the notes of the owner in the folder of the bot's files."""
    notes = f"{folder}/memory/"
    return Places(
        scope=scope,
        profile=f"{folder}/USER.md",
        facts=f"{folder}/FACTS.md",
        rules=f"{folder}/RULES.md",
        notes=notes,
        reflections=notes + "reflections/",
    )


def _places_of_person(scope: str, name: str, folder: str) -> Places:
    notes = f"Users/{name}/memories/"
    return Places(
        scope=scope,
        profile=folder + "USER.md",
        facts=folder + "FACTS.md",
        rules=folder + "RULES.md",
        notes=notes,
        reflections=notes + "reflections/",
    )


def _bot(placed: Sequence[Placed], layout: Layout) -> str:
    """Returns the bot for a new folder of a person: the configured one, or that of others."""
    if layout.bot:
        return layout.bot
    for place, path in placed:
        if place.kind == "user" and path.startswith("Users/"):
            return path.split("/")[2]
    return "bot"


def _with_dates(places: Places, placed: Sequence[Placed]) -> Places:
    """Returns places with the existing dated notes and transcripts."""
    return replace(
        places,
        dated=_dated(placed, "dated"),
        transcripts=_dated(placed, "transcript"),
        episodes=_dated(placed, "episode"),
        undated=tuple(sorted(path for place, path in placed if place.kind == "note")),
    )


def _dated(placed: Iterable[Placed], kind: str) -> tuple[tuple[date, str], ...]:
    dated = [(place.date, path) for place, path in placed if place.kind == kind and place.date]
    return tuple(sorted(dated))
