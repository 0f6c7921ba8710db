"""Asks the process behind `tests.warm` for a command, and ends as that does. It loads as little as can be."""

import _signal as signal
import _socket as socket
import posix
import sys


def main(path: bytes, arguments: list[bytes]) -> None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    environment = [name + b"=" + value for name, value in posix.environ.items()]
    words = b"\0".join([posix.getcwdb(), str(len(arguments)).encode(), *arguments, *environment])
    files = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    connection.sendmsg(
        [len(words).to_bytes(8, "little")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)]
    )
    connection.sendall(words)
    child = int.from_bytes(received(connection), "little")
    if told := posix.environ.get(b"TESTS_WARM_TELLS"):
        posix.write(int(told), b"%d\n" % child)
        posix.close(int(told))

    def pass_on(number: int, frame: object) -> None:
        posix.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    status = int.from_bytes(received(connection), "little")
    if number := status & 0x7F:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        posix.kill(posix.getpid(), number)
    posix._exit(status >> 8)


def received(connection: socket.socket) -> bytes:
    found = b""
    while len(found) < 4:
        more = connection.recv(4 - len(found))
        if not more:
            posix._exit(97)
        found += more
    return found


main(sys.argv[1].encode(), [word.encode("utf-8", "surrogateescape") for word in sys.argv[2:]])
