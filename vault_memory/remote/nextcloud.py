"""A folder in a Nextcloud: uses its extensions of WebDAV, and works around its faults.

An interrupted overwrite leaves half a note on the server, so longer notes are uploaded beside the note
and moved into place. Two writes in one second get the same tag, so a second write of ours gets a later
time.
"""

import hashlib
import json
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn
from urllib.parse import quote, unquote

from vault_memory.remote import bulk_upload
from vault_memory.remote.capabilities import is_scratch
from vault_memory.remote.contract import Capabilities, FileVersion, PutResult
from vault_memory.remote.http_transport import HttpAnswer, Request, is_redirect
from vault_memory.remote.nextcloud_links import refuse_other_account, root_missing
from vault_memory.remote.propfind_parser import DAV, NEXTCLOUD, Line
from vault_memory.remote.remote_errors import (
    AnsweredByProxy,
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
    RemoteMissing,
)
from vault_memory.remote.remote_listing import seconds_of
from vault_memory.remote.status_errors import is_by_proxy, is_page, locked_out, retry_after
from vault_memory.remote.webdav import BINARY, WebDav, tag_of

logger = logging.getLogger(__name__)

TRAITS = Capabilities(
    conditional_move=True,
    recursive_etags=True,
    fileids=True,
    checksums=True,
    normalises_names=True,
    infinity=True,
    versions=True,
    trash=True,
)
LARGEST_ATOMIC = 16_384
"""The most bytes of an overwrite that arrives completely or not at all; measured: 60 kB became 16 kB"""
LONGEST_NAME = 250
_MAINTENANCE_WAIT = 120.0
_RACE_WAIT = 0.3
_LEAST_LAG, _LAGS = 2, 58
"""Seconds by which our uploads are dated back, at least and in addition"""
_LOOKS = 3
"""How many files of a bulk upload are checked by their versions, to find one that is certainly new"""
_ROOM = 4
"""The fewest seconds after the time of the replaced file in which devices choose different times"""
_OF_VERSIONS = "<d:resourcetype/><d:getcontentlength/><d:getlastmodified/>"


