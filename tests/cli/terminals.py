"""Commands on a pseudo-terminal of a given size, and what they draw there."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress
from dataclasses import dataclass, field

from tests.scenarios.outside import PATIENCE_SECONDS, Outside

PRESS_SECONDS = 2.0
"""Between two presses of Ctrl-C"""

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ROWS = 24
STYLE = {"NO_COLOR": "", "TERM": "xterm-256color", "COLUMNS": ""}
"""Variables of a terminal that shows colours"""


@dataclass
class Terminal:
    """A command that runs on a pseudo-terminal of its own."""

    process: subprocess.Popen[bytes]
    leader: int
    received: bytearray = field(default_factory=bytearray)

    @property
    def text(self) -> str:
        """All that the terminal got, with its codes."""
        return self.received.decode(errors="replace").replace("\r\n", "\n")

    @property
    def plain(self) -> str:
        """The same without colours."""
        return COLOUR.sub("", self.text)

    def read(self, seconds: float = 0.2) -> bool:
        """Takes what comes next; false once the command has ended."""
        os.set_blocking(self.leader, False)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                piece = os.read(self.leader, 65536)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            except OSError:
                # Linux reports a terminal that no process has open as an error.
                return False
            if not piece:
                return False
            self.received += piece
        return True

    def wait_for(self, text: str) -> None:
        """Reads until a text was shown. Fails when it is not shown in time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.plain:
            is_open = self.read(0.05)
            assert is_open or text in self.plain, self.plain
            assert time.monotonic() < deadline, self.plain

    def type(self, keys: str) -> None:
        """Types keys as a person does."""
        os.write(self.leader, keys.encode())

    def end(self) -> int:
        """Reads all that comes, and returns the exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.read():
            assert time.monotonic() < deadline, self.plain
        os.close(self.leader)
        return self.process.wait(PATIENCE_SECONDS)

    def interrupt(self) -> int:
        """Presses Ctrl-C until the program ends, and returns the exit code."""
        # Python loses a signal that comes just before it begins to read the answer.
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.plain
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(PRESS_SECONDS)
        return self.end()


def opened(outside: Outside, *arguments: str, columns: int = 80, **environment: str) -> Terminal:
    """Starts a command with stdin, stdout and stderr on a terminal of this width."""
    leader, follower = pty.openpty()
    size = struct.pack("HHHH", ROWS, columns, 0, 0)
    fcntl.ioctl(follower, termios.TIOCSWINSZ, size)
    process = subprocess.Popen(
        outside.command(*arguments),
        env={**outside.environment, **STYLE, **environment},
        cwd=outside.home,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    return Terminal(process, leader)


def shown(outside: Outside, *arguments: str, columns: int = 80, **environment: str) -> str:
    """All that a command shows on a terminal of this width, with its codes."""
    terminal = opened(outside, *arguments, columns=columns, **environment)
    assert terminal.end() == 0, terminal.plain
    return terminal.text
