"""`run` says how far it is with embedding, on a terminal and in a log."""

import io
import subprocess
import sys

import pytest

from tests.cli.terminals import opened
from tests.scenarios.outside import Outside
from vault_memory.cli.options import Context
from vault_memory.cli.progress_bar import EmbeddingProgress
from vault_memory.models.embedding.packaged import MINILM_WEIGHTS, installed

CHUNKS = 80


def test_a_terminal_shows_the_share_and_the_time_left(capsys: pytest.CaptureFixture[str]):
    terminal = io.StringIO()
    times = iter([100.0, 110.0, 120.0])
    progress = EmbeddingProgress(Context(), terminal, clock=lambda: next(times))

    progress("embedding", 16, 1_000)
    progress("embedding", 500, 1_000)
    progress("embedding", 1_000, 1_000)

    assert "500 of 1,000" in terminal.getvalue()
    assert "left" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert "embedded 1,000 chunks in 20 s" in capsys.readouterr().err


def test_a_saved_note_is_not_reported(capsys: pytest.CaptureFixture[str]):
    progress = EmbeddingProgress(Context(), None)

    progress("embedding", 3, 3)

    assert capsys.readouterr().err == ""


@pytest.mark.sampled
def test_a_log_gets_a_line_at_the_start_and_one_at_the_end(outside: Outside):
    if installed(MINILM_WEIGHTS) is None:
        pytest.skip("the package with the weights is not installed")
    outside.settings["VAULT_MEMORY_EMBEDDING_KIND"] = "auto"
    outside.write("memory/a.md", "".join(f"- lamp number {n} is lit\n" for n in range(CHUNKS)))
    process = subprocess.Popen(
        [sys.executable, "-m", "vault_memory", "--vault", str(outside.vault), "run"],
        env=outside.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        lines.append(line)
        if line.startswith("embedded"):
            break
    process.terminate()
    lines += process.communicate(timeout=120)[1].splitlines()

    about = [line for line in lines if line.startswith("embedd")]
    assert about[0].strip() == f"embedding {CHUNKS} chunks"
    assert about[1].startswith(f"embedded {CHUNKS} chunks in ")
    assert len(about) == 2


@pytest.mark.sampled
def test_a_terminal_that_cannot_clear_a_line_gets_lines_only(outside: Outside):
    if installed(MINILM_WEIGHTS) is None:
        pytest.skip("the package with the weights is not installed")
    outside.settings["VAULT_MEMORY_EMBEDDING_KIND"] = "auto"
    outside.write("memory/a.md", "".join(f"- lamp number {n} is lit\n" for n in range(CHUNKS)))
    terminal = opened(outside, "run", TERM="dumb")

    terminal.wait_for(f"embedded {CHUNKS} chunks in ")
    terminal.interrupt()

    assert "\x1b" not in terminal.text
    assert "\r" not in terminal.text
