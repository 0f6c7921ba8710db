"""Vaults of other programs: Logseq, a Zettelkasten, plain folders."""

import json
from datetime import date, timedelta
from pathlib import Path

from tests.vaults.obsidian import NEAR, NEEDLE, TODAY, TOPICS, write

GERMAN = "wo liegt der Ersatzschlüssel"
JAPANESE = "予備の鍵はどこ"
RUSSIAN = "где запасной ключ"


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
    for name, text in NEAR.items():
        write(root, f"pages/{name}.md", f"- {text.strip('- ')}")
    write(root, "pages/Bread.md", f"- Bread\n\t- {NEEDLE}\n")
    return "pages/Bread.md"


def zettelkasten(root: Path) -> str:
    """Writes notes whose names begin with an id, and returns the note with `NEEDLE`."""
    for number in range(300):
        moment = date(2024, 1, 1) + timedelta(days=number)
        name = f"{moment:%Y%m%d}{number % 24:02}15 {TOPICS[number % 7]}.md"
        write(root, name, f"# {TOPICS[number % 7]}\n\nSee [[202401010015]].\n")
    for number, (name, text) in enumerate(NEAR.items()):
        write(root, f"2026030{number + 1}0900 {name}.md", f"# {name}\n\n{text}")
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
    for name, text in NEAR.items():
        write(root, f"house/{name}.md", text)
    note = "house/kitchen/bread.md"
    write(root, note, f"{NEEDLE}\n")
    return note


def german(root: Path) -> str:
    """Writes an Obsidian vault in German, and returns the note that answers `GERMAN`."""
    daily = {"folder": "Tagebuch", "format": "DD.MM.YYYY"}
    write(root, ".obsidian/daily-notes.json", json.dumps(daily))
    write(root, ".obsidian/templates.json", json.dumps({"folder": "Vorlagen"}))
    key = "# Schlüssel\n\nDer Ersatzschlüssel liegt unter dem Blumentopf.\n"
    write(root, "Vorlagen/Tag.md", key)
    for number in range(90):
        day = TODAY - timedelta(days=number)
        write(root, f"Tagebuch/{day:%d.%m.%Y}.md", "- Garten gegossen #garten\n")
        write(root, f"Bereiche/Größe {number}.md", f"Über [[Größe {number + 1}]].\n")
    note = "Bereiche/Haus & Hof/Schlüssel (neu).md"
    write(root, note, key)
    return note


def japanese(root: Path) -> str:
    """Writes an Obsidian vault in Japanese, and returns the note that answers `JAPANESE`."""
    write(root, ".obsidian/app.json", "{}")
    for number in range(90):
        day = TODAY - timedelta(days=number)
        name = f"日記/{day:%Y年}/{day:%m月}/{day:%Y年%m月%d日}.md"
        write(root, name, "- 庭に水をやった\n")
        write(root, f"仕事/項目 {number}.md", "# 項目\n\n会議の記録。\n")
    note = "家/鍵.md"
    write(root, note, "# 鍵\n\n予備の鍵は植木鉢の下にあります。\n")
    return note


def windows(root: Path) -> str:
    """Writes a folder from Windows in Russian, and returns the note that answers `RUSSIAN`."""
    for number in range(90):
        text = f"\ufeff# Текст {number}\r\n\r\nзаметка\r\n"
        write(root, f"Документы/{number % 9}/текст {number}.markdown", text)
    note = "Дом/Ключи.MD"
    write(root, note, "\ufeff# Ключи\r\n\r\n- Запасной ключ под горшком.\r\n")
    return note
