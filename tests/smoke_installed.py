"""Does the wheel work by itself? Builds it, and uses it from outside the tree as a newcomer does.

Once without any extra, in an empty environment; once without each add-on, or each that has changed;
and once as the first screen of the README says: `pipx install` beside a copy of the sources, then
each command with its output.

Run by `make test`: `python tests/smoke_installed.py [--addons changed]`. Prints a line for each, or what
went wrong.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from tests.docs.test_docs import blocks, check, steps  # noqa: E402
from tests.unchanged_addons import unchanged_addons  # noqa: E402
from vault_memory.addons import table  # noqa: E402

PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
NOT_PUBLISHED = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", ".*_cache", ".hypothesis", "__pycache__"
)
SECONDS = 900
"""A slow network brings 100 MB of packages in this time"""


ASKED = {
    "fleet": ("fleet", "status"),
    "hosts": ("install", "--check"),
    "page": ("web",),
    "transfer": ("export",),
}
"""Add-on → a command that needs it. S3 and Talk need an extra first"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--addons", choices=("all", "changed"), default="all")
    unchanged = unchanged_addons(PROJECT) if parser.parse_args().addons == "changed" else None
    same = unchanged.names if unchanged else frozenset()
    with tempfile.TemporaryDirectory(prefix="vault-memory-smoke-") as name:
        folder = Path(name)
        dist = folder / "dist"
        build = ("wheel", "--no-deps", "--wheel-dir", str(dist), str(PROJECT))
        _run(sys.executable, *PIP, *build)
        [wheel] = dist.glob("*.whl")
        python = _environment(folder / "venv", str(wheel))
        checks = _use(python, folder)
        print(f"smoke test of {wheel.name}: {checks} commands ok")
        for addon in sorted(table.OFFERS.keys() - same):
            checks = _use_without(addon, wheel, python, folder)
            print(f"without the add-on {addon}: {checks} commands ok")
        checks = _use_first_screen(folder)
        print(f"the first screen of the README: {checks} commands ok")


def _environment(place: Path, *packages: str) -> Path:
    venv.create(place)
    python = place / "bin" / "python"
    into_it = ("--python", str(python), "install", "--no-compile")
    _run(sys.executable, *PIP, *into_it, *packages)
    return python


def _clean_environment(folder: Path) -> dict[str, str]:
    """The environment of a person who never used the program."""
    home = folder / "elsewhere"
    home.mkdir(exist_ok=True)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VAULT_MEMORY", "PYTHON", "PIPX"))
    }
    return environment | {
        "HOME": str(home),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def _use(python: Path, folder: Path) -> int:
    """A newcomer's first commands, far from the source tree, without any extra."""
    command = str(python.parent / "vault-memory")
    checks = _use_core((command,), folder / "vault", _clean_environment(folder))
    assert (python.parent.parent / "share/man/man1/vault-memory.1").is_file()
    return checks


def _use_without(addon: str, wheel: Path, python: Path, folder: Path) -> int:
    """The same commands with a wheel that lacks an add-on, and one that asks for it."""
    installed = folder / f"without-{addon}"
    left_out = f"vault_memory/addons/{addon}/"
    smaller = folder / addon / wheel.name
    smaller.parent.mkdir()
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(smaller, "w") as part:
        for name in whole.namelist():
            raw = whole.read(name)
            if name.endswith(".dist-info/RECORD"):
                lines = raw.splitlines(keepends=True)
                kept = [line for line in lines if left_out.encode() not in line]
                assert len(kept) < len(lines), addon
                raw = b"".join(kept)
            if not name.startswith(left_out):
                part.writestr(name, raw)
    into_it = ("install", "--no-deps", "--no-compile", "--target", str(installed))
    _run(sys.executable, *PIP, *into_it, str(smaller))
    environment = _clean_environment(folder) | {"PYTHONPATH": str(installed)}
    command = (str(python), "-m", "vault_memory")
    vault = folder / f"vault-{addon}"
    checks = _use_core(command, vault, environment)
    if addon in ASKED:
        asked = subprocess.run(
            (*command, *ASKED[addon], "--vault", str(vault), "--json"),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=environment["HOME"],
            env=environment,
        )
        error = json.loads(asked.stdout)["error"]
        assert f"no add-on for {table.OFFERS[addon]}" in error["message"], error
    return checks


def _use_core(command: tuple[str, ...], place: Path, environment: dict[str, str]) -> int:
    vault = str(place)

    def use(*arguments: str) -> str:
        return _run(*command, *arguments, cwd=environment["HOME"], env=environment)

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
    assert "_vault_memory" in use("completion", "bash")
    return 7


def _use_first_screen(folder: Path) -> int:
    """The commands of the first block of the README, as printed, search by meaning included."""
    screen = next(block for block in blocks(PROJECT / "README.md") if block.language == "console")
    commands = steps(screen.text)
    assert len(commands) == 2, commands
    pipx = _environment(folder / "pipx", "pipx").parent
    environment = _clean_environment(folder)
    bin_folder = folder / "bin"
    shutil.copytree(PROJECT, Path(environment["HOME"]) / "vault-memory", ignore=NOT_PUBLISHED)
    environment |= {
        "PATH": os.pathsep.join([str(bin_folder), str(pipx), environment["PATH"]]),
        "PIPX_HOME": str(folder / "pipx-home"),
        "PIPX_BIN_DIR": str(bin_folder),
        "PIPX_MAN_DIR": str(folder / "man"),
        "PIPX_DEFAULT_BACKEND": "pip",
        "PIP_NO_COMPILE": "1",
    }
    for step in commands:
        printed = _run(
            "bash", "-c", f"{step.command} 2>&1", cwd=environment["HOME"], env=environment
        )
        check(step, printed)
    search = ("search", "a doctor for my cats", "--mode", "semantic", "--json")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "animals.md").write_text("The veterinarian vaccinated both kittens\n")
    (notes / "house.md").write_text("The roof of the shed was tarred in May\n")
    environment["VAULT_MEMORY_VAULT"] = str(notes)
    _run("vault-memory", "index", env=environment, cwd=environment["HOME"])
    answer = json.loads(_run("vault-memory", *search, env=environment, cwd=environment["HOME"]))
    assert answer["hits"][0]["note"] == "animals.md", answer
    assert answer["freshness"]["semantic"] == "ready", answer
    return len(commands) + 2


def _run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


if __name__ == "__main__":
    main()
