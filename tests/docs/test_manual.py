"""The manual page has each command, and `man` shows it without a complaint."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from vault_memory import __version__
from vault_memory.cli.root import COMMANDS, UNLISTED

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/man/vault-memory.1"
MACROS = {"TH", "SH", "SS", "TP", "PP", "B", "I", "RI", "nf", "fi"}


def test_each_command_has_a_section():
    text = PAGE.read_text(encoding="utf-8")
    sections = re.findall(r"^\.SS (.*)$", text, re.MULTILINE)

    assert [name.replace("\\-", "-") for name in sections] == [*COMMANDS, *UNLISTED]
    assert f"vault\\-memory {__version__}" in text


def test_only_known_macros_begin_a_line():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    macros = {line[1:].split()[0] for line in lines[1:] if line.startswith(".")}

    assert macros <= MACROS
    assert not [line for line in lines if line.startswith("'")]


def test_man_sets_the_page_without_a_warning():
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    command = ["groff", "-man", "-ww", "-Tutf8", "-P-c", str(PAGE)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
    # Bold letters are printed twice, one over the other.
    shown = re.sub(r".\x08", "", done.stdout)
    assert "vault-memory search [OPTIONS] QUERY..." in shown.replace("\u2010", "-")
