"""Synchronises one vault with one remote, pass by pass.

A pass scans both sides, plans, checks the safety limits, executes and records. The next pass repeats
what failed. A file is deleted only when its absence was seen twice, in complete listings of a server
that is known to be the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from vault_memory.markdown.note_items import RENAMED_SHARE, line_counts, share_kept
from vault_memory.remote.contract import Remote
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.sync.actions import (
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
from vault_memory.sync.apply.executor import Executor, Refusals
from vault_memory.sync.apply.interrupted_uploads import repair
from vault_memory.sync.apply.session import Disk, SyncSession, Writing
from vault_memory.sync.observe.etag_audit import recheck_racy, sweep
from vault_memory.sync.observe.local_scan import BEING_SAVED, LocalScan, LocalScanner
from vault_memory.sync.observe.other_clients import refuse_other_clients
from vault_memory.sync.observe.remote_scan import ROOT_TAG, RemoteScan, RemoteScanner, nodes_of
from vault_memory.sync.observe.server_backup import FACT_HERE, BackupDetector, RevertedNotes
from vault_memory.sync.observe.server_identity import ServerIdentityCheck
from vault_memory.sync.pass_report import PassOptions, PassReport, PassResult, report_of, verb_of
from vault_memory.sync.plan import planner, safety_limits
from vault_memory.sync.plan.planner import SyncPlan
from vault_memory.sync.plan.sync_exclusions import excluded
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.state_db import SyncState, open_state
from vault_memory.sync.trees import (
    Base,
    BaseFile,
    BaseNode,
    File,
    Node,
    Side,
    Tree,
    Unknown,
    ancestors,
    within_any,
)
from vault_memory.vault.reader import Folder

DEFAULT_OPTIONS = PassOptions()
LAST_GOOD = "last_good"
"""Key of the sync state: when a complete pass last succeeded"""
COMPLETE = (Upload, Download, MakeRemoteDir, MakeLocalDir, RecordInSync, Refresh, ForgetBase)
"""Actions after which nothing is left to do for their paths"""
TWICE_SECONDS = 3.0
"""Between the two observations that prove an absence"""
MINUTE_SECONDS = 60.0
"""The same for notes that must exist"""
# The local side of a sync.


def _is_optional(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class LocalVault:
    """The folder of a vault, and access to its writer."""

    folder: Folder
    writing: Writing
    """opens the vault's writer for one write"""
    must_exist: Callable[[str], bool] = _is_optional
    """whether a note must exist because its name is its role, e.g. USER.md"""


