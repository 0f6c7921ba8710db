"""Does the wheel work by itself? Builds it, installs it into an empty environment, and uses it from outside the tree.

Run by `make test`: `python tests/smoke_installed.py`. Prints one line, or what went wrong.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="vault-memory-smoke-") as name:
        folder = Path(name)
        _run(
            sys.executable,
            *PIP,
            "wheel",
            "--no-deps",
            "--wheel-dir",
            str(folder / "dist"),
            str(PROJECT),
        )
        [wheel] = (folder / "dist").glob("*.whl")
        python = _environment(folder / "venv", wheel)
        checks = _use(python, folder)
    print(f"smoke test of {wheel.name}: {checks} commands ok")


def _environment(place: Path, wheel: Path) -> Path:
    venv.create(place)
    python = place / "bin" / "python"
    into_it = ("--python", str(python), "install", "--no-compile")
    _run(sys.executable, *PIP, *into_it, str(wheel))
    return python


def _use(python: Path, folder: Path) -> int:
    """A newcomer's first commands, far from the source tree, without any extra."""
    command = str(python.parent / "vault-memory")
    vault = str(folder / "vault")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VAULT_MEMORY", "PYTHON"))
    }
    environment |= {
        "HOME": str(elsewhere),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }

    def use(*arguments: str) -> str:
        return _run(command, *arguments, cwd=elsewhere, env=environment)

    assert "0." in use("--version")
    use("init", vault)
    report = json.loads(use("index", "--vault", vault, "--json"))
    assert report["notes"] > 0, report
    answer = json.loads(use("search", "the", "--vault", vault, "--json"))
    assert answer["freshness"]["stale_files"] == [], answer
    notes = json.loads(use("notes", "--vault", vault, "--json"))["notes"]
    assert len(notes) == report["notes"], (len(notes), report)
    shown = json.loads(use("read", notes[0]["note"], "--vault", vault, "--json"))
    assert shown["revision"] == notes[0]["revision"], shown
    use("demo")
    return 6


def _run(*command: str, **options: object) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, **options
    )  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(
            f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return str(done.stdout)


if __name__ == "__main__":
    main()
