"""Detects notes that returned to earlier texts: a side may have been restored from a backup.

A restored server that does not report it looks like one on which people edited and deleted notes. Its
texts give it away: all of them are earlier versions. They are fetched only when many notes differ at
once, and serve the download later.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from vault_memory.remote.remote_errors import (
    NotUnderstood,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteLocked,
    RemoteMissing,
)
from vault_memory.sync.apply.session import ActionOutdated, SyncSession
from vault_memory.sync.plan import safety_limits
from vault_memory.sync.settings import MERGED
from vault_memory.sync.trees import Base, BaseFile, File, Tree, View, ancestors, hash_of
from vault_memory.vault.snapshots import revision_of

FACT = "gone back"
"""Key of the sync state: the notes that B9 stops, each with its earlier text and the base"""
FACT_HERE = "gone back here"
"""The same for notes of the vault"""
NEW_TEXTS = 3
"""With so many new texts, and more of them than reverted notes, the server was not restored"""
FEWEST = 2
"""A single note that returns to an earlier text is an edit"""


@dataclass(frozen=True, slots=True)
class RevertedNotes:
    """Notes whose text on the server is an earlier version of the vault's."""

    texts: Mapping[str, str]
    """path → hash of the earlier text"""
    remote: Tree
    """the server, with the hashes of the fetched texts"""
    before: bool = False
    """whether B9 stopped some of them in an earlier pass, and no person has answered since"""
    is_folder: bool = False
    """whether these are all notes of a folder of which earlier texts are known"""


