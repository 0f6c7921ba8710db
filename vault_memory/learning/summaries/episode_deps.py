"""What the step that sums conversations up needs from the program."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from vault_memory.rules.learning.episodes import EpisodeRules


@dataclass(frozen=True, slots=True)
class EpisodeDeps:
    """What the step needs beside the notes."""

    rules: Callable[[], EpisodeRules]
    """loads the phrases; called only when there is a conversation to sum up"""
    lock: Callable[[], AbstractContextManager[None]]
    """keeps other processes from writing episodes meanwhile"""
