"""The configuration of a vault without what the host decides: remotes, tokens, servers."""

import re
import tomllib

from vault_memory.errors import ConfigError

HOST_TABLES = ("remote", "serve", "web", "talk", "fleet")
"""Tables with addresses, tokens and passwords"""
_HEADER = re.compile(r"\s*\[\[?\s*\"?([\w-]+)")


def without_secrets(raw: bytes) -> bytes:
    """Return the configuration without the tables of the host; comments of the others stay.

    Raises ConfigError where lines do not separate the tables.
    """
    text = raw.decode("utf-8")
    lines = []
    is_kept = True
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line)
        if header is not None:
            is_kept = header[1] not in HOST_TABLES
        if is_kept:
            lines.append(line)
    shortened = "".join(lines)
    # Fault: a multi-line text or a dotted key can look like a table. A secret must not get into
    # the home, and no setting may be lost.
    if _parsed(shortened) != _without_tables(_parsed(text)):
        raise ConfigError(
            "the configuration of this vault mixes settings of the host with its own",
            hint="write [remote], [serve], [web] and [talk] as plain tables at its end",
        )
    return shortened.encode()


def _parsed(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"the configuration of this vault is no TOML: {error}"
        ) from None


def _without_tables(tables: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in tables.items() if name not in HOST_TABLES}
