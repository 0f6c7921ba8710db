"""`read`, `notes`, `links`, `source`, `about`: notes, where lines come from, what is known."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from vault_memory.api import facts_json, json_contract
from vault_memory.cli import screen as screens
from vault_memory.cli.note_names import of_named_note
from vault_memory.cli.options import Context, NamedScopes, common, scoped
from vault_memory.cli.rendering import print_unknown_scopes
from vault_memory.cli.screen import table
from vault_memory.cli.terminal import escaped, styled
from vault_memory.contract import as_json
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.cli.screen import Screen
    from vault_memory.contract.about_answers import AboutJson
    from vault_memory.contract.source_answers import SourceJson, SourceTurnJson, SpokenJson
    from vault_memory.search.notes.note_lookup import NoteLinks


HEADERS = ("NOTE", "KIND", "SCOPE")


@click.command()
@click.argument("note")
@click.option(
    "--revision", metavar="REVISION", help="Print this version from its `history` instead."
)
@common
@click.pass_obj
def read(context: Context, note: str, revision: str | None) -> None:
    """Print NOTE as it is now, and its revision on stderr.

    NOTE is a path in the vault, or the name or an alias of one note: `Home` for
    `notes/Home.md`.

    \b
    Example:
      vault-memory read memory/electricity.md
    """
    with context.open() as memory:
        if revision:
            text = of_named_note(
                memory, note, lambda path: memory.edits.read_version(path, revision)
            )
        else:
            text = of_named_note(memory, note, memory.read)
    if context.json:
        context.emit(as_json(text), str)
        return
    context.text(text.text)
    context.say(f"{text.note}  revision {text.revision}")


@click.command()
@click.argument("note")
@common
@click.pass_obj
def links(context: Context, note: str) -> None:
    """List the notes that NOTE links to, and those that link to it.

    NOTE is a path in the vault, or the name or an alias of one note. A broken link leads to
    no note.

    \b
    Example:
      vault-memory links memory/electricity.md
    """
    with context.open() as memory:
        listed = memory.searcher.links(note)
    context.emit(
        as_json(listed) | {"broken": list(listed.broken)}, lambda: "\n".join(_link_lines(listed))
    )
    context.say(listed.note)


def _link_lines(links: "NoteLinks") -> Iterator[str]:
    for link in links.outgoing:
        yield f"→ {link.note or f'{link.target} (broken: no such note)'}"
    for path in links.incoming:
        yield f"← {path}"
    if not links.outgoing and not links.incoming:
        yield "no links"


@click.command()
@scoped
@common
@click.pass_obj
def notes(context: Context, scopes: NamedScopes) -> None:
    """List the notes that search reads, with their kind and scope."""
    with context.open() as memory:
        listed = memory.notes(scopes.names() or None)
    width = max((len(note.note) for note in listed), default=0)

    def human() -> str:
        lines = [f"{note.note:<{width}}  {note.kind:<10}  {note.scope}" for note in listed]
        return "\n".join(lines) or "no notes"

    answer = json_contract.of_notes(listed)
    rows = [(note.note, note.kind, note.scope) for note in listed]
    context.emit(
        answer,
        human,
        view=lambda screen: table(HEADERS, rows, screen.columns) if rows else "no notes",
    )
    print_unknown_scopes(context, answer)


@click.command()
@click.argument("ref")
@click.option(
    "--around",
    type=click.IntRange(0, 50),
    default=2,
    show_default=True,
    metavar="N",
    help="How many turns of the conversation to show before and after.",
)
@scoped
@common
@click.pass_obj
def source(context: Context, ref: str, around: int, scopes: NamedScopes) -> None:
    """Show the turns that a line, a fact or an id comes from.

    REF is NOTE:LINE, or the id of a turn, a fact, a held candidate or a change. For the
    last four the beginning of an id is enough, except for a turn.

    A turn that is no longer there is reported as gone, with the reason.

    \b
    Example:
      vault-memory source Users/mira/bot/config/FACTS.md:3 --around 1
    """
    with context.open() as memory:
        origin = memory.source(
            ref, scopes=scopes.names_or_all(memory), around=around, now=context.now
        )
    answer = json_contract.of_source(origin)
    context.emit(answer, lambda: "\n".join(_source_lines(answer)))


def _source_lines(answer: "SourceJson") -> Iterator[str]:
    place = answer["note"]
    if answer["lines"]:
        place += f":{answer['lines'][0]}"
    yield f"{answer['kind']}  {place or answer['id']}"
    if answer["kind"] != "turn":
        yield f"  {answer['text']}"
    written = answer["written"]
    if written:
        why = f": {written['why']}" if written["why"] else ""
        yield f"  written {written['ts']} by {written['source']} ({written['id']}){why}"
    if answer["reason"]:
        yield f"  {answer['reason']}"
    for turn in answer["turns"]:
        yield ""
        yield from _turn_lines(turn)


def _turn_lines(turn: "SourceTurnJson") -> Iterator[str]:
    if turn["turn"] is None:
        yield f"turn {turn['id']} is gone: {turn['gone']}"
        return
    yield f"turn {turn['id']} in {turn['note']}"
    for neighbour in turn["before"]:
        yield f"  {_spoken(neighbour)}"
    yield styled(f"→ {_spoken(turn['turn'])}", bold=True)
    for neighbour in turn["after"]:
        yield f"  {_spoken(neighbour)}"
    if turn["closed"]:
        yield f"  ({turn['closed']})"


def _spoken(turn: "SpokenJson") -> str:
    speaker = turn["user"] if turn["role"] == "user" else turn["role"]
    text = " ".join(turn["text"].split())
    return f"{turn['ts'][:16]} {speaker}: {text}"


INDENT = "  "


@click.command()
@click.argument("name", required=False)
@scoped
@common
@click.pass_obj
def about(context: Context, name: str | None, scopes: NamedScopes) -> None:
    """Show what is known of a person or a thing: USER.md, rules, facts, and what is recent.

    NAME may be left out when the vault has one person.

    \b
    Example:
      vault-memory about mira
    """
    with context.open() as memory:
        # Without a daemon, the index lacks what was saved since the last command.
        if not memory.vault.state.socket.exists():
            memory.refresh(briefly=True)
        names = scopes.names() or memory.scopes()
        whom = name or _only_person(names)
        known = memory.facts.about(whom, scopes=names, now=context.now)
    answer = facts_json.of_known(known)
    context.emit(answer, lambda: _text(answer, None), view=lambda screen: _text(answer, screen))
    print_unknown_scopes(context, answer)


def _only_person(scopes: Sequence[str]) -> str:
    """Return the name of the only person. Raises UsageError."""
    people = [scope[5:] for scope in scopes if scope.startswith("user:")]
    if len(people) == 1:
        return people[0]
    raise UsageError(
        "it is not clear whom to show",
        hint=f"name a person or a thing: {', '.join(people) or 'no person has notes'}",
    )


def _text(answer: "AboutJson", screen: "Screen | None") -> str:
    aliases = ", ".join(answer["aliases"])
    title = f"{answer['name']}: {answer['type'] or 'unknown'}"
    blocks = [styled(f"{title} (also {aliases})" if aliases else title, bold=True)]
    blocks += filter(None, [answer["summary"]])
    for note in answer["notes"]:
        blocks.append(_block(note["note"], note["text"].splitlines(), screen))
    if answer["facts"]:
        blocks.append(
            _block(
                "Facts",
                (
                    f"- {fact['subject']} · {fact['predicate']}: {fact['object']}"
                    for fact in answer["facts"]
                ),
                screen,
            )
        )
    for note in answer["recent"]:
        blocks.append(_block(note["note"], note["text"].splitlines(), screen))
    # The title alone is no answer.
    if len(blocks) == 1:
        blocks.append("nothing is known: `vault-memory facts` lists what is")
    return "\n\n".join(blocks)


def _block(heading: str, lines: "Iterator[str] | Sequence[str]", screen: "Screen | None") -> str:
    """Return lines under a heading; empty lines and the title of a note are left out."""
    block = [styled(heading, bold=True)]
    for line in lines:
        if line.strip() and not line.startswith("# "):
            block += _fitted(line, screen)
    return "\n".join(block)


def _fitted(line: str, screen: "Screen | None") -> list[str]:
    if screen is None:
        return [INDENT + line]
    plain = escaped(line).replace("\t", INDENT)
    return screens.wrapped(plain, screen.prose, first=INDENT, indent=INDENT * 2)
