"""Every command block of the documentation does what the page says it does.

A page runs in a folder of its own, top to bottom, with the real command line:

- In a ``console`` block, ``$ `` opens a command; the lines after it are what it prints. A line ``...`` stands for any
  number of lines, ``...`` inside a line for any characters; a command with nothing after it only has to succeed.
  ``# exit 5`` at the end of a command names another exit code. `cd` and `export` last for the rest of the page.
  ``pipx install`` only has to name extras that there are.
- A ``console background`` block goes on running, as in another terminal, and is ended with Ctrl-C after the page.
- A ``toml`` block is a configuration that loads. ``make`` only has to know the target.
- A ``python`` block runs; what stands after ``# > `` is what it prints, as after a command.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.warm import program
from vault_memory import config

PROJECT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")])
LANGUAGES = {"console", "console background", "toml", "python", "markdown", "text", "json"}
EXIT = re.compile(r"\s+# exit (\d+)$")
PORT = re.compile(r"--port ([1-9]\d*)")
PATIENCE = 120
EXTRAS = set(
    tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
)
WITH_MODEL = {"README.md"}
"""Pages that show search by meaning as it is installed"""
PLACES_OF_PROGRAMS = {"CLAUDE_CONFIG_DIR", "CODEX_HOME"}
"""Variables that name another place than the home of the person"""
FROM_NOTHING = {"README.md", "docs/guides/start.md"}
"""Pages whose commands are started as a person starts them; those of the others are forked from one that is loaded"""


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Step:
    command: str
    expected: list[str]
    exit_code: int = 0


@dataclass(slots=True)
class Terminal:
    """A folder and an environment that commands share, and what still runs in the background."""

    folder: Path
    environment: dict[str, str]
    running: list[tuple[subprocess.Popen[bytes], Step, Path]] = field(default_factory=list)

    def run(self, step: Step) -> None:
        if step.command.startswith("make "):
            subprocess.run(
                [*step.command.split(), "--dry-run"], cwd=PROJECT, check=True, capture_output=True
            )
            return
        if step.command.startswith("pipx install "):
            # tests/smoke_installed.py runs it; here each extra only has to exist.
            [extras] = re.findall(r"\[([\w,]+)\]", step.command)
            assert set(extras.split(",")) <= EXTRAS
            return
        after = self.folder / ".after"
        script = f'{step.command}\ncode=$?\n{{ pwd; env -0; }} > "{after}"\nexit $code'
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.environment.get("PWD", self.folder),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == step.exit_code, f"{step.command}\n{done.stdout}"
        check(step, done.stdout)
        place, _, variables = after.read_text().partition("\n")
        self.environment = dict(
            pair.split("=", 1) for pair in variables.split("\0") if "=" in pair
        ) | {"PWD": place}

    def start(self, step: Step) -> None:
        """Runs it beside the rest, and goes on as soon as it has printed its first line."""
        output = self.folder / f".background-{len(self.running)}"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {step.command}"],
                cwd=self.environment.get("PWD", self.folder),
                env=self.environment | {"PATH": installed()},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        self.running.append((process, step, output))
        give_up = time.monotonic() + PATIENCE
        while not output.read_bytes().count(b"\n"):
            assert process.poll() is None, f"{step.command}\n{output.read_text()}"
            assert time.monotonic() < give_up, f"{step.command} printed nothing"
            time.sleep(0.02)

    def end(self) -> None:
        """Ctrl-C for all that still runs."""
        for process, _, _ in self.running:
            process.send_signal(signal.SIGINT)
        for process, step, output in self.running:
            assert process.wait(PATIENCE) == step.exit_code, output.read_text()
            check(step, output.read_text())


def check(step: Step, printed: str) -> None:
    if not step.expected:
        return
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else f"{loose(line)}\n" for line in step.expected
    )
    plain = "\n".join(line.rstrip() for line in printed.rstrip("\n").split("\n"))
    assert re.fullmatch(pattern, f"{plain}\n"), "\n".join(
        [f"$ {step.command}", "printed:", plain, "expected:", *step.expected]
    )


def loose(line: str) -> str:
    return r"[^\n]*".join(re.escape(part) for part in line.rstrip().split("..."))


def blocks(page: Path) -> list[Block]:
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    fences = [token for token in tokens if token.type == "fence" and token.map]
    return [Block(token.info.strip(), token.content, (token.map or [0])[0] + 1) for token in fences]


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            code = EXIT.search(line)
            found.append(Step(EXIT.sub("", line[2:]), [], int(code.group(1)) if code else 0))
        elif line.startswith("> ") and found and not found[-1].expected:
            found[-1] = Step(f"{found[-1].command}\n{line[2:]}", [], found[-1].exit_code)
        elif found:
            found[-1].expected.append(line)
    return found


def installed() -> str:
    """The path on which the commands lie as they are installed."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def loaded(folder: Path) -> str:
    """The same, but for commands that need not start from nothing."""
    (folder / "bin").mkdir()
    file = folder / "bin" / "vault-memory"
    file.write_text(f'#!/bin/sh\nexec {shlex.join(program())} "$@"\n')
    file.chmod(0o755)
    return f"{file.parent}{os.pathsep}{installed()}"


