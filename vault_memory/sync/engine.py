"""One pass: observe both sides, plan, brake, act, record. What fails is found again by the next pass.

Nothing is deleted unless its absence was seen twice, in complete listings, on a server that is known to be the same.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import normalised
from vault_memory.remote.contract import Remote
from vault_memory.sync.actions import (
    Action,
    Download,
    ForgetBase,
    MakeLocalDir,
    MakeRemoteDir,
    RecordInSync,
    Refetch,
    Refresh,
    Upload,
    changes,
)
from vault_memory.sync.apply.executor import Executor, Progress, no_progress
from vault_memory.sync.apply.interrupted_uploads import repair
from vault_memory.sync.apply.local_renames import Disk
from vault_memory.sync.apply.progress import LOOKED_AT_AGAIN, PassResult
from vault_memory.sync.apply.refused_uploads import Refusals
from vault_memory.sync.apply.session import SyncSession, Writing
from vault_memory.sync.observe.etag_audit import sweep
from vault_memory.sync.observe.local_scan import BEING_SAVED, LocalScan, LocalScanner
from vault_memory.sync.observe.other_clients import refuse_other_clients
from vault_memory.sync.observe.remote_scan import (
    ROOT_TAG,
    RemoteScan,
    RemoteScanner,
    nodes_of,
)
from vault_memory.sync.observe.server_backup import BackupDetector, RevertedNotes
from vault_memory.sync.observe.server_identity import ServerIdentityCheck
from vault_memory.sync.plan import safety_limits
from vault_memory.sync.plan.planner import Plan, plan
from vault_memory.sync.plan.sync_exclusions import excluded
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.state_db import SyncState, open_state
from vault_memory.sync.trees import (
    Base,
    BaseFile,
    BaseNode,
    File,
    Node,
    Tree,
    Unknown,
    ancestors,
)
from vault_memory.vault.reader import Folder

logger = logging.getLogger(__name__)

NOTHING: Mapping[str, str] = {}
COMPLETE = (
    Upload,
    Download,
    MakeRemoteDir,
    MakeLocalDir,
    RecordInSync,
    Refresh,
    ForgetBase,
)
"""Actions after which nothing is left to do for their paths"""
TWICE_SECONDS = 3.0
"""Between the two observations that prove an absence"""
MINUTE_SECONDS = 60.0
"""The same for notes that must exist"""
RENAMED_SHARE = 0.5
"""The share of its items that a note keeps when it is renamed and edited"""


@dataclass(frozen=True, slots=True)
class PassReport:
    """What a pass did, and what is still open."""

    uploaded: int = 0
    downloaded: int = 0
    merged: int = 0
    deleted_local: int = 0
    deleted_remote: int = 0
    conflicts: tuple[str, ...] = ()
    """copies that lie beside their notes because two texts could not become one"""
    requests: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    """paths that are not synced, and why"""
    held: tuple[tuple[str, str], ...] = ()
    """what would be done, and is not, and why"""
    waiting: tuple[tuple[str, str], ...] = ()
    """paths that a later pass decides about, and why"""
    failed: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    """for a person to review"""
    halted: str = ""
    """why nothing was done at all"""
    planned: tuple[tuple[str, str], ...] = ()
    """what a dry run would do: path and action"""

    @property
    def quiet(self) -> bool:
        """Whether nothing was done, and nothing is left to be done soon."""
        return not (self.acted or self.waiting or self.failed)

    @property
    def acted(self) -> int:
        """How many files were changed on either side."""
        return (
            self.uploaded
            + self.downloaded
            + self.merged
            + self.deleted_local
            + self.deleted_remote
            + self.other
        )

    other: int = field(default=0)
    """folders, renames and records"""
    moved: bool = field(default=False)
    """whether somebody else has changed something on the server since it was last listed"""
    settled: bool = field(default=False)
    """whether all that was planned is done, and of a kind that no other pass has to complete"""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a person has said about what a brake held."""

    deletes: bool = False
    """many deletes at once are meant"""
    restore: bool = False
    """the earlier texts of the server are meant"""
    refuse_restore: bool = False
    """the texts from here are to go up again"""


