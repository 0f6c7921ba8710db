"""Says which files of a vault are memory, and lets the person choose a layout once."""

import os
from typing import TYPE_CHECKING

import click

from vault_memory.admin import layout_setup
from vault_memory.cli.options import Context, Function
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.paths.layout_survey import SUMMARIES

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.rules.paths.layout_survey import LayoutProposal, Survey
    from vault_memory.search.vault_layout import LayoutReport

NAMES = tuple(SUMMARIES)


def layout_option(function: Function) -> Function:
    """Add `--layout` to a command that may be the first one on a folder."""
    return click.option(
        "--layout",
        type=click.Choice(NAMES),
        metavar="NAME",
        help="Which files are memory; `vault-memory layout` lists the layouts.",
    )(function)


def open_with_layout(
    context: Context, name: str | None, *, is_setup: bool = False
) -> "VaultMemory":
    """Open the vault; set its layout if `name` is given, and offer one if it has none.

    On a terminal the person is asked once, before the vault is indexed. Elsewhere the layout that
    fits best is used when the built-in patterns claim nothing, and a remark says so.
    """
    memory = context.open()
    is_first = is_setup or _is_first_look(memory)
    # The index was built before the notes came, or by a version that had no layouts.
    if memory.vault.keep_layout():
        memory.close()
        memory, is_first = context.open(), True
    if name and name != memory.vault.config.layout.name:
        return _set(context, memory, name)
    if not is_first:
        return memory
    report = memory.vault.layout_report()
    if not (report.chosen_by == "program" or report.survey.is_mostly_unclaimed):
        return memory
    if _can_ask(context):
        return _set(context, memory, _ask(context, memory, report))
    context.say(remarks_text(report))
    return memory


def _is_first_look(memory: "VaultMemory") -> bool:
    """Whether no command has indexed a note of this vault."""
    if memory.vault.indexing.generations.current == 0:
        return True
    try:
        return memory.vault.indexing.index().counts() == (0, 0)
    except (VaultMemoryError, DatabaseError):
        # Fault: the command that repairs a damaged index must get as far as that.
        return False


def _can_ask(context: Context) -> bool:
    # A program that was started with a closed stdin has no terminal either.
    is_on_terminal = os.isatty(0) and os.isatty(1)
    return is_on_terminal and not (context.json or context.quiet)


def _ask(context: Context, memory: "VaultMemory", report: "LayoutReport") -> str:
    rows = layout_setup.proposals(memory.vault)
    total = report.survey.claimed + report.survey.unclaimed + report.survey.excluded
    context.line(f"{_files(total)} in {memory.root}. Which of them are memory?")
    context.line("\n".join(map(proposal_text, rows)))
    default = report.name or "shared"
    if not report.survey.claimed:
        default = rows[0].name
    answer: str = click.prompt("layout", default=default, type=click.Choice(NAMES))
    return answer


def _set(context: Context, memory: "VaultMemory", name: str) -> "VaultMemory":
    """Set the layout, and open the vault again with it."""
    with memory:
        layout_setup.set_layout(memory.vault, name)
    memory = context.open()
    context.say(remarks_text(memory.vault.layout_report()))
    return memory


def proposal_text(proposal: "LayoutProposal") -> str:
    """Return a layout in one line, with what it claims of this vault."""
    count = f"{proposal.survey.claimed:,}"
    return f"  {proposal.name:<10} {count:>7}  {SUMMARIES[proposal.name]}"


def remarks_text(report: "LayoutReport") -> str:
    """Return what a person has to know about the layout of the vault."""
    survey = report.survey
    total = _files(survey.claimed + survey.unclaimed + survey.excluded)
    name = report.name or "built-in"
    reason = ", which fits best" if report.chosen_by == "program" else ""
    examples = ", ".join(survey.examples)
    lines = (
        f"layout: {name}{reason}: of {total}, {_counts_text(survey)}",
        examples and f"not memory: {examples}",
        report.daily and f"daily notes: {report.daily}",
        "`vault-memory layout` shows the layouts and sets another one",
        report.remark,
    )
    return "\n".join(filter(None, lines))


def _counts_text(survey: "Survey") -> str:
    """Return how many files are memory, and how many are not."""
    counts = [(survey.claimed, "memory"), (survey.unclaimed, "not"), (survey.excluded, "excluded")]
    texts = [
        f"{count:,} {'is' if count == 1 else 'are'} {word}"
        for count, word in counts
        if count or word == "memory"
    ]
    return ", ".join(texts)


def _files(count: int) -> str:
    return f"{count:,} Markdown file{'' if count == 1 else 's'}"
