"""A vault in a folder of its own, and commands about it that run in this process. What they print is scrubbed."""

import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.goldens import product

PROJECT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 5, 26, 10, tzinfo=UTC)
"""The time that the first command takes for now: two days after the last note of the sample vault"""

TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?")
TOKEN = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*\d)[0-9a-f]{8,64}(?![0-9A-Za-z])")
TURN = re.compile(r"(?<![\w-])mpm[0-9a-z]{11}(?![\w-])")
"""The id of a turn that was recorded: its time, and some dice"""
OWN_TMP = re.compile(r"PrivateTmp=yes(?:\n|\\n)")
"""A unit gets it unless the vault lies in a temporary folder, and where tests put theirs differs"""
LATE = re.compile(r"^vault-memory: \S+ \S+ SessionEnd: no answer within .*\n", re.MULTILINE)
"""What the end of a conversation says on a busy machine: the rest of it waits for the night"""
DURATIONS = (
    (re.compile(r'("seconds": )[\d.e-]+'), r"\1<SECONDS>"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:s|ms|seconds?)\b"), "<DURATION>"),
    (re.compile(r'("pid": )\d+'), r"\1<PID>"),
    (re.compile(r'("index_bytes": |index bytes: )\d+'), r"\1<BYTES>"),
    (re.compile(r"\bvm-[0-9a-f]{6}\b"), "<DEVICE>"),
)


class Sandbox:
    """One vault, one home, one state folder, below `base`."""

    def __init__(self, base: Path) -> None:
        self.base = base.resolve()
        self.home, self.vault, self.roots = (
            self.base / name for name in ("home", "vault", "state")
        )
        for folder in (self.home, self.vault):
            folder.mkdir(parents=True, exist_ok=True)
        self.now = NOW
        self.settings: dict[str, str] = {}
        self._tokens: dict[str, str] = {}

    @property
    def state(self) -> Path:
        """The folder of all states; there is one vault in it."""
        return self.roots

    def take_sample(self) -> None:
        """Put a copy of the sample vault there."""
        shutil.copytree(PROJECT / "sample_vault", self.vault, dirs_exist_ok=True)

    def write(self, path: str, text: str) -> None:
        """Save a file of the vault, as an editor does."""
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a command: none of the person who runs the tests but PATH."""
        places = {
            "HOME": self.home,
            "VAULT_MEMORY_STATE": self.roots,
            "VAULT_MEMORY_CACHE": self.base / "cache",
        }
        places |= {
            f"XDG_{name}_HOME": self.home / name.lower()
            for name in ("STATE", "CACHE", "CONFIG", "DATA")
        }
        fixed = {"NO_COLOR": "1", "COLUMNS": "100", "TZ": "UTC", "LANG": "C.UTF-8", "USER": "mira"}
        settings = {"VAULT_MEMORY_EMBEDDING_KIND": "off", "PATH": os.environ.get("PATH", "")}
        return {
            **fixed,
            **settings,
            **{name: str(place) for name, place in places.items()},
            **self.settings,
        }

    @contextmanager
    def here(self) -> Iterator[None]:
        """This process as a command finds it: environment, time zone, current folder."""
        variables, folder = dict(os.environ), os.getcwd()
        os.environ.clear()
        os.environ.update(self.environment)
        time.tzset()
        os.chdir(self.home)
        try:
            yield
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(variables)
            time.tzset()

    def common(self) -> list[str]:
        """Vault and time of a command. Each is a minute later than the last, so that lists by time have one order."""
        self.now += timedelta(minutes=1)
        return ["--vault", str(self.vault), "--now", self.now.isoformat()]

    def run(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a command about this vault, at its time."""
        return self.bare(*self.common(), *arguments, stdin=stdin)

    def bare(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """The same with these arguments alone."""
        out, err = (
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in "oe"
        )
        before = sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        code = 0
        try:
            with self.here(), redirect_stdout(out), redirect_stderr(err):
                product.main(list(arguments))
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdin = before
        texts = []
        for stream in (out, err):
            stream.flush()
            stream.seek(0)
            texts.append(stream.read())
        return code, texts[0], texts[1]

    def process(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """The same as `run`, in a process of its own. A server gets a request when it has answered the one before."""
        command = [sys.executable, "-m", "vault_memory", *self.common(), *arguments]
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        running = subprocess.Popen(command, env=self.environment, cwd=self.home, text=True, **pipes)
        lines = stdin.splitlines(keepends=True) if "mcp" in arguments else []
        answers = []
        for line in lines:
            running.stdin.write(line)
            running.stdin.flush()
            answers.append(running.stdout.readline())
        out, err = running.communicate("" if lines else stdin, timeout=120)
        return running.returncode, "".join(answers) + out, err

    # --- Scrubbing ---

    def scrub(self, text: str) -> str:
        """The text without what differs between two runs: places, ids, hashes, times of today, durations."""
        for place, name in (
            (self.vault, "<VAULT>"),
            (self.roots, "<STATE>"),
            (self.home, "<HOME>"),
            (self.base, "<BASE>"),
            (Path(sys.executable).parent, "<BIN>"),
            (PROJECT, "<PROJECT>"),
        ):
            text = text.replace(str(place), name)
        text = LATE.sub("", OWN_TMP.sub("", text))
        for pattern, name in DURATIONS:
            text = pattern.sub(name, text)
        text = TIME.sub(self._time, text)
        return TOKEN.sub(self._token, TURN.sub(self._token, text))

    def _time(self, match: re.Match[str]) -> str:
        """A time of these days came from the real clock; all others follow from the fixed time."""
        day = datetime.fromisoformat(match[0][:10]).replace(tzinfo=UTC)
        return "<TODAY>" if abs(datetime.now(UTC) - day) < timedelta(days=3) else match[0]

    def _token(self, match: re.Match[str]) -> str:
        """The same id or hash gets the same number; the prefix of a longer one gets its number, too."""
        token = match[0]
        for known, name in self._tokens.items():
            if known == token:
                return name
            if known.startswith(token):
                return f"{name[:-1]}:{len(token)}>"
        self._tokens[token] = f"<ID {len(self._tokens) + 1}>"
        return self._tokens[token]
