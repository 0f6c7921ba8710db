"""`demo`: search, editing and learning once, with a real daemon and a real editor."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vault_memory.admin import init_vault
from vault_memory.cli.options import Context, common
from vault_memory.cli.terminal import styled

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import DemoJson

QUESTION = "where does Mira keep the spare key of the lighthouse?"
QUESTION_BY_MEANING = "which food would make somebody ill?"
NOTE = "memory/electricity.md"
NEW_LINE = "- The spare batteries of the radio are in the bread bin"
QUESTION_ABOUT_LINE = "where are the spare batteries of the radio?"
TURN = "The boat with the lamp oil comes on Thursday, and I have to sign for it"
ANSWER = "I will remind you on Wednesday evening"
QUESTION_ABOUT_TURN = "when does the boat with the lamp oil come?"
NEW_FACT = "I am allergic to mackerel"
QUESTION_ABOUT_FACT = "what is Mira allergic to?"
TIMEOUT_SECONDS = 20.0
VECTOR_SECONDS = 60.0

Answer = dict[str, Any]
"""The JSON answer of a command"""


@click.command()
@common
@click.pass_obj
def demo(context: Context) -> None:
    """Show the complete loop once, on a copy of the sample vault in a temporary folder.

    The demo starts a daemon and asks a question. With a model it asks another one, whose
    words no note has. It edits a note with a real editor, and searches for the new line. It records a conversation, and searches for that. Then it runs
    a night, and shows what the bot has learned. It takes less than a minute.
    """
    with tempfile.TemporaryDirectory(prefix="vault-memory-demo-") as name:
        vault = Path(name) / "vault"
        os.environ["VAULT_MEMORY_STATE"] = str(Path(name) / "state")
        count = init_vault.make_vault(vault, os.environ, empty=False)
        context.say(f"a copy of the sample vault: {count} files")
        with _daemon(vault):
            _show(context, QUESTION, _search(vault, QUESTION))
            by_meaning = _search_by_meaning(vault)
            _show(context, f"{QUESTION_BY_MEANING} (by meaning)", by_meaning)
            edit = _edit(context, vault)
            context.say(f"\nmira says: {TURN}. {NEW_FACT}")
            transcripts = _converse(vault)
            turn = _search(vault, QUESTION_ABOUT_TURN)
            _show(context, QUESTION_ABOUT_TURN, turn)
        context.say("\na night passes")
        _command(vault, "sleep", "--user", "mira")
        learned = _search(vault, QUESTION_ABOUT_FACT, "--kind", "facts", "--kind", "dated")
        _show(context, QUESTION_ABOUT_FACT, learned)
    answer: DemoJson = {
        "questions": [
            QUESTION,
            QUESTION_BY_MEANING,
            QUESTION_ABOUT_LINE,
            QUESTION_ABOUT_TURN,
            QUESTION_ABOUT_FACT,
        ],
        "editor": edit.editor,
        "seconds": round(edit.seconds, 3),
        "found": [*edit.answer["hits"][:1], *turn["hits"][:1]],
        "by_meaning": by_meaning["hits"],
        "semantic": by_meaning["freshness"]["semantic"],
        "recorded": transcripts,
        "learned": learned["hits"],
    }
    context.emit(
        answer,
        lambda: (
            f"\nfound {edit.seconds:.1f} s after the editor was started; nothing is left behind"
        ),
    )


@contextmanager
def _daemon(vault: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "vault_memory", "--vault", str(vault), "run"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            # The daemon says when it watches; an earlier edit would not be noticed.
            line = process.stderr.readline()
            if not line.startswith("watching"):
                errors = f"{line}{process.stderr.read()}"
                raise click.ClickException(f"the daemon did not start: {errors}")
            yield
        finally:
            process.terminate()
            process.wait(TIMEOUT_SECONDS)


@dataclass(frozen=True, slots=True)
class _Edit:
    """An edit with a real editor, and the search that found the new line."""

    editor: str
    answer: Answer
    seconds: float
    """from the start of the editor until search found the line"""


def _edit(context: Context, vault: Path) -> _Edit:
    editor, command = _editor(vault / NOTE)
    context.say(f"\n{editor} adds to {NOTE}: {NEW_LINE}")
    started = time.monotonic()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    answer = _search_until_found(vault)
    seconds = time.monotonic() - started
    _show(context, QUESTION_ABOUT_LINE, answer)
    return _Edit(editor, answer, seconds)


def _converse(vault: Path) -> list[str]:
    """Record a conversation of two turns, and return the transcripts with them."""
    mira = ("--session", "demo", "--role", "user", "--user", "mira")
    bot = ("--session", "demo", "--role", "assistant")
    turns = ((*mira, f"{TURN}. {NEW_FACT}."), (*bot, ANSWER))
    transcripts = [_command(vault, "record", *turn)["note"] for turn in turns]
    _command(vault, "end-session", "demo")
    return transcripts


def _search(vault: Path, question: str, *options: str) -> Answer:
    return _command(vault, "search", question, *options)


def _command(vault: Path, *arguments: str) -> Answer:
    command = [sys.executable, "-m", "vault_memory", f"--vault={vault}", "--json", *arguments]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: Answer = json.loads(process.stdout)
    return answer


def _search_by_meaning(vault: Path) -> Answer:
    """Search when the daemon has made the vectors; without a model at once."""
    deadline = time.monotonic() + VECTOR_SECONDS
    while True:
        answer = _search(vault, QUESTION_BY_MEANING, "--mode", "semantic")
        is_warming = answer["freshness"]["semantic"] == "warming"
        # A slow processor may need longer; the demo still goes on.
        if not is_warming or time.monotonic() > deadline:
            return answer
        time.sleep(0.3)


def _search_until_found(vault: Path) -> Answer:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        answer = _search(vault, QUESTION_ABOUT_LINE)
        hits = answer["hits"]
        if hits and NEW_LINE in hits[0]["text"]:
            return answer
        # The watcher may miss an edit, as on some network file systems; the demo still ends.
        if time.monotonic() > deadline:
            raise click.ClickException(
                "search did not find the edit in time; run `vault-memory doctor`"
            )
        time.sleep(0.05)


def _editor(note: Path) -> tuple[str, list[str]]:
    """Return the name of an installed editor, and the command with which it appends a line."""
    if vim := shutil.which("vim"):
        append = f"$put ='{NEW_LINE}'"
        return "vim", [vim, "-u", "NONE", "-es", "-c", append, "-c", "wq", str(note)]
    script = "import sys; open(sys.argv[1], 'a', encoding='utf-8').write(sys.argv[2] + '\\n')"
    return "python", [sys.executable, "-c", script, str(note), NEW_LINE]


def _show(context: Context, question: str, answer: Answer) -> None:
    context.say(f"\n? {question}")
    for hit in answer["hits"][:2]:
        note = styled(hit["note"], bold=True)
        context.say(f"  {note}:{hit['lines'][0]}  {hit['text'].strip()}")
    freshness = answer["freshness"]
    reason = f" ({freshness['reason']})" if freshness["reason"] else ""
    context.say(f"  semantic: {freshness['semantic']}{reason}")
