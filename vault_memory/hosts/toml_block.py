"""A configuration in TOML gets one block between two marks at its end, and every other byte of it stays."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vault_memory.errors import ConfigError

BEGIN = "# >>> vault-memory >>> put in by `vault-memory install`; `--uninstall` takes it out"
OURS = re.compile(r"vault[-_]memory\b.* hook codex ")
"""A command of ours in a table of hooks"""
END = "# <<< vault-memory <<<"


class NotToml(ConfigError):
    """The text is no TOML, or says something already that stands in the way."""


def with_block(text: str, tables: Sequence[str]) -> str:
    """The text with a block of these tables at its end, in the place of one that is there. Raises NotToml."""
    trust = "".join(_trust_tables(_block(text) or ""))
    bare = without_block(text.replace(trust, "", 1) if trust else text)
    newline = "\r\n" if "\r\n" in bare else "\n"
    lines = [BEGIN, *(line for table in tables for line in table.split("\n")), ""]
    block = newline.join(lines) + trust + newline.join([END, ""])
    if _block(text) == block:
        return text
    return bare + (newline if bare else "") + block


def without_block(text: str) -> str:
    """The text as it is without the block. Raises NotToml when only one of its marks is left.

    Tables that somebody else has put between the marks, as programs do that write tables beside their like, stay.
    """
    place = _place(text)
    if place is None:
        return text
    start, end = place
    before = text[:start]
    if foreign := "".join(_foreign(text[start:end].splitlines(keepends=True)[1:-1])):
        return before + foreign + text[end:]
    for newline in ("\r\n", "\n"):
        if before.endswith(newline):
            before = before.removesuffix(newline)
            break
    return before + text[end:]


def without_trust(text: str) -> str:
    """The text without what the host wrote when a person trusted our hooks. Raises NotToml.

    Fault this guards against: the tables stay behind, and trust whatever hook comes to stand in the same place.
    """
    said = values(text)
    trusted = said.get("hooks", {}).get("state", {})
    ours = {key for key in trusted if key.endswith(tuple(_own_places(said)))}
    if not ours:
        return text
    after = text
    for key in ours:
        after = _without_table(after, f'[hooks.state."{key}"]')
    if len(ours) == len(trusted):
        after = _without_table(after, "[hooks.state]")
    state = {key: value for key, value in trusted.items() if key not in ours}
    hooks = {name: value for name, value in said["hooks"].items() if name != "state"}
    wanted = said | {"hooks": hooks | ({"state": state} if state else {})}
    return after if tomllib.loads(after) == wanted else text


def _own_places(said: Mapping[str, Any]) -> Iterator[str]:
    """How the host's keys of trust end for our hooks: the file, the event, the number of the group and of the hook."""
    for event, groups in said.get("hooks", {}).items():
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for group, hooks in enumerate(groups if isinstance(groups, list) else ()):
            for number, hook in enumerate(hooks.get("hooks", ())):
                if OURS.search(str(hook.get("command"))):
                    yield f"config.toml:{name}:{group}:{number}"


def _without_table(text: str, header: str) -> str:
    """The text without a table of plain settings, and without the empty line in front of it."""
    table = re.compile(
        rf"(?:^\r?\n)?^{re.escape(header)}\r?\n(?:^\w+ *=.*(?:\r?\n|\Z))*", re.MULTILINE
    )
    return table.sub("", text, count=1)


def _trust_tables(block: str) -> Iterator[str]:
    """What the host wrote into our block when a person trusted the hooks."""
    found = re.search(
        r"^\r?\n\[hooks\.state\b.*?(?=^# <<<|^\[(?!hooks\.state\b))",
        block,
        re.MULTILINE | re.DOTALL,
    )
    if found:
        yield found[0]


def checked(before: str, after: str, wanted: Mapping[str, Any]) -> str:
    """The text after, when it says what was said before and what is wanted, and nothing else. Raises NotToml."""
    said = values(without_block(before))
    try:
        merged = _merged(said, wanted, "")
        if tomllib.loads(after) == merged:
            return after
    except tomllib.TOMLDecodeError:
        pass
    raise NotToml(
        "the file is written in a way that a block at its end would break",
        hint="put the lines in by hand: `--dry-run` after moving the file away shows them",
    )


def values(text: str) -> dict[str, Any]:
    """What the text says. Raises NotToml."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(
            f"it is not valid TOML: {error}",
            hint="mend that line; the file was left as it is",
        ) from None


def written(table: str, settings: Mapping[str, object]) -> str:
    """One table with its header; `[[...]]` as the name makes it an item of a list."""
    header = table if table.startswith("[[") else f"[{table}]"
    return "\n".join(
        [header, *(f"{name} = {_value(value)}" for name, value in settings.items())]
    )


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(part) for part in value)}]"
    # A JSON string is a TOML string, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _merged(said: Any, wanted: Any, place: str) -> Any:
    """Both together. Raises NotToml when one name is said twice."""
    if isinstance(said, dict) and isinstance(wanted, dict):
        added = {
            name: _merged(said[name], value, f"{place}{name}.")
            for name, value in wanted.items()
            if name in said
        }
        return {**said, **wanted, **added}
    if isinstance(said, list) and isinstance(wanted, list):
        return [*said, *wanted]
    raise NotToml(
        f"`{place.rstrip('.')}` is set already, and not by us",
        hint="take that out, or leave it as it is",
    )


def _foreign(lines: Sequence[str]) -> Iterator[str]:
    """The tables between the marks that are not ours."""
    tables: list[str] = []
    for line in lines:
        if line.lstrip().startswith("[") or not tables:
            tables.append("")
        tables[-1] += line
    group = ""
    for table in tables:
        header = table.lstrip().partition("]")[0]
        if header.startswith("[mcp_servers.vault-memory"):
            continue
        if header.startswith("[[hooks.") and not header.endswith(".hooks"):
            group = table  # ours or not, as its command is
            continue
        if not (header.startswith("[[hooks.") and OURS.search(table)):
            yield group + table
        group = ""
    yield group if group.count("\n") > 1 else ""


def _place(text: str) -> tuple[int, int] | None:
    start, end = _line(text, "# >>> vault-memory >>>"), _line(text, END)
    if start is None and end is None:
        return None
    if start is None or end is None or end < start:
        raise NotToml(
            "one of the two marks of the block is gone",
            hint="take out by hand what is left of it",
        )
    stop = text.find("\n", end)
    return start, len(text) if stop < 0 else stop + 1


def _line(text: str, mark: str) -> int | None:
    """The place of the line that begins with the mark."""
    if text.startswith(mark):
        return 0
    found = text.find("\n" + mark)
    return None if found < 0 else found + 1


def _block(text: str) -> str | None:
    place = _place(text)
    return None if place is None else text[slice(*place)]
