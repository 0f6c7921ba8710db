"""Carrying ops out on a note's bytes: only the lines that an op names change, and the result is parsed and compared."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vault_memory.markdown.document import Section, SectionedDoc, is_text, parse, render
from vault_memory.markdown.editable_region import Region, item_marker, top_region
from vault_memory.markdown.note_items import folded, line_end
from vault_memory.rules.edits.ops import (
    AddHeading,
    Append,
    Applied,
    Op,
    OpRefused,
    Outcome,
    Rejected,
    Remove,
    Replace,
    read_op,
)


def apply_ops(doc: SectionedDoc, ops: Iterable[object]) -> Outcome:
    """Carry out what can be carried out, in order; `ops` are JSON values or ops. The input is not changed.

    Lines that are appended to one section one after the other are checked together, and by halves when that fails.
    """
    done: list[Applied | Rejected] = []
    for run in _in_runs(ops):
        doc, more = _carry_out(doc, run)
        done += more
    applied = tuple(one for one in done if isinstance(one, Applied))
    return Outcome(
        doc, applied, tuple(one for one in done if isinstance(one, Rejected))
    )


_Said = tuple[object, Op | OpRefused]
"""A value, and the op that it means, or why it means none"""


def _in_runs(ops: Iterable[object]) -> Iterator[list[_Said]]:
    """The ops in their order: appends to one section that follow each other together, all others alone."""
    run: list[_Said] = []
    for said in ops:
        op = _read(said)
        last = run[-1][1] if run else None
        if run and not (
            isinstance(op, Append)
            and isinstance(last, Append)
            and op.heading == last.heading
        ):
            yield run
            run = []
        run.append((said, op))
    if run:
        yield run


def _read(said: object) -> Op | OpRefused:
    try:
        return said if isinstance(said, Op) else read_op(said)
    except OpRefused as refusal:
        return refusal


def _carry_out(
    doc: SectionedDoc, run: list[_Said]
) -> tuple[SectionedDoc, list[Applied | Rejected]]:
    try:
        fresh, applied = _apply(doc, [op for _, op in run])
        return fresh, list(applied)
    except OpRefused as refusal:
        if len(run) == 1:
            return doc, [Rejected(run[0][0], refusal.reason, refusal.headings)]
    half = len(run) // 2
    doc, first = _carry_out(doc, run[:half])
    doc, second = _carry_out(doc, run[half:])
    return doc, first + second


def _apply(
    doc: SectionedDoc, ops: list[Op | OpRefused]
) -> tuple[SectionedDoc, list[Applied]]:
    """All of a run, or Refusal."""
    op, raw = ops[0], render(doc)
    if isinstance(op, OpRefused):
        raise op
    if not is_text(raw):
        raise OpRefused("not_text")
    if isinstance(op, AddHeading):
        fresh, done = _add_heading(doc, raw, op)
        return fresh, [done]
    at = _find(doc, op.heading)
    section = doc.sections[at]
    twins = sum(other.name == section.name for other in doc.sections)
    remark = (
        f"`{section.name}` stands {twins} times; the first was meant"
        if twins > 1
        else ""
    )
    region = top_region(section.body)
    if len(ops) > 1 and not _stands_apart(doc, at, region):
        raise OpRefused("would_change_structure")  # each line by itself
    match op:
        case Append():
            edit = _append(
                raw, section, region, [one for one in ops if isinstance(one, Append)]
            )
        case Remove():
            edit = _remove(section, region, op)
        case Replace():
            edit = _replace(section, region, op)
    said = [one for one in ops if not isinstance(one, OpRefused)]
    applied = [
        Applied(one, out, edit.removed, remark)
        for one, out in zip(said, edit.outcomes, strict=True)
    ]
    if "applied" not in edit.outcomes:
        return doc, applied
    fresh = _with_body(doc, at, edit)
    _check(fresh, at, edit.expected)
    return fresh, applied


def _stands_apart(doc: SectionedDoc, at: int, region: Region) -> bool:
    """Whether what follows the top region is a heading with its marks at the very left, which no item can swallow."""
    below = doc.sections[at].body[region.text_end :] + b"".join(
        one.heading for one in doc.sections[at + 1 : at + 2]
    )
    return below.lstrip(b"\r\n")[:1] in (b"", b"#")


@dataclass(frozen=True, slots=True)
class _Edit:
    """A section's body after an op, and the items that it must then have."""

    outcomes: tuple[str, ...]
    """of each op"""
    body: bytes = b""
    expected: tuple[str, ...] = ()
    removed: bytes = b""
    heading: bytes = b""
    """the heading's line, when it got a line end"""


def _find(doc: SectionedDoc, name: str) -> int:
    for at, section in enumerate(doc.sections):
        if section.name == name:
            return at
    raise OpRefused(
        "heading_missing",
        tuple(dict.fromkeys(section.name for section in doc.sections)),
    )


def _append(raw: bytes, section: Section, region: Region, ops: list[Append]) -> _Edit:
    texts = _texts(section.body, region)
    known, fresh, outcomes = set(map(folded, texts)), list[str](), list[str]()
    for op in ops:
        outcomes.append("noop_dup" if folded(op.line) in known else "applied")
        if outcomes[-1] == "applied":
            fresh.append(op.line)
            known.add(folded(_said(op.line)))
    if not fresh:
        return _Edit(tuple(outcomes))
    eol, heading = line_end(raw), section.heading
    before, after = section.body[: region.text_end], section.body[region.text_end :]
    ended = (
        before.endswith((b"\n", b"\r")) if before else heading.endswith((b"\n", b"\r"))
    )
    if not before and not ended:
        heading += eol
    gap = (eol if before and not ended else b"") + (
        eol if before and not region.ends_in_item else b""
    )
    lines = _as_items(_marker_for(section.body, region), fresh)
    end = eol if after or ended else b""
    expected = (*texts, *map(_said, fresh))
    return _Edit(
        tuple(outcomes),
        before + gap + eol.join(lines) + end + after,
        expected,
        heading=heading,
    )


