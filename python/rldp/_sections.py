"""What the generated dataclasses of a configuration have in common."""
from __future__ import annotations

import dataclasses
import difflib
import json
import os
from typing import Any

from .errors import Error


@dataclasses.dataclass
class Section:
    """A part of a configuration: what is None is left out."""

    def __setattr__(self, name: str, value: Any) -> None:
        known = [each.name for each in dataclasses.fields(self)]
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise Error(2, f"{type(self).__name__}.{name}: no such key{hint}")
        super().__setattr__(name, value)

    def to_dict(self) -> dict[str, Any]:
        """As the program reads it, without what is None and without sections that say nothing."""
        out: dict[str, Any] = {}
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Section):
                value = value.to_dict() or None
            elif isinstance(value, os.PathLike):
                value = os.fspath(value)
            if value is not None:
                out[each.name] = value
        return out

    def to_json(self) -> str:
        """As a file: json.dumps of to_dict."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Any:
        """The other way round. Errors: Error 2 for a key that is not there."""
        out = cls()
        for name, value in given.items():
            if name.startswith("$"):
                continue
            inner = getattr(out, name, None)
            setattr(out, name, type(inner).from_dict(value) if isinstance(inner, Section) and isinstance(value, dict) else value)
        return out
