"""A change of a public name, a schema, a key or a code is seen, and named in the changelog."""

from pathlib import Path

import pytest

from tests.goldens.stored import check
from tests.goldens.surface import GOLDENS


@pytest.mark.sampled
@pytest.mark.parametrize("name", GOLDENS)
def test_the_public_surface_matches_the_goldens(name: str, tmp_path: Path) -> None:
    check(name, GOLDENS[name](tmp_path))
