"""Layout of a vault: maps a path to its kind of note, its scope and its date.

There are two layouts, and a vault may have both: the shared one (``Users/…``, ``Channels/…``) and
the workspace (``USER.md``, ``MEMORY.md``, ``memory/…``, ``groups/…``). The configuration may add
patterns. A path that no pattern matches is left alone. Names of people, channels and groups are
complete segments of the path and compared exactly: ``alice`` and ``Alice`` are two scopes.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple, get_args

from vault_memory.contract import NoteKind, SearchedKind
from vault_memory.rules.paths import date_formats, globs, pattern_check, pattern_steps
from vault_memory.rules.paths.filenames import CANVAS, MARKDOWN, ignored

KINDS: tuple[NoteKind, ...] = get_args(NoteKind)
NOT_INDEXED = frozenset(KINDS) - frozenset(get_args(SearchedKind))
CAPTURES = "user bot channel group date name path".split()
"""Captures that a configured pattern may have. ``{date:FORMAT}`` is a date of another form"""
_LOGS = ".jsonl"
ENDINGS = (*MARKDOWN, _LOGS, CANVAS)
"""Endings of the files that a layout can claim"""


class Pattern(NamedTuple):
    """A rule of a layout, as in the ``[layout]`` table of the configuration."""

    path: str
    """With captures in braces, e.g. ``Journal/{user}/{date}.md``, and globs.

    Each capture is one part of the path; ``{path}`` is one or more parts.
    """
    kind: str
    """One of `KINDS`."""
    scope: str
    """E.g. ``user:{user}`` or ``group:main``."""


class Preset(NamedTuple):
    """A named layout: patterns and exclusions around the patterns of the vault format."""

    first: tuple[Pattern, ...] = ()
    """tried before the patterns of the vault format"""
    last: tuple[Pattern, ...] = ()
    """tried after them, and not in `PEOPLE_FOLDERS`"""
    exclude: tuple[str, ...] = ()
    at_root: bool = False
    """whether the vault belongs to one person, whose USER.md is at its root"""
    bot_folder: str = ""
    """folder of what the bot writes about the owner; "": the top of the vault"""


NO_PRESET = Preset()
PEOPLE_FOLDERS = ("Users/", "Channels/")
"""Folders of people and channels: `Preset.last` claims nothing in them"""


class Place(NamedTuple):
    """The meaning of a path."""

    kind: str
    scope: str
    date: date | None
    """The day of a dated note, an episode or a transcript; of a reflection the Monday of its week."""
    name: str
    """The text of ``{name}`` or ``{path}``, else the file's name without its ending."""
    indexed: bool
    """Whether search reads it."""


OWNER = "user:{user}"
"""The scope of the owner of the vault, where the path has no name of a person"""
_BESIDE = (("FACTS.md", "facts"), ("INBOX.md", "inbox"))
_CONFIG = "Users/{user}/{bot}/config/"


def _notes(folder: str, scope: str) -> list[Pattern]:
    return [
        Pattern(f"{folder}/{{date}}.md", "dated", scope),
        Pattern(f"{folder}/reflections/{{week}}.md", "reflection", scope),
        _episodes(folder, scope),
        Pattern(f"{folder}/{{path}}.md", "note", scope),
    ]


def _episodes(folder: str, scope: str) -> Pattern:
    return Pattern(f"{folder}/sessions/{{date}}.md", "episode", scope)


def _ledgers(folder: str, scope: str) -> Pattern:
    return Pattern(f"{folder}learning/{{path}}.jsonl", "ledger", scope)


def _bot_files(folder: str) -> list[Pattern]:
    """Returns the patterns of the folder with what the bot writes about the owner."""
    beside = f"{folder}/"
    return [
        Pattern(beside + "USER.md", "user", OWNER),
        Pattern(beside + "RULES.md", "rules", OWNER),
        *(Pattern(beside + name, kind, OWNER) for name, kind in _BESIDE),
        Pattern(beside + "transcripts/{turns}.jsonl", "transcript", OWNER),
        _ledgers(beside, OWNER),
        *_notes(beside + "memory", OWNER),
    ]


