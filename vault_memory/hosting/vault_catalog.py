"""The vaults below a folder, and the tokens that open them. No vault is opened for this."""

import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from vault_memory.api.redact_paths import without_paths
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import VaultMemoryError
from vault_memory.hosting.catalog_entry import CatalogEntry, earlier_tokens, read_entry
from vault_memory.hosting.vault_folders import check_folder, vault_folders
from vault_memory.http.tokens import Tokens
from vault_memory.http.vault_tokens import VaultTokens
from vault_memory.vault.state_dir import StateFolder, registered_root, state_root

logger = logging.getLogger(__name__)

OF_ONE_VAULT = ("VAULT_MEMORY_VAULT", "VAULT_MEMORY_CONFIG")
"""Variables that name one vault, or its configuration: they would be those of every vault"""
LOOK_SHARE = 20
"""Looks for changes take at most a 20th of a processor"""


class VaultTroubled(VaultUnavailable):
    """The vault of a valid token or session cannot be served. The reason names no folder."""

    def __init__(self, reason: str) -> None:
        VaultMemoryError.__init__(
            self,
            f"this vault cannot be served: {reason}",
            hint="tell the person who runs the host; its log names the folder",
            reason=reason,
        )


@dataclass(frozen=True, slots=True)
class CatalogChanges:
    """Ids of vaults that a renewal of the catalog found to differ."""

    added: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class _Content:
    """The catalog of a moment; replaced as a whole."""

    by_root: Mapping[str, CatalogEntry]
    by_vault: Mapping[str, CatalogEntry]
    """The vaults that can be served"""
    tokens: VaultTokens
    shared_tokens: Collection[Collection[str]] = ()
    refused: Mapping[bytes, str] = field(default_factory=dict)
    """Digest of a token that opens nothing now → why"""
    troubles: Mapping[str, str] = field(default_factory=dict)
    """Vault that was served before, or has trouble → why it is not served now"""


