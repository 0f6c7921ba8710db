"""Counts what a layout claims of a vault, and proposes layouts that claim more."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vault_memory.rules.paths import globs
from vault_memory.rules.paths.daily_notes import pattern_by_names
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import OWNER, Layout, Pattern, Preset

MOST_EXAMPLES = 3
_TEMPLATES = frozenset({"templates", "_templates", "template", "vorlagen"})
_INSTRUCTIONS = frozenset(
    f"{name}.md"
    for name in ("AGENTS", "BOOTSTRAP", "CLAUDE", "GEMINI", "HEARTBEAT", "IDENTITY", "TOOLS")
)
"""Files that agents have beside a USER.md and a MEMORY.md"""
_UNTIDY_SHARE = 0.5
"""Share of unclaimed files from which another layout is worth a question"""


class Survey(NamedTuple):
    """How many Markdown files of a vault a layout claims."""

    claimed: int = 0
    unclaimed: int = 0
    excluded: int = 0
    """unclaimed on purpose"""
    examples: tuple[str, ...] = ()
    """some unclaimed files"""

    @property
    def is_mostly_unclaimed(self) -> bool:
        """Whether so much is unclaimed that another layout fits better."""
        return self.total > 0 and self.unclaimed > self.total * _UNTIDY_SHARE

    @property
    def total(self) -> int:
        """All Markdown files that are not excluded."""
        return self.claimed + self.unclaimed

    def claims_most(self, instructions: int) -> bool:
        """Whether no other layout needs a look. `instructions`: files for programs among the rest."""
        if not self.claimed:
            return not self.unclaimed
        return self.claimed >= self.unclaimed - instructions


class Signs(NamedTuple):
    """What the settings of other programs in the vault say."""

    program: str = ""
    """the layout of the program whose settings are there; "" for none"""
    daily: str = ""
    """pattern of the daily notes"""
    templates: tuple[str, ...] = ()
    """folders of templates"""


class LayoutProposal(NamedTuple):
    """A layout with the settings that fit this vault."""

    name: str
    daily: str
    exclude: tuple[str, ...]
    survey: Survey


def survey(paths: Iterable[str], layout: Layout) -> Survey:
    """Counts the Markdown files that a layout claims."""
    claimed = excluded = 0
    unclaimed: list[str] = []
    for path in paths:
        if not path.endswith(MARKDOWN):
            continue
        if layout.place(path) is not None:
            claimed += 1
        elif layout.excludes(path):
            excluded += 1
        else:
            unclaimed.append(path)
    examples = tuple(sorted(unclaimed, key=_depth_and_name)[:MOST_EXAMPLES])
    return Survey(claimed, len(unclaimed), excluded, examples)


def count_instructions(paths: Iterable[str]) -> int:
    """Counts the files at the top with instructions for a program; they are no notes."""
    return len(_INSTRUCTIONS.intersection(paths))


def _depth_and_name(path: str) -> tuple[int, str]:
    return path.count("/"), path


def proposals(
    paths: Sequence[str],
    signs: Signs,
    patterns: Sequence[Pattern],
    *,
    user: str,
    bot: str,
    exclude: Sequence[str],
) -> list[LayoutProposal]:
    """Returns every layout with its counts, the best first.

    The layout of the program that wrote the vault comes first, then the one that claims most.
    """
    # Settings of a program may be missing or damaged: then the names of its notes decide.
    by_names = pattern_by_names(paths)
    rows: list[LayoutProposal] = []
    for name in SUMMARIES:
        daily = ""
        excluded = tuple(exclude)
        if name in ("obsidian", "logseq", "plain"):
            daily = signs.daily if signs.program == name else ""
            daily = daily or by_names
            more = _templates(paths, signs)
            # What a person excludes comes first, and the list stays within its limit.
            excluded = tuple(dict.fromkeys((*exclude, *more)))[: globs.MOST_GLOBS]
        layout = Layout(patterns, user=user, bot=bot, exclude=excluded, preset=preset(name, daily))
        rows.append(LayoutProposal(name, daily, excluded, survey(paths, layout)))
    return sorted(rows, key=lambda proposal: _rank(proposal, signs))


def _rank(proposal: LayoutProposal, signs: Signs) -> tuple[bool, int, int]:
    has_other_program = proposal.name in ("obsidian", "logseq")
    return (proposal.name != signs.program, has_other_program, -proposal.survey.claimed)


def _templates(paths: Iterable[str], signs: Signs) -> tuple[str, ...]:
    """Returns globs of the folders of templates, by settings or by their usual names."""
    if signs.templates:
        by_settings = (f"{folder}/**" for folder in signs.templates)
        return tuple(glob for glob in by_settings if not globs.problem_of(glob))
    folders = {path.partition("/")[0] for path in paths if "/" in path}
    return tuple(f"{folder}/**" for folder in sorted(folders) if folder.casefold() in _TEMPLATES)


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