def _built_in() -> list[Pattern]:
    """Returns the patterns of the vault format; the first match wins, fixed names first."""
    return [
        Pattern(_CONFIG + "USER.md", "user", "user:{user}"),
        Pattern(_CONFIG + "RULES.md", "rules", "user:{user}"),
        *(Pattern(_CONFIG + name, kind, "user:{user}") for name, kind in _BESIDE),
        *_notes("Users/{user}/memories", "user:{user}"),
        Pattern("Users/{user}/transcripts/{turns}.jsonl", "transcript", "user:{user}"),
        _ledgers("Users/{user}/", "user:{user}"),
        Pattern("Channels/{channel}/CHANNEL.md", "channel", "channel:{channel}"),
        *(
            Pattern("Channels/{channel}/" + name, kind, "channel:{channel}")
            for name, kind in _BESIDE
        ),
        Pattern("Channels/{channel}/memories/{date}.md", "dated", "channel:{channel}"),
        _episodes("Channels/{channel}/memories", "channel:{channel}"),
        Pattern("Channels/{channel}/transcripts/{turns}.jsonl", "transcript", "channel:{channel}"),
        _ledgers("Channels/{channel}/", "channel:{channel}"),
        *(
            Pattern("groups/{group}/" + name, "memory", "group:{group}")
            for name in ("MEMORY.md", "memory.md")
        ),
        *(Pattern("groups/{group}/" + name, kind, "group:{group}") for name, kind in _BESIDE),
        *_notes("groups/{group}/memory", "group:{group}"),
        _ledgers("groups/{group}/", "group:{group}"),
        *_notes("memory", "group:main"),
        Pattern("transcripts/{turns}.jsonl", "transcript", OWNER),
        _ledgers("", "user:{user}"),
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
    "path": rf"(?P<path>(?:{_SEGMENT}/)*{_SEGMENT})",
    "week": r"(?P<week>[0-9]{4}-W[0-9]{2})",
    "turns": rf"{_DATE}(?:\.{_SEGMENT})?",
    "bot": rf"(?P<bot>(?!(?:memories|transcripts)/){_SEGMENT})",
    **{capture: rf"(?P<{capture}>{_SEGMENT})" for capture in ("user", "channel", "group", "name")},
}
_DATE_AND_NAME = rf"{_DATE}(?:[-_](?P<name>{_LETTER}+))?"
_CAPTURE = re.compile(r"\{([^{}]*)\}")
_TWO_IN_A_NAME = re.compile(r"\}[^/{}]*\{")
_WILDCARD = re.compile(r"(\*\*/|\*)")
_LAST_VARIABLE = re.compile(r"[}*]")
_AUDIT = r"(?s)(.+\.(?i:md|markdown))\.audit(?:\.[^/]+)?\.jsonl"


class _Rule:
    """A pattern that is compiled at its first use, because most processes see few kinds of paths."""

    __slots__ = (
        "_pattern",
        "capture",
        "captures",
        "folder",
        "indexed",
        "kind",
        "match",
        "name",
        "prefix",
        "suffix",
    )

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self.kind = pattern.kind
        self.indexed = pattern.kind not in NOT_INDEXED
        self.prefix, _, remainder = pattern.scope.partition("{")
        self.capture, _, self.suffix = remainder.partition("}")
        first, slash, _ = pattern.path.partition("/")
        self.folder: str | None = first + slash if slash else ""
        """the first folder of its paths; None stands for any"""
        if not _is_literal(first) and (slash or "{path}" in first):
            self.folder = None
        name = pattern.path.rpartition("/")[2]
        self.name = name if _is_literal(name) else None
        """the file name of its paths; None stands for any"""
        self.captures: frozenset[str] = frozenset()
        self.match: Callable[[str], _Match | None] = self._first_match

    def _first_match(self, path: str) -> "_Match | None":
        if not path.endswith(_LAST_VARIABLE.split(self._pattern.path)[-1]):
            return None
        self.captures, self.match = _matcher(self._pattern)
        return self.match(path)


_VARIABLE = frozenset("{}*")


def _is_literal(segment: str) -> bool:
    """Whether a segment of a pattern has no captures and no globs."""
    # Fault: the slash of a date format cuts its capture in two, so each brace counts.
    return _VARIABLE.isdisjoint(segment)