class VaultCatalog:
    """The vaults below a folder. Any thread may use it.

    Trouble of one vault, such as a damaged configuration, leaves the others as they are.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Raises VaultUnreachable, VaultInVaults."""
        self.folder = Path(os.path.realpath(folder))
        check_folder(self.folder)
        self.environment = {
            name: value for name, value in environment.items() if name not in OF_ONE_VAULT
        }
        self._lock = threading.Lock()
        self._content = _Content({}, {}, VaultTokens())
        self._last_tokens: dict[str, Tokens] = {}
        """Folder → the tokens that opened it when it was last served"""
        self._reported: dict[str, str] = {}
        """Folder → the trouble that the log names already"""
        self._renewed_at = float("-inf")
        self.look_seconds = 0.0
        """Processor time of the last look at the files of all vaults"""

    # --- What it has ---

    def entry(self, vault: str) -> CatalogEntry | None:
        """Returns the vault with this id, if it can be served."""
        return self._content.by_vault.get(vault)

    def served(self) -> Collection[CatalogEntry]:
        """Returns all vaults that can be served."""
        return self._content.by_vault.values()

    def entries(self) -> list[CatalogEntry]:
        """Returns all vaults, sorted by folder, also those with trouble."""
        return sorted(self._content.by_root.values(), key=lambda entry: entry.root)

    def refusal(self, digest: bytes) -> str:
        """Returns why a token of a vault opens nothing now; "" for an unknown token."""
        return self._content.refused.get(digest, "")

    def trouble(self, vault: str) -> str:
        """Returns why a vault is not served; "" for an unknown vault, and for one that is served."""
        return self._content.troubles.get(vault, "")

    @property
    def tokens(self) -> VaultTokens:
        """The tokens of all vaults at this moment."""
        return self._content.tokens

    def token_troubles(self) -> dict[str, str]:
        """Returns each vault with a token of another vault, and what is wrong with that."""
        troubles: dict[str, str] = {}
        for vaults in self._content.shared_tokens:
            roots = [self._content.by_vault[vault].root for vault in vaults]
            names = " and ".join(f"`{root}`" for root in sorted(roots))
            reason = f"{names} have one token in common, which opens none of them"
            troubles.update(dict.fromkeys(vaults, reason))
        return troubles

    # --- Renewal ---

    def renew(self) -> CatalogChanges:
        """Looks for vaults, and reads the files that changed since the last time.

        While the folder cannot be listed, the catalog stays as it is.
        """
        with self._lock:
            try:
                found = list(vault_folders(str(self.folder)))
            except OSError as error:
                # Fault (C57): the disk of all vaults may be unmounted for a while.
                logger.warning("the folder of the vaults cannot be listed: %s", error)
                return CatalogChanges()
            # Fault: a marker that is gone would make each token of its vault an unknown one.
            known = filter(os.path.isdir, self._content.by_root)
            return self._renew(dict.fromkeys((*found, *known)))

    def is_recent(self, seconds: float) -> bool:
        """Whether a renewal was less than `seconds` ago; of many vaults, it may be older."""
        # Fault: wrong tokens could keep the host busy with looking at 100,000 vaults.
        pause = max(seconds, LOOK_SHARE * self.look_seconds)
        return time.monotonic() - self._renewed_at < pause

    def renew_files(self) -> CatalogChanges:
        """Reads the files that changed, of the vaults that are known."""
        with self._lock:
            return self._renew(self._content.by_root)

    def _renew(self, roots: Iterable[str]) -> CatalogChanges:
        before = self._content
        began = time.thread_time()
        entries = {root: self._current(root) for root in roots}
        self.look_seconds = time.thread_time() - began
        self._renewed_at = time.monotonic()
        is_same = entries.keys() == before.by_root.keys() and all(
            entry is before.by_root[root] for root, entry in entries.items()
        )
        if is_same:
            return CatalogChanges()
        by_vault = _served(entries, self._first_root)
        tokens = VaultTokens()
        for vault, entry in by_vault.items():
            assert entry.tokens is not None
            tokens.set_tokens(vault, entry.tokens, entry.requests_per_minute)
            self._last_tokens[entry.root] = entry.tokens
        self._content = _Content(entries, by_vault, tokens, tokens.shared())
        self._last_tokens = {
            root: tokens for root, tokens in self._last_tokens.items() if root in entries
        }
        self._note_refusals()
        self._report()
        return _changes(before.by_vault, by_vault)

    def _first_root(self, vault: str) -> str:
        """Returns the folder that had an id first; "" when nobody knows."""
        served = self._content.by_vault.get(vault)
        if served is not None:
            return served.root
        state = StateFolder(state_root(self.environment) / vault)
        return registered_root(state) or ""

    def _note_refusals(self) -> None:
        """Notes the tokens and the ids of the vaults that cannot be served, with the reasons."""
        refused = dict.fromkeys(self.tokens.ambiguous(), "another vault has this token, too")
        troubles = {}
        for entry in self.troubled():
            reason = without_paths(entry.trouble, (entry.root,))
            earlier = earlier_tokens(entry.root, entry.vault, self.environment)
            for vault in (entry.vault, *earlier):
                if vault and vault not in self._content.by_vault:
                    troubles[vault] = reason
            last = self._last_tokens.get(entry.root)
            for tokens in (last, entry.tokens, *earlier.values()):
                callers = () if tokens is None else tokens.callers
                refused.update({digest: reason for digest, _ in callers})
        self._content = replace(self._content, refused=refused, troubles=troubles)

    def _current(self, root: str) -> CatalogEntry:
        entry = self._content.by_root.get(root)
        if entry is not None and entry.is_current():
            return entry
        return read_entry(root, self.environment)

    def _report(self) -> None:
        """Writes each new trouble to the log, once."""
        troubles = {entry.root: entry.trouble for entry in self.troubled()}
        for vault, reason in self.token_troubles().items():
            troubles[self._content.by_vault[vault].root] = reason
        for root, trouble in troubles.items():
            if self._reported.get(root) != trouble:
                logger.warning("the vault `%s`: %s", root, trouble)
        self._reported = troubles

    def troubled(self) -> list[CatalogEntry]:
        """Returns the vaults that cannot be served, each with its trouble."""
        content = self._content
        troubled = []
        for entry in content.by_root.values():
            if entry.trouble:
                troubled.append(entry)
            elif content.by_vault.get(entry.vault) is not entry:
                troubled.append(replace(entry, trouble=self._copies(entry.vault)))
        return troubled

    def _copies(self, vault: str) -> str:
        """Names the folders that carry one id."""
        roots = sorted(
            entry.root for entry in self._content.by_root.values() if entry.vault == vault
        )
        names = " and ".join(f"`{root}`" for root in roots)
        return (
            f"{names} carry the same vault id; `vault-memory init FOLDER --copied`"
            " makes a copy a vault of its own"
        )


def _served(
    entries: Mapping[str, CatalogEntry], first_root: Callable[[str], str]
) -> dict[str, CatalogEntry]:
    """Returns the vaults that can be served, by their ids.

    `first_root` returns the folder that had an id first.
    """
    by_vault: dict[str, list[CatalogEntry]] = defaultdict(list)
    for entry in entries.values():
        if entry.vault:
            by_vault[entry.vault].append(entry)
    served = {}
    for vault, copies in by_vault.items():
        if len(copies) > 1:
            # Fault (F108): of two copies of a vault, the wrong one could be served and changed.
            # Fault: a marker that somebody copies must not switch off the vault that it is from.
            root = first_root(vault)
            copies = [entry for entry in copies if os.path.realpath(entry.root) == root]
        if copies and not copies[0].trouble:
            served[vault] = copies[0]
    return served


def _changes(
    before: Mapping[str, CatalogEntry], after: Mapping[str, CatalogEntry]
) -> CatalogChanges:
    both = before.keys() & after.keys()
    return CatalogChanges(
        frozenset(after.keys() - before.keys()),
        frozenset(vault for vault in both if before[vault] is not after[vault]),
        frozenset(before.keys() - after.keys()),
    )