class Nextcloud(WebDav):
    """A remote at ``…/remote.php/dav/files/USER/FOLDER``."""

    props = WebDav.props + "<oc:fileid/><oc:checksums/>"
    root_props = "<oc:data-fingerprint/>"
    kind = "Nextcloud"
    default_traits = TRAITS

    @cached_property
    def _lag(self) -> int:
        """A number that differs from device to device."""
        return secrets.randbelow(_LAGS)

    def refuses(self, path: str) -> str | None:
        """Why Nextcloud accepts no such name: it is too long, or reserved."""
        name = path.rpartition("/")[2]
        if len(name.encode(errors="surrogateescape")) > LONGEST_NAME:
            return f"a name on Nextcloud has at most {LONGEST_NAME} bytes"
        is_temporary = name.lower().endswith((".part", ".filepart"))
        if "\\" in name or is_temporary or name.lower() == ".htaccess":
            return "Nextcloud keeps such names for itself"
        return None

    def probe(self) -> Capabilities:
        """Probe as for any server; a Nextcloud always keeps checksums, and announces more."""
        traits = super().probe()
        announced = self._announced()
        # Fault: a bulk upload overwrites the new file of another client. Only versions show that.
        is_safe = traits.versions and traits.fileids
        self.traits = replace(
            traits,
            checksums=True,
            bulk=is_safe and _has(announced, "dav", "bulkupload"),
            trash=_has(announced, "files", "undelete"),
        )
        return self.traits

    def remove_scratch(self, path: str) -> None:
        """Remove a scratch folder, also from the trash."""
        # Fault: some versions of Nextcloud ignore the header.
        self._remove_tree(path, "X-NC-Skip-Trashbin: true")
        trash = f"{self._beside('trashbin')}/trash/"
        if trash == "/trash/":
            return
        try:
            lines, _ = self.ask_for("<d:resourcetype/><nc:trashbin-filename/>", trash, path, "1")
            for line in lines:
                name = line.props.get(f"{NEXTCLOUD} trashbin-filename", "")
                is_in_trash = unquote(line.href).startswith(unquote(trash))
                if is_scratch(name) and is_in_trash:
                    self.exchange(Request("clean", line.href))
        except RemoteError as error:
            logger.info("a scratch folder may be left in the trash: %s", error.message)

    def put(self, path: str, raw: bytes, *, expected: str | None, after: int = 0) -> PutResult:
        """Store a file; a tag that stays the same for other bytes is changed by a second write.

        The file gets a time of its own. Two writes that pass one precondition within a second are then
        two entries among the versions, and have two tags.
        """
        self._check_name(path)
        modified = self._distinct_time(after) if after or expected is None else 0

        def act() -> PutResult:
            guard = self._guard(path, expected, self._is_put_honoured(expected))
            return self._upload(path, raw, guard, modified)

        stored = self._insist(path, expected, act)
        if not stored.etag or stored.etag != expected:
            return stored
        # Fault: the tag of the replaced file stays, and no other device sees the write.
        later = self._second_after(path)
        guard = (f"If-Match: {expected}",)
        return self._insist(path, expected, lambda: self._upload(path, raw, guard, later))

    # --- Bulk uploads ---

    def put_new(self, files: Sequence[tuple[str, bytes]]) -> Mapping[str, PutResult | None]:
        """Upload in bulk; files whose names the request cannot carry are left out."""
        place = self._bulk_place()
        if place is None:
            raise Refused("", "the address does not show where a bulk upload goes")
        target, folder = place
        sent = [
            bulk_upload.BulkFile(path, f"{folder}/{path}", raw)
            for path, raw in files
            if self.refuses(path) is None
        ]
        sent = [file for file in sent if bulk_upload.fits(file.name)]
        if not sent:
            return {}
        modified = self.clock - _LEAST_LAG - self._lag if self.clock else 0
        answer = self._send_bulk(target, sent, modified)
        results = _results_of(answer)
        outcomes: dict[str, PutResult | None] = {}
        stored: list[tuple[bulk_upload.BulkFile, PutResult]] = []
        for file in sent:
            result = results.get(file.name)
            if result is None:
                # Fault: the server stored the file and did not report it. After a damaged part (400),
                # it does not read the next ones.
                if answer.status == 200:
                    outcomes[file.path] = None
            elif result.is_stored:
                stored.append((file, self._stored_in_bulk(result, answer)))
        return {**outcomes, **self._replaced_in_bulk(stored, modified)}

    def _send_bulk(
        self, target: str, files: Sequence[bulk_upload.BulkFile], modified: int
    ) -> HttpAnswer:
        """Send a bulk upload. Raises Refused when the server does not take such requests."""
        boundary = secrets.token_hex(16)
        content_type = f"Content-Type: multipart/related; boundary={boundary}"
        body = bulk_upload.body(files, boundary, modified)
        answer = self.exchange(Request("bulk", target, body, (content_type,)))
        if answer.status in bulk_upload.REFUSALS or is_redirect(answer.status):
            raise Refused("", f"status {answer.status}")
        if answer.status not in (200, 400):
            self.refuse("bulk", "", answer)
        return answer

    def _announced(self) -> Mapping[str, object]:
        """What the server announces that it can do; nothing when it cannot be read."""
        place = self._bulk_place()
        if place is None:
            return {}
        start = place[0].partition("/remote.php/")[0]
        target = f"{start}/ocs/v2.php/cloud/capabilities?format=json"
        try:
            answer = self.exchange(Request("poll", target, headers=("OCS-APIRequest: true",)))
            if answer.status != 200:
                return {}
            features = json.loads(answer.body)["ocs"]["data"]["capabilities"]
        except (RemoteError, ValueError, LookupError, TypeError) as error:
            logger.info("the server does not say what it supports: %s", type(error).__name__)
            return {}
        return features if isinstance(features, dict) else {}

    def _bulk_place(self) -> tuple[str, str] | None:
        """The target of bulk uploads, and the remote's folder among the account's files; None without one."""
        place = re.match(r"(.*/remote\.php/dav)/files/[^/]+(/.*)?$", self.at.base)
        if place is None:
            return None
        return f"{quote(place[1])}/bulk", place[2] or ""

    def _stored_in_bulk(self, result: bulk_upload.BulkResult, answer: HttpAnswer) -> PutResult:
        date = seconds_of(answer.header("Date")) or 0
        return PutResult(etag=result.etag, fileid=_bare_id(result.fileid), date=date)

    def _replaced_in_bulk(
        self, stored: Sequence[tuple[bulk_upload.BulkFile, PutResult]], modified: int
    ) -> dict[str, PutResult]:
        """Mark the files that the request overwrote: another client made them after the listing.

        The server numbers files in the order of their creation. Once the versions prove one file to be
        new, each later file with a smaller number existed before. Without a proof all are marked.
        """
        marked: dict[str, PutResult] = {}
        looks, highest, has_new, listed_time = 0, 0, False, 0
        for file, result in stored:
            number = bulk_upload.number_of(result)
            is_new = number > highest
            if not has_new:
                can_look = number and looks < _LOOKS
                listed_time = self._time_if_new(file, result) if can_look else 0
                looks += 1
                has_new = is_new = listed_time > 0
            highest = max(highest, number)
            marked[file.path] = replace(result, replaced=not is_new)
        if listed_time != modified:
            return marked
        return {path: replace(result, modified=modified) for path, result in marked.items()}

    def _time_if_new(self, file: bulk_upload.BulkFile, result: PutResult) -> int:
        """The time that the server lists for a file without earlier versions; 0 when that is not certain."""
        try:
            versions = self.versions(file.path, fileid=result.fileid)
        except RemoteError as error:
            # Fault: an error here would lose the results of the upload, which is done.
            logger.info("%s; all files of the request are checked", error.message)
            return 0
        is_new = len(versions) == 1 and versions[0].size == len(file.raw)
        return versions[0].modified if is_new else 0

    # --- Folders, names and versions ---

    def propfind(
        self, path: str, *, depth: str, more: str = "", folder: bool = False
    ) -> tuple[tuple[Line, ...], int | None]:
        """As of any server. Raises RootMissing for the folder of another account."""
        lines, date = super().propfind(path, depth=depth, more=more, folder=folder)
        # Fault: a Nextcloud shows all files of another account as an empty folder without a tag.
        if not path and not any(line.props.get(f"{DAV} getetag") for line in lines):
            refuse_other_account(self.at.url, self.account.user)
        return lines, date

    def mkcol(self, path: str) -> PutResult:
        """Make a folder. Raises Refused for a reserved name."""
        self._check_name(path)
        return super().mkcol(path)

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        """Rename; the file keeps its id."""
        self._check_name(to)
        return super().move(path, to, expected=expected)

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        """The versions that the versions app keeps, by the time when the file got those bytes."""
        folder = self._beside("versions")
        if not folder:
            return ()
        target = f"{folder}/versions/{fileid or self.look(path).fileid}"
        try:
            lines, _ = self.ask_for(_OF_VERSIONS, f"{target}/", path, "1", action="versions")
        except (RemoteMissing, Refused):
            return ()
        versions = [version for line in lines if (version := _version_of(line, target))]
        versions.sort(key=lambda version: version.modified, reverse=True)
        return tuple(versions)

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        """The bytes of a version; their length may differ from the listed size."""
        target = f"{self._beside('versions')}/versions/{version.id}"
        request = Request("download", target, cap=max_bytes)
        answer = self.exchange(request, path)
        if is_by_proxy(answer):
            # Fault: a proxy cannot reach the server for a moment and calls every address missing.
            # The version would count as gone, and its lines would be lost. So the server has to
            # answer something else in between. A proxy that replaces the server's own refusals
            # gives the same answer again.
            self.look("")  # raises RootMissing if a proxy calls that missing as well
            answer = self.exchange(request, path)
        if answer.status != 200:
            self.refuse("download", path, answer)
        if is_page(answer):
            raise NotUnderstood("a page came instead of an earlier version", path=path)
        if not answer.header("Content-Type"):
            raise NotUnderstood("an empty answer came instead of an earlier version", path=path)
        return answer.body

    # --- Answers ---

    def stored(self, answer: HttpAnswer) -> PutResult:
        """What the server reports about a stored file, with its id."""
        date = seconds_of(answer.header("Date")) or 0
        return PutResult(
            etag=tag_of(answer)[0], fileid=_bare_id(answer.header("OC-FileId")), date=date
        )

    def refuse(self, action: str, path: str, answer: HttpAnswer) -> NoReturn:
        """Raise the error that an answer means. For a 503, a status page shows whether all is in maintenance."""
        if answer.status == 503 and self._is_in_maintenance():
            raise RemoteBusy(
                "the server is in maintenance", retry_after=_MAINTENANCE_WAIT, everywhere=True
            )
        if answer.status == 429 and retry_after(answer) is None:
            raise locked_out()
        if action == "list" and not path and answer.status in (403, 404, 410):
            is_foreign = is_by_proxy(answer)
            raise root_missing(self.at.url, self.account.user, is_page=is_foreign)
        if action == "versions" and is_by_proxy(answer):
            # Fault: the refusal of a proxy counts as "no versions", and what a write of ours
            # replaced on the server is never looked for.
            reason = f"a proxy reports that there are no versions (status {answer.status})"
            raise AnsweredByProxy(reason, path=path)
        super().refuse(action, path, answer)

    def _check_name(self, path: str) -> None:
        reason = self.refuses(path)
        if reason:
            raise Refused(path, reason, lasting=True)

    # --- Uploads ---

    def _upload(
        self, path: str, raw: bytes, guard: tuple[str, ...], modified: int = 0
    ) -> PutResult:
        checksum = hashlib.sha256(raw).hexdigest()
        extra = [f"OC-Checksum: SHA256:{checksum}"]
        creates = not guard[0].startswith("If-Match: ")
        if modified:
            extra.append(f"X-OC-Mtime: {modified}")
        answer = None
        if len(raw) > LARGEST_ATOMIC and not creates and self._uploads:
            etag = guard[0].removeprefix("If-Match: ")
            answer = self._by_chunk(path, raw, etag, extra)
        if answer is None:
            answer = self._by_put(path, raw, (*guard, *extra, BINARY))
        accepted = answer.header("X-OC-MTime").lower() == "accepted"
        return replace(
            self.stored(answer),
            checksum=checksum,
            modified=modified if accepted else 0,
            replaced=creates and answer.status == 204,
        )

    def _by_put(self, path: str, raw: bytes, headers: tuple[str, ...]) -> HttpAnswer:
        request = Request("upload", self.at.target(path), raw, headers)
        try:
            return self.send(request, path)
        except Refused:
            # Fault: of two creations at the same moment, one gets a 403.
            self._sleep(_RACE_WAIT)
            return self.send(request, path)

    def _by_chunk(self, path: str, raw: bytes, etag: str, extra: list[str]) -> HttpAnswer | None:
        """Upload one chunk, and move it over the note if that still has this tag. The note keeps its id.

        Returns None when the server takes no chunks.
        """
        target = self.at.target(path)
        destination = f"Destination: {self.at.origin}{target}"
        folder = f"{self._uploads}/vault-memory-{secrets.token_hex(8)}"
        try:
            self._step(Request("mkdir", folder, headers=(destination,)), path, {201})
        except (ParentMissing, Refused, RemoteChanged):
            return None
        chunk = Request("upload", f"{folder}/00001", raw, (destination, BINARY))
        condition = f"If: <{self.at.origin}{target}> ([{etag}])"
        length = f"OC-Total-Length: {len(raw)}"
        headers = (destination, condition, length, *extra)
        move = Request("move", f"{folder}/.file", headers=headers)
        try:
            self._step(chunk, path, {201, 204})
            return self._step(move, path, {201, 204})
        except RemoteError:
            self._drop(folder)
            raise

    def _step(self, request: Request, path: str, successes: set[int]) -> HttpAnswer:
        answer = self.exchange(request, path)
        if answer.status not in successes and not 200 <= answer.status < 300:
            self.refuse(request.action, path, answer)
        if answer.status not in successes:
            raise OutcomeUnknown(path, f"status {answer.status}")
        return answer

    def _drop(self, folder: str) -> None:
        """Remove an unfinished upload; otherwise the server removes it after a day."""
        try:
            self.exchange(Request("clean", folder))
        except RemoteError:
            return

    @property
    def _uploads(self) -> str:
        """The folder for chunks; "" when the address does not show it."""
        return self._beside("uploads")

    def _beside(self, collection: str) -> str:
        """Another collection of the account; "" when the address does not show it."""
        match = re.match(
            r"(.*/remote\.php/dav)/files/([^/]+)(?:/|$)", self.at.target("", folder=True)
        )
        return f"{match[1]}/{collection}/{match[2]}" if match else ""

    def _distinct_time(self, after: int) -> int:
        """A time between that of the replaced file and this request; 0 when the clock is unknown.

        Each device chooses another time. A write of another device that comes between a precondition and our
        write is later than it. Without room for such a time, it is one after both, in the future.
        """
        # Fault: another write at the same time shares our entry among the versions, and is lost with
        # it.
        if not self.clock:
            return 0
        latest = self.clock - _LEAST_LAG
        if latest - after < _ROOM:
            return max(after + 1, self.clock + _LEAST_LAG) + self._lag % _ROOM
        return latest - self._lag % min(_LAGS, latest - after)

    def _second_after(self, path: str) -> int:
        """A time after that of the file on the server."""
        answer = self.exchange(Request("check", self.at.target(path)), path)
        modified = seconds_of(answer.header("Last-Modified"))
        return (modified or seconds_of(answer.header("Date")) or 0) + 1

    def _is_in_maintenance(self) -> bool:
        start = self.at.target("", folder=True).partition("/remote.php/")[0]
        try:
            answer = self.exchange(Request("poll", f"{start}/status.php"))
            if answer.status not in (200, 503):
                return False
            status = json.loads(answer.body)
        except (RemoteError, ValueError):
            return False
        return isinstance(status, dict) and status.get("maintenance") is True