def home_of_a_person(folder: Path) -> Path:
    """Make a home with settings of a program, so that no page has to say where it is."""
    home = folder / ".home"
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"model": "opus"}\n')
    return home


@contextmanager
def terminal(folder: Path, path: str) -> Iterator[Terminal]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "COV")) and name not in PLACES_OF_PROGRAMS
    }
    environment["PATH"] = path
    environment["HOME"] = str(home_of_a_person(folder))
    # Pages that are about vectors switch them on for their own commands; all others need no model.
    environment.setdefault("VAULT_MEMORY_EMBEDDING_KIND", "off")
    shell = Terminal(folder, environment | {"PWD": str(folder)})
    try:
        yield shell
        shell.end()
    finally:
        for process, _, _ in shell.running:
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.mark.sampled
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_command_on_a_page_does_what_the_page_says(
    page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if "$ curl " in page.read_text(encoding="utf-8") and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    from_nothing = str(page.relative_to(PROJECT)) in FROM_NOTHING
    with terminal(
        tmp_path, installed() if from_nothing else loaded(tmp_path_factory.mktemp("path"))
    ) as shell:
        if str(page.relative_to(PROJECT)) in WITH_MODEL:
            shell.environment["VAULT_MEMORY_EMBEDDING_KIND"] = "auto"
        for block in blocks(page):
            if block.language == "console":
                for step in steps(block.text):
                    shell.run(step)
            elif block.language == "console background":
                [step] = steps(block.text)
                shell.start(step)
            elif block.language == "python":
                expected = [
                    line.strip()[4:]
                    for line in block.text.splitlines()
                    if line.strip().startswith("# > ")
                ]
                shell.run(Step(f"{sys.executable} - <<'END'\n{block.text}END", expected))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_code_block_has_a_checked_or_plain_text_language(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_configuration_on_a_page_loads(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            file = tmp_path / f"line-{block.line}.toml"
            file.write_text(block.text, encoding="utf-8")
            config.load(file, {})


def test_no_port_is_used_by_the_commands_of_two_pages() -> None:
    """Pages run at the same time, and a port has one server."""
    pages: dict[str, set[Path]] = {}
    for page in PAGES:
        for block in blocks(page):
            if block.language.startswith("console"):
                for port in PORT.findall(block.text):
                    pages.setdefault(port, set()).add(page)
    assert pages
    assert not {port: names for port, names in pages.items() if len(names) > 1}


@pytest.mark.sampled
def test_the_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("expected", "printed", "fits"),
    [
        (["one", "two"], "one\ntwo\n", True),
        (["one", "two"], "one\n\ntwo\n", False),
        (["one", "...", "four"], "one\ntwo\nthree\nfour\n", True),
        (["...", "four"], "one\nfour\n", True),
        (["...", "four"], "four\n", True),
        (["one", "..."], "one\n", True),
        (["one", "..."], "one\ntwo\nthree\n", True),
        (["one", "..."], "zero\none\n", False),
        (["took ... ms"], "took 12.5 ms\n", True),
        (["took ... ms"], "took 12.5 s\n", False),
        (["...", "a (b) [c]", "..."], "x\na (b) [c]\ny\nz\n", True),
        (["...", "two", "...", "four", "..."], "one\ntwo\nthree\nfour\n", True),
        (["...", "two", "...", "four", "..."], "one\ntwo\nthree\nfive\n", False),
    ],
)
def test_dots_match_variable_output_and_nothing_else_may_differ(
    expected: list[str], printed: str, fits: bool
) -> None:
    step = Step("echo", expected)

    if fits:
        check(step, printed)
    else:
        with pytest.raises(AssertionError):
            check(step, printed)