_Match = re.Match[str] | Mapping[str, Any]
"""What a pattern captured, by name"""
_Matcher = Callable[[str], _Match | None]


def _matcher(pattern: Pattern) -> tuple[frozenset[str], _Matcher]:
    """Returns the names of the captures of a pattern, and the function that matches a path."""
    tokens = _tokens(pattern)
    expressions = {
        index: re.compile(_capture_expression(pattern, capture))
        for index, (literal, capture) in enumerate(tokens)
        if not literal
    }
    names = frozenset(name for regex in expressions.values() for name in regex.groupindex)
    if "*" not in pattern.path and not _TWO_IN_A_NAME.search(pattern.path):
        texts = (
            re.escape(literal) or expressions[index].pattern
            for index, (literal, _) in enumerate(tokens)
        )
        return names, re.compile("".join(texts)).fullmatch
    # Fault: an expression with several variables in a row takes hours for one long name.
    steps = pattern_steps.steps_of(tokens, expressions)

    def match(path: str) -> _Match | None:
        texts = pattern_steps.match(steps, path)
        return None if texts is None else pattern_steps.groups(texts, expressions)

    return names, match


def _tokens(pattern: Pattern) -> list[tuple[str, str]]:
    """Returns the literals and the captures of a pattern in order, as pairs of which one is empty."""
    tokens: list[tuple[str, str]] = []
    for position, text in enumerate(_CAPTURE.split(pattern.path)):
        if position % 2:
            tokens.append(("", text))
        else:
            literals = filter(None, _WILDCARD.split(text))
            tokens += [(literal, "") for literal in literals]
    return tokens


def _capture_expression(pattern: Pattern, capture: str) -> str:
    _, colon, date_format = capture.partition(":")
    if colon:
        return date_formats.expression(date_format)
    if capture == "date" and pattern.kind == "dated" and "{name}" not in pattern.path:
        return _DATE_AND_NAME
    return _EXPRESSIONS[capture]


LONGEST_PATH = 4096
"""Letters of a path; operating systems have no longer ones"""
MOST_CACHED = 20_000
"""The number of paths whose places are cached"""
MOST_CACHED_RULES = 64
"""The number of different sets of patterns whose rules are cached"""
_UNCACHED = ""


