"""Edits of one file of a host's configuration: what is put in, and how exactly that is removed.

An edit turns a text into a text and reads no file.
"""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from vault_memory.addons.hosts import jsonc_edit, toml_block
from vault_memory.addons.hosts.jsonc_reader import Node, NotJson, read

_BLANK_FILE = "\0blank file"
"""The first part of an entry among the created paths that holds the text of a file without a value"""
SERVER_NAME = "vault-memory"
"""The name under which a host knows the MCP server"""

KeyPath = tuple[str, ...]
CreatedPaths = tuple[KeyPath, ...]
"""Paths of the objects, lists and texts that `install` created in a file.

A path that ends in blanks is that of an empty object or list, with what is between its brackets.
"""


@dataclass(frozen=True, slots=True)
class Member:
    """A value of ours under a key of ours."""

    path: KeyPath
    value: Mapping[str, object]
    is_wanted: bool = True
    """False: an earlier version put it in, and it is removed"""

    @property
    def container(self) -> KeyPath:
        return self.path[:-1]

    def put(self, text: str) -> str:
        node = jsonc_edit.node_at(text, self.path)
        if node is not None and node.plain() == self.value:
            return text
        return jsonc_edit.put(text, self.path, self.value)

    def remove(self, text: str) -> str:
        if jsonc_edit.node_at(text, self.container) is None:
            return text
        return jsonc_edit.remove(text, self.path)


@dataclass(frozen=True, slots=True)
class HookGroup:
    """A group of one command of ours, in the list of groups of an event."""

    path: KeyPath
    """Of the list"""
    value: Mapping[str, object]
    host: str
    only: str = ""
    """A word: groups of ours without it are left as they are, and serve instead of this one"""

    @property
    def container(self) -> KeyPath:
        return self.path

    def put(self, text: str) -> str:
        own = self._own_groups(text)
        if list(own.values()) == [self.value]:
            return text
        # Fault: a second hook of ours would record each prompt twice.
        if len(own) < len(self._groups_of_ours(text)):
            return text
        return jsonc_edit.append(self.remove(text), self.path, self.value)

    def remove(self, text: str) -> str:
        for index in sorted(self._own_groups(text), reverse=True):
            text = jsonc_edit.remove_item(text, self.path, index)
        return text

    def _own_groups(self, text: str) -> dict[int, object]:
        """Return the groups that this one replaces, by their index."""
        groups = self._groups_of_ours(text)
        return {index: group for index, group in groups.items() if self.only in json.dumps(group)}

    def _groups_of_ours(self, text: str) -> dict[int, object]:
        """Return the groups in which every command is ours, by their index."""
        groups = dict(enumerate(_items(text, self.path)))
        return {index: group for index, group in groups.items() if self._is_own(group)}

    def _is_own(self, group: object) -> bool:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(hooks, list) or not hooks:
            return False
        return all(
            isinstance(hook, dict) and is_own_command(hook.get("command"), self.host)
            for hook in hooks
        )


@dataclass(frozen=True, slots=True)
class ListedText:
    """A text in a list of texts, such as a permission. The person may have put it there, too."""

    path: KeyPath
    """Of the list"""
    value: str
    is_wanted: bool
    """False: it is not put in, and removed where an earlier `install` put it in"""
    only_in_list: bool = False
    """Whether a missing list permits all, so that `install` creates no list"""

    @property
    def container(self) -> KeyPath:
        return self.path

    @property
    def mark(self) -> KeyPath:
        """The entry among the created paths that says it is ours."""
        return (*self.path, self.value)

    def put(self, text: str) -> str:
        if self.value in _items(text, self.path):
            return text
        return jsonc_edit.append(text, self.path, self.value)

    def remove(self, text: str) -> str:
        items = _items(text, self.path)
        if self.value not in items:
            return text
        return jsonc_edit.remove_item(text, self.path, items.index(self.value))


