"""The one exception of the module, with what the program's exit status means."""
from __future__ import annotations

from typing import Any

MEANINGS = {
    1: "failed",
    2: "bad input",
    3: "budget exhausted before the plan's end",
    4: "what a certificate says does not hold",
    130: "interrupted, resumable",
}


class Error(Exception):
    """What the program refuses or fails at, in its own line.

    >>> Error(2, "data.path is missing").meaning
    'bad input'
    >>> print(Error(130, "go on with --resume").resumable)
    True
    """

    def __init__(self, status: int, line: str, run: Any = None) -> None:
        super().__init__(line)
        self.status = status
        """Of the program: 1, 2, 3, 4 or 130, as `rldp --help` says."""
        self.run = run
        """The run that it is about, where there is one: an exhausted or interrupted one has its files."""

    def __reduce__(self) -> Any:  # from a process of a pool to the one that asked
        return type(self), (self.status, str(self), self.run)

    @property
    def meaning(self) -> str:
        """The status in words."""
        return MEANINGS.get(self.status, "ended by a signal" if self.status < 0 else "failed")

    @property
    def resumable(self) -> bool:
        """Whether `rldp.resume` goes on with it."""
        return self.status == 130
