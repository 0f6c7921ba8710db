"""`demo`: the whole loop once, with real parts: a daemon, an editor, a search."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli.options import Context, common
from vault_memory.cli.terminal import styled
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.admin import init_vault
else:
    init_vault = lazy_module("vault_memory.admin.init_vault")

QUESTION = "where does Mira keep the spare key of the lighthouse?"
NOTE = "memory/electricity.md"
LINE = "- The spare batteries of the radio are in the bread bin"
EDITED = "where are the spare batteries of the radio?"
SAID = "The boat with the lamp oil comes on Thursday, and I have to sign for it"
ANSWERED = "I will remind you on Wednesday evening"
ASKED = "when does the boat with the lamp oil come?"
TOLD = "I am allergic to mackerel"
WONDERED = "what is Mira allergic to?"
PATIENCE_SECONDS = 20.0


@click.command()
@common
@click.pass_obj
def demo(context: Context) -> None:
    """Show the whole loop once, on a copy of the sample vault in a temporary folder.

    Starts a daemon, asks a question, edits a note with a real editor, asks for what was written, records what is said
    in a conversation, and asks for that; then a night passes, and what was learned stands in notes.
    """
    with tempfile.TemporaryDirectory(prefix="vault-memory-demo-") as name:
        vault = Path(name) / "vault"
        os.environ["VAULT_MEMORY_STATE"] = str(Path(name) / "state")
        context.say(
            f"a copy of the sample vault: {init_vault.make_vault(vault, empty=False)} files"
        )
        with _daemon(vault):
            first = _search(vault, QUESTION)
            _show(context, QUESTION, first)
            editor, command = _editor(vault / NOTE)
            context.say(f"\n{editor} adds to {NOTE}: {LINE}")
            started = time.monotonic()
            subprocess.run(
                command, check=True, stdin=subprocess.DEVNULL, capture_output=True
            )
            found = _until_found(vault)
            seconds = time.monotonic() - started
            _show(context, EDITED, found)
            context.say(f"\nmira says: {SAID}. {TOLD}")
            recorded = _converse(vault)
            said = _search(vault, ASKED)
            _show(context, ASKED, said)
        context.say("\na night passes")
        _command(vault, "sleep", "--user", "mira")
        learned = _search(vault, WONDERED, "--kind", "facts", "--kind", "dated")
        _show(context, WONDERED, learned)
    context.emit(
        {
            "questions": [QUESTION, EDITED, ASKED, WONDERED],
            "editor": editor,
            "seconds": round(seconds, 3),
            "found": [*found["hits"][:1], *said["hits"][:1]],
            "recorded": recorded,
            "learned": learned["hits"],
        },
        lambda: (
            f"\nfound {seconds:.1f} s after the editor was started; nothing is left behind"
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
            said = process.stderr.readline()
            if not said.startswith("watching"):
                raise click.ClickException(
                    f"the daemon did not start: {said}{process.stderr.read()}"
                )
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def _search(vault: Path, question: str, *options: str) -> dict[str, Any]:
    return _command(vault, "search", question, *options)


def _converse(vault: Path) -> list[str]:
    """A conversation of two turns; the transcripts it stands in."""
    mira = ("--session", "demo", "--role", "user", "--user", "mira")
    turns = [
        (*mira, f"{SAID}. {TOLD}."),
        ("--session", "demo", "--role", "assistant", ANSWERED),
    ]
    recorded = [_command(vault, "record", *turn)["note"] for turn in turns]
    _command(vault, "end-session", "demo")
    return recorded


def _command(vault: Path, *arguments: str) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "vault_memory",
        "--vault",
        str(vault),
        "--json",
        *arguments,
    ]
    answer: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return answer


def _until_found(vault: Path) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = _search(vault, EDITED)
        if answer["hits"] and LINE in answer["hits"][0]["text"]:
            return answer
        if time.monotonic() > deadline:
            raise click.ClickException(
                "the edit was not found in time; `vault-memory doctor` may say why"
            )
        time.sleep(0.05)


def _editor(note: Path) -> tuple[str, list[str]]:
    """A real editor that can be told what to do, and how it adds a line at the end."""
    if vim := shutil.which("vim"):
        return "vim", [
            vim,
            "-u",
            "NONE",
            "-es",
            "-c",
            f"$put ='{LINE}'",
            "-c",
            "wq",
            str(note),
        ]
    if sed := shutil.which("sed"):
        return "sed -i", [sed, "-i", f"$a\\\n{LINE}", str(note)]
    script = "import sys; open(sys.argv[1], 'a', encoding='utf-8').write(sys.argv[2] + '\\n')"
    return "python", [sys.executable, "-c", script, str(note), LINE]


def _show(context: Context, question: str, answer: dict[str, Any]) -> None:
    context.say(f"\n? {question}")
    for hit in answer["hits"][:2]:
        context.say(
            f"  {styled(hit['note'], bold=True)}:{hit['lines'][0]}  {hit['text'].strip()}"
        )
    fresh = answer["freshness"]
    context.say(
        f"  semantic: {fresh['semantic']}"
        + (f" ({fresh['reason']})" if fresh["reason"] else "")
    )
