"""Our line scanner reads what markdown-it-py reads, and says so when it is not sure."""

import json
import sysconfig
import tarfile
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings

from tests.effort import cases
from tests.markdown.oracle import blocks_of
from tests.markdown.shapes import line_ends, notes, ordinary_notes, random_note
from vault_memory.markdown.blocks import scanner as scan_list_module
from vault_memory.markdown.blocks import scanner as scan_module
from vault_memory.markdown.blocks.model import BLANKS, Block
from vault_memory.markdown.blocks.outline import (
    FallbackReader,
    decode,
    front_matter_end,
    read_blocks,
)

VERSION = version("markdown-it-py")
SOURCES = Path(sysconfig.get_path("data")) / "markdown-it-py" / f"markdown_it_py-{VERSION}.tar.gz"
"""Where `make` puts markdown-it-py's own source distribution."""

PACKAGES = Path(sysconfig.get_path("purelib"))


def differs(text: str) -> bool:
    lines = decode(text.encode("utf-8", "surrogatepass"))
    return read_blocks(lines, 0) != blocks_of("\n".join(lines))


def handed_over_blocks(text: str) -> tuple[int, int]:
    """How many blocks the scanner hands over, and of how many."""
    lines = decode(text.encode())
    line, asked, blocks = front_matter_end(lines), 0, list[Block]()
    while line < len(lines):
        if not lines[line].strip(BLANKS):
            line += 1
        elif end := scan_module.scan(lines, line, blocks):
            line = end
        else:
            asked += 1
            line = FallbackReader(lines).read(line, blocks)
    return asked, len(blocks)


@settings(max_examples=cases(500))
@given(notes, line_ends)
@example("1. a\n-  --", "\n")
@example("  -    b\n    * * *", "\n")
@example("- \n\n  a", "\n")
@example("- a\n2. b\n   3. c", "\n")
@example("- a\n\n      code\n- b", "\n")
@example("> a\nb", "\n")
@example("[a]:\nb\n'c\nd'\n## e", "\n")
@example("- a\n  ```\n  - b\n\n  ```\n- c\n```\nd", "\n")
def test_the_scanner_agrees_with_markdown_it(note: str, line_end: str) -> None:
    assert read_blocks(decode(note.replace("\n", line_end).encode()), 0) == blocks_of(note)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
def test_the_scanner_agrees_with_markdown_it_on_thousands_of_random_notes(seed: int) -> None:
    random = Random(seed)

    for _ in range(2500):
        note = random_note(random)
        assert not differs(note), note


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(100, 120))
def test_the_scanner_agrees_with_markdown_it_on_a_million_random_notes(seed: int) -> None:
    random = Random(seed)

    for _ in range(50_000):
        note = random_note(random)
        assert not differs(note), note


@given(ordinary_notes)
def test_ordinary_notes_are_parsed_without_markdown_it(note: str) -> None:
    assert handed_over_blocks(note)[0] == 0
    assert not differs(
        note.removeprefix("\ufeff").replace("---\ntitle: Tea\ntopic: work\n---\n", "")
    )


@pytest.mark.sampled
def test_the_scanner_agrees_with_markdown_it_on_notes_of_installed_packages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = [
        path.read_bytes().decode("utf-8", "replace") for path in sorted(PACKAGES.rglob("*.md"))
    ]

    assert [text[:80] for text in texts if differs(text)] == []
    assert_few_are_handed_over(texts, "installed packages", capsys)


@pytest.mark.sampled
def test_the_scanner_agrees_with_markdown_it_on_the_commonmark_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not SOURCES.exists():
        pytest.skip(
            f"markdown-it-py's source distribution is not at {SOURCES}; `make test` fetches it"
        )
    texts = [case["markdown"] for case in json.loads(member("commonmark.json"))]
    texts += [
        member(name).decode()
        for name in ("spec.md", "commonmark_extras.md", "issue-fixes.md", "fatal.md")
    ]

    assert [text for text in texts if differs(text)] == []
    print_handed_over(texts, "CommonMark's examples", capsys)


def member(name: str) -> bytes:
    with tarfile.open(SOURCES) as archive:
        path = next(path for path in archive.getnames() if path.endswith(f"/{name}"))
        file = archive.extractfile(path)
        assert file
        return file.read()


def assert_few_are_handed_over(
    texts: list[str], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert print_handed_over(texts, where, capsys) < 0.2


def print_handed_over(
    texts: Iterable[str], where: str, capsys: pytest.CaptureFixture[str]
) -> float:
    counts = [handed_over_blocks(text) for text in texts]
    asked, blocks = sum(count for count, _ in counts), sum(count for _, count in counts)
    some = sum(1 for count, _ in counts if count)
    with capsys.disabled():
        print(
            f"\n{where}: {asked} of {blocks} blocks handed over to markdown-it-py, in {some} of {len(counts)} notes"
        )
    return asked / blocks


Broken = Callable[[pytest.MonkeyPatch], None]


def fences_are_text(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(scan_module._READERS, "`", scan_module._READERS["*"])


def any_number_interrupts_a_paragraph(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scan_list_module._ListReading, "_goes_on", lambda *_: False)


def items_do_not_nest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        scan_list_module._ListReading, "_close_right_of", lambda reading, _: reading._close(0)
    )


def references_are_paragraphs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scan_module, "maybe_reference", lambda _: None)


def quotes_end_with_their_marks(patch: pytest.MonkeyPatch) -> None:
    def quote(lines: list[str], line: int, blocks: list[Block]) -> int:
        end = next(
            (at for at in range(line, len(lines)) if not lines[at].lstrip().startswith(">")),
            len(lines),
        )
        blocks.append(Block("quote", line, end))
        return end

    patch.setitem(scan_module._READERS, ">", quote)


def blank_lines_end_lists(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scan_list_module._ListReading, "_blank", lambda reading: reading._close(0))


def headings_need_no_blank(patch: pytest.MonkeyPatch) -> None:
    def heading(lines: list[str], line: int, blocks: list[Block]) -> int:
        blocks.append(Block("heading", line, line + 1, 1))
        return line + 1

    patch.setitem(scan_module._READERS, "#", heading)


def the_last_line_is_dropped(patch: pytest.MonkeyPatch) -> None:
    whole: Any = scan_module.scan
    patch.setattr(
        "vault_memory.markdown.blocks.outline.scan",
        lambda lines, *rest: whole(lines[:-1] or lines, *rest),
    )


BROKEN: list[Broken] = [
    fences_are_text,
    any_number_interrupts_a_paragraph,
    items_do_not_nest,
    references_are_paragraphs,
    quotes_end_with_their_marks,
    blank_lines_end_lists,
    headings_need_no_blank,
    the_last_line_is_dropped,
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_scanner_is_detected(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    random = Random(0)

    assert any(is_wrong(random_note(random)) for _ in range(4000))


def is_wrong(note: str) -> bool:
    try:
        return differs(note)
    except Exception:
        return True