@dataclass(frozen=True, slots=True)
class _Scan:
    """Both sides as they were seen in this pass."""

    local: LocalScan
    remote: RemoteScan
    now: datetime

    @property
    def at(self) -> float:
        """When the pass began, in Unix seconds."""
        return self.now.timestamp()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A plan, and what it is based on."""

    plan: SyncPlan
    base: Base
    local: Tree
    reverted: RevertedNotes
    older_here: Mapping[str, str]
    """notes of the vault that returned to earlier texts, with these texts"""


class SyncEngine:
    """One vault and one remote. One pass at a time; `close` releases the files."""

    def __init__(
        self,
        vault: LocalVault,
        state_folder: Path,
        remote: Remote,
        settings: Settings,
        *,
        insist: bool = False,
    ) -> None:
        self._vault = vault
        self._remote = remote
        self._settings = settings
        self.state: SyncState = open_state(state_folder)
        self._local_scanner = LocalScanner(vault.folder, self.state, largest=settings.largest)
        self._remote_scanner = RemoteScanner(remote, self.state)
        self._session = SyncSession(
            self._local_scanner,
            remote,
            self.state,
            vault.writing,
            Disk(vault.folder.root),
            settings.largest,
        )
        self._session.writes_here = settings.mode != "push"
        self._executor = Executor(self._session)
        self._refusals = Refusals(self.state)
        self._backups = BackupDetector(self._session)
        self._identity_check = ServerIdentityCheck(remote, self.state, settings.mode, insist=insist)

    def close(self) -> None:
        """Close the sync state; the remote stays open."""
        self.state.close()

    def count_waiting(self, now: datetime) -> int:
        """Count the local files that differ from the base, without asking the server."""
        at = now.timestamp()
        nodes, base = self._local_scanner.scan(at).nodes, self.state.base()
        refused = self._refusals.lasting(nodes, at)
        deletions = sum(
            isinstance(was, BaseFile) and path not in nodes for path, was in base.items()
        )
        edits = sum(
            _is_edit(node, base.get(path))
            for path, node in nodes.items()
            if path not in refused and not excluded(path, node, None, self._settings)
        )
        return deletions + edits

    def is_being_saved(self, now: datetime) -> bool:
        """Whether a program is saving a file of the vault; the server is not asked."""
        return bool(self._local_scanner.scan(now.timestamp()).being_saved)

    def run_pass(self, now: datetime, options: PassOptions = DEFAULT_OPTIONS) -> PassReport:
        """Run one pass.

        Raises AnotherClient, NotTwoWay, VaultUnreachable, RemoteErrors that concern the whole server,
        and the errors of `options.progress`.
        """
        refuse_other_clients(Path(self._vault.folder.root))
        requests_before = self._remote.traffic.requests
        self._begin(options)
        report = self._run(now, options)
        return replace(report, requests=self._remote.traffic.requests - requests_before)

    def _begin(self, options: PassOptions) -> None:
        """Forget what the last pass fetched, and make sure that the server's capabilities are known."""
        self._session.scanned_server = options.ask
        self._session.prefetched.clear()
        self._identity_check.load_capabilities()

    def _run(self, now: datetime, options: PassOptions) -> PassReport:
        result = PassResult()
        open_uploads = {} if options.dry_run else repair(self._session, result, now)
        scan = self._scan(now, options)
        left_alone = {**options.resting, **open_uploads}
        try:
            draft = self._identified_draft(scan, left_alone, options)
        except _OtherServer as error:
            return report_of(SyncPlan(halted=error.reason), result, scan.local)
        # Fault: a pass right after a crash reports "in step" while half of an upload is on the server.
        plan = _with_waiting(draft.plan, open_uploads)
        refetches = self._refetches(scan, plan, draft.base, options)
        if options.dry_run:
            planned = tuple((action.path, verb_of(action)) for action in plan.actions)
            return replace(report_of(plan, result, scan.local), planned=planned)
        self._backups.remember_held(draft.reverted.texts, draft.base, plan.restored)
        self._backups.remember_held(
            draft.older_here, draft.base, plan.older_here, fact_name=FACT_HERE
        )
        self._executor.execute((*plan.actions, *refetches), now, options.progress, result)
        if options.ask:
            self._session.unread.observe(
                scan.remote.entries, self.state.base(), scan.at, listed=scan.remote.listed
            )
        report = report_of(plan, result, scan.local)
        is_good = options.ask and not report.failed
        self._record_pass(plan, now if is_good else None)
        return replace(
            report,
            server_changed=scan.remote.moved,
            settled=self._is_settled(plan, result, scan.local),
        )

    # --- Scan -----------------------------------------------------------------------------------

    def _scan(self, now: datetime, options: PassOptions) -> _Scan:
        local = self._local_scanner.scan(now.timestamp())
        if not options.ask:
            return _Scan(local, self._remote_scanner.last_scan(), now)
        missing = self.state.missing_since("remote")
        recheck = self.state.racy() | frozenset(missing)
        return _Scan(local, self._remote_scanner.scan(recheck=recheck), now)

    def _refuse_other_server(
        self, scan: _Scan, *, asks_again: bool = False, approved: bool = False
    ) -> None:
        """Raise _OtherServer when the server is not the one of the last passes."""
        root = None if asks_again else scan.remote.root
        reason = self._identity_check.difference(
            scan.at, scan.remote.entries, root, approved=approved
        )
        if reason:
            raise _OtherServer(reason)

    # --- Plan -----------------------------------------------------------------------------------

    def _identified_draft(
        self, scan: _Scan, left_alone: Mapping[str, str], options: PassOptions
    ) -> _Draft:
        """Draft a plan for a server that is known to be the same. Raises _OtherServer."""
        self._refuse_other_server(scan, approved=options.approve_deletes)
        draft = self._decided_draft(scan, left_alone, options)
        if not self._identity_check.must_ask_again(scan.at, draft.plan):
            return draft
        # Fault: the server is replaced by another one between two passes.
        self._refuse_other_server(scan, asks_again=True)
        return self._decided_draft(scan, left_alone, options)

    def _decided_draft(
        self, scan: _Scan, left_alone: Mapping[str, str], options: PassOptions
    ) -> _Draft:
        """Draft a plan; when a person rejects the earlier texts, draft it on the newer ones."""
        draft = self._draft(scan, left_alone, options)
        if not options.refuse_restore or options.dry_run:
            return draft
        if draft.plan.restored:
            self._backups.prefer_local_texts(draft.reverted, draft.base, draft.local)
        elif draft.plan.older_here:
            self._backups.bring_newer_back(
                draft.older_here, draft.base, draft.local, draft.reverted.remote, scan.now
            )
            scan = replace(scan, local=self._local_scanner.scan(scan.at))
        else:
            return draft
        return self._draft(scan, left_alone, options)

    def _draft(self, scan: _Scan, left_alone: Mapping[str, str], options: PassOptions) -> _Draft:
        """Plan on both trees. The paths of `left_alone` count as unknown on the server."""
        base = self.state.base()
        refused = self._refusals.lasting(scan.local.nodes, scan.at)
        remote_nodes = nodes_of(scan.remote, base, self.state.fetched_hashes())
        for path, reason in {**refused, **left_alone}.items():
            remote_nodes[path] = Unknown(reason)
        absent = {*base, *remote_nodes} - scan.local.nodes.keys()
        local_nodes = scan.local.nodes | self._local_scanner.placeholders(absent)
        local = self._tree("local", local_nodes, base, scan.at)
        remote = self._tree("remote", remote_nodes, base, scan.at, is_new=scan.remote.listed)
        self._session.young = frozenset(
            path for path, entry in scan.remote.entries.items() if not entry.confirmed
        )
        reverted = RevertedNotes({}, remote)
        takes_texts = self._settings.mode in ("both", "pull")
        if takes_texts and not options.approve_restore:
            reverted = self._backups.find_reverted(base, local, remote, scan.at)
        older_here: Mapping[str, str] = {}
        if self._settings.mode in ("both", "push") and not options.approve_restore:
            older_here = self._backups.find_older_here(base, local)
        settings = replace(
            self._settings_for(scan, base, reverted, options), older_here=frozenset(older_here)
        )
        plan = planner.plan(base, local, reverted.remote, settings)
        return _Draft(plan, base, local, reverted, older_here)

    def _settings_for(
        self, scan: _Scan, base: Base, reverted: RevertedNotes, options: PassOptions
    ) -> Settings:
        """The settings of this pass: the configured ones, approvals and observations."""
        last_good = self.state.meta(LAST_GOOD)
        last = datetime.fromisoformat(last_good) if isinstance(last_good, str) else None
        must_exist = self._vault.must_exist
        return replace(
            self._settings,
            approve_deletes=options.approve_deletes,
            approve_restore=options.approve_restore,
            gone_back=frozenset(reverted.texts),
            folder_gone_back=reverted.is_folder,
            restored_before=reverted.before,
            must_exist=frozenset(path for path in base if must_exist(path)),
            fights=safety_limits.fights(self.state.rewrites(scan.at), scan.at),
            alike=_edited_renames(base, scan.local.nodes, self._local_scanner, self._vault.writing),
            remote_names=Names(
                folds_unicode=self._remote.traits.normalises_names, refuses=self._remote.refuses
            ),
            has_folders=self._remote.traits.parents,
            stamp=safety_limits.stamp(scan.now, last),
        )

    def _tree(
        self, side: Side, nodes: Mapping[str, Node], base: Base, at: float, *, is_new: bool = True
    ) -> Tree:
        """One side, with the absences that are proven.

        `is_new`: the side was scanned in this pass. An old scan proves no absence.
        """
        unknown = {path for path, node in nodes.items() if isinstance(node, Unknown)}
        missing = [
            path
            for path in base
            if path not in nodes and unknown.isdisjoint(("", *ancestors(path)))
        ]
        missing_since: dict[str, float] = {}
        if is_new:
            with self.state.transaction():
                missing_since = self.state.store_missing(side, missing, at)

        def missing_for(seconds: float) -> frozenset[str]:
            return frozenset(path for path, since in missing_since.items() if at - since >= seconds)

        return Tree(nodes, missing_for(TWICE_SECONDS), missing_for(MINUTE_SECONDS))

    def _refetches(
        self, scan: _Scan, plan: SyncPlan, base: Base, options: PassOptions
    ) -> tuple[Refetch, ...]:
        """Fetches that check whether tags hide other bytes."""
        if plan.halted:
            return ()
        refetches: tuple[Refetch, ...] = ()
        if scan.remote.listed:
            refetches = recheck_racy(
                self.state,
                scan.local.nodes,
                scan.remote,
                base,
                keeps_checksums=self._remote.traits.checksums,
            )
        if options.ask and not options.dry_run:
            refetches += sweep(self.state, scan.remote, base, scan.at)
        busy = {action.path for action in plan.actions}
        by_path = {action.path: action for action in refetches}
        # Fault: the files below a folder that this pass renames have left their names.
        return tuple(action for path, action in by_path.items() if not within_any(path, busy))

    # --- Record ---------------------------------------------------------------------------------

    def _record_pass(self, plan: SyncPlan, last_good: datetime | None) -> None:
        """Record the end of a pass. `last_good`: when it began, if it succeeded completely."""
        with self.state.transaction():
            if any("remote" in changes(action) for action in plan.actions):
                # Our own writes changed the tag of the tree: it must be listed again.
                self.state.set_meta(ROOT_TAG, "")
            if last_good is not None:
                self.state.set_meta(LAST_GOOD, last_good.isoformat())

    def _is_settled(self, plan: SyncPlan, result: PassResult, local_scan: LocalScan) -> bool:
        """Whether both sides are the same now, judged without another look at the server.

        A merge, copy, rename or delete may need another pass. So does everything that failed or waits,
        and an upload of which the server may have stored only the first part.
        """
        is_open = (
            result.failed
            or result.outdated
            or result.merged
            or result.conflicts
            or plan.waiting
            or local_scan.being_saved
        )
        if is_open or not all(isinstance(action, COMPLETE) for action in plan.actions):
            return False
        return all(map(self._session.unread.is_whole, result.uploaded))


