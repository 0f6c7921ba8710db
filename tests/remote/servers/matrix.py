"""What WebDAV servers were seen to do, as a table that is tried on each: experiments, and what each server answers."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.remote.servers.laboratory import XML, Laboratory

SERVERS = ("apache-digest", "apache", "apache-infinity", "lighttpd", "sabre", "nginx", "rclone", "wsgidav", "nextcloud")

LOCK = (
    b'<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype></D:lockinfo>"
)


@dataclass(frozen=True)
class Row:
    """One experiment."""

    name: str
    experiment: Callable[[Laboratory], str]
    expected: Mapping[str, str]
    """By server; servers that are not named are not asked."""


ROWS: list[Row] = []
_APACHES = ("apache-digest", "apache", "apache-infinity")


def row(usual: str | None = None, **others: str | None) -> Callable[[Callable[[Laboratory], str]], None]:
    """One row: what most answer, and those that differ (None: not asked). `apache` stands for all three."""

    def add(experiment: Callable[[Laboratory], str]) -> None:
        named = {name.replace("_", "-"): value for name, value in others.items()}
        if "apache" in named:
            named = {**dict.fromkeys(_APACHES, named["apache"]), **named}
        expected = {name: named.get(name, usual) for name in SERVERS}
        known = {name: value for name, value in expected.items() if value is not None}
        ROWS.append(Row(experiment.__name__.strip("_"), experiment, known))

    return add


def _old(lab: Laboratory, path: str = "a.md", body: bytes = b"first\n") -> str:
    """A file of some age, and its tag."""
    lab.put(path, body)
    lab.age(path)
    return lab.tag(path)


def _joined(*statuses: object) -> str:
    return "/".join(str(status) for status in statuses)


# --- Tags ------------------------------------------------------------------------------------------------------------


@row("yes", apache="no", nginx="no")
def _the_answer_to_put_has_a_tag(lab: Laboratory) -> str:
    return "yes" if lab.send("PUT", "a.md", b"first\n").headers.get("ETag") else "no"


@row("no", nextcloud="yes")
def _a_tag_of_its_own_that_compression_leaves_alone(lab: Laboratory) -> str:
    lab.put("a.md")
    return "yes" if lab.send("GET", "a.md").headers.get("OC-ETag") else "no"


@row("quoted", nginx="absent", wsgidav="unquoted")
def _getetag(lab: Laboratory) -> str:
    lab.put("a.md")
    tag = next(iter(lab.listed("a.md").values())).get("getetag")
    return "absent" if tag is None else "quoted" if tag.endswith('"') else "unquoted"


@row("changes", apache_digest="same", apache_infinity="same", apache="changes", sabre="same")
def _same_content_later(lab: Laboratory) -> str:
    before = _old(lab)
    lab.put("a.md")
    return "same" if lab.tag("a.md").removeprefix("W/") == before else "changes"


@row(
    "6",
    apache_digest="6",
    apache_infinity="6",
    apache=None,
    lighttpd=None,
    nginx=None,
    rclone=None,
    wsgidav=None,
    nextcloud="1",
)
def _six_overwrites_at_once_have_so_many_tags(lab: Laboratory) -> str:
    tags = set()
    for number in range(6):
        lab.put("a.md", b"number %d\n" % number)
        tags.add(lab.tag("a.md"))
    return str(len(tags))


@row("none/none/none", apache="yes/no/no", lighttpd="yes/no/no", nextcloud="yes/yes/yes")
def _tags_of_the_folders_above_a_new_file(lab: Laboratory) -> str:
    folders = ("x/y/z", "x/y", "x")
    for folder in reversed(folders):
        lab.status("MKCOL", f"{folder}/")
        lab.age(folder)
    before = [lab.listed(f"{folder}/") for folder in folders]
    lab.put("x/y/z/a.md")
    after = [lab.listed(f"{folder}/") for folder in folders]
    pairs = [
        (next(iter(one.values())).get("getetag"), next(iter(two.values())).get("getetag"))
        for one, two in zip(before, after, strict=True)
    ]
    return _joined(*("none" if old is None else "no" if old == new else "yes" for old, new in pairs))


@row("kept")
def _tag_after_move(lab: Laboratory) -> str:
    before = _old(lab)
    lab.status("MOVE", "a.md", Destination=f"{lab.url}b.md")
    return "kept" if lab.tag("b.md") == before else "changed"


# --- Preconditions ---------------------------------------------------------------------------------------------------


@row("412/412/204", nginx="204/204/204", rclone="201/201/201")
def _put_if_match_wrong_stale_right(lab: Laboratory) -> str:
    stale = _old(lab)
    wrong = lab.put("a.md", b"2", If_Match='"wrong"')
    lab.put("a.md", b"second, longer\n")
    lab.age("a.md")
    after = lab.put("a.md", b"3", If_Match=stale)
    lab.age("a.md")
    return _joined(wrong, after, lab.put("a.md", b"4", If_Match=lab.tag("a.md")))


@row("204", apache_digest="204", apache_infinity="204", apache="412", rclone="201")
def _put_if_match_with_a_tag_of_just_now(lab: Laboratory) -> str:
    for _ in range(5):
        start = time.monotonic()
        lab.put("a.md")
        status = lab.put("a.md", b"2", If_Match=lab.tag("a.md"))
        if time.monotonic() - start < 0.9:
            break
    return str(status)


@row("412/412", nginx="201/201", rclone="201/201", wsgidav="201/201")
def _put_if_match_star_or_tag_on_nothing(lab: Laboratory) -> str:
    return _joined(lab.put("a.md", If_Match="*"), lab.put("b.md", If_Match='"x"'))


@row("412/201", nginx="204/201", rclone="201/201")
def _put_if_none_match_star_existing_new(lab: Laboratory) -> str:
    lab.put("a.md")
    return _joined(lab.put("a.md", If_None_Match="*"), lab.put("b.md", If_None_Match="*"))


@row("412", nginx="204", rclone="201")
def _put_if_unmodified_since_long_ago(lab: Laboratory) -> str:
    lab.put("a.md")
    return str(lab.put("a.md", b"2", If_Unmodified_Since="Sat, 01 Jan 2000 00:00:00 GMT"))


@row("412/204", nginx="204/404", rclone="204/404")
def _delete_if_match_wrong_right(lab: Laboratory) -> str:
    tag = _old(lab)
    return _joined(lab.status("DELETE", "a.md", If_Match='"wrong"'), lab.status("DELETE", "a.md", If_Match=tag))


@row("412/201", nginx="412/204")
def _move_without_overwriting_existing_new(lab: Laboratory) -> str:
    lab.put("a.md")
    lab.put("b.md")
    return _joined(
        lab.status("MOVE", "a.md", Destination=f"{lab.url}b.md", Overwrite="F"),
        lab.status("MOVE", "a.md", Destination=f"{lab.url}c.md", Overwrite="F"),
    )


@row("204", rclone="412")
def _move_onto_existing(lab: Laboratory) -> str:
    lab.put("a.md")
    lab.put("b.md")
    return str(lab.status("MOVE", "a.md", Destination=f"{lab.url}b.md"))


@row("412", nginx="204", sabre="201", rclone="201")
def _move_if_match_wrong(lab: Laboratory) -> str:
    lab.put("a.md")
    return str(lab.status("MOVE", "a.md", Destination=f"{lab.url}c.md", If_Match='"wrong"'))


@row("412/204", apache=None, lighttpd="412/412", nginx=None, rclone=None, wsgidav="204/204")
def _move_with_a_condition_on_the_target_wrong_right(lab: Laboratory) -> str:
    target = f"{lab.url}b.md"

    def moved(tag: str) -> int:
        lab.put("a.md", b"new\n")
        return lab.status("MOVE", "a.md", Destination=target, Overwrite="T", If=f"<{target}> ([{tag}])")

    lab.put("b.md")
    first = moved('"wrong"')
    _old(lab, "b.md")
    return _joined(first, moved(lab.tag("b.md")))


@row("412/201/204/412", nginx="412/204/204/204", sabre="412/201/204/201", rclone="412/201/204/201")
def _copy_keeping_new_over_and_with_a_wrong_tag(lab: Laboratory) -> str:
    lab.put("a.md")
    lab.put("b.md")
    return _joined(
        lab.status("COPY", "a.md", Destination=f"{lab.url}b.md", Overwrite="F"),
        lab.status("COPY", "a.md", Destination=f"{lab.url}c.md", Overwrite="F"),
        lab.status("COPY", "a.md", Destination=f"{lab.url}b.md", Overwrite="T"),
        lab.status("COPY", "a.md", Destination=f"{lab.url}d.md", If_Match='"wrong"'),
    )


@row(None, nextcloud="412/412")
def _folder_delete_and_move_with_its_right_tag(lab: Laboratory) -> str:
    lab.status("MKCOL", "x/")
    tag = next(iter(lab.listed("x/").values()))["getetag"]
    moved = lab.status("MOVE", "x/", Destination=f"{lab.url}y/", If_Match=tag)
    return _joined(lab.status("DELETE", "x/", If_Match=tag), moved)


# --- The rest --------------------------------------------------------------------------------------------------------


@row("200/423/204/204", rclone="200/423/201/204", nextcloud="501")
def _lock_put_without_and_with_its_token_unlock(lab: Laboratory) -> str:
    lab.put("a.md")
    locked = lab.send("LOCK", "a.md", LOCK, Timeout="Second-60", **XML)
    token = locked.headers.get("Lock-Token")
    if token is None:
        return str(locked.status)
    without, with_it = lab.put("a.md", b"2"), lab.put("a.md", b"3", If=f"({token})")
    return _joined(locked.status, without, with_it, lab.status("UNLOCK", "a.md", Lock_Token=token))


@row(
    "403",
    apache_infinity="207, 3 levels",
    sabre="207, 2 levels",
    rclone="207, 3 levels",
    wsgidav="207, 3 levels",
    nextcloud="207, 3 levels",
    apache_digest="403",
    apache="403",
)
def _propfind_to_any_depth(lab: Laboratory) -> str:
    lab.status("MKCOL", "x/")
    lab.put("x/a.md")
    reply = lab.send("PROPFIND", "", b"", Depth="infinity", **XML)
    if reply.status != 207:
        return str(reply.status)
    return f"207, {len({path.count('/') + bool(path) for path in lab.listed('', 'infinity')})} levels"


@row("207", lighttpd="415")
def _propfind_without_content_type(lab: Laboratory) -> str:
    body = b'<propfind xmlns="DAV:"><allprop/></propfind>'
    return str(lab.status("PROPFIND", "", body, Depth="0"))


@row("ignored", nextcloud="accepted/500/500")
def _x_oc_mtime_good_early_no_number(lab: Laboratory) -> str:
    good = lab.send("PUT", "a.md", b"1", X_OC_Mtime="1700000000")
    if not good.headers.get("X-OC-MTime"):
        return "ignored"
    early, word = lab.put("a.md", b"2", X_OC_Mtime="86400"), lab.put("a.md", b"3", X_OC_Mtime="noon")
    return _joined(good.headers["X-OC-MTime"], early, word)


@row("416/206/200")
def _range_unsatisfiable_good_of_a_stale_tag(lab: Laboratory) -> str:
    lab.put("a.md", b"0123456789")
    lab.age("a.md")
    return _joined(
        lab.status("GET", "a.md", Range="bytes=50-"),
        lab.status("GET", "a.md", Range="bytes=2-4"),
        lab.status("GET", "a.md", Range="bytes=2-4", If_Range='"stale"'),
    )


@row("400", apache="204", nginx="501", sabre="501", rclone="201")
def _put_content_range(lab: Laboratory) -> str:
    lab.put("a.md", b"0123456789")
    return str(lab.put("a.md", b"ab", Content_Range="bytes 2-3/10"))


@row("409", nginx="500", sabre="404", rclone="404", nextcloud="404")
def _put_into_a_missing_folder(lab: Laboratory) -> str:
    return str(lab.put("none/a.md"))


@row("201/405/409", rclone="201/201/409")
def _mkcol_new_existing_in_a_missing_folder(lab: Laboratory) -> str:
    return _joined(lab.status("MKCOL", "x/"), lab.status("MKCOL", "x/"), lab.status("MKCOL", "none/x/"))


@row("409", apache="500", nginx="204", rclone="403")
def _move_into_a_missing_folder(lab: Laboratory) -> str:
    lab.put("a.md")
    return str(lab.status("MOVE", "a.md", Destination=f"{lab.url}none/a.md"))


@row("404", lighttpd="403", nginx="403", sabre="501", rclone="200", wsgidav="200", nextcloud="200")
def _get_on_a_folder(lab: Laboratory) -> str:
    return str(lab.status("GET"))


@row("old/404", sabre="old/404", rclone="truncated/truncated", wsgidav="truncated/truncated", nextcloud="truncated/404")
def _upload_cut_off_over_a_file_and_new(lab: Laboratory) -> str:
    long = b"a line of the new text\n" * 4000
    lab.put("a.md", b"old\n")
    for path in ("a.md", "b.md"):
        lab.put_half(path, long, 40_000)
    names = {b"old\n": "old", long: "whole", 404: "404"}
    return _joined(*(names.get(lab.read(path), "truncated") for path in ("a.md", "b.md")))


@row("2 files", nextcloud="1 file, the later text")
def _one_name_composed_and_decomposed(lab: Laboratory) -> str:
    lab.put("caf%C3%A9.md", b"composed\n")
    lab.put("cafe%CC%81.md", b"decomposed\n")
    names = [name for name in lab.listed("", "1") if name]
    if len(names) == 1:
        return "1 file, the later text" if lab.read("caf%C3%A9.md") == b"decomposed\n" else "1 file"
    return f"{len(names)} files"


@row("2 files")
def _names_that_differ_in_case(lab: Laboratory) -> str:
    lab.put("Tee.md")
    lab.put("tee.md")
    return f"{len([name for name in lab.listed('', '1') if name])} files"


@row(None, apache="201/201/201/201/201", wsgidav="201/201/201/201/201", nextcloud="400/400/400/400/400")
def _put_backslash_newline_part_htaccess_251_bytes(lab: Laboratory) -> str:
    names = ("back%5Cslash.md", "new%0Aline.md", "x.part", ".htaccess", "n" * 248 + ".md")
    return _joined(*(lab.put(name) for name in names))


@row("no", nextcloud="yes")
def _checksums_are_stored_unverified(lab: Laboratory) -> str:
    lab.put("a.md", OC_Checksum="SHA1:0000000000000000000000000000000000000000")
    body = b'<propfind xmlns="DAV:"><prop><checksums xmlns="http://owncloud.org/ns"/></prop></propfind>'
    return "yes" if b"SHA1:0000" in lab.send("PROPFIND", "a.md", body, Depth="0", **XML).body else "no"


@row("415", apache="501", lighttpd="501", nginx="405", sabre="403", rclone="400", wsgidav="405")
def _report_sync_collection(lab: Laboratory) -> str:
    body = b'<sync-collection xmlns="DAV:"><sync-token/><prop><getetag/></prop></sync-collection>'
    return str(lab.status("REPORT", "", body, Depth="1", **XML))


@row("upper", sabre="lower", apache="lower", nextcloud="lower")
def _escapes_in_hrefs(lab: Laboratory) -> str:
    lab.put("%C3%BC.md")
    listing = lab.send("PROPFIND", "", b"", Depth="1", **XML).body
    return "lower" if b"%c3%bc" in listing else "upper" if b"%C3%BC" in listing else "raw"
