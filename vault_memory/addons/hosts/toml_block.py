"""Puts one block, between two marks, at the end of a configuration in TOML.

Every other byte of the file stays. `tomlkit` does not give that: it moves tables and changes line
ends, so that a file is not what it was after `--uninstall`.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vault_memory.errors import ConfigError

BEGIN = "# >>> vault-memory >>> put in by `vault-memory install`; `--uninstall` takes it out"
END = "# <<< vault-memory <<<"

_BEGIN_OF_ANY_VERSION = "# >>> vault-memory >>>"
_OWN_COMMAND = re.compile(r"vault[-_]memory\b.* hook codex ")
_TRUST_IN_BLOCK = re.compile(
    r"^\r?\n\[hooks\.state\b.*?(?=^# <<<|^\[(?!hooks\.state\b))", re.MULTILINE | re.DOTALL
)
"""The tables that Codex writes into our block when a person trusts the hooks"""


class NotToml(ConfigError):
    """The text is no TOML, or sets something that our block would set again."""


def plain_in(file: Path) -> dict[str, Any]:
    """Return what a file says; nothing for a missing file, or one that cannot be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def with_block(text: str, tables: Sequence[str]) -> str:
    """Return the text with a block of these tables at its end instead of an earlier block.

    Raises NotToml.
    """
    old_block = _block_of(text)
    trust = _TRUST_IN_BLOCK.search(old_block or "")
    trust_tables = trust.group() if trust else ""
    remaining = without_block(text.replace(trust_tables, "", 1))
    newline = "\r\n" if "\r\n" in remaining else "\n"
    lines = [BEGIN]
    for table in tables:
        lines += table.split("\n")
    block = newline.join([*lines, ""]) + trust_tables + END + newline
    if block == old_block:
        return text
    gap = newline if remaining else ""
    return remaining + gap + block


def without_block(text: str) -> str:
    """Return the text without the block. Raises NotToml when only one of its marks is left."""
    # Programs write a table beside similar ones. So a table of the person may be between our
    # marks, and it stays.
    place = _place_of_block(text)
    if place is None:
        return text
    start, end = place
    before, after = text[:start], text[end:]
    lines = text[start:end].splitlines(keepends=True)[1:-1]
    foreign_tables = "".join(_foreign_tables(lines))
    if foreign_tables:
        return before + foreign_tables + after
    # The empty line that came with the block.
    if before.endswith("\r\n"):
        before = before.removesuffix("\r\n")
    else:
        before = before.removesuffix("\n")
    return before + after


def without_trust(text: str) -> str:
    """Return the text without what Codex wrote when a person trusted our hooks. Raises NotToml."""
    # Tables that stay would trust any other hook that gets the same place later.
    values = parse(text)
    trusted = values.get("hooks", {}).get("state", {})
    own_places = tuple(_own_places(values))
    own_keys = {key for key in trusted if key.endswith(own_places)}
    if not own_keys:
        return text
    changed = text
    for key in own_keys:
        changed = _without_table(changed, f'[hooks.state."{key}"]')
    if len(own_keys) == len(trusted):
        changed = _without_table(changed, "[hooks.state]")
    hooks = {name: value for name, value in values["hooks"].items() if name != "state"}
    foreign = {key: value for key, value in trusted.items() if key not in own_keys}
    if foreign:
        hooks["state"] = foreign
    # A table written in another way is not understood here: then all of them stay.
    is_understood = tomllib.loads(changed) == {**values, "hooks": hooks}
    return changed if is_understood else text


def check(before: str, after: str, added: Mapping[str, Any]) -> None:
    """Raise NotToml unless `after` says what `before` says, and what was added, and no more."""
    expected = _merge(parse(without_block(before)), added, "")
    try:
        is_expected = tomllib.loads(after) == expected
    except tomllib.TOMLDecodeError:
        is_expected = False
    if not is_expected:
        raise NotToml(
            "the file is written in a way that a block at its end would break",
            hint="add the lines by hand: move the file away, and `--dry-run` shows them",
        )


