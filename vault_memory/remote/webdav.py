"""A folder on any WebDAV server. Every write is conditional on what was read before."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, TypeVar

from vault_memory.remote.address import address
from vault_memory.remote.capabilities import probe, tidy
from vault_memory.remote.contract import (
    Capabilities,
    Entry,
    Fetched,
    FileVersion,
    PutResult,
    RemoteListing,
    ServerIdentity,
    Traffic,
)
from vault_memory.remote.http_transport import (
    Account,
    HttpAnswer,
    NoAnswer,
    NotSent,
    Request,
    Transport,
)
from vault_memory.remote.propfind_parser import DAV, LARGEST, NEXTCLOUD, OWNCLOUD, Line, Reader
from vault_memory.remote.remote_errors import (
    NO_TRASH,
    OWN_FOLDER,
    FolderNotEmpty,
    NotUnderstood,
    OutcomeUnknown,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
    RemoteMissing,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
)
from vault_memory.remote.remote_listing import (
    ListingContext,
    etag_of,
    is_old,
    listing,
    seconds_of,
    sha256_of,
    single_entry,
)
from vault_memory.remote.status_errors import (
    SUCCESSES,
    WRITES,
    adds_slash,
    is_page,
    refuse,
    unreachable,
)

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

DEADLINE = 300.0
"""Seconds for one complete exchange: 8 MiB at 28 kB/s"""
LONGEST_PATH = 4096
BINARY = "Content-Type: application/octet-stream"
_WEAK_SECOND = 1.1
"""Seconds for which Apache calls a new tag weak, and matches it with nothing"""

T = TypeVar("T")


class WebDav:
    """A remote over WebDAV. Any thread may call it; each has its own connection.

    `deadline`: seconds for one complete exchange. `adapter`: sends the requests of all threads.
    """

    props = "<d:resourcetype/><d:getetag/><d:getcontentlength/><d:getlastmodified/>"

    root_props = ""
    """properties of the remote's own folder, in addition to `props`"""

    kind = "WebDAV"
    default_traits = Capabilities()

    def __init__(
        self,
        url: str,
        account: Account | None = None,
        *,
        deadline: float = DEADLINE,
        adapter: "BaseAdapter | None" = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.at = address(url)
        self.account = account or Account()
        self.traits = self.default_traits
        self.traffic = Traffic()
        self._sleep = sleep
        self._lasting_weak: dict[str, str] = {}
        """the tags that stay weak, by path"""
        self._stopped = False
        self.clock = 0
        """the server's clock in its latest answer, in Unix seconds; 0 before the first one"""
        self._counting = threading.Lock()
        self._transport = Transport(
            self.at.origin, self.account, deadline=deadline, adapter=adapter
        )

    def identity(self, root: Entry | None = None) -> ServerIdentity:
        """The server, the account, the id of the folder, and the mark of a restored backup.

        Plain WebDAV has neither id nor mark.
        """
        root = root or self.look("")
        return ServerIdentity(self.at.url, self.account.user, root.fileid, root.fingerprint)

    def list(self, folder: str = "", *, deep: bool = False) -> RemoteListing:
        """List a folder, or with `deep` the whole tree, in one request where the server can do that."""
        if not deep:
            return self._level(folder)
        tree = self._tree(folder) if self.traits.infinity else None
        if tree is None:
            top = self._level(folder)
            subfolders = [entry.path for entry in top.entries if entry.is_folder]
            return self._walk(top, subfolders)
        parents = {entry.path.rpartition("/")[0] for entry in tree.entries}
        # Fault (E96): some servers list one level only when asked for the whole tree.
        # Nextcloud shows an unavailable storage as an empty folder.
        is_doubtful = parents <= {folder} or self.traits.recursive_etags
        if not is_doubtful:
            return tree
        empty = [
            entry.path for entry in tree.entries if entry.is_folder and entry.path not in parents
        ]
        return self._walk(tree, empty)

    def look(self, path: str, *, folder: bool = False) -> Entry:
        """One entry. `folder`: it is a folder, which saves a request where folders need a slash."""
        lines, date = self.propfind(path, depth="0", folder=folder)
        context = ListingContext(self.at, self.traits, date)
        return single_entry(lines, path, context)

    def get(self, path: str, *, max_bytes: int) -> Fetched:
        """A file's bytes, with the tag that belongs to them."""
        if self.traits.etags:
            answer = self._download(path, max_bytes)
            etag, weak = tag_of(answer)
            if etag and answer.has_length and not is_page(answer):
                return _fetched(answer, etag, weak=weak)
        return self._get_between_looks(path, max_bytes)

    def _get_between_looks(self, path: str, max_bytes: int) -> Fetched:
        """A file's bytes, compared with its entry before and after."""
        # Fault (E87): the answer has no tag or length, or a login page comes instead of
        # a note.
        before = self.look(path)
        answer = self._download(path, max_bytes)
        after = self.look(path)
        etag = tag_of(answer)[0] if self.traits.etags else ""
        if before.etag != after.etag or etag not in ("", after.etag):
            raise NotUnderstood(
                "it changed while it was read, or the answer is not this file", path=path
            )
        if len(answer.body) != after.size:
            raise NotUnderstood("the answer is not as long as the file", path=path)
        return Fetched(answer.body, after.etag, after.confirmed, after.modified, after.checksum)

    def _download(self, path: str, max_bytes: int) -> HttpAnswer:
        target = self.at.target(path)
        return self.send(Request("download", target, cap=max_bytes), path)

    def put(self, path: str, raw: bytes, *, expected: str | None, after: int = 0) -> PutResult:
        """Store a new file (None), or replace the one with that tag."""

        def act() -> PutResult:
            guard = self._guard(path, expected, self._is_put_honoured(expected))
            return self._upload(path, raw, guard)

        return self._insist(path, expected, act)

    def _is_put_honoured(self, expected: str | None) -> bool:
        """Whether the server checks the precondition of this upload."""
        if expected is None:
            return self.traits.conditional_create
        return self.traits.conditional_put

    def put_new(self, files: Sequence[tuple[str, bytes]]) -> Mapping[str, PutResult | None]:
        """Raise Refused: plain WebDAV has no such request."""
        raise Refused("", "it does not take many files in one request")

    def delete(self, path: str, *, expected: str) -> None:
        """Remove a file with that tag."""

        def act() -> HttpAnswer:
            guard = self._guard(path, expected, self.traits.conditional_delete)
            return self.send(Request("clean", self.at.target(path), headers=guard), path)

        self._insist(path, expected, act)

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        """Rename a file with that tag, or a folder, to a free name."""
        is_folder = expected is None
        target = self.at.target(path, folder=is_folder)
        destination = self.at.target(to, folder=is_folder)
        # Fault (E100): another device may have made a note of the new name since the
        # listing.
        where = (f"Destination: {self.at.origin}{destination}", "Overwrite: F")

        def act() -> PutResult:
            guard: tuple[str, ...] = ()
            if not is_folder:
                guard = self._guard(path, expected, self.traits.conditional_move)
            request = Request("move", target, headers=(*guard, *where))
            return self.stored(self.send(request, path))

        return self._insist(path, expected, act)

    def mkcol(self, path: str) -> PutResult:
        """Make a folder."""
        target = self.at.target(path, folder=True)
        return self.stored(self.send(Request("mkdir", target), path))

    def rmcol(self, path: str) -> None:
        """Remove an empty folder."""
        # Fault (F106): no server checks that itself. A new file of another device would
        # be deleted.
        if not path:
            raise Refused(path, OWN_FOLDER)
        listed = self.list(path)
        if listed.entries or listed.unknown or listed.dropped:
            raise FolderNotEmpty(path)
        self._remove_tree(path)

    def rmtree(self, path: str) -> None:
        """Remove a folder with everything below it, where the server has a trash."""
        # Fault (F106): another device may make a note in it at this moment.
        if not path or not self.traits.trash:
            raise Refused(path, NO_TRASH if path else OWN_FOLDER)
        self._remove_tree(path)

    def _remove_tree(self, path: str, *headers: str) -> None:
        target = self.at.target(path, folder=True)
        self.send(Request("clean", target, headers=headers), path)

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        """Nothing: WebDAV has no standard for versions."""
        return ()

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        """Raise RemoteMissing: there are no versions."""
        raise RemoteMissing(path)

    def refuses(self, path: str) -> str | None:
        """None: it is unknown what a plain server refuses."""
        return None

    def probe(self) -> Capabilities:
        """Find out what this server honours."""
        self.traits = probe(self)
        return self.traits

    def remove_scratch(self, path: str) -> None:
        """Remove a scratch folder with its contents, for good."""
        self._remove_tree(path)

    def tidy(self) -> None:
        """Remove the scratch folders of interrupted probes; what cannot be removed stays."""
        tidy(self)

    def close(self) -> None:
        """Close the connections of all threads."""
        self._transport.close()

    # --- Steps, some of which a kind of server overrides ---

    def propfind(
        self, path: str, *, depth: str, more: str = "", folder: bool = False
    ) -> tuple[tuple[Line, ...], int | None]:
        """The lines of a PROPFIND, and the server's clock."""
        folder = folder or not path or depth != "0"
        more += "" if path else self.root_props
        return self.ask_for(self.props + more, self.at.target(path, folder=folder), path, depth)

    def ask_for(
        self, props: str, target: str, path: str, depth: str, *, action: str = "list"
    ) -> tuple[tuple[Line, ...], int | None]:
        """The lines of a PROPFIND for some properties of a target, and the server's clock.

        `action`: the name under which a refusal is reported.
        """
        body = (
            f'<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:oc="{OWNCLOUD}" xmlns:nc="{NEXTCLOUD}">'
            f"<d:prop>{props}</d:prop></d:propfind>"
        )
        reader = Reader()
        request = Request(
            "list",
            target,
            body.encode(),
            (f"Depth: {depth}", "Content-Type: application/xml; charset=utf-8"),
            cap=LARGEST,
            sink=reader.feed,
        )
        answer = self.exchange(request)
        if adds_slash(answer, target):
            answer = self.exchange(replace(request, target=f"{target}/"))
        if answer.status != 207:
            self.refuse(action, path, answer)
        if "xml" not in answer.header("Content-Type").lower():
            raise NotUnderstood("it is a page, not a listing", path=path)
        return tuple(reader.close()), seconds_of(answer.header("Date"))

    def send(self, request: Request, path: str) -> HttpAnswer:
        """Send a request about a path. Raises a RemoteError for everything but success."""
        action = request.action
        answer = self.exchange(request, path)
        if adds_slash(answer, request.target):
            # Fault (F107): another device has replaced the file by a folder.
            raise RemoteChanged(path)
        if answer.status not in SUCCESSES.get(action, {201}):
            self.refuse(action, path, answer)
        if action in WRITES and answer.status == 200 and is_page(answer):
            # Fault (E87): a login page answers "200 OK" to an upload that the server
            # never saw.
            raise OutcomeUnknown(path, "a page came instead of an answer")
        return answer

    def exchange(self, request: Request, path: str = "") -> HttpAnswer:
        """Send a request, and count it. Returns an answer of any status."""
        # Fault (E84): a server locks an address out after several wrong passwords. An
        # account that was refused once is not tried again.
        if self._stopped:
            raise Unauthorised
        with self._counting:
            self.traffic.requests += 1
            self.traffic.sent += len(request.body or b"")
        try:
            answer = self._transport.ask(request)
        except NotSent as error:
            raise unreachable(error) from None
        except NoAnswer as error:
            if request.action in WRITES:
                raise OutcomeUnknown(path, str(error)) from None
            raise NotUnderstood(str(error), path=path, is_silence=True) from None
        with self._counting:
            self.traffic.received += answer.size
            self.clock = seconds_of(answer.header("Date")) or self.clock
        if answer.status == 401:
            self._stopped = True
        return answer

    def refuse(self, action: str, path: str, answer: HttpAnswer) -> NoReturn:
        """Raise the error that an answer means."""
        # Fault (E86): a revoked share looks like a vault whose files were all deleted.
        if action == "list" and not path and answer.status in (403, 404, 410):
            raise RootMissing(self.at.url)
        refuse(action, path, answer)

    def stored(self, answer: HttpAnswer) -> PutResult:
        """What the server reports about a stored file."""
        return PutResult(etag=tag_of(answer)[0] if self.traits.etags else "")

    def _upload(self, path: str, raw: bytes, guard: tuple[str, ...]) -> PutResult:
        request = Request("upload", self.at.target(path), raw, (*guard, BINARY))
        return self.stored(self.send(request, path))

    def _guard(self, path: str, expected: str | None, honoured: bool) -> tuple[str, ...]:
        """The header of a precondition. Raises RemoteChanged where it does not hold."""
        # Fault: the server ignores the header. So the tag is compared right before the request.
        if not honoured:
            try:
                current = self.look(path).etag
            except RemoteMissing:
                current = None
            if current != expected:
                raise RemoteChanged(path)
        if expected is None:
            return ("If-None-Match: *",)
        if self._lasting_weak.get(path) == expected:
            return (f"If: <{self.at.origin}{self.at.target(path)}> ([W/{expected}])",)
        return (f"If-Match: {expected}",) if self.traits.etags else ()

    def _insist(self, path: str, expected: str | None, act: Callable[[], T]) -> T:
        """Act; try again when the server refuses only since the tag is weak."""
        # Fault: Apache calls a new tag weak for a second, and a weak tag matches no precondition.
        try:
            return act()
        except RemoteChanged:
            if expected is None or not self._is_still_weak(path, expected):
                raise
        self._sleep(_WEAK_SECOND)
        try:
            return act()
        except RemoteChanged:
            if expected is None or not self._is_still_weak(path, expected):
                raise
        # Fault: a file with a time in the future keeps a weak tag until then. Only the condition
        # of WebDAV itself compares weak tags.
        self._lasting_weak[path] = expected
        return act()

    def _is_still_weak(self, path: str, expected: str) -> bool:
        try:
            lines, _ = self.propfind(path, depth="0")
        except RemoteError:
            return False
        tags = [etag_of(line.props.get(f"{DAV} getetag", "")) for line in lines]
        return tags == [(expected, True)]

    def _walk(self, top: RemoteListing, folders: Sequence[str]) -> RemoteListing:
        """Add everything below these folders to a listing. A folder that cannot be listed is unknown."""
        entries, unknown, dropped = list(top.entries), dict(top.unknown), top.dropped
        queue = list(folders)
        while queue:
            folder = queue.pop()
            try:
                # Fault (F110): a server may show a folder within itself without end.
                if len(folder.encode()) > LONGEST_PATH:
                    raise Refused(folder, "the path is too long")
                level = self._level(folder)
            except RemoteError as error:
                # Fault (E84, E97): one folder that fails is unknown. A server that is
                # away would make each folder wait for its time-out.
                if _concerns_whole_server(error):
                    raise
                unknown[folder] = error.message
                continue
            entries += level.entries
            unknown |= level.unknown
            dropped += level.dropped
            queue += [entry.path for entry in level.entries if entry.is_folder]
        entries.sort(key=lambda entry: entry.path)
        return RemoteListing(top.folder, tuple(entries), unknown, dropped)

    def _tree(self, folder: str) -> RemoteListing | None:
        """A whole tree in one request; None when the server does not do that, or no longer."""
        try:
            return self._level(folder, deep=True)
        except (Refused, RootMissing):
            return None

    def _level(self, folder: str, *, deep: bool = False) -> RemoteListing:
        lines, date = self.propfind(folder, depth="infinity" if deep else "1")
        context = ListingContext(self.at, self.traits, date)
        return listing(lines, context, folder=folder, deep=deep)


def _fetched(answer: HttpAnswer, etag: str, *, weak: bool) -> Fetched:
    modified = seconds_of(answer.header("Last-Modified"))
    date = seconds_of(answer.header("Date"))
    return Fetched(
        answer.body,
        etag,
        not weak and is_old(modified, date),
        modified or 0,
        sha256_of(answer.header("OC-Checksum")),
    )


def _concerns_whole_server(error: RemoteError) -> bool:
    if isinstance(error, RemoteBusy):
        return error.everywhere
    return isinstance(error, Unauthorised | RemoteUnreachable)


def tag_of(answer: HttpAnswer) -> tuple[str, bool]:
    """The tag, and whether it is weak."""
    # Fault (E102b): a proxy changes the `ETag` when it compresses the answer. It never
    # changes `OC-ETag`.
    return etag_of(answer.header("OC-ETag") or answer.header("ETag"))
