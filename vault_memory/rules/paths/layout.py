"""Where things are in a vault: from a path to its kind of note, its scope and its date.

Two layouts are known and may live in one vault: the shared one (``Users/…``, ``Channels/…``) and the workspace
(``USER.md``, ``MEMORY.md``, ``memory/…``, ``groups/…``). The configuration may add patterns. A path that nothing
claims is left alone. Names of people, channels and groups are taken from whole segments of the path and compared
exactly: ``alice`` and ``Alice`` are two scopes.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import NamedTuple

from vault_memory.errors import ConfigError
from vault_memory.rules.paths.filenames import ignored

KINDS = (
    "user",
    "channel",
    "memory",
    "note",
    "dated",
    "facts",
    "rules",
    "reflection",
    "persona",
    "inbox",
    "transcript",
    "audit",
)
NOT_INDEXED = frozenset({"persona", "inbox", "audit"})
CAPTURES = ("user", "bot", "channel", "group", "date", "name")


class Pattern(NamedTuple):
    """One rule of a layout, as it stands in the configuration's ``[layout]`` table."""

    path: str
    """With captures in braces, e.g. ``Journal/{user}/{date}.md``; ``{name}`` may reach over several folders."""
    kind: str
    """One of `KINDS`."""
    scope: str
    """E.g. ``user:{user}`` or ``group:main``."""


class Place(NamedTuple):
    """What a path means."""

    kind: str
    scope: str
    date: date | None
    """Of a dated note or a transcript; of a reflection the Monday of its week."""
    name: str
    """What ``{name}`` stood for, else the file's name without its ending."""
    indexed: bool
    """Whether search reads it."""


_BESIDE = (("FACTS.md", "facts"), ("INBOX.md", "inbox"))
_CONFIG = "Users/{user}/{bot}/config/"


def _notes(folder: str, scope: str) -> list[Pattern]:
    return [
        Pattern(f"{folder}/{{date}}.md", "dated", scope),
        Pattern(f"{folder}/reflections/{{week}}.md", "reflection", scope),
        Pattern(f"{folder}/{{name}}.md", "note", scope),
    ]


def _built_in() -> list[Pattern]:
    """The table of the vault format; the first that fits wins, fixed names before those with a capture."""
    return [
        Pattern(_CONFIG + "USER.md", "user", "user:{user}"),
        Pattern(_CONFIG + "RULES.md", "rules", "user:{user}"),
        *(Pattern(_CONFIG + name, kind, "user:{user}") for name, kind in _BESIDE),
        *_notes("Users/{user}/memories", "user:{user}"),
        Pattern("Users/{user}/transcripts/{turns}.jsonl", "transcript", "user:{user}"),
        Pattern("Channels/{channel}/CHANNEL.md", "channel", "channel:{channel}"),
        *(
            Pattern("Channels/{channel}/" + name, kind, "channel:{channel}")
            for name, kind in _BESIDE
        ),
        Pattern("Channels/{channel}/memories/{date}.md", "dated", "channel:{channel}"),
        Pattern(
            "Channels/{channel}/transcripts/{turns}.jsonl",
            "transcript",
            "channel:{channel}",
        ),
        *(
            Pattern("groups/{group}/" + name, "memory", "group:{group}")
            for name in ("MEMORY.md", "memory.md")
        ),
        *(
            Pattern("groups/{group}/" + name, kind, "group:{group}")
            for name, kind in _BESIDE
        ),
        *_notes("groups/{group}/memory", "group:{group}"),
        *_notes("memory", "group:main"),
        Pattern("transcripts/{turns}.jsonl", "transcript", "group:main"),
        Pattern("USER.md", "user", "user:{user}"),
        Pattern("RULES.md", "rules", "user:{user}"),
        Pattern("USER.FACTS.md", "facts", "user:{user}"),
        Pattern("USER.INBOX.md", "inbox", "user:{user}"),
        *(Pattern(name, "memory", "group:main") for name in ("MEMORY.md", "memory.md")),
        *(Pattern(name, kind, "group:main") for name, kind in _BESIDE),
        Pattern("SOUL.md", "persona", "group:main"),
    ]


