"""The program's other commands, as functions."""
from __future__ import annotations

import html
import json
import os
import pathlib
from typing import Any, Iterable, Sequence

from ._program import Configuration, ask, call, flags
from .errors import Error
from .runs import _frame

_READ = (".csv", ".tsv", ".jsonl", ".ndjson", ".txt", ".gz", ".zst")  # by the program itself


class First:
    """What `rldp.init` found, and wrote."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        """All of it, as `rldp init --json` prints it; what is under "private" is for the data's owner alone."""

    @property
    def config(self) -> pathlib.Path | None:
        """The configuration that was written; None where questions are open."""
        return pathlib.Path(self.said["config"]) if self.said["config"] else None

    @property
    def open(self) -> list[str]:
        """What only the owner can say, and has not: "person" (or "record") and "population"."""
        return self.said["open"]

    @property
    def columns(self) -> dict[str, str]:
        """What becomes of each."""
        return {one["name"]: one["becomes"] for one in self.said["columns"]}

    def __repr__(self) -> str:
        rows = [f"  {name}: {becomes}" for name, becomes in self.columns.items()]
        if not self.open:
            return "\n".join([*rows, f"wrote {self.config}"])
        private = self.said["private"]
        return "\n".join([*rows, f"nothing is written yet; yours to say: {', '.join(self.open)}",
                          f"PRIVATE, for the data's owner: {private['units']} units; population={private['population']} would fit, "
                          f"max_tokens={private['max_tokens']}" + (f", person={private['person']!r}" if private.get("person") else "")])


def init(data: Any, model: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, person: str | None = None,
         record: bool = False, population: int | None = None, max_tokens: int | None = None, leave_out: Sequence[str] = (),
         keep_identifier: Sequence[str] = (), type: Sequence[str] = (), target: str | None = None, epsilon: float | None = None,
         force: bool = False) -> First:
    """Looks at records, and writes a configuration that runs on them, once `person` or `record`, and `population` are given.

    `data`: a file that the program reads, or whatever rldp.rows reads; then `out` is needed, and the configuration's data.path is "-"."""
    named = isinstance(data, (str, os.PathLike)) and pathlib.Path(data).suffix.lower() in _READ
    words = ["init", str(data) if named else "-", "--json",
             *flags(model=model, out=out, person=person, record=record, population=population, max_tokens=max_tokens,
                    leave_out=list(leave_out), keep_identifier=list(keep_identifier), type=list(type), target=target, epsilon=epsilon,
                    force=force)]
    status, said, err = call(words, None if named else data, (0, 2))
    if not said:
        raise Error(status, err.strip().splitlines()[-1].removeprefix("rldp: ") if err.strip() else "init said nothing")
    return First(json.loads(said))


def check(config: Any, *, data: Any = None, without_data: bool = False, private_counts: bool = False, **overrides: Any) -> dict[str, Any]:
    """The plan: steps, noise, the ε that it keeps, memory, and what was chosen and why. Trains nothing."""
    with Configuration(config, data, **overrides) as given:
        return ask(["check", *given.words, *flags(without_data=without_data, private_counts=private_counts)], data)


def account(phases: Iterable[tuple[float, float, int]] | None = None, *, delta: float | None = None,
            epsilons: Sequence[float] = (), ledger: str | os.PathLike[str] | None = None, bands: int | str | None = None,
            population: int | None = None, risk: bool = False) -> dict[str, Any]:
    """What phases of (noise multiplier, sample rate, steps), or a ledger, cost under every accountant.

    With `risk` also what an attacker can tell about one unit at best, under "attack_risk".

    >>> price = account([(1.1, 0.01, 1000)], delta=1e-5)
    >>> price["pld"]["epsilon"] < price["rdp"]["epsilon"], price["pld"]["is_upper_bound"]
    (True, True)
    """
    try:
        written = [f"{float(noise)!r},{float(rate)!r},{int(steps)}" for noise, rate, steps in ([] if phases is None else phases)]
    except (TypeError, ValueError):
        raise Error(2, "phases: give a list of (noise multiplier, sample rate, steps), such as [(1.1, 0.01, 1000)]") from None
    return ask(["account", *flags(phase=written, delta=delta, epsilon=list(epsilons), ledger=ledger, bands=bands, population=population,
                                  risk=risk)])


def calibrate(epsilon: float, delta: float, rate: float, steps: int, *, accountant: str | None = None, bands: int | str | None = None,
              population: int | None = None) -> dict[str, Any]:
    """The least noise that meets a budget.

    >>> found = calibrate(2, 1e-5, rate=0.01, steps=1000)
    >>> 0 < found["epsilon"] <= 2
    True
    """
    return ask(["calibrate", *flags(epsilon=epsilon, delta=delta, rate=rate, steps=steps, accountant=accountant, bands=bands,
                                    population=population)])


class Comparison:
    """Methods side by side: what `rldp compare` leaves in its directory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)
        try:
            self.table: dict[str, Any] = json.loads((self.path / "compare.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise Error(2, f"{self.path}: has no compare.json; rldp.compare with the same out makes what is missing") from None
        except ValueError:
            raise Error(2, f"{self.path}/compare.json: is damaged; rldp.compare with the same out writes it anew") from None

    def __repr__(self) -> str:
        return f"rldp.Comparison({str(self.path)!r})"

    def _repr_html_(self) -> str:
        page = self.path / "compare.html"
        return _frame(page.read_text(encoding="utf-8")) if page.exists() else f"<p>{html.escape(repr(self))}</p>"


def _numbers(given: Sequence[float]) -> str | None:
    return ",".join(repr(float(one)) for one in given) or None


def compare(config: Any, out: str | os.PathLike[str], *, methods: Sequence[str] = (), epsilons: Sequence[float] = (),
            seeds: Sequence[int] = (), jobs: int | None = None, tune_lr: Sequence[float] = (), **overrides: Any) -> Comparison:
    """Each method at each ε and seed, a run of its own; called again, it keeps what is done and goes on with what was cut."""
    if hasattr(config, "to_dict") or isinstance(config, dict):
        raise Error(2, "rldp.compare: give a file, which cells that are cut are resumed by: Path(\"base.json\").write_text(config.to_json())")
    with Configuration(config, **overrides) as given:
        call(["compare", *given.words, "--quiet", *flags(out=out, jobs=jobs, methods=",".join(methods) or None,
                                                   epsilons=_numbers(epsilons), seeds=",".join(map(str, seeds)) or None,
                                                   tune_lr=_numbers(tune_lr))])
    return Comparison(out)
