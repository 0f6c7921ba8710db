"""A folder in a Nextcloud: what it does better than plain WebDAV is used, what it does worse is made up for.

An overwrite that breaks off leaves half a note there, so longer ones go up beside it and are moved into place.
Its tags stay the same for two writes in one second, so a second write of ours moves the time on.
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
from vault_memory.remote.http_transport import Answer, is_redirect
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
from vault_memory.remote.status_errors import is_by_proxy, is_page, retry_after
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
)
WHOLE = 16_384
"""Bytes that an overwrite may have to arrive in one piece; measured: 60 kB became 16 kB"""
LONGEST_NAME = 250
_MAINTENANCE_WAIT = 120.0
LOCKED_OUT_WAIT = 300.0
"""Seconds between two tries while the address of this machine is locked out. Only a wrong password prolongs that"""
_RACE_WAIT = 0.3
_LEAST_LAG, _LAGS = 2, 58
"""Seconds by which the times of our uploads lie before them"""
_LOOKS = 3
"""Files of a bulk upload whose versions are looked at, to find one that is certainly new"""
_ROOM = 4
"""Seconds after the time of the file before, at the least, among which devices find times of their own"""
_OF_VERSIONS = "<d:resourcetype/><d:getcontentlength/><d:getlastmodified/>"


class Nextcloud(WebDav):
    """A remote at ``…/remote.php/dav/files/USER/FOLDER``."""

    props = WebDav.props + "<oc:fileid/><oc:checksums/>"
    root_props = "<oc:data-fingerprint/>"
    default_traits = TRAITS

    @cached_property
    def _lag(self) -> int:
        """Another number for each device."""
        return secrets.randbelow(_LAGS)

    def refuses(self, path: str) -> str | None:
        """Names that are too long, or that it keeps for itself."""
        name = path.rpartition("/")[2]
        if len(name.encode(errors="surrogateescape")) > LONGEST_NAME:
            return f"a name on Nextcloud has at most {LONGEST_NAME} bytes"
        if (
            "\\" in name
            or name.lower().endswith((".part", ".filepart"))
            or name.lower() == ".htaccess"
        ):
            return "Nextcloud keeps such names for itself"
        return None

    def probe(self) -> Capabilities:
        """As for any server; that it keeps checksums is known.

        What a bulk upload writes over shows only in the versions, so there is none without them.
        """
        traits = super().probe()
        is_safe = traits.versions and traits.fileids
        self.traits = replace(
            traits, checksums=True, bulk=is_safe and self._announces_bulk()
        )
        return self.traits

    def remove_scratch(self, path: str) -> None:
        """Remove it past the trash of the person, and out of it: not every version heeds the header."""
        self.send("clean", path, headers=("X-NC-Skip-Trashbin: true",), folder=True)
        trash = f"{self._beside('trashbin')}/trash/"
        if trash == "/trash/":
            return
        try:
            lines, _ = self.ask_for(
                "<d:resourcetype/><nc:trashbin-filename/>", trash, path, "1"
            )
            for line in lines:
                is_ours = is_scratch(
                    line.props.get(f"{NEXTCLOUD} trashbin-filename", "")
                )
                if is_ours and unquote(line.href).startswith(unquote(trash)):
                    self.exchange("clean", line.href)
        except RemoteError as error:
            logger.info(
                "what was tried out may be left in the trash: %s", error.message
            )

    def put(
        self, path: str, raw: bytes, *, expected: str | None, after: int = 0
    ) -> PutResult:
        """As for any server; a tag that stayed the same although the bytes did not is made to move.

        The file gets a time of its own, just before the request: two writes that pass one precondition within a
        second then are two entries among the versions, and have two tags.
        """
        self._check_name(path)
        modified = self._time_of_its_own(after) if after or expected is None else 0
        honoured = (
            self.traits.conditional_create
            if expected is None
            else self.traits.conditional_put
        )
        stored = self._insist(
            path,
            expected,
            lambda: self._upload(
                path, raw, self._guard(path, expected, honoured), modified
            ),
        )
        if not stored.etag or stored.etag != expected:
            return stored
        later = self._second_after(path)
        return self._insist(
            path,
            expected,
            lambda: self._upload(path, raw, (f"If-Match: {expected}",), later),
        )

    def put_new(
        self, files: Sequence[tuple[str, bytes]]
    ) -> Mapping[str, PutResult | None]:
        """Upload in bulk; names that the request cannot carry are left out."""
        place = self._bulk_place()
        if place is None:
            raise Refused("", "the address does not tell where many files at once go")
        target, folder = place
        parts = [
            bulk_upload.Part(path, f"{folder}/{path}", raw)
            for path, raw in files
            if self.refuses(path) is None
        ]
        parts = [part for part in parts if bulk_upload.fits(part.name)]
        if not parts:
            return {}
        modified = self.clock - _LEAST_LAG - self._lag if self.clock else 0
        boundary = secrets.token_hex(16)
        content_type = f"Content-Type: multipart/related; boundary={boundary}"
        answer = self.exchange(
            "bulk", target, bulk_upload.body(parts, boundary, modified), (content_type,)
        )
        if answer.status in bulk_upload.REFUSALS or is_redirect(answer.status):
            raise Refused("", f"status {answer.status}")
        if answer.status not in (200, 400):
            self.refuse("bulk", "", answer)
        results = bulk_upload.results(answer.body)
        if results is None:
            raise OutcomeUnknown(
                "", f"status {answer.status}, and no answer for each file"
            )
        # The parts behind a damaged one (400) were not looked at. After 200, a part without an answer is a riddle.
        unknown = {
            part.path: None
            for part in parts
            if answer.status == 200 and part.name not in results
        }
        stored = [
            (part, self._stored_in_bulk(results[part.name], answer))
            for part in parts
            if part.name in results and results[part.name].is_stored
        ]
        return {**unknown, **self._replaced_in_bulk(stored, modified)}

    def mkcol(self, path: str) -> PutResult:
        """Make a folder, unless its name is one that Nextcloud keeps for itself."""
        self._check_name(path)
        return super().mkcol(path)

    def move(self, path: str, to: str, *, expected: str | None) -> PutResult:
        """Rename; the file keeps its id."""
        self._check_name(to)
        return super().move(path, to, expected=expected)

    def versions(self, path: str, *, fileid: str = "") -> tuple[FileVersion, ...]:
        """What its own app for that keeps, if it is on; by the time at which the file got those bytes."""
        folder = self._beside("versions")
        if not folder:
            return ()
        target = f"{folder}/versions/{fileid or self.look(path).fileid}"
        try:
            lines, _ = self.ask_for(
                _OF_VERSIONS, f"{target}/", path, "1", action="versions"
            )
        except (RemoteMissing, Refused):
            return ()
        found = (_earlier(line, target) for line in lines)
        return tuple(
            sorted(
                (one for one in found if one),
                key=lambda one: one.modified,
                reverse=True,
            )
        )

    def get_version(self, path: str, version: FileVersion, *, max_bytes: int) -> bytes:
        """Its bytes."""
        target = f"{self._beside('versions')}/versions/{version.id}"
        answer = self.exchange("download", target, path=path, cap=max_bytes)
        if is_by_proxy(answer):
            # Fault: a proxy cannot reach the server for a moment and calls every address missing.
            # The version would count as gone, and its lines would be lost. So the server has to
            # answer something else in between. A proxy that replaces the server's own refusals
            # gives the same answer again.
            self.look("")  # raises RootMissing if a proxy calls that missing as well
            answer = self.exchange("download", target, path=path, cap=max_bytes)
        if answer.status != 200:
            self.refuse("download", path, answer)
        if is_page(answer):
            raise NotUnderstood("a page came instead of an earlier version", path=path)
        if not answer.header("Content-Type"):
            raise NotUnderstood(
                "an empty answer came instead of an earlier version", path=path
            )
        # It may be shorter or longer than listed: two writes of one second share an entry with the size of the later.
        return answer.body

    def stored(self, answer: Answer) -> PutResult:
        """With the id, without its padding and the server's name."""
        date = seconds_of(answer.header("Date")) or 0
        return PutResult(
            etag=tag_of(answer)[0],
            fileid=_bare_id(answer.header("OC-FileId")),
            date=date,
        )

    def refuse(self, action: str, path: str, answer: Answer) -> NoReturn:
        """A 503 may be maintenance of the whole server, which only another page of it tells."""
        if answer.status == 503 and self._is_in_maintenance():
            raise RemoteBusy(
                "the server is in maintenance",
                retry_after=_MAINTENANCE_WAIT,
                everywhere=True,
            )
        if answer.status == 429 and retry_after(answer) is None:
            raise locked_out()
        if action == "versions" and is_by_proxy(answer):
            # Fault: the refusal of a proxy counts as "no versions", and what a write of ours
            # replaced on the server is never looked for.
            reason = f"a proxy says that there are no versions (status {answer.status})"
            raise AnsweredByProxy(reason, path=path)
        super().refuse(action, path, answer)

    def _announces_bulk(self) -> bool:
        """Whether the server says that it takes many new files in one request."""
        place = self._bulk_place()
        if place is None:
            return False
        start = place[0].partition("/remote.php/")[0]
        target = f"{start}/ocs/v2.php/cloud/capabilities?format=json"
        try:
            answer = self.exchange("poll", target, headers=("OCS-APIRequest: true",))
            features = (
                json.loads(answer.body)["ocs"]["data"]["capabilities"]
                if answer.status == 200
                else {}
            )
            return bool(features.get("dav", {}).get("bulkupload"))
        except (
            RemoteError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
        ) as error:
            logger.info(
                "the server does not tell whether it takes many files at once: %s",
                type(error).__name__,
            )
            return False

    def _bulk_place(self) -> tuple[str, str] | None:
        """Where bulk uploads go, and the folder of the remote among the account's files."""
        place = re.match(r"(.*/remote\.php/dav)/files/[^/]+(/.*)?$", self.at.base)
        return (f"{quote(place[1])}/bulk", place[2] or "") if place else None

    def _stored_in_bulk(self, result: bulk_upload.Result, answer: Answer) -> PutResult:
        date = seconds_of(answer.header("Date")) or 0
        return PutResult(etag=result.etag, fileid=_bare_id(result.fileid), date=date)

    def _replaced_in_bulk(
        self, stored: Sequence[tuple[bulk_upload.Part, PutResult]], modified: int
    ) -> dict[str, PutResult]:
        """Mark the files that another client had made after the listing: the request wrote over them.

        The server numbers files in the order in which they are made. So once one file of the request is proven new
        by its versions, each later file with a smaller number was there before. Without such a proof all are marked.
        """
        marked: dict[str, PutResult] = {}
        looks, highest, has_new, listed = 0, 0, False, 0
        for part, answer in stored:
            number = bulk_upload.number_of(answer)
            if has_new:
                is_new = number > highest
            else:
                listed = (
                    self._time_if_new(part, answer) if number and looks < _LOOKS else 0
                )
                looks += 1
                has_new = is_new = listed > 0
            highest = max(highest, number)
            marked[part.path] = replace(answer, replaced=not is_new)
        if listed != modified:
            return marked
        return {
            path: replace(answer, modified=modified) for path, answer in marked.items()
        }

    def _time_if_new(self, part: bulk_upload.Part, answer: PutResult) -> int:
        """The time that the server lists for a file which has no earlier bytes; 0 when that is not certain."""
        try:
            versions = self.versions(part.path, fileid=answer.fileid)
        except RemoteError as error:
            # The upload is done. Without this, its results would be lost together with the look.
            logger.info("%s; all files of the request are looked at", error.message)
            return 0
        is_new = len(versions) == 1 and versions[0].size == len(part.raw)
        return versions[0].modified if is_new else 0

    def _check_name(self, path: str) -> None:
        if reason := self.refuses(path):
            raise Refused(path, reason, lasting=True)

    def _upload(
        self, path: str, raw: bytes, guard: tuple[str, ...], modified: int = 0
    ) -> PutResult:
        checksum = hashlib.sha256(raw).hexdigest()
        extra = [f"OC-Checksum: SHA256:{checksum}"]
        creates = not guard[0].startswith("If-Match: ")
        if modified:
            extra.append(f"X-OC-Mtime: {modified}")
        answer = None
        if len(raw) > WHOLE and not creates and self._uploads:
            answer = self._by_chunk(
                path, raw, guard[0].removeprefix("If-Match: "), extra
            )
        if answer is None:
            answer = self._by_put(path, raw, (*guard, *extra, BINARY))
        accepted = answer.header("X-OC-MTime").lower() == "accepted"
        return replace(
            self.stored(answer),
            checksum=checksum,
            modified=modified if accepted else 0,
            replaced=creates and answer.status == 204,
        )

    def _by_put(self, path: str, raw: bytes, headers: tuple[str, ...]) -> Answer:
        try:
            return self.send("upload", path, raw, headers)
        except Refused:
            self._sleep(
                _RACE_WAIT
            )  # two creates at once make it answer 403 to one of them
            return self.send("upload", path, raw, headers)

    def _by_chunk(
        self, path: str, raw: bytes, etag: str, extra: list[str]
    ) -> Answer | None:
        """One chunk beside the note, moved over it only if it still has that tag; the note keeps its id.

        None when this server takes no chunks.
        """
        target = self.at.target(path)
        destination = f"Destination: {self.at.origin}{target}"
        folder = f"{self._uploads}/vault-memory-{secrets.token_hex(8)}"
        try:
            self._step("mkdir", folder, path, None, (destination,), {201})
        except (ParentMissing, Refused, RemoteChanged):
            return None
        try:
            self._step(
                "upload",
                f"{folder}/00001",
                path,
                raw,
                (destination, BINARY),
                {201, 204},
            )
            condition = f"If: <{self.at.origin}{target}> ([{etag}])"
            headers = (destination, condition, f"OC-Total-Length: {len(raw)}", *extra)
            return self._step(
                "move", f"{folder}/.file", path, None, headers, {201, 204}
            )
        except RemoteError:
            self._drop(folder)
            raise

    def _step(
        self,
        action: str,
        target: str,
        path: str,
        body: bytes | None,
        headers: tuple[str, ...],
        successes: set[int],
    ) -> Answer:
        answer = self.exchange(action, target, body, headers, path=path)
        if answer.status not in successes and not 200 <= answer.status < 300:
            self.refuse(action, path, answer)
        if answer.status not in successes:
            raise OutcomeUnknown(path, f"status {answer.status}")
        return answer

    def _drop(self, folder: str) -> None:
        """What did not get into place; the server removes it after a day in any case."""
        try:
            self.exchange("clean", folder)
        except RemoteError:
            return

    @property
    def _uploads(self) -> str:
        """Where chunks go; "" when the address does not tell."""
        return self._beside("uploads")

    def _beside(self, collection: str) -> str:
        """Where the account has something else than its files; "" when the address does not tell."""
        found = re.match(
            r"(.*/remote\.php/dav)/files/([^/]+)(?:/|$)",
            self.at.target("", folder=True),
        )
        return f"{found[1]}/{collection}/{found[2]}" if found else ""

    def _time_of_its_own(self, after: int) -> int:
        """A moment between the time of what is written over and this request; 0 when the clock is not known.

        A write that comes to lie between a precondition and ours is later than that. Each device takes another one.
        Without room for such a moment it is one after both, at which nobody writes just now: another write at our
        time would share our entry among the versions, and would be wiped out with it.
        """
        if not self.clock:
            return 0
        latest = self.clock - _LEAST_LAG
        if latest - after < _ROOM:
            return max(after + 1, self.clock + _LEAST_LAG) + self._lag % _ROOM
        return latest - self._lag % min(_LAGS, latest - after)

    def _second_after(self, path: str) -> int:
        """A time that the file on the server does not have."""
        answer = self.exchange("check", self.at.target(path), path=path)
        return (
            seconds_of(answer.header("Last-Modified"))
            or seconds_of(answer.header("Date"))
            or 0
        ) + 1

    def _is_in_maintenance(self) -> bool:
        start = self.at.target("", folder=True).partition("/remote.php/")[0]
        try:
            answer = self.exchange("poll", f"{start}/status.php")
            told = json.loads(answer.body) if answer.status in (200, 503) else None
        except (RemoteError, ValueError):
            return False
        return isinstance(told, dict) and told.get("maintenance") is True


def _bare_id(text: str) -> str:
    """A file's id without its padding and the server's name."""
    number = re.match(r"0*([1-9][0-9]*)oc", text)
    return number[1] if number else ""


def locked_out() -> RemoteBusy:
    """What a 429 of a Nextcloud means that does not say how long to wait: its guard against guessed passwords."""
    return RemoteBusy(
        "after wrong passwords, the Nextcloud has locked out the address of this machine, for up to half an hour "
        "after the last of them",
        retry_after=LOCKED_OUT_WAIT,
        everywhere=True,
        hint="find the program that tries a wrong password, wait for half an hour, and try again",
    )


def _earlier(line: Line, target: str) -> FileVersion | None:
    """What a line of the listing of a file's versions tells; None for the listing's own and for what is odd."""
    number = target.rpartition("/")[2]
    name = re.search(
        rf"/versions/({re.escape(number)}/[0-9A-Za-z][0-9A-Za-z._-]*)$", line.href
    )
    size = line.props.get(f"{DAV} getcontentlength", "")
    modified = seconds_of(line.props.get(f"{DAV} getlastmodified"))
    if not name or not re.fullmatch(r"[0-9]{1,19}", size) or modified is None:
        return None
    return FileVersion(name[1], modified, int(size))