class _OtherServer(Exception):
    """The server is not the one of the last passes."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _with_waiting(plan: SyncPlan, reasons: Mapping[str, str]) -> SyncPlan:
    return replace(plan, waiting={**plan.waiting, **reasons})


def _is_edit(node: Node, was: BaseNode | None) -> bool:
    """Whether a file differs from the base; a file that is being saved counts, too."""
    if isinstance(node, File):
        is_same = isinstance(was, BaseFile) and was.hash == node.hash
        return node.hash is not None and not is_same
    return isinstance(node, Unknown) and node.reason == BEING_SAVED


def _edited_renames(
    base: Base, nodes: Mapping[str, Node], scanner: LocalScanner, writing: Writing
) -> frozenset[tuple[str, str]]:
    """Pairs of paths of notes that were renamed and edited at once.

    The old text is missing, and the new one has half of its lines or more.
    """
    missing = {
        path: was.hash
        for path, was in base.items()
        if isinstance(was, BaseFile) and path not in nodes
    }
    new = _new_notes(base, nodes)
    if not missing or not new:
        return frozenset()
    new_texts = _texts_of(new, scanner)
    matches: set[tuple[str, str]] = set()
    with writing() as writer:
        for path, revision in missing.items():
            old_text = writer.snapshots.bytes_of(revision)
            if old_text:
                similar = _similar(old_text, new_texts)
                matches |= {(path, new_path) for new_path in similar}
    return frozenset(matches)


def _new_notes(base: Base, nodes: Mapping[str, Node]) -> list[str]:
    return [
        path
        for path, node in nodes.items()
        if isinstance(node, File) and path not in base and path.endswith(MARKDOWN)
    ]


def _similar(old_text: bytes, new_texts: Mapping[str, bytes]) -> list[str]:
    """The paths of the texts that have enough lines of an old one."""
    old_lines = line_counts(old_text)
    return [
        path
        for path, text in new_texts.items()
        if share_kept(old_lines, line_counts(text)) >= RENAMED_SHARE
    ]


def _texts_of(paths: list[str], scanner: LocalScanner) -> dict[str, bytes]:
    texts = {}
    for path in paths:
        note = scanner.read(path)
        if note and not isinstance(note, Unknown):
            texts[path] = note.raw
    return texts
