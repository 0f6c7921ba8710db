"""What an oracle says when something is wrong."""


class Violation(AssertionError):
    """One of the promises was broken."""

    def __init__(self, oracle: str, said: str) -> None:
        super().__init__(f"{oracle}: {said}")
        self.oracle = oracle
