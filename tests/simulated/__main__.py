"""Tells the life of a seed as a text that can be pinned, and what happens in it.

python -m tests.simulated SEED
"""

import argparse
import tempfile
from pathlib import Path

from tests.simulated.real import Real
from tests.simulated.shrinking import retold


def main() -> None:
    """Print the shortest life that fails as this seed does."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulated")
    parser.add_argument("seed", type=int)
    seed = parser.parse_args().seed
    with tempfile.TemporaryDirectory() as state:
        print(retold(seed, lambda disk: Real(disk, Path(state))))


if __name__ == "__main__":
    main()
