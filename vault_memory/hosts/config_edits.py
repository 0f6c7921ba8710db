"""What is put into one file of a host's configuration, and how exactly that is taken out again. Texts, no files."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from vault_memory.hosts import jsonc_edit, toml_block

NAME = "vault-memory"
"""Under which a host knows the MCP server"""

Made = tuple[tuple[str, ...], ...]
"""Paths of objects and lists that were not there before us"""


@dataclass(frozen=True, slots=True)
class Member:
    """A value under a name of ours."""

    path: tuple[str, ...]
    value: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class HookGroup:
    """An item of the list of one event: a group with one command of ours."""

    path: tuple[str, ...]
    value: Mapping[str, object]
    host: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A text in a list of texts, which may be there without us."""

    path: tuple[str, ...]
    value: str
    wanted: bool
    """False: it is not put in, and taken out where we have put it in"""

    @property
    def mark(self) -> tuple[str, ...]:
        """What stands in the record for it"""
        return (*self.path, self.value)


@dataclass(frozen=True, slots=True)
class JsonEdit:
    """Members and items in a file of JSON."""

    entries: tuple[Member | HookGroup | Listed, ...]
    strict: bool = True
    """whether the host reads JSON alone, so that a file with comments is broken already"""

    def put(self, text: str, made: Made | None = None) -> tuple[str, Made]:
        """The text with everything in it, and what had to be made for that. `made`: so far. Raises NotJson."""
        text = self._read(text)
        now = list(made or ())
        for entry in self.entries:
            if isinstance(entry, Listed) and not entry.wanted:
                if entry.mark in now:
                    text, now = _taken_back(text, entry, now)
                continue
            holder = entry.path[:-1] if isinstance(entry, Member) else entry.path
            root = jsonc_edit.read(text)
            now += [
                part
                for part in _ways(holder)
                if jsonc_edit.at(root, part) is None and part not in now
            ]
            if isinstance(entry, Listed):
                if _number_of(text, entry) is None:
                    text = jsonc_edit.append(text, entry.path, entry.value)
                    now.append(entry.mark)
            else:
                text = (
                    _with_group(text, entry)
                    if isinstance(entry, HookGroup)
                    else _with_member(text, entry)
                )
        return text, tuple(now)

    def take(self, text: str, made: Made | None) -> str:
        """The text without it; what we made goes when it is empty. `made` None: nobody knows what we made."""
        if self.is_bare(text):
            return text
        text = self._read(text)
        for entry in self.entries:
            holder = entry.path
            if isinstance(entry, Member):
                holder = entry.path[:-1]
                if jsonc_edit.at(jsonc_edit.read(text), holder) is not None:
                    text = jsonc_edit.take(text, entry.path)
            elif isinstance(entry, Listed):
                if made is None or entry.mark in made:
                    text = _without_listed(text, entry)
            else:
                for number in reversed(_ours(text, entry)):
                    text = jsonc_edit.take(text, holder, number)
            text = _bare(text, holder, made)
        return text

    def is_bare(self, text: str) -> bool:
        """Whether nothing is in it."""
        return not text.strip() or text.strip() == "{}"

    def _read(self, text: str) -> str:
        """The text, when the host can read it itself. Raises NotJson."""
        if not text.strip("\ufeff \t\r\n"):
            return "{}\n"
        if self.strict:
            try:
                json.loads(text.removeprefix("\ufeff"))
            except (ValueError, RecursionError) as error:
                raise jsonc_edit.NotJson(
                    f"it is not valid JSON: {error}",
                    hint="mend it; it was left as it is",
                ) from None
        if jsonc_edit.read(text).opened != "{":
            raise jsonc_edit.NotJson(
                "it is no JSON object", hint="it was left as it is"
            )
        return text


