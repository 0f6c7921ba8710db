"""Where the notes of one scope lie. Pure: from the paths that there are."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from vault_memory.rules.paths.layout import Layout, Place


@dataclass(frozen=True, slots=True)
class Places:
    """The notes of a person, a channel or a group."""

    scope: str
    profile: str
    """USER.md, CHANNEL.md or MEMORY.md"""
    facts: str
    rules: str
    """empty where there are none: of channels and groups"""
    notes: str
    """the folder of dated notes, with a slash"""
    reflections: str
    """with a slash; empty where there are none"""
    dated: tuple[tuple[date, str], ...] = ()
    """the dated notes that there are, the oldest first"""
    transcripts: tuple[tuple[date, str], ...] = ()

    def note_of(self, day: date) -> str:
        """The dated note of a day."""
        return f"{self.notes}{day}.md"

    def reflection_of(self, day: date) -> str:
        """The reflection on the week that a day is in."""
        year, week, _ = day.isocalendar()
        return f"{self.reflections}{year}-W{week:02}.md"


def places_of(scope: str, paths: Iterable[str], layout: Layout) -> Places:
    """Of one scope; what is not there yet lies where its neighbours do, or where the layout would have it."""
    kind, _, name = scope.partition(":")
    placed = [
        (place, path) for path in paths if (place := layout.place(path)) is not None
    ]
    mine = [(place, path) for place, path in placed if place.scope == scope]
    own = {place.kind: path for place, path in reversed(mine)}
    if kind == "channel":
        folder = f"Channels/{name}/"
        return _with(
            mine,
            Places(
                scope,
                folder + "CHANNEL.md",
                folder + "FACTS.md",
                "",
                folder + "memories/",
                "",
            ),
        )
    if kind == "group":
        folder = "" if name == "main" else f"groups/{name}/"
        top = own.get("memory", folder + "MEMORY.md")
        notes = folder + "memory/"
        return _with(
            mine,
            Places(scope, top, folder + "FACTS.md", "", notes, notes + "reflections/"),
        )
    if own.get("user") == "USER.md" or (
        name == layout.user and not own.get("user") and "MEMORY.md" in paths
    ):
        shared = [
            (place, path)
            for place, path in placed
            if place.scope in (scope, "group:main")
        ]
        return _with(
            shared,
            Places(
                scope,
                "USER.md",
                "USER.FACTS.md",
                "RULES.md",
                "memory/",
                "memory/reflections/",
            ),
        )
    beside = own.get("user") or own.get("facts") or own.get("rules")
    folder = (
        beside[: beside.rfind("/") + 1]
        if beside
        else f"Users/{name}/{_bot(placed, layout)}/config/"
    )
    notes = f"Users/{name}/memories/"
    known = Places(
        scope,
        folder + "USER.md",
        folder + "FACTS.md",
        folder + "RULES.md",
        notes,
        notes + "reflections/",
    )
    return _with(mine, known)


def scopes_in(paths: Iterable[str], layout: Layout) -> list[str]:
    """The scopes that have a night: every person, and the channels in which something was said."""
    found = set()
    for path in paths:
        place = layout.place(path)
        if place is None:
            continue
        if place.scope.startswith("user:") or (
            place.scope.startswith("channel:") and place.kind == "transcript"
        ):
            found.add(place.scope)
        elif place.scope == "group:main" and place.kind == "transcript":
            found.add(f"user:{layout.user}")
    return sorted(found)


def _bot(placed: list[tuple[Place, str]], layout: Layout) -> str:
    """Whose folder of a person is taken: that of the bot that is configured, or the one that others have."""
    others = (
        path.split("/")[2]
        for place, path in placed
        if place.kind == "user" and path.startswith("Users/")
    )
    return layout.bot or next(others, "bot")


def _with(mine: list[tuple[Place, str]], known: Places) -> Places:
    def dated(kind: str) -> tuple[tuple[date, str], ...]:
        return tuple(
            sorted(
                (place.date, path)
                for place, path in mine
                if place.kind == kind and place.date
            )
        )

    return Places(
        known.scope,
        known.profile,
        known.facts,
        known.rules,
        known.notes,
        known.reflections,
        dated("dated"),
        dated("transcript"),
    )
