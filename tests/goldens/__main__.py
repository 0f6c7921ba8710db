"""python -m tests.goldens: writes the stored files again, and prints which of them changed.

--only PART        only the files whose names begin with PART, such as `surface`
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.goldens import surface
from tests.goldens.stored import EXPECTED, write

GOLDENS: dict[str, Callable[[Path], str]] = {**surface.GOLDENS}


def renew(start: str) -> None:
    """Write every stored file whose name begins so."""
    for name, make in GOLDENS.items():
        if not name.startswith(start):
            continue
        folder = Path(tempfile.mkdtemp())
        try:
            if write(EXPECTED, name, make(folder)):
                print(f"wrote {(EXPECTED / name).relative_to(Path.cwd())}")
        finally:
            shutil.rmtree(folder)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.goldens", description=__doc__)
    parser.add_argument("--only", default="", metavar="PART")
    options = parser.parse_args()
    renew(options.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
