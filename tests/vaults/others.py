"""Vaults of other programs: Logseq, a Zettelkasten, plain folders."""

from datetime import date, timedelta
from pathlib import Path

from tests.vaults.obsidian import NEEDLE, TODAY, TOPICS, write


def logseq(root: Path) -> str:
    """Writes a Logseq graph, and returns the note with `NEEDLE`."""
    config = (
        ";; settings\n{:meta/version 1\n"
        ' ;; :journal/file-name-format "dd-MM-yyyy"\n'
        ' :journal/file-name-format "yyyy_MM_dd"}\n'
    )
    write(root, "logseq/config.edn", config)
    write(root, "logseq/bak/pages/Bread/old.md", f"- {NEEDLE}\n")
    for number in range(120):
        day = TODAY - timedelta(days=number)
        text = f"- TODO water the [[{TOPICS[number % 7]}]]\n  id:: {number:08x}\n"
        write(root, f"journals/{day:%Y_%m_%d}.md", text)
    for number in range(150):
        write(root, f"pages/Topic___{number}.md", f"title:: Topic {number}\n\n- text\n")
    write(root, "pages/Bread.md", f"- Bread\n\t- {NEEDLE}\n")
    return "pages/Bread.md"


def zettelkasten(root: Path) -> str:
    """Writes notes whose names begin with an id, and returns the note with `NEEDLE`."""
    for number in range(300):
        moment = date(2024, 1, 1) + timedelta(days=number)
        name = f"{moment:%Y%m%d}{number % 24:02}15 {TOPICS[number % 7]}.md"
        write(root, name, f"# {TOPICS[number % 7]}\n\nSee [[202401010015]].\n")
    note = "202605041015 Sourdough starter.md"
    write(root, note, f"# Sourdough starter\n\n{NEEDLE}\n")
    return note


def plain(root: Path) -> str:
    """Writes folders of Markdown, and returns the note with `NEEDLE`."""
    for number in range(200):
        topic = TOPICS[number % 7]
        write(root, f"notes/{topic}/{number}.md", f"# {topic}\n\nNumber {number}.\n")
    write(root, "node_modules/thing/README.md", f"{NEEDLE}\n")
    write(root, "README.md", "# My notes\n")
    note = "house/kitchen/bread.md"
    write(root, note, f"{NEEDLE}\n")
    return note