def parse(text: str) -> dict[str, Any]:
    """Return what the text says. Raises NotToml."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(
            f"it is not valid TOML: {error}", hint="correct that line; the file was left as it is"
        ) from None


def format_table(header: str, settings: Mapping[str, object]) -> str:
    """Return a table with its header, such as ``[a.b]``, or ``[[a.b]]`` in a list of tables."""
    lines = [f"{name} = {_format(value)}" for name, value in settings.items()]
    return "\n".join([header, *lines])


def _format(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_format(item) for item in value)}]"
    # A JSON string is a TOML string, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _merge(values: Any, added: Any, path: str) -> Any:
    """Return both together. Raises NotToml when both set the same name."""
    if isinstance(values, dict) and isinstance(added, dict):
        merged = dict(values)
        for name, value in added.items():
            if name in values:
                value = _merge(values[name], value, f"{path}{name}.")
            merged[name] = value
        return merged
    if isinstance(values, list) and isinstance(added, list):
        return [*values, *added]
    raise NotToml(
        f"`{path.rstrip('.')}` is set already, and not by us",
        hint="remove that setting, or leave it as it is",
    )


# --- The trust in hooks ---


def _own_places(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield how the keys of trust in our hooks end: file, event, index of group and of hook."""
    for event, groups in values.get("hooks", {}).items():
        # The table `hooks.state` is not an event.
        if not isinstance(groups, list):
            continue
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for group_index, group in enumerate(groups):
            for hook_index in _own_hooks(group):
                yield f"config.toml:{name}:{group_index}:{hook_index}"


def _own_hooks(group: Mapping[str, Any]) -> list[int]:
    """Return the indexes of our hooks in a group."""
    commands = [str(hook.get("command")) for hook in group.get("hooks", ())]
    return [index for index, command in enumerate(commands) if _OWN_COMMAND.search(command)]


def _without_table(text: str, header: str) -> str:
    """Remove a table of plain settings, and the empty line in front of it."""
    table = re.compile(
        rf"(?:^\r?\n)?^{re.escape(header)}\r?\n(?:^\w+ *=.*(?:\r?\n|\Z))*", re.MULTILINE
    )
    return table.sub("", text, count=1)


# --- Tables of others in the block ---


def _foreign_tables(lines: Sequence[str]) -> Iterator[str]:
    """Yield the tables between the marks that are not ours."""
    group = ""
    for table in _split_tables(lines):
        header = table.lstrip().partition("]")[0]
        if header.startswith("[mcp_servers.vault-memory"):
            continue
        is_of_hooks = header.startswith("[[hooks.")
        if is_of_hooks and not header.endswith(".hooks"):
            # A group of hooks: it is ours if the command in the next table is.
            group = table
            continue
        is_own_hook = is_of_hooks and _OWN_COMMAND.search(table)
        if not is_own_hook:
            yield group + table
        group = ""
    if group.count("\n") > 1:
        yield group


def _split_tables(lines: Iterable[str]) -> list[str]:
    """Return the text of each table; what is before the first header belongs to none of them."""
    tables: list[str] = []
    for line in lines:
        if line.lstrip().startswith("[") or not tables:
            tables.append("")
        tables[-1] += line
    return tables


# --- The place of the block ---


def _block_of(text: str) -> str | None:
    place = _place_of_block(text)
    return None if place is None else text[slice(*place)]


def _place_of_block(text: str) -> tuple[int, int] | None:
    """Return where the block begins and ends; None without one. Raises NotToml."""
    start = _start_of_line(text, _BEGIN_OF_ANY_VERSION)
    last_line = _start_of_line(text, END)
    if start is None and last_line is None:
        return None
    if start is None or last_line is None or last_line < start:
        raise NotToml(
            "one of the two marks of the block is gone",
            hint="remove by hand what is left of the block",
        )
    newline = text.find("\n", last_line)
    return start, len(text) if newline < 0 else newline + 1


def _start_of_line(text: str, mark: str) -> int | None:
    """Return where the first line with this beginning starts."""
    if text.startswith(mark):
        return 0
    newline = text.find(f"\n{mark}")
    return None if newline < 0 else newline + 1
