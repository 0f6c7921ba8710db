"""Writes the stored files again, or compares the lives of two trees.

python -m tests.goldens                    writes every stored file again, and names those that changed
python -m tests.goldens --only commands    only files whose names begin so
python -m tests.goldens --write FOLDER     writes the whole dump of each simulated life and world into a folder
python -m tests.goldens --compare FOLDER   shows what differs from the dumps that another tree wrote
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.goldens import dumps, screens, surface, transcripts
from tests.goldens.stored import EXPECTED, write

GOLDENS: dict[str, Callable[[Path], str]] = {
    **surface.GOLDENS,
    **transcripts.GOLDENS,
    **screens.GOLDENS,
}


def texts(start: str) -> Iterator[tuple[str, str]]:
    """Name and text of every stored file whose name begins so."""
    for name, make in GOLDENS.items():
        if name.startswith(start):
            folder = Path(tempfile.mkdtemp())
            try:
                yield name, make(folder)
            finally:
                shutil.rmtree(folder)
    for kind in dumps.KINDS:
        if kind.name.startswith(start):
            yield from dumps.stored_files(kind)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.goldens",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    parser.add_argument("--compare", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.write:
        dumps.write_all(options.write)
        return 0
    if options.compare:
        return int(dumps.compare_all(options.compare) > 0)
    for name, text in texts(options.only):
        if write(EXPECTED, name, text):
            print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
