"""Finds out whether notes on the server went back to what they once were: it may have been restored from a backup.

A restored server that does not say so looks like one on which somebody edited and deleted notes. Its
texts tell: each of them stood here before. They are looked at only where much is other at once, and
what was fetched serves the download.
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
"""Name of the fact that B9 holds notes: each with its earlier text there, and what both sides held last"""
OTHERS = 3
"""So many notes with texts that are new, and more than went back: then the server was not restored"""


@dataclass(frozen=True, slots=True)
class RevertedNotes:
    """Notes that are, on the server, what they once were here."""

    texts: Mapping[str, str]
    """by path the hash of the earlier text"""
    remote: Tree
    """the server, with what was found out about its texts"""
    before: bool = False
    """whether the brake held some of them in an earlier pass, and nobody has answered since"""


class BackupDetector:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session, self._state = session, session.state

    def look(self, base: Base, local: Tree, remote: Tree, at: float) -> RevertedNotes:
        """Which notes went back, as far as it matters."""
        changed = safety_limits.changed_there(base, remote)
        stormy = safety_limits.storm(View(base, local, remote))
        before = {
            path: text for path, text in self._held(base).items() if path in changed
        }
        vanished = safety_limits.vanished_there(base, local, remote)
        answered = self._state.meta(FACT) is None
        much = safety_limits.may_be_restored(len(changed), len(vanished))
        if stormy or (
            answered and not much
        ):  # in a storm everything is looked at anyway
            return RevertedNotes(before, remote, before=not answered)
        texts, nodes, others = dict(before), dict(remote.nodes), 0
        for path in changed:
            if path in texts or others >= max(OTHERS, len(texts) + 1):
                continue
            was, node = base[path], nodes[path]
            assert isinstance(was, BaseFile)
            assert isinstance(node, File)
            node = nodes[path] = replace(node, hash=self._hash(path, node, at))
            if node.hash is not None and self._stood_here(path, node.hash, was):
                texts[path] = node.hash
            elif node.hash != was.hash:
                others += 1
        return RevertedNotes(texts, replace(remote, nodes=nodes), before=not answered)

    def hold(self, gone: RevertedNotes, base: Base, restored: str) -> None:
        """Remember what the brake holds: a line that another device adds to an earlier text must not let it go."""
        held = {
            path: [text, was.hash]
            for path, text in gone.texts.items()
            if isinstance(was := base[path], BaseFile)
        }
        fact = held if restored else None
        if fact == self._state.meta(FACT):
            return
        with self._state.transaction():
            if fact is None:
                self._state.delete_meta(FACT)
            else:
                self._state.set_meta(FACT, fact)

    def put_up_again(self, gone: RevertedNotes, base: Base, local: Tree) -> None:
        """Let the next plan take the earlier texts as the common ones: a person says that ours are right."""
        with self._state.transaction():
            for path in safety_limits.vanished_there(base, local, gone.remote):
                self._state.forget(path)
            for path, text in gone.texts.items():
                was, node = base[path], gone.remote.nodes[path]
                if isinstance(was, BaseFile) and isinstance(node, File):
                    tag = node.tag if node.hash == text else ""
                    self._state.set_base(
                        path, BaseFile(text, tag, was.local_id, was.remote_id)
                    )
            self._state.delete_meta(FACT)

    def _held(self, base: Base) -> dict[str, str]:
        """What the brake held in the last pass, as far as both sides last held the same as then."""
        fact = self._state.meta(FACT)
        held = fact if isinstance(fact, dict) else {}
        return {
            path: text
            for path, (text, last) in held.items()
            if isinstance(was := base.get(path), BaseFile) and was.hash == last
        }

    def _stood_here(self, path: str, hashed: str, was: BaseFile) -> bool:
        """Whether a text stood at a path before the one that both sides held last."""
        if hashed == was.hash:
            return False
        with self._session.writing() as writer:
            return any(
                version.revision == hashed for version in writer.snapshots.chain(path)
            )

    def _hash(self, path: str, node: File, at: float) -> str | None:
        """The hash of the server's text; None where it cannot be had."""
        if node.hash is not None:
            return node.hash
        if self._session.may_be_half(path, node.tag, at):
            return None  # it is read once, and not with each pass
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
        self._session.fetched(path, fetched)
        return revision_of(fetched.raw)
