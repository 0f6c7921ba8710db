"""Named layouts: each is a set of patterns and exclusions around the patterns of the vault format."""

from vault_memory.rules.paths.layout import OWNER, Pattern, Preset

EVERY_NOTE = Pattern("{path}.md", "note", OWNER)
EVERY_BOARD = Pattern("{path}.canvas", "canvas", OWNER)
SUMMARIES = {
    "shared": "folders of people and channels: Users/…, Channels/…",
    "workspace": "one person with USER.md, MEMORY.md and the folder memory",
    "obsidian": "an Obsidian vault: every note, its daily notes, its boards",
    "logseq": "a Logseq graph: pages and journals",
    "plain": "every Markdown file in every folder",
}
"""Each layout in one line"""
OF_OTHER_PROGRAMS = frozenset({"obsidian", "logseq", "plain"})
"""Layouts of people's own notes: the files of the bot have a folder of their own there"""
BOT_FOLDER = "Bot"


def preset(name: str, daily: str) -> Preset:
    """Returns a layout by its name. `daily` is the pattern of the daily notes; "" for none."""
    first = (Pattern(daily, "dated", OWNER),) if daily else ()
    match name:
        case "workspace":
            return Preset(first, at_root=True)
        case "obsidian":
            exclude = ("*.excalidraw.md", "Excalidraw")
            return Preset(first, (EVERY_NOTE, EVERY_BOARD), exclude, at_root=True)
        case "logseq":
            return Preset(first, (EVERY_NOTE,), ("logseq/**",), at_root=True)
        case "plain":
            return Preset(first, (EVERY_NOTE,), ("node_modules",), at_root=True)
        case _:
            return Preset(first)