class Layout:
    """Maps every path of a vault to its place."""

    def __init__(
        self,
        patterns: Sequence[Pattern] = (),
        *,
        user: str = "main",
        bot: str | None = None,
        exclude: Sequence[str] = (),
        preset: Preset = NO_PRESET,
    ) -> None:
        bot_folder = preset.bot_folder
        if bot_folder:
            pattern_check.check_bot_folder(bot_folder)
        for pattern in (*patterns, *preset.first):
            pattern_check.check_pattern(pattern)
        if exclude:
            pattern_check.check_exclusions(exclude)
        self.user = user
        self.bot = bot or None
        self.at_root = preset.at_root
        dated_first = sorted(patterns, key=lambda pattern: "{date" not in pattern.path)
        self.bot_folder = bot_folder
        bot_files = _bot_files(bot_folder) if bot_folder else ()
        self.added = (*dated_first, *preset.first, *bot_files)
        """the patterns that are tried before those of the vault format"""
        self._rules = _by_folder_and_name(self.added, tuple(preset.last))
        excluded = (*exclude, *preset.exclude)
        self._is_excluded = globs.matcher(excluded) if excluded else None
        self._cache: dict[str, Place | None] = {}

    def place(self, path: str) -> Place | None:
        """Returns the place of a path, or None for a path that is left alone."""
        # Fault: a request may name any text, which must neither be matched nor kept.
        if len(path) > LONGEST_PATH:
            return None
        place = self._cache.get(path, _UNCACHED)
        if isinstance(place, str):
            place = self._find_place(path)
            if len(self._cache) >= MOST_CACHED:
                self._cache.clear()
            self._cache[path] = place
        return place

    def _find_place(self, path: str) -> Place | None:
        if not path.endswith(ENDINGS) or self.excludes(path):
            return None
        # A pattern that ends in `.md` claims every ending of Markdown, a fixed name only itself.
        has_other_ending = not path.endswith((".md", _LOGS, CANVAS))
        if has_other_ending:
            path = path[: path.rfind(".")] + ".md"
        folder = path[: path.find("/") + 1]
        name = path[path.rfind("/") + 1 :]
        for rule in self._candidate_rules(folder, name):
            if has_other_ending and rule.name is not None:
                continue
            match = rule.match(path)
            # A match without captures is empty.
            if match is None:
                continue
            place = self._place_of_match(rule, match, name)
            if place:
                return place
        return self._place_of_audit(path) if path.endswith(_LOGS) else None

    def excludes(self, path: str) -> bool:
        """Whether the configuration excludes a path, or a folder that it is in."""
        return self._is_excluded is not None and self._is_excluded(path)

    def _candidate_rules(self, folder: str, name: str) -> Sequence[_Rule]:
        return (
            self._rules.get((folder, name))
            or self._rules.get((folder, ""))
            or self._rules.get(("", name))
            or self._rules["", ""]
        )

    def _place_of_match(self, rule: _Rule, match: "_Match", name: str) -> Place | None:
        if ignored(name):
            return None
        captures = rule.captures
        day = _day(match, captures) if captures else None
        # `2026-02-30.md` looks like a dated note, but has no day.
        if day is None and not captures.isdisjoint(_DAYS):
            return None
        if self.bot is not None and "bot" in captures and match["bot"] != self.bot:
            return None
        title = _title(match, captures) or name[: name.rfind(".")]
        return Place(rule.kind, self._scope(rule, match), day, title, rule.indexed)

    def _scope(self, rule: _Rule, match: "_Match") -> str:
        if not rule.capture:
            return rule.prefix
        # A workspace has no folder of its user: the configuration names them.
        owner = match[rule.capture] if rule.capture in rule.captures else self.user
        return rule.prefix + owner + rule.suffix

    def _place_of_audit(self, path: str) -> Place | None:
        """Returns the place of an audit file: that of its note, with another kind."""
        match = re.fullmatch(_AUDIT, path)
        place = self.place(match[1]) if match else None
        if place is None:
            return None
        return Place("audit", place.scope, place.date, place.name, indexed=False)


@lru_cache(maxsize=MOST_CACHED_RULES)
def _by_folder_and_name(
    added: tuple[Pattern, ...], last: tuple[Pattern, ...]
) -> Mapping[tuple[str, str], Sequence[_Rule]]:
    """Returns the rules that may match, in order, by first folder and file name.

    Layouts with the same patterns share them, such as those of a thousand vaults in one process.
    The folder ``""`` is the top of the vault, the name ``""`` is any other name. A rule with a
    capture in its first folder or file name is in every list that it may match.
    """
    rules = [_Rule(pattern) for pattern in (*added, *_built_in())]
    last_rules = list(map(_Rule, last))
    folders = {rule.folder or "" for rule in rules}
    names = {rule.name or "" for rule in rules}
    keys = {("", ""), *product(folders, names)}
    return {
        (folder, name): [
            rule
            # Fault: a note that lies beside those of a person must not become another's.
            for rule in (rules if folder in PEOPLE_FOLDERS else [*rules, *last_rules])
            if rule.folder in (None, folder) and rule.name in (None, name)
        ]
        for folder, name in keys
    }


def _title(match: "_Match", captures: frozenset[str]) -> str | None:
    if "path" in captures:
        return match["path"]
    return match["name"] if "name" in captures else None


_DAYS = frozenset({"date", "week", "day"})


def _day(match: "_Match", captures: frozenset[str]) -> date | None:
    try:
        if "date" in captures:
            return date.fromisoformat(match["date"])
        if "week" in captures:
            return date.fromisoformat(match["week"] + "-1")
        if "day" in captures:
            return date_formats.day_of(match)
    except ValueError:
        pass
    return None


_BOT = rf"Users/{_SEGMENT}/{_EXPRESSIONS['bot']}/config/[^/]+\.md"


def bots(paths: Iterable[str]) -> frozenset[str]:
    """Returns the bots with folders in a shared vault. With several, the configuration names one."""
    matches = (re.fullmatch(_BOT, path) for path in paths)
    return frozenset(match[1] for match in matches if match)