_LETTER = r"[^/\\\x00-\x1f\x7f-\x9f\ud800-\udfff]"
_SEGMENT = rf"(?!\.){_LETTER}+"
_DATE = r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_EXPRESSIONS = {
    "date": _DATE,
    "name": rf"(?P<name>(?:{_SEGMENT}/)*{_SEGMENT})",
    "week": r"(?P<week>[0-9]{4}-W[0-9]{2})",
    "turns": rf"{_DATE}(?:\.{_SEGMENT})?",
    "bot": rf"(?P<bot>(?!(?:memories|transcripts)/){_SEGMENT})",
    **{
        capture: rf"(?P<{capture}>{_SEGMENT})"
        for capture in ("user", "channel", "group")
    },
}
_DATE_AND_NAME = rf"{_DATE}(?:[-_](?P<name>{_LETTER}+))?"
_CAPTURE = re.compile(r"\{([^{}]*)\}")
_AUDIT = r"(?s)(.+\.md)\.audit(?:\.[^/]+)?\.jsonl"


class _Rule:
    """A pattern, compiled when it is first tried: most processes ask about few kinds of paths."""

    __slots__ = (
        "_pattern",
        "capture",
        "captures",
        "indexed",
        "kind",
        "match",
        "prefix",
        "suffix",
    )

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self.kind = pattern.kind
        self.indexed = pattern.kind not in NOT_INDEXED
        self.prefix, _, rest = pattern.scope.partition("{")
        self.capture, _, self.suffix = rest.partition("}")
        self.captures: frozenset[str] = frozenset()
        self.match: Callable[[str], re.Match[str] | None] = self._first_match

    def _first_match(self, path: str) -> re.Match[str] | None:
        if not path.endswith(self._pattern.path.rpartition("}")[2]):
            return None
        regex = re.compile(_expression(self._pattern))
        self.captures = frozenset(regex.groupindex)
        self.match = regex.fullmatch
        return regex.fullmatch(path)


def _expression(pattern: Pattern) -> str:
    parts = _CAPTURE.split(pattern.path)
    names = parts[1::2]
    expression = ""
    for index, part in enumerate(parts):
        if index % 2 == 0:
            expression += re.escape(part)
        elif part == "date" and pattern.kind == "dated" and "name" not in names:
            expression += _DATE_AND_NAME
        else:
            expression += _EXPRESSIONS[part]
    return expression


def check_pattern(pattern: Pattern) -> None:
    """Raise ConfigError, saying which part of a configured pattern cannot be."""
    captures = _CAPTURE.findall(pattern.path)
    wanted = _CAPTURE.findall(pattern.scope)
    problem = ""
    if unknown := sorted({*captures, *wanted} - set(CAPTURES)):
        problem = f"`{{{unknown[0]}}}` is no capture; known are {', '.join(CAPTURES)}"
    elif len(set(captures)) < len(captures):
        problem = "a capture stands in it twice"
    elif pattern.kind not in KINDS:
        problem = f"`{pattern.kind}` is no kind of note; known are {', '.join(KINDS)}"
    elif (
        not re.fullmatch(
            r"(?:user|channel|group):[^{}]*(?:\{\w+\}[^{}]*)?", pattern.scope
        )
        or pattern.scope[-1] == ":"
    ):
        problem = f"scope `{pattern.scope}` is not `user:…`, `channel:…` or `group:…` with one capture at most"
    elif missing := sorted(set(wanted) - set(captures) - {"user"}):
        problem = f"`{{{missing[0]}}}` is in the scope and not in the path"
    elif not pattern.path.endswith((".md", ".jsonl")) or pattern.path.startswith("/"):
        problem = "a path is relative to the vault and ends in `.md` or `.jsonl`"
    if problem:
        raise ConfigError(
            f"layout pattern `{pattern.path}`: {problem}",
            hint="see docs/reference/vault-format.md",
        )


