"""The archive in RULES.md: rules that no longer hold. The note keeps them, prompts leave them out."""

from vault_memory.markdown.blocks import outline

ARCHIVED = "Archived"
"""The section of RULES.md for rules that no longer hold"""


def is_archive(heading: str) -> bool:
    """Returns whether a heading is that of the archive."""
    return heading.strip().casefold() == ARCHIVED.casefold()


def without_archive(text: str) -> str:
    """Returns a page of rules without the archive and its subsections; line ends are LF."""
    if ARCHIVED.casefold() not in text.casefold():
        return text
    lines = text.split("\n")
    blocks = outline.outline(text.encode()).blocks
    headings = [block for block in blocks if block.kind == "heading"]
    edges = [*(block.first for block in headings), len(lines)]
    active = lines[: edges[0]]
    archive_level = 0
    for block, end in zip(headings, edges[1:], strict=True):
        if archive_level and block.level > archive_level:
            continue
        archive_level = block.level if is_archive(block.name) else 0
        if not archive_level:
            active += lines[block.first : end]
    return "\n".join(active)
