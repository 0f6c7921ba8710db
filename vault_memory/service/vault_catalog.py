"""The vaults below a folder, and the tokens that open them. No vault is opened for this."""

import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from vault_memory import config as configuration
from vault_memory.api.redact_paths import without_paths
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import VaultMemoryError
from vault_memory.http.tokens import Callers, Tokens, load_tokens
from vault_memory.rules.paths.layout import Layout
from vault_memory.search.open_vault import with_owner
from vault_memory.service.host_folder import check_folder, vault_folders
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import read_marker
from vault_memory.vault.state_dir import StateFolder, registered_root, state_root, vaults_at

logger = logging.getLogger(__name__)

FileSignature = tuple[int, int, int] | None
"""Time of the last change of content or rights, inode and size; None without a file"""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A vault below the folder of a host."""

    root: str
    """The folder of the vault"""
    vault: str
    """The id in its marker; empty when the marker cannot be read"""
    tokens: Callers | None = None
    """The tokens of its configuration; None when the vault cannot be served"""
    trouble: str = ""
    """Why the vault cannot be served; empty when it can"""
    files: tuple[str, ...] = ()
    """The files that decide about all this: the marker, the configuration, the tokens"""
    signature: tuple[FileSignature, ...] = ()
    """The state of `files` when they were read"""

    @property
    def name(self) -> str:
        """The folder's name, for people."""
        return os.path.basename(self.root)

    def is_current(self) -> bool:
        """Whether the files are as they were when this was read."""
        return _signature(self.files) == self.signature


def read_entry(root: str, environment: Mapping[str, str]) -> CatalogEntry:
    """Reads the marker, the configuration and the tokens of a vault. Does not raise.

    It creates nothing: the state folder may not exist yet.
    """
    files = [os.path.join(root, MARKER)]
    vault = ""
    # Fault: a file that changes while it is read would be taken for the new one.
    signatures = [_signature_of(files[0])]
    try:
        marker = read_marker(root)
        if marker is None:
            raise VaultMemoryError(f"`{root}` has no marker any more")
        vault = marker.vault
        state = StateFolder(state_root(environment) / vault)
        files.append(str(state.config_file))
        signatures.append(_signature_of(files[-1]))
        config = configuration.load(state.config_file, environment)
        for row in config.serve.tokens:
            files.append(os.path.expanduser(row.token_file))
            signatures.append(_signature_of(files[-1]))
        layout = Layout(user=with_owner(config, marker).layout.user)
        tokens = load_tokens(config.serve.tokens, root=Path(root), layout=layout)
    except (VaultMemoryError, OSError) as error:
        return CatalogEntry(
            root, vault, trouble=str(error), files=tuple(files), signature=tuple(signatures)
        )
    return CatalogEntry(root, vault, tokens, files=tuple(files), signature=tuple(signatures))


def earlier_tokens(
    root: str, vault: str, environment: Mapping[str, str]
) -> dict[str, Callers | None]:
    """Returns the vaults that this folder was before it had the id `vault`, with their tokens."""
    states = state_root(environment)
    earlier: dict[str, Callers | None] = {}
    for vault_id in vaults_at(os.path.realpath(root), states):
        if vault_id == vault:
            continue
        earlier[vault_id] = None
        with suppress(VaultMemoryError, OSError):
            file = StateFolder(states / vault_id).config_file
            rows = configuration.load(file, environment).serve.tokens
            earlier[vault_id] = load_tokens(rows, root=Path(root))
    return earlier


def _signature(files: tuple[str, ...]) -> tuple[FileSignature, ...]:
    return tuple(_signature_of(path) for path in files)


def _signature_of(path: str) -> FileSignature:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ctime_ns, status.st_ino, status.st_size


# --- Catalog ---

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
    tokens: Tokens
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
        self._content = _Content({}, {}, Tokens({}))
        self._last_tokens: dict[str, Callers] = {}
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
    def tokens(self) -> Tokens:
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
        tokens = Tokens({vault: entry.tokens or {} for vault, entry in by_vault.items()})
        self._last_tokens |= {entry.root: entry.tokens or {} for entry in by_vault.values()}
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
                refused.update(dict.fromkeys(tokens or (), reason))
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
