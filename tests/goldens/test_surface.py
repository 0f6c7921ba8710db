"""A change of a public name, a schema, a key or a code is seen, and named in the changelog."""

from pathlib import Path

import pytest

from tests.goldens.stored import check
from tests.goldens.surface import GOLDENS


@pytest.mark.parametrize("name", GOLDENS)
def test_what_others_rely_on_is_as_it_was(name: str, tmp_path: Path) -> None:
    check(name, GOLDENS[name](tmp_path))