class SyncEngine:
    """One vault and one remote. One pass at a time; `close` gives back the files."""

    def __init__(
        self,
        folder: Folder,
        state_folder: Path,
        remote: Remote,
        writing: Writing,
        settings: Settings,
        *,
        must_exist: Callable[[str], bool] = lambda path: False,
        insist: bool = False,
    ) -> None:
        self._folder, self._remote, self._settings, self._writing = (
            folder,
            remote,
            settings,
            writing,
        )
        self._must_exist = must_exist
        self.state: SyncState = open_state(state_folder)
        self._local_scanner = LocalScanner(folder, self.state, largest=settings.largest)
        self._remote_scanner = RemoteScanner(remote, self.state)
        self._session = SyncSession(
            self._local_scanner,
            remote,
            self.state,
            writing,
            Disk(folder.root),
            settings.largest,
        )
        self._session.writes_here = settings.mode != "push"
        self._executor = Executor(self._session)
        self._refusals = Refusals(self.state)
        self._backups = BackupDetector(self._session)
        self._identity_check = ServerIdentityCheck(
            remote, self.state, settings.mode, insist=insist
        )

    def close(self) -> None:
        """Give back the files; the remote stays open."""
        self.state.close()

    def count_waiting(self, now: datetime) -> int:
        """How many files differ here from what both sides last agreed on; the server is not asked."""
        nodes, base = self._local_scanner.look(now.timestamp()).nodes, self.state.base()
        mine = {
            path: node
            for path, node in nodes.items()
            if not excluded(path, node, None, self._settings)
        }
        gone = [
            path
            for path, was in base.items()
            if isinstance(was, BaseFile) and path not in nodes
        ]
        refused = self._refusals.lasting(nodes, now.timestamp())
        return len(gone) + sum(
            _is_edit(node, base.get(path))
            for path, node in mine.items()
            if path not in refused
        )

    def is_being_saved(self, now: datetime) -> bool:
        """Whether files were written here just now; the server is not asked."""
        return bool(self._local_scanner.look(now.timestamp()).hot)

    def run_pass(
        self,
        now: datetime,
        *,
        dry_run: bool = False,
        approve_deletes: bool = False,
        approve_restore: bool = False,
        refuse_restore: bool = False,
        ask: bool = True,
        resting: Mapping[str, str] = NOTHING,
        progress: Progress = no_progress,
    ) -> PassReport:
        """One pass; without `ask` upon the server as it was last listed, for an edit that is to go up at once.

        `approve_restore` takes over the earlier texts of a server that B9 holds, `refuse_restore` puts ours up again.

        The paths of `resting` are left alone, for the reasons given. `progress` may raise, to end the pass early.
        Raises AnotherClient, NotTwoWay, VaultUnreachable, and RemoteError for what concerns all of the server.
        """
        refuse_other_clients(Path(self._folder.root))
        before = self._remote.traffic.requests
        answers = Answers(
            approve_deletes, approve_restore, refuse_restore and not dry_run
        )
        self._begin(ask)
        result = PassResult()
        open_uploads = {} if dry_run else repair(self._session, result, now)
        at = now.timestamp()
        here = self._local_scanner.look(at)
        there = (
            self._remote_scanner.look(again=self._doubtful())
            if ask
            else self._remote_scanner.glance()
        )
        if ask:
            self._session.deliveries.observe(
                there.entries, self.state.base(), at, listed=there.fresh
            )
        if another := self._identity_check.another(
            at, there.entries, there.root, approved=approve_deletes
        ):
            return self._report(Plan(halted=another), result, before, here)
        made, base, gone = self._planned(
            here, there, {**resting, **open_uploads}, now, answers
        )
        if self._identity_check.worth_asking(at, made):
            if another := self._identity_check.another(
                at, there.entries, None, approved=False
            ):
                return self._report(Plan(halted=another), result, before, here)
            made, base, gone = self._planned(
                here, there, {**resting, **open_uploads}, now, answers
            )
        made = _with_open_uploads(made, open_uploads)
        looks = self._second_looks(
            here, there, base, made
        )  # also proves tags that an upload of this pass rests on
        busy = {action.path for action in (*made.actions, *looks)}
        if ask and not (dry_run or made.halted):
            looks += sweep(self.state, there, base, busy, at)
        if dry_run:
            return self._report(made, result, before, here, planned=made.actions)
        self._backups.hold(gone, base, made.restored)
        self._executor.execute((*made.actions, *looks), now, progress, result)
        report = self._report(made, result, before, here)
        self._note_down(made, now if ask and not report.failed else None)
        return replace(
            report, moved=there.moved, settled=self._is_settled(made, result, here)
        )

    def _note_down(self, made: Plan, last_good: datetime | None) -> None:
        """Remember after a pass that the server is to be listed anew, and when a whole pass went well."""
        with self.state.transaction():
            if any("remote" in changes(action) for action in made.actions):
                self.state.set_meta(ROOT_TAG, "")  # our own writes have moved the tag
            if last_good is not None:
                self.state.set_meta("last_good", last_good.isoformat())

    def _planned(
        self,
        here: LocalScan,
        there: RemoteScan,
        open_uploads: Mapping[str, str],
        now: datetime,
        answers: Answers,
    ) -> tuple[Plan, Base, RevertedNotes]:
        """The plan of this pass, the common texts that it starts from, and which notes went back on the server."""
        made, base, gone, local = self._attempt(here, there, open_uploads, now, answers)
        if made.restored and answers.refuse_restore:
            self._backups.put_up_again(gone, base, local)
            made, base, gone, _ = self._attempt(here, there, open_uploads, now, answers)
        return made, base, gone

    def _attempt(
        self,
        here: LocalScan,
        there: RemoteScan,
        open_uploads: Mapping[str, str],
        now: datetime,
        answers: Answers,
    ) -> tuple[Plan, Base, RevertedNotes, Tree]:
        at = now.timestamp()
        base = self.state.base()
        left_alone = {**self._refusals.lasting(here.nodes, at), **open_uploads}
        theirs = nodes_of(there, base, self.state.fetched_hashes()) | {
            path: Unknown(reason) for path, reason in left_alone.items()
        }
        ours = here.nodes | self._local_scanner.put_off(
            {*base, *theirs} - here.nodes.keys()
        )
        local, remote = (
            self._tree("local", ours, base, at),
            self._tree("remote", theirs, base, at, there.fresh),
        )
        self._session.young = frozenset(
            path for path, entry in there.entries.items() if not entry.confirmed
        )
        last = self.state.meta("last_good")
        taken_over = self._settings.mode in ("both", "pull") and not answers.restore
        gone = (
            self._backups.look(base, local, remote, at)
            if taken_over
            else RevertedNotes({}, remote)
        )
        settings = Settings(
            **{
                name: getattr(self._settings, name)
                for name in Settings.__dataclass_fields__
            }
            | {
                "approve_deletes": answers.deletes,
                "approve_restore": answers.restore,
                "gone_back": frozenset(gone.texts),
                "restored_before": gone.before,
                "must_exist": frozenset(
                    path for path in base if self._must_exist(path)
                ),
                "fights": safety_limits.fights(self.state.rewrites(at), at),
                "alike": self._alike(base, here.nodes),
                "remote_names": Names(
                    folds_unicode=self._remote.traits.normalises_names,
                    refuses=self._remote.refuses,
                ),
                "stamp": safety_limits.stamp(
                    now, datetime.fromisoformat(last) if isinstance(last, str) else None
                ),
            }
        )
        return plan(base, local, gone.remote, settings), base, gone, local

    def _begin(self, ask: bool) -> None:
        """Forget what was asked for in the last pass."""
        self._session.asked = ask
        self._session.prefetched.clear()
        self._identity_check.begin()

    def _is_settled(self, made: Plan, result: PassResult, here: LocalScan) -> bool:
        """Whether both sides are the same now, as far as can be told without looking at the server again.

        A merge, a copy, a rename or a delete may call for more, and so does what failed or waits, and an upload of
        which the server may have kept only the first part.
        """
        is_open = (
            result.failed
            or result.outdated
            or result.merged
            or result.conflicts
            or made.waiting
            or here.hot
        )
        is_complete = all(isinstance(action, COMPLETE) for action in made.actions)
        return (
            not is_open
            and is_complete
            and all(map(self._session.deliveries.is_whole, result.uploaded))
        )

    def _tree(
        self,
        side: str,
        nodes: Mapping[str, Node],
        base: Base,
        at: float,
        fresh: bool = True,
    ) -> Tree:
        """One side, with how long what is missing has been missing; what was not looked at anew proves nothing."""
        unseen = {path for path, node in nodes.items() if isinstance(node, Unknown)}
        missing = [
            path
            for path in base
            if path not in nodes and unseen.isdisjoint(("", *ancestors(path)))
        ]
        since: dict[str, float] = {}
        if fresh:
            with self.state.transaction():
                since = self.state.store_missing(side, missing, at)
        return Tree(
            nodes,
            frozenset(
                path for path, first in since.items() if at - first >= TWICE_SECONDS
            ),
            frozenset(
                path for path, first in since.items() if at - first >= MINUTE_SECONDS
            ),
        )

    def _doubtful(self) -> frozenset[str]:
        """Paths whose folders must be listed even if no tag says that something changed."""
        return self.state.racy() | frozenset(self.state.missing_since("remote"))

    def _second_looks(
        self, here: LocalScan, there: RemoteScan, base: Base, made: Plan
    ) -> tuple[Refetch, ...]:
        """Tags that were recorded so young that other bytes could hide behind them; their age is past now."""
        if not there.fresh or made.halted:
            return ()
        busy = {action.path for action in made.actions}
        ours = self.state.racy_creations(unsigned=self._remote.traits.checksums)
        calm, looks = [], []
        for path in sorted(self.state.racy()):
            was, entry, node = (
                base.get(path),
                there.entries.get(path),
                here.nodes.get(path),
            )
            if (
                not isinstance(was, BaseFile)
                or entry is None
                or not entry.confirmed
                or entry.etag != was.tag
            ):
                continue
            same_size = (
                isinstance(node, File)
                and node.hash == was.hash
                and node.size == entry.size
            )
            if entry.checksum == was.hash or (
                path in ours and same_size and not entry.checksum
            ):
                calm.append(path)
            elif path not in busy:
                looks.append(Refetch(path=path, tag=entry.etag, row="racy"))
        if calm:
            with self.state.transaction():
                self.state.clear_racy_all(calm)
        return tuple(looks)

    def _alike(
        self, base: Base, nodes: Mapping[str, Node]
    ) -> frozenset[tuple[str, str]]:
        """Notes that were renamed and edited at once: gone from one path, and much of them new at another."""
        gone = [
            path
            for path, was in base.items()
            if isinstance(was, BaseFile) and path not in nodes
        ]
        fresh = [
            path
            for path, node in nodes.items()
            if isinstance(node, File) and path not in base and path.endswith(".md")
        ]
        if not gone or not fresh:
            return frozenset()
        texts = {
            path: note.raw
            for path in fresh
            if (note := self._local_scanner.read(path))
            and not isinstance(note, Unknown)
        }
        found = set()
        with self._writing() as writer:
            for path in gone:
                was = base[path]
                old = (
                    writer.snapshots.bytes_of(was.hash)
                    if isinstance(was, BaseFile)
                    else None
                )
                if old:
                    found |= {
                        (path, to)
                        for to, new in texts.items()
                        if _share(old, new) >= RENAMED_SHARE
                    }
        return frozenset(found)

    def _report(
        self,
        made: Plan,
        result: PassResult,
        before: int,
        here: LocalScan,
        planned: tuple[Action, ...] = (),
    ) -> PassReport:
        counted = (
            result.uploaded,
            result.downloaded,
            result.merged,
            result.deleted_local,
            result.deleted_remote,
        )
        waiting = {
            **made.waiting,
            **here.hot,
            **dict.fromkeys(result.outdated, LOOKED_AT_AGAIN),
        }
        skipped = {
            **result.refused,
            **made.skipped,
            **{path: why for path, why in made.unknown.items() if path not in waiting},
        }
        return PassReport(
            len(result.uploaded),
            len(result.downloaded),
            len(result.merged),
            len(result.deleted_local),
            len(result.deleted_remote),
            tuple(result.conflicts),
            self._remote.traffic.requests - before,
            tuple(sorted(skipped.items())),
            tuple(
                (one.action.path, f"{_verb(one.action)}: {one.reason}")
                for one in made.held
            ),
            tuple(sorted(waiting.items())),
            tuple(sorted(result.failed.items())),
            (*result.notes, *((note.path, note.text) for note in made.notes)),
            made.halted,
            tuple((action.path, _verb(action)) for action in planned),
            result.acted - sum(map(len, counted)),
        )


