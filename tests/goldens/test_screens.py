"""People see what they saw before on a terminal, and no line is wider than their terminal."""

import re
from pathlib import Path

import pytest

from tests.cli.test_screens import too_long
from tests.goldens.screens import FORMS, GOLDENS
from tests.goldens.stored import EXPECTED, check

MARK = re.compile(r"\{(?:/|[a-z]+)\}")
TITLE = re.compile(r"^=== .*\n", re.MULTILINE)


def stored(name: str) -> list[str]:
    """The captures of one command."""
    text = (EXPECTED / name).read_text(encoding="utf-8")
    _, *captures = TITLE.split(text)
    return captures


@pytest.mark.sampled
@pytest.mark.parametrize("name", GOLDENS)
def test_a_screen_matches_its_golden_capture(name: str, tmp_path: Path) -> None:
    check(name, GOLDENS[name](tmp_path))


@pytest.mark.parametrize("name", GOLDENS)
def test_a_stored_capture_fits_its_terminal(name: str) -> None:
    captures = stored(name)

    assert len(captures) == len(FORMS)
    for form, capture in zip(FORMS, captures, strict=True):
        assert "{ESC}" not in capture
        assert not (form.variable and MARK.search(capture))
        answer = [line for line in capture.splitlines() if not line.startswith("$ ")]
        plain = MARK.sub("", "\n".join(answer))
        assert not form.columns or too_long(plain, form.columns) == []


@pytest.mark.parametrize("name", GOLDENS)
def test_colours_change_no_letter(name: str) -> None:
    wide, wide_plain, narrow, narrow_plain, pipe = stored(name)

    assert MARK.sub("", wide).strip() == wide_plain.strip()
    assert MARK.sub("", narrow).strip() == narrow_plain.strip()
    assert not MARK.search(pipe)
