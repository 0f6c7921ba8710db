"""The calls of VaultMemory about nights, and about what is kept at once."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.edits.edit_result import Edit
    from vault_memory.forgetting import retract
    from vault_memory.forgetting.retract import TakenBack
    from vault_memory.learning import remember as learning_remember
    from vault_memory.learning import runner
    from vault_memory.learning.remember import Remembered
    from vault_memory.learning.runner import Slept
else:
    retract = lazy_module("vault_memory.forgetting.retract")
    learning_remember = lazy_module("vault_memory.learning.remember")
    runner = lazy_module("vault_memory.learning.runner")


class LearningCalls:
    """What VaultMemory is made of besides."""

    def sleep(
        self,
        *,
        scopes: Sequence[str] | None = None,
        due: bool = False,
        dry_run: bool = False,
        now: datetime | None = None,
        after: Callable[[str, str], None] = lambda scope, step: None,
    ) -> "Slept":
        """Do the night's work for persons (`user:NAME`) and channels (`channel:NAME`); for all when none is named.

        `due`: only where the night has begun and is not done. `after` is told each step that is done. Raises NightRuns
        when another process is at it, UsageError, ConfigError.
        """
        return runner.LearningRunner(
            cast("ConversationCalls", self), now, dry_run, after
        ).all(scopes, due=due)

    def next_night(self, now: datetime | None = None) -> datetime:
        """When the next night of anybody begins."""
        return runner.LearningRunner(
            cast("ConversationCalls", self), now, True
        ).next_begins()

    def learn_from_ended(self, *, now: datetime | None = None) -> "Slept":
        """Learn from the conversations that have ended, as the night would, when a model is there to be asked.

        Channels are left to their night, and so is all that a night does besides. A daemon calls it. Where the model
        gives no answer the scope is `failed`, and nothing was done. Raises NightRuns.
        """
        memory = cast("ConversationCalls", self)
        if memory.config.brain.kind == "rules" or not memory.config.sleep_cycle.enabled:
            return runner.Slept((), "", "", "")
        return runner.LearningRunner(memory, now, False).conversations()

    def nights(self, now: datetime | None = None) -> dict[str, object]:
        """When the last night was and when the next one will be, and where one is due."""
        return runner.LearningRunner(
            cast("ConversationCalls", self), now, True
        ).status()

    def remember(
        self,
        text: str,
        *,
        scope: str,
        source: str = "tool",
        expected: str | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
    ) -> "Remembered":
        """Keep a text for good: in USER.md, CHANNEL.md or MEMORY.md; what is asked for from now on, in RULES.md.

        `expected` is the revision of that note that this was thought of for. Raises UsageError, NoteChanged.
        """
        return learning_remember.remember(
            cast("ConversationCalls", self),
            text,
            scope,
            source,
            now,
            expected=expected,
            dry_run=dry_run,
        )

    def take_back(
        self,
        text: str,
        *,
        scopes: Sequence[str],
        note: str | None = None,
        source: str = "tool",
        expected: str | None = None,
        now: datetime | None = None,
    ) -> "TakenBack":
        """Remove the items that say `text` from the notes of these scopes, by ops that `undo` brings back.

        With source `tool`, items that a person wrote are only proposed to them; `cli` is the person's own act. What was
        said stays in transcripts. Raises TextTooShort, TooManyItems, NoteChanged, UsageError.
        """
        memory = cast("ConversationCalls", self)
        return retract.take_back(
            memory,
            text,
            scopes=scopes,
            note=note,
            source=source,
            expected=expected,
            now=now,
        )

    def append_summary(self, scope: str, text: str, ts: datetime | str) -> "Edit":
        """Keep the summary of a conversation that is about to be shortened, in the dated note of its day."""
        return learning_remember.append_summary(
            cast("ConversationCalls", self), scope, text, ts
        )
