"""What people see: seven commands on terminals of two widths, without colours, and in a pipe.

Each stored file holds all captures of one command. The line above a capture is as wide as its
terminal, so that a line that is too long stands out. Colours are written as `{bold}` and `{/}`.
"""

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.terminals import opened
from tests.goldens.sandbox import Sandbox
from tests.scenarios.outside import PATIENCE_SECONDS, Outside

MIRA = "Users/mira/lantern/config/USER.md"
BASE = "/home/mira/Documents/household"
"""What a capture shows for the folder of the test: a name of the same length, as lines depend on it"""
COLOURS = {
    "0": "/",
    "1": "bold",
    "2": "dim",
    "31": "red",
    "32": "green",
    "33": "yellow",
    "36": "cyan",
}
CODE = re.compile(r"\x1b\[([0-9]+)m")
ID = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*\d)[0-9a-f]{8,64}(?![0-9A-Za-z])")
MASKS = (
    (re.compile(r"\b\d+\.\d ms\b"), "1.0 ms"),
    (re.compile(r"^\d\d:\d\d  ", re.MULTILINE), "10:00  "),
    # Before the hour of the night, the last one was that of the day before.
    (re.compile(r"\bnight of \d{4}-\d\d-\d\d"), "night of 2026-05-26"),
)


@dataclass(frozen=True)
class Form:
    """One way to look at what a command prints."""

    columns: int = 0
    """of the terminal; 0 for a pipe"""
    variable: str = ""

    @property
    def title(self) -> str:
        """The heading of a capture, as wide as the terminal."""
        if not self.columns:
            return "=== no terminal"
        name = f"{self.columns} columns"
        title = f"=== {', '.join(filter(None, (name, self.variable)))} "
        return title.ljust(self.columns, "=")

    @property
    def variables(self) -> dict[str, str]:
        """The environment that asks for this form."""
        name, _, value = self.variable.partition("=")
        return {name: value} if name else {}


FORMS = (Form(80), Form(80, "NO_COLOR=1"), Form(40), Form(40, "TERM=dumb"), Form())
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "search": (
        ("search", "where is the spare key of the lighthouse?", "--limit", "4"),
        ("search", "slipway", "--limit", "2", "--why", "--channel", "harbour"),
        ("search", "zeppelin", "--user", "mira"),
    ),
    "status": (("status",),),
    "log": (("log",),),
    "facts": (("facts", "--user", "mira"),),
    "entity": (("entity", "mira"),),
    "doctor": (("doctor",),),
}


def prepared(folder: Path) -> tuple[Sandbox, Outside]:
    """The sample vault in a folder, with changes, a conflict copy and a note that is too large."""
    sandbox = Sandbox(folder)
    sandbox.take_sample()
    sandbox.write("Users/mira/memories/export.md", "- a line of a log\n" * 70_000)
    sandbox.write(
        "Users/mira/memories/2026-04-06 (conflicted copy 2026-05-25 101010).md",
        "# Monday\n\n- another day\n",
    )
    for line in (
        ("index",),
        (
            "append",
            MIRA,
            "The house",
            "The lamp oil is in the cellar, on the lowest shelf, behind the tins of paint",
        ),
        ("append", MIRA, "Plans", "Mend the slipway", "--source", "tool"),
        ("remove", MIRA, "Plans", "Paint the gallery", "--source", "tool"),
    ):
        code, out, err = sandbox.run(*line)
        assert code in (0, 1), (line, out, err)
    outside = Outside(sandbox.vault, sandbox.home, settings=sandbox.environment)
    return sandbox, outside


@contextmanager
def folder_of_fixed_length() -> Iterator[Path]:
    """Make a folder with a path as long as `BASE`."""
    parent = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    letters = len(BASE) - len(str(parent)) - 1
    assert letters > 0, parent
    folder = parent / ("x" * letters)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(parent)


class Masks:
    """Replaces what differs between two runs by a text of the same length."""

    def __init__(self, base: Path) -> None:
        self._base = str(base)
        self._ids: dict[str, str] = {}

    def masked(self, text: str) -> str:
        """The text of a capture."""
        text = text.replace(self._base, BASE)
        for pattern, mask in MASKS:
            text = pattern.sub(mask, text)
        text = CODE.sub(_colour_name, text)
        return ID.sub(self._mask_of, text).replace("\x1b", "{ESC}")

    def _mask_of(self, match: re.Match[str]) -> str:
        token = match[0]
        number = self._ids.setdefault(token, str(len(self._ids) + 1))
        return number.rjust(len(token), "0")