def _as_items(marker: bytes, lines: list[str]) -> Iterator[bytes]:
    for line in lines:
        yield marker + line.encode()
        marker = _marker_after(marker + line.encode())


def _remove(section: Section, region: Region, op: Remove) -> _Edit:
    texts = _texts(section.body, region)
    at = _one(texts, op)
    if at is None:
        return _Edit(("noop_no_match",))
    item = region.items[at]
    body = section.body[: item.start] + section.body[item.end :]
    left = tuple(
        text
        for other, text in zip(region.items, texts, strict=True)
        if not item.start <= other.start < item.end
    )
    return _Edit(("applied",), body, left, section.body[item.start : item.end])


def _replace(section: Section, region: Region, op: Replace) -> _Edit:
    body = section.body
    texts = _texts(body, region)
    at = _one(texts, op)
    if at is None:
        return _Edit(("noop_no_match",))
    if texts[at] == _said(op.line):
        return _Edit(("noop_dup",))
    item, own = region.items[at], _owns(body, region)[at]
    end = own[len(own.rstrip(b" \t\r\n")) :]
    fresh = (
        body[: item.start]
        + item_marker(own)
        + op.line.encode()
        + end
        + body[item.start + len(own) :]
    )
    return _Edit(
        ("applied",), fresh, (*texts[:at], _said(op.line), *texts[at + 1 :]), own
    )


def _add_heading(
    doc: SectionedDoc, raw: bytes, op: AddHeading
) -> tuple[SectionedDoc, Applied]:
    if any(section.name == op.heading for section in doc.sections):
        raise OpRefused("heading_exists")
    eol = line_end(raw)
    ended = not raw or raw.endswith((b"\n", b"\r"))
    has_text = bool(raw.removeprefix(b"\xef\xbb\xbf").strip())
    blank = not has_text or raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").endswith(
        b"\n\n"
    )
    between = (b"" if ended else eol) + (b"" if blank else eol)
    lines = [
        b"## " + op.heading.encode(),
        b"",
        *(b"- " + line.encode() for line in op.lines),
    ]
    fresh = parse(raw + between + eol.join(lines) + (eol if ended else b""))
    names = [section.name for section in doc.sections]
    if [section.name for section in fresh.sections] != [
        *names,
        op.heading,
    ] or not fresh.sections:
        raise OpRefused("would_change_structure")
    added = fresh.sections[-1]
    found = _texts(added.body, top_region(added.body))
    if found != tuple(map(_said, op.lines)) or not render(fresh).startswith(raw):
        raise OpRefused("would_change_structure")
    return fresh, Applied(op, "applied")


def _with_body(doc: SectionedDoc, at: int, edit: _Edit) -> SectionedDoc:
    old = doc.sections[at]
    section = Section(old.name, edit.heading or old.heading, edit.body)
    return SectionedDoc(
        doc.preamble, (*doc.sections[:at], section, *doc.sections[at + 1 :])
    )


def _check(doc: SectionedDoc, at: int, expected: tuple[str, ...]) -> None:
    """The note, read again, has these sections, and the section these items."""
    section = doc.sections[at]
    if (
        parse(render(doc)) != doc
        or _texts(section.body, top_region(section.body)) != expected
    ):
        raise OpRefused("would_change_structure")


def _one(texts: tuple[str, ...], op: Remove | Replace) -> int | None:
    """Which item is meant; None when none is."""
    wanted = folded(op.match)
    if op.exact:
        return next(
            (at for at, text in enumerate(texts) if wanted == folded(text)), None
        )
    found = [at for at, text in enumerate(texts) if wanted in folded(text)]
    if len(found) > 1:
        raise OpRefused("multiple_matches")
    return found[0] if found else None


def _owns(body: bytes, region: Region) -> list[bytes]:
    """The bytes of each item up to its first nested one."""
    starts = [*(item.start for item in region.items[1:]), len(body)]
    return [
        body[item.start : min(after, item.end)]
        for item, after in zip(region.items, starts, strict=False)
    ]


def _texts(body: bytes, region: Region) -> tuple[str, ...]:
    """What each item says, in order: its own text in one line, without its marker."""
    return tuple(_text(own) for own in _owns(body, region))


def _said(line: str) -> str:
    """What an item that is written with `line` says."""
    return _text(b"- " + line.encode())


def _text(own: bytes) -> str:
    return " ".join(own[len(item_marker(own)) :].decode("utf-8", "replace").split())


def _marker_for(body: bytes, region: Region) -> bytes:
    """The marker of a new item: as the last one's at the top."""
    last = next((item for item in reversed(region.items) if item.depth == 1), None)
    if last is None or not region.ends_in_item:
        return b"- "
    return _marker_after(body[last.start : last.end])


def _marker_after(item: bytes) -> bytes:
    """The marker of the item that follows one: the same, counted on where it is a number."""
    marker = item_marker(item).split(b"[")[0]
    sign = marker.strip()
    if sign[:-1].isdigit():
        indent = marker[: len(marker) - len(marker.lstrip())]
        return indent + b"%d%s " % (int(sign[:-1]) + 1, sign[-1:])
    return marker if marker.endswith((b" ", b"\t")) else marker + b" "