def _has(features: Mapping[str, object], app: str, name: str) -> bool:
    """Whether an app of the server announces a feature."""
    announced = features.get(app)
    return isinstance(announced, dict) and bool(announced.get(name))


def _results_of(answer: HttpAnswer) -> Mapping[str, bulk_upload.BulkResult]:
    """The results of a bulk upload by name. Raises OutcomeUnknown."""
    results = bulk_upload.results(answer.body)
    if results is None:
        reason = f"status {answer.status}, and no answer for each file"
        raise OutcomeUnknown("", reason)
    return results


def _bare_id(text: str) -> str:
    """A file's id without its padding and the server's name."""
    number = re.match(r"0*([1-9][0-9]*)oc", text)
    return number[1] if number else ""


def _version_of(line: Line, target: str) -> FileVersion | None:
    """The version that a line describes; None for the line of the collection and for unusable ones."""
    number = target.rpartition("/")[2]
    name = re.search(rf"/versions/({re.escape(number)}/[0-9A-Za-z][0-9A-Za-z._-]*)$", line.href)
    size = line.props.get(f"{DAV} getcontentlength", "")
    modified = seconds_of(line.props.get(f"{DAV} getlastmodified"))
    if not name or not re.fullmatch(r"[0-9]{1,19}", size) or modified is None:
        return None
    return FileVersion(name[1], modified, int(size))