def _colour_name(match: re.Match[str]) -> str:
    return f"{{{COLOURS.get(match[1], match[1])}}}"


@dataclass(frozen=True)
class Screens:
    """The stored captures of one command."""

    name: str

    def __call__(self, folder: Path) -> str:
        """All captures; `folder` is not used, as its path may have any length."""
        captures = self._of_the_daemon() if self.name == "run" else self._of_commands()
        blocks = []
        for form, text in zip(FORMS, captures, strict=True):
            lines = [line.rstrip() for line in text.splitlines()]
            blocks.append("\n".join([form.title, *lines, ""]))
        return "\n".join(blocks)

    def _of_the_daemon(self) -> Iterator[str]:
        with ExitStack() as stack:
            bases = [stack.enter_context(folder_of_fixed_length()) for _ in FORMS]
            vaults = [prepared(base)[1] for base in bases]
            # A daemon mostly waits: all of them run at the same time.
            pool = stack.enter_context(ThreadPoolExecutor())
            texts = pool.map(daemon_session, vaults, FORMS)
            for base, text in zip(bases, texts, strict=True):
                yield "$ vault-memory run\n" + Masks(base).masked(text)

    def _of_commands(self) -> Iterator[str]:
        with folder_of_fixed_length() as base:
            sandbox, outside = prepared(base)
            for form in FORMS:
                texts = captures_of(self.name, sandbox, outside, form)
                yield Masks(base).masked("\n".join(texts))


def captures_of(name: str, sandbox: Sandbox, outside: Outside, form: Form) -> Iterator[str]:
    """Each command line with what it shows."""
    for command in COMMANDS[name]:
        text = capture(outside, form, *command, "--now", sandbox.now.isoformat())
        words = " ".join(f'"{word}"' if " " in word else word for word in command)
        yield f"$ vault-memory {words}\n{text}"


def capture(outside: Outside, form: Form, *arguments: str) -> str:
    """What a command shows on this terminal, or prints into pipes."""
    if not form.columns:
        settings = {**outside.environment, "NO_COLOR": "", "TERM": "xterm"}
        done = outside.run(*arguments, env=settings)
        return joined_streams(done.out, done.err)
    terminal = opened(outside, *arguments, columns=form.columns, **form.variables)
    terminal.end()
    return terminal.text


def joined_streams(out: str, err: str) -> str:
    """Both streams of a command without a terminal."""
    return out + "".join(f"stderr: {line}\n" for line in err.splitlines())


def daemon_session(outside: Outside, form: Form) -> str:
    """What `run` shows while notes are saved and removed, until Ctrl-C."""
    if not form.columns:
        with outside.daemon() as daemon:
            work_beside(outside, lambda text: wait_for(text, lambda: daemon.lines))
            daemon.stop()
            out, err = "".join(daemon.lines), "".join(daemon.errors)
        return joined_streams(out, err)
    terminal = opened(outside, "run", columns=form.columns, **form.variables)
    terminal.wait_for("press Ctrl-C to stop")
    # A narrow terminal breaks lines between any two words.
    work_beside(
        outside,
        lambda text: wait_for(text, lambda: [terminal.plain] if terminal.read(0.05) else []),
    )
    terminal.interrupt()
    return terminal.text


def wait_for(text: str, lines: Callable[[], list[str]]) -> None:
    """Wait until the words of a text were printed, wherever the line was broken."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while text not in " ".join("".join(lines()).split()):
        assert time.monotonic() < deadline, (text, lines())
        time.sleep(0.02)


def work_beside(outside: Outside, wait: Callable[[str], None]) -> None:
    """Save and remove notes beside a daemon, each after the line about the one before."""
    wait("for user:mira: quiet")
    note = outside.vault / MIRA
    note.write_text(note.read_text() + "- The new boat is called Sandpiper\n")
    wait(f"{MIRA} +1 −0 chunks")
    journey = outside.write("Channels/harbour/memories/2026-05-25.md", "- Ove rang\n")
    wait("2026-05-25.md +1 −0 chunks")
    journey.unlink()
    wait("removed −1 chunks")


GOLDENS: dict[str, Callable[[Path], str]] = {
    f"screens/{name}.txt": Screens(name) for name in (*COMMANDS, "run")
}
