"""Composes the calls of each concept over one open vault, and opens and closes them together."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vault_memory.addons import table
from vault_memory.config.sections import Config
from vault_memory.context.calls import ContextCalls
from vault_memory.conversations.calls import ConversationCalls
from vault_memory.edits import conflict_calls
from vault_memory.edits.calls import EditCalls
from vault_memory.errors import UsageError
from vault_memory.facts import calls as facts_calls
from vault_memory.forgetting import calls as forgetting_calls
from vault_memory.learning import calls as learning_calls
from vault_memory.learning import provenance, runner
from vault_memory.rules.call_values import check_path
from vault_memory.search.calls import SearchCalls
from vault_memory.search.open_vault import OpenVault
from vault_memory.sync import calls as sync_calls

if TYPE_CHECKING:
    from vault_memory.edits.conflict_calls import ConflictCalls
    from vault_memory.facts.calls import FactCalls
    from vault_memory.forgetting.calls import ForgettingCalls
    from vault_memory.learning.calls import LearningCalls
    from vault_memory.learning.provenance import ProvenanceCalls
    from vault_memory.learning.runner import LearningVault
    from vault_memory.sync.calls import SyncCalls


class VaultParts:
    """The calls of each concept on one open vault."""

    conflicts: "ConflictCalls"
    facts: "FactCalls"
    learning: "LearningCalls"
    source: "ProvenanceCalls"
    forgetting: "ForgettingCalls"
    transfer: Any
    """Of the add-on `transfer`"""
    sync: "SyncCalls"

    def __init__(self, vault: OpenVault, searcher: SearchCalls | None = None) -> None:
        """Use `VaultMemory.open` instead."""
        if not isinstance(vault, OpenVault):
            raise UsageError(
                f"VaultMemory takes a vault that is open, not {vault!r}",
                hint="write `VaultMemory.open(PATH)`",
            )
        self.vault = vault
        self.root = vault.root
        self.layout = vault.layout
        self.searcher = searcher or SearchCalls(vault)
        self.conversations = ConversationCalls(vault)
        self.searcher.is_incognito = self.conversations.is_incognito
        self.edits = EditCalls(
            vault,
            owner_words=self.conversations.owner_words,
            owner_says=self.conversations.owner_says,
        )
        self._prompts = ContextCalls(self.searcher, self.edits)

    def __getattr__(self, name: str) -> Any:
        # Most commands need none of these, and a start must not load their modules.
        calls: Any
        match name:
            case "conflicts":
                calls = conflict_calls.ConflictCalls(self.edits)
            case "facts":
                calls = facts_calls.FactCalls(self.edits, self.searcher)
            case "learning":
                calls = learning_calls.LearningCalls(
                    self.edits,
                    self.searcher,
                    self._open_again,
                    self.conversations,
                    lambda: self.source,
                )
            case "source":
                calls = provenance.ProvenanceCalls(self.edits, self.facts)
            case "forgetting":
                calls = forgetting_calls.ForgettingCalls(
                    self.edits, self.searcher, self.conversations
                )
            case "transfer":
                calls = table.part("transfer.calls").TransferCalls(self.edits)
            case "sync":
                calls = sync_calls.SyncCalls(self.edits)
            case _:
                raise AttributeError(f"VaultMemory has no attribute {name!r}")
        # Two threads may both make the calls: `setdefault` lets both use the same.
        return self.__dict__.setdefault(name, calls)

    def __repr__(self) -> str:
        state = " (closed)" if self.vault.is_closed else ""
        return f"<VaultMemory {str(self.root)!r}{state}>"

    @classmethod
    def open(
        cls,
        path: "str | Path | None" = None,
        config: "str | Path | Config | None" = None,
        *,
        environment: Mapping[str, str] | None = None,
        marks: bool = True,
    ) -> Self:
        """Open any folder, else the vault of VAULT_MEMORY_VAULT or of the current folder.

        `config` is a TOML file or a Config. Without `marks` only a write adds the marker file.
        """
        check_path("path", path)
        if not isinstance(config, Config):
            check_path("config", config)
        variables = os.environ if environment is None else environment
        return cls(OpenVault.open(path, config, variables, marks=marks))

    def close(self) -> None:
        """Close files and connections. Any later call raises VaultClosed, except `close`."""
        if self.vault.is_closed:
            return
        # Only an attribute that was used is there; a look at `self.sync` would make it.
        if "sync" in self.__dict__:
            self.sync.close()
        if "conflicts" in self.__dict__:
            self.conflicts.close()
        self.edits.close()
        self.vault.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def fork(self, *, resident: bool = False) -> Self:
        """Open the same vault for another thread; close the fork, too."""
        vault = self.vault.fork()
        fork = type(self)(vault, self.searcher.fork(vault, resident=resident))
        fork.edits.record_cache = self.edits.record_cache
        return fork

    @contextmanager
    def _open_again(self) -> "Iterator[LearningVault]":
        with closing(self.fork()) as fork:
            yield runner.LearningVault(fork.edits, fork.conversations)
