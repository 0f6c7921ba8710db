"""Detects notes on the server that returned to earlier texts: it may have been restored from a backup.

A restored server that does not report it looks like one on which people edited and deleted notes. Its
texts give it away: all of them are earlier versions. They are fetched only when many notes differ at
once, and serve the download later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vault_memory.remote.remote_errors import (
    NotUnderstood,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteLocked,
    RemoteMissing,
)
from vault_memory.sync.apply.session import SyncSession
from vault_memory.sync.plan import safety_limits
from vault_memory.sync.trees import Base, BaseFile, File, Tree, View
from vault_memory.vault.snapshots import revision_of

FACT = "gone back"
"""Key of the sync state: the notes that B9 stops, each with its earlier text and the base"""
NEW_TEXTS = 3
"""With so many new texts, and more of them than reverted notes, the server was not restored"""


@dataclass(frozen=True, slots=True)
class RevertedNotes:
    """Notes whose text on the server is an earlier version of the vault's."""

    texts: Mapping[str, str]
    """path → hash of the earlier text"""
    remote: Tree
    """the server, with the hashes of the fetched texts"""
    before: bool = False
    """whether B9 stopped some of them in an earlier pass, and no person has answered since"""


class BackupDetector:
    """Detects reverted notes for one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._state = session.state

    def find_reverted(
        self,
        base: Base,
        local: Tree,
        remote: Tree,
        at: float,
    ) -> RevertedNotes:
        """Find the reverted notes, unless too few notes differ to matter."""
        changed = safety_limits.changed_there(base, remote)
        vanished = safety_limits.vanished_there(base, local, remote)
        stopped = {
            path: text
            for path, text in self._stopped_before(base).items()
            if path in changed
        }
        has_stopped = self._state.meta(FACT) is not None
        # In a storm of new tags every file is fetched anyway (B3).
        is_storm = safety_limits.storm(View(base, local, remote))
        may_be_restored = safety_limits.may_be_restored(len(changed), len(vanished))
        if is_storm or not (has_stopped or may_be_restored):
            return RevertedNotes(stopped, remote, before=has_stopped)
        return self._compare_texts(changed, stopped, base, remote, at)

    def _compare_texts(
        self,
        changed: list[str],
        stopped: dict[str, str],
        base: Base,
        remote: Tree,
        at: float,
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
        self,
        reverted: RevertedNotes,
        base: Base,
        restored: str,
    ) -> None:
        """Remember which notes B9 stops.

        `restored`: why B9 stops them; empty when it does not.
        """
        # Fault (E94): another device edits one of the notes. Without this record, the
        # next pass would take over the earlier texts of the others.
        fact: dict[str, list[str]] | None = None
        if restored:
            fact = {}
            for path, text in reverted.texts.items():
                was = base[path]
                if isinstance(was, BaseFile):
                    fact[path] = [text, was.hash]
        if fact == self._state.meta(FACT):
            return
        with self._state.transaction():
            if fact is None:
                self._state.delete_meta(FACT)
            else:
                self._state.set_meta(FACT, fact)

    def prefer_local_texts(
        self,
        reverted: RevertedNotes,
        base: Base,
        local: Tree,
    ) -> None:
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

    def _stopped_before(self, base: Base) -> dict[str, str]:
        """The earlier texts that B9 stopped in the last pass, for notes whose base is still the same."""
        fact = self._state.meta(FACT)
        stopped: dict[str, str] = {}
        if not isinstance(fact, dict):
            return stopped
        for path, (text, base_hash) in fact.items():
            was = base.get(path)
            if isinstance(was, BaseFile) and was.hash == base_hash:
                stopped[path] = text
        return stopped

    def _is_earlier(
        self,
        path: str,
        hashed: str,
        was: BaseFile,
    ) -> bool:
        """Whether a text is a version of a note from before its base."""
        if hashed == was.hash:
            return False
        with self._session.writing() as writer:
            versions = writer.snapshots.chain(path)
            return any(version.revision == hashed for version in versions)

    def _hash(
        self,
        path: str,
        node: File,
        at: float,
    ) -> str | None:
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