@dataclass(frozen=True, slots=True)
class TomlEdit:
    """A block of tables at the end of a file of TOML."""

    tables: tuple[str, ...]
    wanted: Mapping[str, Any]
    """what they say"""

    def put(self, text: str, made: Made | None = None) -> tuple[str, Made]:
        """The text with the block. Raises NotToml."""
        after = toml_block.with_block(text, self.tables)
        return toml_block.checked(text, after, self.wanted), ()

    def take(self, text: str, made: Made | None) -> str:
        return toml_block.without_block(toml_block.without_trust(text))

    def is_bare(self, text: str) -> bool:
        return not text.strip()


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is ours from its first line to its last."""

    text: str
    mark: str
    """a line without which it is not ours any more"""

    def put(self, text: str, made: Made | None = None) -> tuple[str, Made]:
        return self.text, ()

    def take(self, text: str, made: Made | None) -> str:
        return "" if self.mark in text.splitlines() else text

    def is_bare(self, text: str) -> bool:
        return not text


Edit = JsonEdit | TomlEdit | OwnFile


def is_ours(command: object, host: str) -> bool:
    """Whether a command line runs our hook for this host."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    program = any(
        word.rpartition("/")[2] in ("vault-memory", "vault_memory")
        for word in words[:3]
    )
    return program and any(pair == ("hook", host) for pair in pairwise(words))


def _with_member(text: str, entry: Member) -> str:
    node = jsonc_edit.at(jsonc_edit.read(text), entry.path)
    return (
        text
        if node is not None and node.plain() == entry.value
        else jsonc_edit.put(text, entry.path, entry.value)
    )


def _with_group(text: str, entry: HookGroup) -> str:
    ours = _ours(text, entry)
    groups = jsonc_edit.at(jsonc_edit.read(text), entry.path)
    if (
        len(ours) == 1
        and groups is not None
        and groups.children[ours[0]].node.plain() == entry.value
    ):
        return text
    for number in reversed(ours):
        text = jsonc_edit.take(text, entry.path, number)
    return jsonc_edit.append(text, entry.path, entry.value)


def _ours(text: str, entry: HookGroup) -> list[int]:
    """Which items of the list are ours: groups in which each command is."""
    groups = jsonc_edit.at(jsonc_edit.read(text), entry.path)
    found = []
    for number, child in enumerate(
        groups.children if groups is not None and groups.opened == "[" else ()
    ):
        group = child.node.plain()
        hooks = group.get("hooks") if isinstance(group, dict) else None
        commands = [
            hook.get("command") if isinstance(hook, dict) else None
            for hook in hooks or ()
        ]
        if commands and all(is_ours(command, entry.host) for command in commands):
            found.append(number)
    return found


def _number_of(text: str, entry: Listed) -> int | None:
    """Where the text stands in its list."""
    listed = jsonc_edit.at(jsonc_edit.read(text), entry.path)
    values = (
        [child.node.plain() for child in listed.children]
        if listed is not None and listed.opened == "["
        else []
    )
    return values.index(entry.value) if entry.value in values else None


def _without_listed(text: str, entry: Listed) -> str:
    number = _number_of(text, entry)
    return text if number is None else jsonc_edit.take(text, entry.path, number)


def _taken_back(
    text: str, entry: Listed, made: Sequence[tuple[str, ...]]
) -> tuple[str, list[tuple[str, ...]]]:
    """The text without what an earlier `put` listed, and what is left of what we made."""
    text = _bare(_without_listed(text, entry), entry.path, made)
    root = jsonc_edit.read(text)
    gone = [
        entry.mark,
        *(part for part in _ways(entry.path) if jsonc_edit.at(root, part) is None),
    ]
    return text, [part for part in made if part not in gone]


def _bare(
    text: str, holder: Sequence[str], made: Sequence[tuple[str, ...]] | None
) -> str:
    """The text without those objects and lists on the way that we made and that are empty now."""
    for part in reversed(_ways(holder)):
        node = jsonc_edit.at(jsonc_edit.read(text), part)
        if node is not None and not node.children and (made is None or part in made):
            text = jsonc_edit.take(text, part)
    return text


def _ways(path: Sequence[str]) -> list[tuple[str, ...]]:
    """All paths on the way there, the shortest first."""
    return [tuple(path[:number]) for number in range(1, len(path) + 1)]