@dataclass(frozen=True, slots=True)
class Choice:
    """A program or a folder, under a key that may name another one already."""

    path: KeyPath
    value: str
    earlier: str = ""
    """What `install` has put there before: no choice of the person"""

    @property
    def container(self) -> KeyPath:
        return self.path[:-1]

    def put(self, text: str) -> str:
        if self._chosen(text) == self.value:
            return text
        return jsonc_edit.put(text, self.path, self.value)

    def previous(self, text: str) -> str:
        """Return what the file has there, byte for byte; empty without the key."""
        node = jsonc_edit.node_at(text, self.path)
        return "" if node is None else text[node.start : node.end]

    def marks(self, text: str) -> CreatedPaths:
        """Return the entry among the created paths that holds what was there before."""
        if self.earlier and self._chosen(text) == self.earlier:
            return ()
        return ((*self.path, self.previous(text)),)

    def remove(self, text: str, created: Collection[KeyPath]) -> str:
        """Return the text with what was there before `install`."""
        if jsonc_edit.node_at(text, self.container) is None:
            return text
        # The person has chosen another one since.
        if self._chosen(text) != self.value:
            return text
        for mark in reversed(tuple(created)):
            if mark[:-1] == self.path and mark[-1]:
                node = jsonc_edit.node_at(text, self.path)
                assert node is not None
                return text[: node.start] + mark[-1] + text[node.end :]
        return jsonc_edit.remove(text, self.path)

    def _chosen(self, text: str) -> object:
        # Fault: the host itself may have written the file again, with other escapes.
        node = jsonc_edit.node_at(text, self.path)
        return None if node is None else node.plain()


Entry = Member | HookGroup | ListedText | Choice


@dataclass(frozen=True, slots=True)
class JsonEdit:
    """Entries in a file of JSON. All other bytes of the file stay."""

    entries: tuple[Entry, ...]
    strict: bool = True
    """Whether the host reads plain JSON alone, so that it could not read a file with comments"""

    def put(self, text: str, created: CreatedPaths | None = None) -> tuple[str, CreatedPaths]:
        """Return the text with all entries, and what `install` created in it up to now.

        `created` is what earlier calls created. Raises NotJson.
        """
        paths = list(created or ())
        if not text.strip() and created is None:
            paths.append((_BLANK_FILE, text))
        text = self._check(text)
        for entry in self.entries:
            match entry:
                case ListedText(is_wanted=False):
                    text, paths = _withdraw(text, entry, paths)
                # Fault: the tools of an earlier version would be offered twice.
                case Member(is_wanted=False):
                    text = _without_empty(entry.remove(text), entry.container, paths)
                # Fault: a list with us alone would forbid all others.
                case ListedText(only_in_list=True) if not _has(text, entry.path):
                    continue
                case _:
                    text = _put_entry(text, entry, paths)
        return text, tuple(paths)

    def remove(self, text: str, created: CreatedPaths | None) -> str:
        """Return the text without the entries, and without what we created and is empty now.

        `created` is None where there is no record: then all that is empty is removed.
        """
        if self.is_empty(text):
            return text
        text = self._check(text)
        for entry in self.entries:
            match entry:
                # Fault: the person may have listed the same text before `install`. It
                # is theirs, so it stays.
                case ListedText() if created is not None and entry.mark not in created:
                    pass
                case Choice():
                    text = entry.remove(text, created or ())
                case _:
                    text = entry.remove(text)
            text = _without_empty(text, entry.container, created)
        return _as_blank_file(text, created or ()) if self.is_empty(text) else text

    def is_empty(self, text: str) -> bool:
        return text.strip() in ("", "{}")

    def _check(self, text: str) -> str:
        """Return the text; an empty object for an empty file. Raises NotJson."""
        # Fault: a host that cannot read its file starts without any settings.
        if not text.strip("\ufeff \t\r\n"):
            return "{}\n"
        if self.strict:
            try:
                # Windows editors begin a file with a byte order mark, which is no JSON.
                json.loads(text.removeprefix("\ufeff"))
            except (ValueError, RecursionError) as error:
                raise NotJson(
                    f"it is not valid JSON: {error}", hint="correct it; it was left as it is"
                ) from None
        if not read(text).is_object:
            raise NotJson("it is no JSON object", hint="it was left as it is")
        return text