MOST_KNOWN = 20_000
"""Paths of which it is remembered what they mean"""
_UNKNOWN = ""


class Layout:
    """Knows the meaning of every path of a vault."""

    def __init__(
        self,
        patterns: Sequence[Pattern] = (),
        *,
        user: str = "main",
        bot: str | None = None,
    ) -> None:
        for pattern in patterns:
            check_pattern(pattern)
        self.user = user
        self.bot = bot
        dated_first = sorted(patterns, key=lambda pattern: "{date}" not in pattern.path)
        self._rules = _by_folder_and_name([*dated_first, *_built_in()])
        self._known: dict[str, Place | None] = {}

    def place(self, path: str) -> Place | None:
        """What the path means, or None when it is left alone."""
        found = self._known.get(path, _UNKNOWN)
        if isinstance(found, str):
            found = self._found(path)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[path] = found
        return found

    def _found(self, path: str) -> Place | None:
        if not path.endswith((".md", ".jsonl")):
            return None
        slash = path.find("/") + 1
        name = path[path.rfind("/") + 1 :]
        first = path[:slash]
        rules = (
            self._rules.get((first, name))
            or self._rules.get((first, ""))
            or self._rules["", ""]
        )
        for rule in rules:
            if (match := rule.match(path)) and (
                place := self._placed(rule, match, name)
            ):
                return place
        return self._audit(path) if path.endswith(".jsonl") else None

    def _placed(self, rule: _Rule, match: "re.Match[str]", name: str) -> Place | None:
        if ignored(name):
            return None
        captures = rule.captures
        day = _day(match, captures) if captures else None
        if day is None and not captures.isdisjoint(_DAYS):
            return None
        if self.bot is not None and "bot" in captures and match["bot"] != self.bot:
            return None
        scope = rule.prefix
        if capture := rule.capture:
            scope += (
                match[capture] if capture in captures else self.user
            ) + rule.suffix
        title = (match["name"] if "name" in captures else None) or name[
            : name.rfind(".")
        ]
        return Place(rule.kind, scope, day, title, rule.indexed)

    def _audit(self, path: str) -> Place | None:
        """An audit file means what its note means, apart from its kind."""
        note = re.fullmatch(_AUDIT, path)
        place = self.place(note[1]) if note else None
        return place and Place(
            "audit", place.scope, place.date, place.name, indexed=False
        )


def _by_folder_and_name(
    patterns: Sequence[Pattern],
) -> dict[tuple[str, str], list[_Rule]]:
    """The rules that may fit, in order, by first folder ("" at the top) and file name ("" for any other name).

    A rule whose first folder or file name is a capture stands in every list it may fit in.
    """
    keys = {("", "")}
    ends = []
    for pattern in patterns:
        first, slash, _ = pattern.path.partition("/")
        folder = None if "{" in first and slash else first + slash if slash else ""
        last = pattern.path.rpartition("/")[2]
        ends.append((_Rule(pattern), folder, None if "{" in last else last))
    folders = {folder or "" for _, folder, _ in ends}
    keys |= {(folder, last or "") for folder in folders for _, _, last in ends}
    return {
        (first, name): [
            rule
            for rule, folder, last in ends
            if folder in (None, first) and (last is None or last == name)
        ]
        for first, name in keys
    }


_DAYS = frozenset({"date", "week"})


def _day(match: "re.Match[str]", captures: frozenset[str]) -> date | None:
    try:
        if "date" in captures:
            return date.fromisoformat(match["date"])
        return date.fromisoformat(match["week"] + "-1") if "week" in captures else None
    except ValueError:
        return None


_BOT = rf"Users/{_SEGMENT}/{_EXPRESSIONS['bot']}/config/[^/]+\.md"


def bots(paths: Iterable[str]) -> frozenset[str]:
    """Whose folders lie in a shared vault. With more than one, the configuration should name the bot."""
    return frozenset(match[1] for path in paths if (match := re.fullmatch(_BOT, path)))