def _with_open_uploads(made: Plan, reasons: Mapping[str, str]) -> Plan:
    """The plan, in which the uploads wait of which it is not known what the server has.

    Otherwise a pass right after a crash reports "in step", while half of an upload lies on the server.
    """
    return replace(made, waiting={**made.waiting, **reasons})


def _is_edit(node: Node, was: BaseNode | None) -> bool:
    """Whether a file is not what was agreed on; one that is being saved counts, too."""
    if isinstance(node, File):
        return node.hash is not None and (
            not isinstance(was, BaseFile) or was.hash != node.hash
        )
    return isinstance(node, Unknown) and node.reason == BEING_SAVED


def _share(old: bytes, new: bytes) -> float:
    """Of the lines of an old text, how many stand in a new one."""
    mine, its = _lines(parse(old)), _lines(parse(new))
    return sum((mine & its).values()) / max(1, sum(mine.values()))


def _lines(doc: SectionedDoc) -> Counter[str]:
    bodies = (doc.preamble, *(section.body for section in doc.sections))
    lines = (
        line for body in bodies for line in body.decode("utf-8", "replace").splitlines()
    )
    return Counter(text for line in lines if (text := normalised(line)))


def _verb(action: Action) -> str:
    return "".join(
        f" {letter.lower()}" if letter.isupper() else letter
        for letter in type(action).__name__
    ).strip()
