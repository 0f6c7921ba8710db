"""The rows of the matrix on everything but tags and preconditions."""

from tests.remote.servers.laboratory import XML, Laboratory
from tests.remote.servers.matrix import Matrix, joined

LOCK = (
    b'<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype></D:lockinfo>"
)

matrix = Matrix()


@matrix.row("200/423/204/204", rclone="200/423/201/204", nextcloud="501")
def _lock_put_without_and_with_its_token_unlock(lab: Laboratory) -> str:
    lab.put("a.md")
    locked = lab.send("LOCK", "a.md", LOCK, Timeout="Second-60", **XML)
    token = locked.headers.get("Lock-Token")
    if token is None:
        return str(locked.status)
    without, with_it = lab.put("a.md", b"2"), lab.put("a.md", b"3", If=f"({token})")
    return joined(locked.status, without, with_it, lab.status("UNLOCK", "a.md", Lock_Token=token))


@matrix.row(
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
    return (
        f"207, {len({path.count('/') + bool(path) for path in lab.listed('', 'infinity')})} levels"
    )


@matrix.row("207", lighttpd="415")
def _propfind_without_content_type(lab: Laboratory) -> str:
    body = b'<propfind xmlns="DAV:"><allprop/></propfind>'
    return str(lab.status("PROPFIND", "", body, Depth="0"))


@matrix.row("ignored", nextcloud="accepted/500/500")
def _x_oc_mtime_good_early_no_number(lab: Laboratory) -> str:
    good = lab.send("PUT", "a.md", b"1", X_OC_Mtime="1700000000")
    if not good.headers.get("X-OC-MTime"):
        return "ignored"
    early, word = (
        lab.put("a.md", b"2", X_OC_Mtime="86400"),
        lab.put("a.md", b"3", X_OC_Mtime="noon"),
    )
    return joined(good.headers["X-OC-MTime"], early, word)


@matrix.row("416/206/200")
def _range_unsatisfiable_good_of_a_stale_tag(lab: Laboratory) -> str:
    lab.put("a.md", b"0123456789")
    lab.age("a.md")
    return joined(
        lab.status("GET", "a.md", Range="bytes=50-"),
        lab.status("GET", "a.md", Range="bytes=2-4"),
        lab.status("GET", "a.md", Range="bytes=2-4", If_Range='"stale"'),
    )


@matrix.row("400", apache="204", nginx="501", sabre="501", rclone="201")
def _put_content_range(lab: Laboratory) -> str:
    lab.put("a.md", b"0123456789")
    return str(lab.put("a.md", b"ab", Content_Range="bytes 2-3/10"))


@matrix.row("409", nginx="500", sabre="404", rclone="404", nextcloud="404")
def _put_into_a_missing_folder(lab: Laboratory) -> str:
    return str(lab.put("none/a.md"))


@matrix.row("201/405/409", rclone="201/201/409")
def _mkcol_new_existing_in_a_missing_folder(lab: Laboratory) -> str:
    return joined(
        lab.status("MKCOL", "x/"), lab.status("MKCOL", "x/"), lab.status("MKCOL", "none/x/")
    )


@matrix.row("409", apache="500", nginx="204", rclone="403")
def _move_into_a_missing_folder(lab: Laboratory) -> str:
    lab.put("a.md")
    return str(lab.status("MOVE", "a.md", Destination=f"{lab.url}none/a.md"))


@matrix.row("200", lighttpd="403", nginx="403", sabre="501")
def _get_on_a_folder(lab: Laboratory) -> str:
    return str(lab.status("GET"))


@matrix.row(
    "old/404",
    sabre="old/404",
    rclone="truncated/truncated",
    wsgidav="truncated/truncated",
    nextcloud="truncated/404",
)
def _upload_cut_off_over_a_file_and_new(lab: Laboratory) -> str:
    long = b"a line of the new text\n" * 4000
    lab.put("a.md", b"old\n")
    for path in ("a.md", "b.md"):
        lab.put_half(path, long, 40_000)
    names = {b"old\n": "old", long: "whole", 404: "404"}
    return joined(*(names.get(lab.read(path), "truncated") for path in ("a.md", "b.md")))


@matrix.row("2 files", nextcloud="1 file, the later text")
def _one_name_composed_and_decomposed(lab: Laboratory) -> str:
    lab.put("caf%C3%A9.md", b"composed\n")
    lab.put("cafe%CC%81.md", b"decomposed\n")
    names = [name for name in lab.listed("", "1") if name]
    if len(names) == 1:
        return "1 file, the later text" if lab.read("caf%C3%A9.md") == b"decomposed\n" else "1 file"
    return f"{len(names)} files"


@matrix.row("2 files")
def _names_that_differ_in_case(lab: Laboratory) -> str:
    lab.put("Tee.md")
    lab.put("tee.md")
    return f"{len([name for name in lab.listed('', '1') if name])} files"


@matrix.row(
    None,
    apache="201/201/201/403/201",
    wsgidav="201/201/201/201/201",
    nextcloud="400/400/400/400/400",
)
def _put_backslash_newline_part_htaccess_251_bytes(lab: Laboratory) -> str:
    names = ("back%5Cslash.md", "new%0Aline.md", "x.part", ".htaccess", "n" * 248 + ".md")
    return joined(*(lab.put(name) for name in names))


@matrix.row("no", nextcloud="yes")
def _checksums_are_stored_unverified(lab: Laboratory) -> str:
    lab.put("a.md", OC_Checksum="SHA1:0000000000000000000000000000000000000000")
    body = b'<propfind xmlns="DAV:"><prop><checksums xmlns="http://owncloud.org/ns"/></prop></propfind>'
    return (
        "yes" if b"SHA1:0000" in lab.send("PROPFIND", "a.md", body, Depth="0", **XML).body else "no"
    )


@matrix.row(
    "415", apache="501", lighttpd="501", nginx="405", sabre="403", rclone="400", wsgidav="405"
)
def _report_sync_collection(lab: Laboratory) -> str:
    body = b'<sync-collection xmlns="DAV:"><sync-token/><prop><getetag/></prop></sync-collection>'
    return str(lab.status("REPORT", "", body, Depth="1", **XML))


@matrix.row("upper", sabre="lower", apache="lower", nextcloud="lower")
def _escapes_in_hrefs(lab: Laboratory) -> str:
    lab.put("%C3%BC.md")
    listing = lab.send("PROPFIND", "", b"", Depth="1", **XML).body
    return "lower" if b"%c3%bc" in listing else "upper" if b"%C3%BC" in listing else "raw"
