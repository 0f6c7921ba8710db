"""What a model is reached with, beside the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vault_memory.models.llm.token_count import Meter, unmetered

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The environment of a model, the vault that asks it, and the count of its tokens."""

    vault: "Path | None" = None
    """the folder that must not contain the file of the key"""
    meter: Meter = unmetered
    """receives the tokens of each call"""
    environment: Mapping[str, str] | None = None
    """of a command; None: that of this process"""


BARE = ModelAccess()
"""Counts nothing, and asks for no vault"""
