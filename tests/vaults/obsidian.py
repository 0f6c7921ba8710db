"""An Obsidian vault with everything that such vaults have."""

import json
from datetime import date, timedelta
from pathlib import Path

NEEDLE = "The sourdough starter lives in the blue jar behind the flour."
"""Is in one note, and answers `QUESTION`"""
NEEDLE_NOTE = "Areas/Kitchen/🍞 Bread/Sourdough (2026).md"
QUESTION = "where is the sourdough starter"
TODAY = date(2026, 5, 4)
DAILY = "Journal/{date:YYYY/MM/YYYY-MM-DD}.md"
NOT_READ = ("Templates/Daily.md", "Drawings/Plan.excalidraw.md", ".trash/Old.md")

TOPICS = ("harbour", "garden", "lantern", "ferry", "orchard", "beacon", "meadow")


NEAR = {
    "Where is the bread book": "Where is the sourdough book? Ove may have it.\n",
    "Shopping": "- [ ] flour, two bags\n- [ ] a blue jar with a lid\n",
    "Outboard motor": "The starter of the motor is behind the blue door.\n",
    "Menu": "- starter: soup\n- main dish: fish with rye bread\n",
    "Bread plans": "The starter for the rye bread comes from Mei Lin.\n",
}
"""Notes that share words with `QUESTION` and do not answer it"""


def write(root: Path, path: str, text: str | bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def make(root: Path, notes: int = 2_000) -> None:
    """Writes the vault; `notes` is about how many Markdown files it has."""
    _settings(root)
    _apart(root)
    _special(root)
    for number in range(365):
        day = TODAY - timedelta(days=number)
        text = f"# {day:%A}\n\n- [ ] water the {TOPICS[number % 7]} #todo\n"
        write(root, f"Journal/{day:%Y/%m}/{day}.md", text)
    for number in range(max(0, notes - 365 - 19)):
        topic = TOPICS[number % 7]
        folder = f"Projects/{topic.title()}/Year {2015 + number % 11}"
        body = f"---\ntags: [{topic}]\n---\n# {topic} {number}\n\nAbout [[{topic} {number + 7}]].\n"
        write(root, f"{folder}/{topic} {number}.md", body)


def _settings(root: Path) -> None:
    daily = {"folder": "Journal", "format": "YYYY/MM/YYYY-MM-DD", "template": "x"}
    write(root, ".obsidian/daily-notes.json", json.dumps(daily))
    write(root, ".obsidian/templates.json", json.dumps({"folder": "Templates"}))
    write(root, ".obsidian/app.json", "{}")


def _apart(root: Path) -> None:
    """Files that are no notes of the person."""
    for path in NOT_READ:
        write(root, path, f"# Not a note\n\n{NEEDLE}\n")
    write(root, "Attachments/photo.png", b"\x89PNG\r\n\x1a\n" + bytes(2_000))
    write(root, "Attachments/scan.pdf", b"%PDF-1.7\n" + bytes(2_000))


def _special(root: Path) -> None:
    front_matter = "---\naliases: [starter]\ntags:\n  - food\ndate: 2026-01-03\n---\n"
    write(root, NEEDLE_NOTE, f"{front_matter}\n# Sourdough\n\n{NEEDLE}\n")
    for name, text in NEAR.items():
        write(root, f"Areas/{name}.md", text)
    hidden = f"%% {NEEDLE} %%\n\n%%\n{NEEDLE}\n%%\n\nThe cupboard is white.\n"
    write(root, "Areas/Cupboard.md", hidden)
    write(root, "Areas/Oven.md", "prev:: [[Bread]]\n\n![[Sourdough (2026)]]\n")
    write(root, "日本/旅行の計画.md", "# 旅行\n\n京都で紅葉を見る。\n")
    windows = b"# From Windows\r\n\r\n- The anchor weighs forty kilos.\r\n"
    write(root, "Windows.MD", windows)
    write(root, "Export/long ending.markdown", "The tide table hangs by the door.\n")
    kanban = (
        "---\n\nkanban-plugin: board\n\n---\n\n## To do\n\n- [ ] Paint the [[shed]]\n\n"
        '%% kanban:settings\n```\n{"kanban-plugin":"board"}\n```\n%%\n'
    )
    write(root, "Board.md", kanban)
    query = "```dataview\nTABLE file.ctime FROM #food\n```\n"
    write(root, "Home.md", f"# Home\n\n{query}\n[[Board]]\n")
    board = {
        "nodes": [
            {"id": "1", "type": "text", "text": "Rent the kayak\nbefore Easter"},
            {"id": "2", "type": "file", "file": "Home.md"},
        ],
        "edges": [],
    }
    write(root, "Plans/Summer.canvas", json.dumps(board, indent="\t"))