class BackupDetector:
    """Detects reverted notes for one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._state = session.state

    def find_reverted(self, base: Base, local: Tree, remote: Tree, at: float) -> RevertedNotes:
        """Find the reverted notes, unless too few notes differ to matter."""
        changed = safety_limits.changed_there(base, remote)
        vanished = safety_limits.vanished_there(base, local, remote)
        stopped = {
            path: text for path, text in self._stopped_before(FACT, base).items() if path in changed
        }
        has_stopped = self._state.meta(FACT) is not None
        # In a storm of new tags every file is fetched anyway (B3).
        is_storm = safety_limits.storm(View(base, local, remote))
        may_be_restored = safety_limits.may_be_restored(len(changed), len(vanished))
        notes = self._notes_with_earlier_texts(changed, remote)
        is_likely = may_be_restored or returned_together(notes, set(changed))
        if is_storm or not (has_stopped or is_likely):
            return RevertedNotes(stopped, remote, before=has_stopped)
        reverted = self._compare_texts(changed, stopped, base, remote, at)
        is_folder = bool(returned_together(notes, reverted.texts.keys()))
        return replace(reverted, is_folder=is_folder)

    def _notes_with_earlier_texts(self, changed: list[str], remote: Tree) -> set[str]:
        """The notes on the server that may return to an earlier text, the changed ones among them."""
        if len(changed) < FEWEST:
            return set()
        with self._session.writing() as writer:
            edited = writer.snapshots.edited_paths()
        notes = {path for path in edited if path.endswith(MERGED)}
        return set(changed) | (notes & remote.nodes.keys())

    def find_older_here(self, base: Base, local: Tree) -> dict[str, str]:
        """The notes of the vault that a person restored, each with its earlier text."""
        changed = dict(_edited_here(base, local))
        stopped = self._stopped_before(FACT_HERE, base)
        older = {path: text for path, text in stopped.items() if path in changed}
        new = {path: text for path, text in changed.items() if path not in older}
        if len(new) < FEWEST:
            return older
        returned = {path: text for path, text in new.items() if self._is_older(path, text, base)}
        together = returned_together(new, returned.keys())
        if len(returned) >= safety_limits.BACK and 2 * len(returned) >= len(new):
            together = frozenset(returned)
        return older | {path: returned[path] for path in together}

    def _is_older(self, path: str, hashed: str, base: Base) -> bool:
        """Whether a person put a text in place that is older than that of the base."""
        was = base[path]
        assert isinstance(was, BaseFile)
        with self._session.writing() as writer:
            snapshots = writer.snapshots
            chain = snapshots.chain(path)
            renamed = snapshots.before(path, was.hash)
        # An edit that is undone here returns to an earlier text, and is meant.
        if chain and chain[0].revision == hashed and chain[0].by != "person":
            return False
        revisions = [version.revision for version in chain]
        newer = revisions.index(was.hash) if was.hash in revisions else 0
        older = {*revisions[newer + 1 :], *(version.revision for version in renamed)}
        return hashed in older

    def _compare_texts(
        self, changed: list[str], stopped: dict[str, str], base: Base, remote: Tree, at: float
    ) -> RevertedNotes:
        """Fetch the changed notes until it is clear whether they were reverted."""
        texts, nodes, new_texts = dict(stopped), dict(remote.nodes), 0
        for path in changed:
            # Fault: after a busy day all notes differ. The fetch ends as soon as new
            # texts outnumber the reverted ones.
            if path in texts or new_texts >= max(NEW_TEXTS, len(texts) + 1):
                continue
            was, node = base[path], nodes[path]
            assert isinstance(was, BaseFile)
            assert isinstance(node, File)
            node = nodes[path] = replace(node, hash=self._hash(path, node, at))
            if node.hash is not None and self._is_earlier(path, node.hash, was):
                texts[path] = node.hash
            elif node.hash != was.hash:
                new_texts += 1
        has_stopped = self._state.meta(FACT) is not None
        return RevertedNotes(texts, replace(remote, nodes=nodes), before=has_stopped)

    def remember_held(
        self, texts: Mapping[str, str], base: Base, reason: str, *, fact_name: str = FACT
    ) -> None:
        """Remember which notes B9 stops.

        `reason`: why B9 stops them; empty when it does not.
        """
        # Fault (E94): another device edits one of the notes. Without this record, the
        # next pass would take over the earlier texts of the others.
        fact: dict[str, list[str]] | None = None
        if reason:
            fact = {}
            for path, text in texts.items():
                was = base[path]
                if isinstance(was, BaseFile):
                    fact[path] = [text, was.hash]
        if fact == self._state.meta(fact_name):
            return
        with self._state.transaction():
            if fact is None:
                self._state.delete_meta(fact_name)
            else:
                self._state.set_meta(fact_name, fact)

    def prefer_local_texts(self, reverted: RevertedNotes, base: Base, local: Tree) -> None:
        """Let the next plan upload our texts again: a person rejected the earlier ones."""
        with self._state.transaction():
            for path in safety_limits.vanished_there(base, local, reverted.remote):
                self._state.forget(path)
            for path, text in reverted.texts.items():
                was, node = base[path], reverted.remote.nodes[path]
                if not isinstance(was, BaseFile) or not isinstance(node, File):
                    continue
                # Fault (E94): another device may have edited the note since a person
                # answered. Without a tag, its text is fetched and merged, and not
                # overwritten.
                tag = node.tag if node.hash == text else ""
                earlier = BaseFile(text, tag, was.local_id, was.remote_id)
                self._state.set_base(path, earlier)
            self._state.delete_meta(FACT)

    def bring_newer_back(
        self, older: Mapping[str, str], base: Base, local: Tree, remote: Tree, now: datetime
    ) -> None:
        """Write the newer texts into the vault again: a person rejected the earlier ones.

        What was added to an earlier text meanwhile stays. What vanished with it is downloaded again.
        """
        with self._state.transaction():
            for path in safety_limits.vanished_there(base, remote, local):
                self._state.forget(path)
            self._state.delete_meta(FACT_HERE)
        for path, text in older.items():
            newer = self._session.sent_bytes(hash_of(base[path]))
            if newer is not None:
                with suppress(ActionOutdated):
                    self._session.write_local(path, newer, text, now)

    def _stopped_before(self, fact_name: str, base: Base) -> dict[str, str]:
        """The earlier texts that B9 stopped in the last pass, for notes whose base is still the same."""
        fact = self._state.meta(fact_name)
        stopped: dict[str, str] = {}
        if not isinstance(fact, dict):
            return stopped
        for path, (text, base_hash) in fact.items():
            was = base.get(path)
            if isinstance(was, BaseFile) and was.hash == base_hash:
                stopped[path] = text
        return stopped

    def _is_earlier(self, path: str, hashed: str, was: BaseFile) -> bool:
        """Whether a text is a version of a note from before its base."""
        if hashed == was.hash:
            return False
        with self._session.writing() as writer:
            versions = writer.snapshots.chain(path)
            return any(version.revision == hashed for version in versions)

    def _hash(self, path: str, node: File, at: float) -> str | None:
        """The hash of the server's text; None when it is not available."""
        if node.hash is not None:
            return node.hash
        if self._session.may_be_half(path, node.tag, at):
            # Fault: an unfinished upload of another device would be fetched in each pass.
            return None
        try:
            fetched = self._session.prefetched.get(path) or self._session.remote.get(
                path, max_bytes=self._session.largest
            )
        except RemoteBusy as error:
            if error.everywhere:
                raise
            return None
        except (RemoteChanged, RemoteMissing, Refused, RemoteLocked, NotUnderstood):
            return None
        self._session.prefetched[path] = fetched
        self._session.remember_fetched(path, fetched)
        return revision_of(fetched.raw)


def _edited_here(base: Base, local: Tree) -> Iterator[tuple[str, str]]:
    """Yield the notes and logs of the vault that differ from the base, with their hashes."""
    for path, node in local.nodes.items():
        if not isinstance(node, File) or not path.endswith(MERGED):
            continue
        if node.hash and hash_of(base.get(path)) not in ("", node.hash):
            yield path, node.hash


# --- Returned folders ---

# Folders whose notes all returned to earlier texts at once: older files were restored over
# them. Pure.


def returned_together(notes: Iterable[str], returned: Set[str]) -> frozenset[str]:
    """The returned notes of the folders in which all of `notes` returned, two or more.

    A folder has the notes of the folders below it, too.
    """
    by_folder: dict[str, list[str]] = defaultdict(list)
    for path in notes:
        for folder in ("", *ancestors(path)):
            by_folder[folder].append(path)
    together: set[str] = set()
    for paths in by_folder.values():
        if len(paths) >= FEWEST and all(path in returned for path in paths):
            together.update(paths)
    return frozenset(together)