@dataclass(frozen=True, slots=True)
class TomlEdit:
    """A block of tables at the end of a file of TOML."""

    tables: tuple[str, ...]
    values: Mapping[str, Any]
    """What the tables say"""
    only: str = ""
    """A word: a block of ours without it is left as it is, and serves instead of this one"""

    def put(self, text: str, created: CreatedPaths | None = None) -> tuple[str, CreatedPaths]:
        """Return the text with the block. Raises NotToml."""
        # Fault: a second hook of ours would record each prompt twice.
        if self._is_left(text):
            return text, ()
        changed = toml_block.with_block(text, self.tables)
        toml_block.check(text, changed, self.values)
        return changed, ()

    def remove(self, text: str, created: CreatedPaths | None) -> str:
        if self._is_left(text):
            return text
        return toml_block.without_block(toml_block.without_trust(text))

    def is_empty(self, text: str) -> bool:
        return not text.strip()

    def _is_left(self, text: str) -> bool:
        if not self.only:
            return False
        without = toml_block.without_block(text)
        return without != text and text.count(self.only) == without.count(self.only)


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is ours from its first line to its last."""

    text: str
    mark: str
    """A line that says so; a file without it is not ours any more"""
    only: str = ""
    """A word: a file of ours without it is left as it is, and serves instead of this one"""

    def put(self, text: str, created: CreatedPaths | None = None) -> tuple[str, CreatedPaths]:
        # Fault: hooks for projects alone would take away those of the person.
        if self.mark in text.splitlines() and self.only not in text:
            return text, ()
        return self.text, ()

    def remove(self, text: str, created: CreatedPaths | None) -> str:
        is_ours = self.mark in text.splitlines() and self.only in text
        return "" if is_ours else text

    def is_empty(self, text: str) -> bool:
        return not text


Edit = JsonEdit | TomlEdit | OwnFile


def is_own_command(command: object, host: str) -> bool:
    """Whether a command line runs our hook for this host."""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        # A person's command may have an open quote.
        return False
    # Python and `-m` may stand before the name of the program.
    programs = [word.rpartition("/")[2] for word in words[:3]]
    is_our_program = "vault-memory" in programs or "vault_memory" in programs
    return is_our_program and ("hook", host) in pairwise(words)


def _items(text: str, path: KeyPath) -> list[object]:
    """Return the items of the list at a path; nothing without a list."""
    node = jsonc_edit.node_at(text, path)
    if node is None or not node.is_list:
        return []
    return [child.node.plain() for child in node.children]


def _has(text: str, path: KeyPath) -> bool:
    return jsonc_edit.node_at(text, path) is not None


def _put_entry(text: str, entry: Entry, created: list[KeyPath]) -> str:
    """Return the text with the entry; add to `created` what did not exist before."""
    missing = _missing_prefixes(text, entry.container)
    existing = missing[0][:-1] if missing else entry.container
    for path in (*_blank_mark(text, existing), *missing):
        if path not in created:
            created.append(path)
    changed = entry.put(text)
    if changed != text:
        match entry:
            case ListedText():
                created.append(entry.mark)
            case Choice():
                created.extend(entry.marks(text))
    return changed


def _withdraw(
    text: str, entry: ListedText, created: Sequence[KeyPath]
) -> tuple[str, list[KeyPath]]:
    """Remove what an earlier `install` listed; return the text, and what remains created."""
    created_paths = list(created)
    # The person may have listed the same text: it stays.
    if entry.mark not in created_paths:
        return text, created_paths
    text = _without_empty(entry.remove(text), entry.path, created)
    removed = [*_missing_prefixes(text, entry.path), entry.mark]
    return text, [path for path in created_paths if path not in removed]


def _without_empty(text: str, container: KeyPath, created: Collection[KeyPath] | None) -> str:
    """Remove the objects and lists down to `container` that we created and are empty now.

    One that was there before gets back the blanks between its brackets.
    """
    for path in reversed([(), *_prefixes(container)]):
        node = jsonc_edit.node_at(text, path)
        if node is None or node.children:
            continue
        if path and (created is None or path in created):
            text = jsonc_edit.remove(text, path)
        else:
            text = _with_blanks(text, node, path, created or ())
    return text


def _with_blanks(text: str, node: Node, path: KeyPath, created: Collection[KeyPath]) -> str:
    """Return the text with the blanks that an empty object or list had before `install`."""
    start, end = node.inside
    for mark in created:
        if start == end and mark[:-1] == path and mark[-1].isspace():
            return text[:start] + mark[-1] + text[end:]
    return text


def _as_blank_file(text: str, created: Collection[KeyPath]) -> str:
    """Return the text that a file without a value had before `install`, else `text`."""
    return next((mark[1] for mark in created if mark[0] == _BLANK_FILE), text)


def _blank_mark(text: str, path: KeyPath) -> CreatedPaths:
    """Return the path of an object or list that holds blanks alone, with these blanks."""
    node = jsonc_edit.node_at(text, path)
    if node is None or node.children or not (node.is_object or node.is_list):
        return ()
    start, end = node.inside
    blanks = text[start:end]
    return ((*path, blanks),) if blanks.isspace() else ()


def _missing_prefixes(text: str, path: KeyPath) -> list[KeyPath]:
    """Return the paths on the way to this one that the text does not have."""
    return [prefix for prefix in _prefixes(path) if jsonc_edit.node_at(text, prefix) is None]


def _prefixes(path: KeyPath) -> list[KeyPath]:
    """Return all paths on the way to this one, the shortest first."""
    return [path[:length] for length in range(1, len(path) + 1)]
