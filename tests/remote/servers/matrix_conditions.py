"""The rows of the matrix on tags and preconditions."""

import time

from tests.remote.servers.laboratory import Laboratory
from tests.remote.servers.matrix import Matrix, aged, joined

matrix = Matrix()


# --- Tags ------------------------------------------------------------------------------------------------------------


@matrix.row("yes", apache="no", nginx="no")
def _the_answer_to_put_has_a_tag(lab: Laboratory) -> str:
    return "yes" if lab.send("PUT", "a.md", b"first\n").headers.get("ETag") else "no"


@matrix.row("no", nextcloud="yes")
def _a_tag_of_its_own_that_compression_leaves_alone(lab: Laboratory) -> str:
    lab.put("a.md")
    return "yes" if lab.send("GET", "a.md").headers.get("OC-ETag") else "no"


@matrix.row("quoted", nginx="absent", wsgidav="unquoted")
def _getetag(lab: Laboratory) -> str:
    lab.put("a.md")
    tag = next(iter(lab.listed("a.md").values())).get("getetag")
    return "absent" if tag is None else "quoted" if tag.endswith('"') else "unquoted"


@matrix.row("changes", apache_digest="same", apache_infinity="same", apache="changes", sabre="same")
def _same_content_later(lab: Laboratory) -> str:
    before = aged(lab)
    lab.put("a.md")
    return "same" if lab.tag("a.md").removeprefix("W/") == before else "changes"


@matrix.row(
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


@matrix.row("none/none/none", apache="yes/no/no", lighttpd="yes/no/no", nextcloud="yes/yes/yes")
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
    return joined(*("none" if old is None else "no" if old == new else "yes" for old, new in pairs))


@matrix.row("kept")
def _tag_after_move(lab: Laboratory) -> str:
    before = aged(lab)
    lab.status("MOVE", "a.md", Destination=f"{lab.url}b.md")
    return "kept" if lab.tag("b.md") == before else "changed"


# --- Preconditions ---------------------------------------------------------------------------------------------------


@matrix.row("412/412/204", nginx="204/204/204", rclone="201/201/201")
def _put_if_match_wrong_stale_right(lab: Laboratory) -> str:
    stale = aged(lab)
    wrong = lab.put("a.md", b"2", If_Match='"wrong"')
    lab.put("a.md", b"second, longer\n")
    lab.age("a.md")
    after = lab.put("a.md", b"3", If_Match=stale)
    lab.age("a.md")
    return joined(wrong, after, lab.put("a.md", b"4", If_Match=lab.tag("a.md")))


@matrix.row("204", apache_digest="204", apache_infinity="204", apache="412", rclone="201")
def _put_if_match_with_a_tag_of_just_now(lab: Laboratory) -> str:
    for _ in range(5):
        start = time.monotonic()
        lab.put("a.md")
        status = lab.put("a.md", b"2", If_Match=lab.tag("a.md"))
        if time.monotonic() - start < 0.9:
            break
    return str(status)


@matrix.row("412/412", nginx="201/201", rclone="201/201", wsgidav="201/201")
def _put_if_match_star_or_tag_on_nothing(lab: Laboratory) -> str:
    return joined(lab.put("a.md", If_Match="*"), lab.put("b.md", If_Match='"x"'))


@matrix.row("412/201", nginx="204/201", rclone="201/201")
def _put_if_none_match_star_existing_new(lab: Laboratory) -> str:
    lab.put("a.md")
    return joined(lab.put("a.md", If_None_Match="*"), lab.put("b.md", If_None_Match="*"))


@matrix.row("412", nginx="204", rclone="201")
def _put_if_unmodified_since_long_ago(lab: Laboratory) -> str:
    lab.put("a.md")
    return str(lab.put("a.md", b"2", If_Unmodified_Since="Sat, 01 Jan 2000 00:00:00 GMT"))


@matrix.row("412/204", nginx="204/404", rclone="204/404")
def _delete_if_match_wrong_right(lab: Laboratory) -> str:
    tag = aged(lab)
    return joined(
        lab.status("DELETE", "a.md", If_Match='"wrong"'), lab.status("DELETE", "a.md", If_Match=tag)
    )


@matrix.row("412/201", nginx="412/204")
def _move_without_overwriting_existing_new(lab: Laboratory) -> str:
    lab.put("a.md")
    lab.put("b.md")
    return joined(
        lab.status("MOVE", "a.md", Destination=f"{lab.url}b.md", Overwrite="F"),
        lab.status("MOVE", "a.md", Destination=f"{lab.url}c.md", Overwrite="F"),
    )


@matrix.row("204", rclone="412")
def _move_onto_existing(lab: Laboratory) -> str:
    lab.put("a.md")
    lab.put("b.md")
    return str(lab.status("MOVE", "a.md", Destination=f"{lab.url}b.md"))


@matrix.row("412", nginx="204", sabre="201", rclone="201")
def _move_if_match_wrong(lab: Laboratory) -> str:
    lab.put("a.md")
    return str(lab.status("MOVE", "a.md", Destination=f"{lab.url}c.md", If_Match='"wrong"'))


@matrix.row("412/204", apache=None, lighttpd="412/412", nginx=None, rclone=None, wsgidav="204/204")
def _move_with_a_condition_on_the_target_wrong_right(lab: Laboratory) -> str:
    target = f"{lab.url}b.md"

    def moved(tag: str) -> int:
        lab.put("a.md", b"new\n")
        return lab.status(
            "MOVE", "a.md", Destination=target, Overwrite="T", If=f"<{target}> ([{tag}])"
        )

    lab.put("b.md")
    first = moved('"wrong"')
    aged(lab, "b.md")
    return joined(first, moved(lab.tag("b.md")))


@matrix.row(
    "412/201/204/412", nginx="412/204/204/204", sabre="412/201/204/201", rclone="412/201/204/201"
)
def _copy_keeping_new_over_and_with_a_wrong_tag(lab: Laboratory) -> str:
    lab.put("a.md")
    lab.put("b.md")
    return joined(
        lab.status("COPY", "a.md", Destination=f"{lab.url}b.md", Overwrite="F"),
        lab.status("COPY", "a.md", Destination=f"{lab.url}c.md", Overwrite="F"),
        lab.status("COPY", "a.md", Destination=f"{lab.url}b.md", Overwrite="T"),
        lab.status("COPY", "a.md", Destination=f"{lab.url}d.md", If_Match='"wrong"'),
    )


@matrix.row(None, nextcloud="412/412")
def _folder_delete_and_move_with_its_right_tag(lab: Laboratory) -> str:
    lab.status("MKCOL", "x/")
    tag = next(iter(lab.listed("x/").values()))["getetag"]
    moved = lab.status("MOVE", "x/", Destination=f"{lab.url}y/", If_Match=tag)
    return joined(lab.status("DELETE", "x/", If_Match=tag), moved)
