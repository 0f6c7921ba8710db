"""A folder on any WebDAV server, with every write bound to what was read before."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeVar

from vault_memory.remote.address import address
from vault_memory.remote.capabilities import probe, tidy
from vault_memory.remote.contract import (
    Capabilities,
    Entry,
    Fetched,
    FileVersion,
    Identity,
    Listing,
    PutResult,
    Traffic,
)
from vault_memory.remote.http_transport import (
    Account,
    Answer,
    NoAnswer,
    NotSent,
    Transport,
)
from vault_memory.remote.propfind_parser import (
    DAV,
    LARGEST,
    NEXTCLOUD,
    OWNCLOUD,
    Line,
    Reader,
)
from vault_memory.remote.remote_errors import (
    FolderNotEmpty,
    NotUnderstood,
    OutcomeUnknown,
    Refused,
    RemoteChanged,
    RemoteError,
    RemoteMissing,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
)
from vault_memory.remote.remote_listing import (
    etag_of,
    is_old,
    listing,
    lone,
    seconds_of,
    sha256_of,
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
"""Seconds for one exchange as a whole: 8 MiB at 28 kB/s"""
LONGEST_PATH = 4096
BINARY = "Content-Type: application/octet-stream"
_WEAK_SECOND = 1.1
"""Seconds for which Apache calls a fresh tag weak and matches it with nothing"""

T = TypeVar("T")


class WebDav:
    """A remote over WebDAV. Any thread may call it; each has a connection of its own.

    ``deadline``: seconds for one exchange as a whole. ``adapter``: another way for requests to travel, for all threads.
    """

    props = "<d:resourcetype/><d:getetag/><d:getcontentlength/><d:getlastmodified/>"

    root_props = ""
    """asked for along with the others where the remote's own folder is looked at or listed"""

    default_traits = Capabilities()

    def __init__(
        self,
        url: str,
        account: Account | None = None,
        *,
        traits: Capabilities | None = None,
        deadline: float = DEADLINE,
        adapter: "BaseAdapter | None" = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.at = address(url)
        self.account = account or Account()
        self.traits = traits or self.default_traits
        self.traffic = Traffic()
        self._sleep = sleep
        self._stopped = False
        self.clock = 0
        """the server's clock when it answered last, in Unix seconds; 0 before that"""
        self._counting = threading.Lock()
        self._transport = Transport(
            self.at.origin, self.account, deadline=deadline, adapter=adapter
        )

    def identity(self, root: Entry | None = None) -> Identity:
        """The server, the account, the folder's own id, and the mark that tells of a restored backup.

        Plain WebDAV knows neither id nor mark.
        """
        root = root or self.look("")
        return Identity(self.at.url, self.account.user, root.fileid, root.fingerprint)

    def list(self, folder: str = "", *, deep: bool = False) -> Listing:
        """All in a folder, or in all below it: in one request where the server can be trusted with that."""
        if not deep:
            return self._level(folder)
        whole = self._all_at_once(folder) if self.traits.infinity else None
        if whole is None:
            top = self._level(folder)
            return self._walk(
                top, [entry.path for entry in top.entries if entry.is_folder]
            )
        above = {entry.path.rpartition("/")[0] for entry in whole.entries}
        empty = [
            entry.path
            for entry in whole.entries
            if entry.is_folder and entry.path not in above
        ]
        # Some servers list one level only when asked for all; Nextcloud shows a lost storage as an empty folder.
        is_doubtful = above <= {folder} or self.traits.recursive_etags
        return self._walk(whole, empty) if is_doubtful else whole

    def look(self, path: str, *, folder: bool = False) -> Entry:
        """The thing at a path, by itself; ``folder`` saves a request where folders are asked for with a slash."""
        lines, date = self.propfind(path, depth="0", folder=folder)
        return lone(lines, path, at=self.at, traits=self.traits, date=date)

    def get(self, path: str, *, max_bytes: int) -> Fetched:
        """A file's bytes with the tag that belongs to them."""
        if self.traits.etags:
            answer = self._download(path, max_bytes)
            etag, weak = tag_of(answer)
            if etag and answer.has_length and not is_page(answer):
                modified, date = (
                    seconds_of(answer.header(name))
                    for name in ("Last-Modified", "Date")
                )
                checksum = sha256_of(answer.header("OC-Checksum"))
                return Fetched(
                    answer.body,
                    etag,
                    not weak and is_old(modified, date),
                    modified or 0,
                    checksum,
                )
        return self._get_between_looks(path, max_bytes)

    def _get_between_looks(self, path: str, max_bytes: int) -> Fetched:
        """For an answer with no tag or length, or a page where a note should be: is it what the listing says?"""
        before = self.look(path)
        answer = self._download(path, max_bytes)
        after = self.look(path)
        told = tag_of(answer)[0] if self.traits.etags else ""
        if before.etag != after.etag or told not in ("", after.etag):
            raise NotUnderstood(
                "it changed while it was read, or something else came in its place",
                path=path,
            )
        if len(answer.body) != after.size:
            raise NotUnderstood("the answer is not as long as the file", path=path)
        return Fetched(
            answer.body, after.etag, after.confirmed, after.modified, after.checksum
        )

    def _download(self, path: str, max_bytes: int) -> Answer:
        return self.send("download", path, cap=max_bytes)

    def put(
        self, path: str, raw: bytes, *, expected: str | None, after: int = 0
    ) -> PutResult:
        """Store a file where nothing is (None), or over the one with that tag."""
        honoured = (
            self.traits.conditional_create
            if expected is None
            else self.traits.conditional_put
        )
        return self._insist(
            path,
            expected,
            lambda: self._upload(path, raw, self._guard(path, expected, honoured)),
        )

    def put_new(
        self, files: Sequence[tuple[str, bytes]]
    ) -> Mapping[str, PutResult | None]:
        """Raise Refused: plain WebDAV has no such request."""
        raise Refused("", "it does not take many files in one request")

    def delete(self, path: str, *, expected: str) -> None:
        """Remove a file with that tag."""
        honoured = self.traits.conditional_delete
        self._insist(
            path,
            expected,
            lambda: self.send(
                "clean", path, headers=self._guard(path, expected, honoured)
            ),
        )

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        """Rename a file with that tag, or a folder, to where nothing is."""
        folder = expected is None
        where = (
            f"Destination: {self.at.origin}{self.at.target(to, folder=folder)}",
            "Overwrite: F",
        )

        def act() -> PutResult:
            guard = (
                ()
                if folder
                else self._guard(path, expected, self.traits.conditional_move)
            )
            return self.stored(
                self.send("move", path, headers=(*guard, *where), folder=folder)
            )

        return self._insist(path, expected, act)

    def mkcol(self, path: str) -> PutResult:
        """Make a folder."""
        return self.stored(self.send("mkdir", path, folder=True))

    def rmcol(self, path: str) -> None:
        """Remove a folder in which nothing is; no server can be told to make sure of that itself."""
        if not path:
            raise Refused(path, "it is the folder of everything")
        seen = self.list(path)
        if seen.entries or seen.unknown or seen.dropped:
            raise FolderNotEmpty(path)
        self.send("clean", path, folder=True)

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        """None: plain WebDAV servers keep none, or in ways of their own."""
        return ()

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        """There is none."""
        raise RemoteMissing(path)

    def refuses(self, path: str) -> str | None:
        """None: what a plain server refuses is found out by asking."""
        return None

    def probe(self) -> Capabilities:
        """Find out what this server honours."""
        self.traits = probe(self)
        return self.traits

    def remove_scratch(self, path: str) -> None:
        """Remove a scratch folder with all that is in it, for good."""
        self.send("clean", path, folder=True)

    def tidy(self) -> None:
        """Remove the scratch folders of killed probes, by the server's clock; what cannot be removed stays."""
        tidy(self)

    def close(self) -> None:
        """End the connections of all threads."""
        self._transport.close()

    # The steps they are made of; servers of one kind differ in some of them.

    def propfind(
        self, path: str, *, depth: str, more: str = "", folder: bool = False
    ) -> tuple[tuple[Line, ...], int | None]:
        """The lines of a listing, and the server's clock."""
        folder = folder or not path or depth != "0"
        more += "" if path else self.root_props
        return self.ask_for(
            self.props + more, self.at.target(path, folder=folder), path, depth
        )

    def ask_for(
        self, props: str, target: str, path: str, depth: str, *, action: str = "list"
    ) -> tuple[tuple[Line, ...], int | None]:
        """These properties of what a target names.

        `action`: as what a refusal is reported.
        """
        body = f'<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:oc="{OWNCLOUD}" xmlns:nc="{NEXTCLOUD}">'
        body += f"<d:prop>{props}"
        body += "</d:prop></d:propfind>"
        reader = Reader()

        def ask(target: str) -> Answer:
            headers = (
                f"Depth: {depth}",
                "Content-Type: application/xml; charset=utf-8",
            )
            return self.exchange(
                "list", target, body.encode(), headers, cap=LARGEST, sink=reader.feed
            )

        answer = ask(target)
        if adds_slash(answer, target):
            answer = ask(f"{target}/")
        if answer.status != 207:
            self.refuse(action, path, answer)
        if "xml" not in answer.header("Content-Type").lower():
            raise NotUnderstood("it is a page, not a listing", path=path)
        return tuple(reader.close()), seconds_of(answer.header("Date"))

    def send(
        self,
        action: str,
        path: str,
        body: bytes | None = None,
        headers: Iterable[str] = (),
        *,
        folder: bool = False,
        cap: int | None = None,
    ) -> Answer:
        """One exchange about a path; anything but success is raised."""
        target = self.at.target(path, folder=folder)
        answer = self.exchange(action, target, body, headers, path=path, cap=cap)
        if adds_slash(answer, target):
            raise RemoteChanged(path)  # a folder has come to stand where a file was
        if answer.status not in SUCCESSES.get(action, {201}):
            self.refuse(action, path, answer)
        if action in WRITES and answer.status == 200 and is_page(answer):
            raise OutcomeUnknown(path, "a page came instead of an answer")
        return answer

    def exchange(
        self,
        action: str,
        target: str,
        body: bytes | None = None,
        headers: Iterable[str] = (),
        *,
        path: str = "",
        cap: int | None = None,
        sink: Callable[[bytes], None] | None = None,
    ) -> Answer:
        """One exchange, counted, whatever the status. An account that was refused is not tried again."""
        if self._stopped:
            raise Unauthorised
        with self._counting:
            self.traffic.requests += 1
            self.traffic.sent += len(body or b"")
        try:
            answer = self._transport.ask(
                action, target, body, headers, cap=cap, sink=sink
            )
        except NotSent as error:
            raise unreachable(error) from None
        except NoAnswer as error:
            if action in WRITES:
                raise OutcomeUnknown(path, str(error)) from None
            raise NotUnderstood(str(error), path=path) from None
        with self._counting:
            self.traffic.received += answer.size
            self.clock = seconds_of(answer.header("Date")) or self.clock
        if answer.status == 401:
            self._stopped = True
        return answer

    def refuse(self, action: str, path: str, answer: Answer) -> NoReturn:
        """Raise what an answer that is no success means."""
        if action == "list" and not path and answer.status in (403, 404, 410):
            raise RootMissing(self.at.url)
        refuse(action, path, answer)

    def stored(self, answer: Answer) -> PutResult:
        """What the server says about what it stored."""
        return PutResult(etag=tag_of(answer)[0] if self.traits.etags else "")

    def _upload(self, path: str, raw: bytes, guard: tuple[str, ...]) -> PutResult:
        return self.stored(self.send("upload", path, raw, (*guard, BINARY)))

    def _guard(
        self, path: str, expected: str | None, honoured: bool
    ) -> tuple[str, ...]:
        """The precondition, for the server where it honours it, and else looked at by ourselves just before."""
        if not honoured:
            try:
                found = self.look(path).etag
            except RemoteMissing:
                found = None
            if found != expected:
                raise RemoteChanged(path)
        if expected is None:
            return ("If-None-Match: *",)
        return (f"If-Match: {expected}",) if self.traits.etags else ()

    def _insist(self, path: str, expected: str | None, act: Callable[[], T]) -> T:
        """Do it; once more when it was refused only because the tag is so fresh that the server calls it weak."""
        try:
            return act()
        except RemoteChanged:
            if expected is None or not self._is_still_weak(path, expected):
                raise
        self._sleep(_WEAK_SECOND)
        return act()

    def _is_still_weak(self, path: str, expected: str) -> bool:
        try:
            lines, _ = self.propfind(path, depth="0")
        except RemoteError:
            return False
        return [etag_of(line.props.get(f"{DAV} getetag", "")) for line in lines] == [
            (expected, True)
        ]

    def _walk(self, top: Listing, ahead: Sequence[str]) -> Listing:
        """With all below these folders, one by one; one that cannot be listed is unknown, and the rest goes on."""
        entries, unknown, dropped = list(top.entries), dict(top.unknown), top.dropped
        queue = list(ahead)
        while queue:
            folder = queue.pop()
            try:
                if len(folder.encode()) > LONGEST_PATH:
                    raise Refused(folder, "the path is too long")
                seen = self._level(folder)
            except RemoteError as error:
                if isinstance(error, Unauthorised | RemoteUnreachable) or getattr(
                    error, "everywhere", False
                ):
                    raise
                unknown[folder] = error.message
                continue
            entries += seen.entries
            unknown |= seen.unknown
            dropped += seen.dropped
            queue += [entry.path for entry in seen.entries if entry.is_folder]
        return Listing(
            top.folder,
            tuple(sorted(entries, key=lambda entry: entry.path)),
            unknown,
            dropped,
        )

    def _all_at_once(self, folder: str) -> Listing | None:
        """None when the server will not do that, or no longer."""
        try:
            return self._level(folder, deep=True)
        except (Refused, RootMissing):
            return None

    def _level(self, folder: str, *, deep: bool = False) -> Listing:
        lines, date = self.propfind(folder, depth="infinity" if deep else "1")
        return listing(
            lines, folder=folder, deep=deep, at=self.at, traits=self.traits, date=date
        )


def tag_of(answer: Answer) -> tuple[str, bool]:
    """The tag, and whether it is weak; no compression on the way touches the header that is asked first."""
    return etag_of(answer.header("OC-ETag") or answer.header("ETag"))
