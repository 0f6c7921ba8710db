"""Reads the cues of the write policy from the tables `[policy]` of all languages."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from vault_memory import places
from vault_memory.errors import ConfigError
from vault_memory.models.llm.phrase_tables import raw_tables
from vault_memory.rules.learning.policy import secret_signs
from vault_memory.rules.learning.policy_cues import PolicyCues


def policy_cues(state: Path | None = None) -> PolicyCues:
    """Returns the cues of all languages, with those of the state folder.

    Raises ConfigError for a table that cannot be read.
    """
    folder = state / places.PHRASES if state else None
    files = sorted(folder.glob("*.toml")) if folder else []
    signatures = ((str(file), file.stat().st_mtime_ns) for file in files)
    return _load(tuple(signatures))


@cache
def _load(own: tuple[tuple[str, int], ...]) -> PolicyCues:
    built_in = [table.get("policy", {}) for table in raw_tables()]
    added = [_table(Path(name)) for name, _ in own]
    cues = secret_signs.cue_tables().values()
    return PolicyCues(filter(None, [*built_in, *cues, *added]))


def _table(file: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{file} cannot be read: {error}", hint="it is a TOML file with a table `[policy]`"
        ) from None
    policy = table.get("policy", {})
    if not isinstance(policy, dict):
        raise ConfigError(
            f"`policy` in {file} is no table", hint="write `[policy]` above its lists"
        )
    return policy
