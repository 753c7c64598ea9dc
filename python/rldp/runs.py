"""A run: begun, watched, gone on with, and read when it is over."""
from __future__ import annotations

import contextlib
import html
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Iterator

from ._program import Configuration, Feed, ask, call, flags, last_line, start_program
from .errors import Error

Step = dict[str, Any]
"""A line of public/metrics.jsonl: step, loss_released, noise_multiplier, radii, and what else is known of the step by then. One that is
evaluated, or priced, is told again with that."""

_POLL = 0.1  # seconds between two looks at the run's file


def _number(value: Any) -> Any:
    """The program spells numbers that JSON lacks as text."""
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}.get(value, value) if isinstance(value, str) else value


def _parse(line: str) -> Step:
    of = json.loads(line)
    return {key: _number(value) for key, value in of.items() if key not in ("crc32", "ledger")}


class _Follower:
    """Lines of a file that another process appends to, and may replace by a sorted or shortened one."""

    def __init__(self, path: pathlib.Path, behind: int) -> None:
        self.path, self.last, self.rest, self.fresh = path, behind, "", False
        self.file: Any = None

    def _open(self) -> None:
        with contextlib.suppress(OSError):
            self.file = self.path.open(encoding="utf-8")
            self.rest, self.fresh = "", True

    def take(self) -> Iterator[Step]:
        """What is new. Of a file that was replaced, only steps behind those that were told."""
        if self.file is None:
            self._open()
        if self.file is None:
            return
        yield from self._read()
        with contextlib.suppress(OSError):
            if os.stat(self.path).st_ino != os.fstat(self.file.fileno()).st_ino:
                self.file.close()
                self._open()
                yield from self._read()

    def close(self) -> None:
        if self.file:
            self.file.close()
            self.file = None

    def _read(self) -> Iterator[Step]:
        *lines, self.rest = (self.rest + self.file.read()).split("\n")
        told = self.last if self.fresh else -1
        self.fresh = False
        for line in lines:
            step = _parse(line)
            self.last = max(self.last, step["step"])
            if step["step"] > told:
                yield step


class Certificate:
    """What a run promises, signed or not: public/certificate.json."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.path = run.path / "public/certificate.json"

    @property
    def content(self) -> dict[str, Any]:
        """As it stands in the file. Errors: Error 2 where the run has none yet."""
        return self._run._read_json("certificate.json")

    @property
    def digest(self) -> str:
        """SHA-256 of what it says, as it says itself."""
        return self.content["hash"]

    def verify(self, key: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """`rldp verify`: ε, δ and what was checked. `key`: whose signature is asked for. Errors: Error 4 where something does not hold."""
        return ask(["verify", str(self._run.path), *flags(key=key)])


class Run:
    """A run's directory. Only its public files are read, and only the program writes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)
        if not (self.public / "config.json").is_file():
            raise Error(2, f"{self.path}: is no run: there is no public/config.json in it")

    def __repr__(self) -> str:
        return f"rldp.Run({str(self.path)!r})"

    @property
    def public(self) -> pathlib.Path:
        """What may be shown to anyone."""
        return self.path / "public"

    def _read_json(self, name: str) -> dict[str, Any]:
        try:
            return json.loads((self.public / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise Error(2, f"{self.path}: has no {name} yet; is it over? rldp.resume goes on with a run that was stopped") from None

    @property
    def state(self) -> str:
        """As `rldp runs` says it: running, done, interrupted, …"""
        return ask(["runs", str(self.path)])[0]["state"]

    @property
    def config(self) -> dict[str, Any]:
        """As resolved, with file names in place of paths."""
        return self._read_json("config.json")

    @property
    def summary(self) -> dict[str, Any]:
        """The numbers at the end. Errors: Error 2 before there is one."""
        return self._read_json("summary.json")

    @property
    def steps(self) -> list[Step]:
        """A dict for each step, in their order. Where a step has several lines, as one with an evaluation has, they are one."""
        out: dict[int, Step] = {}
        with (self.public / "metrics.jsonl").open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    step = _parse(line)
                    out.setdefault(step["step"], {}).update(step)
        return [out[step] for step in sorted(out)]

    @property
    def metrics(self) -> Any:
        """`steps` as a frame of pandas, else of polars. Errors: Error 2 where neither is installed."""
        rows = self.steps
        try:
            import pandas
            return pandas.DataFrame.from_records(rows, index="step") if rows else pandas.DataFrame()
        except ImportError:
            pass
        try:
            import polars
            return polars.DataFrame(rows, infer_schema_length=None)
        except ImportError:
            raise Error(2, "metrics is a frame of pandas or polars: pip install pandas; steps is a list of dicts") from None

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """What was charged: the header, then a dict for each charge."""
        with (self.public / "ledger.jsonl").open(encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    @property
    def certificate(self) -> Certificate:
        """What is promised, and `verify`."""
        return Certificate(self)

    @property
    def adapter(self) -> pathlib.Path:
        """A directory for `PeftModel.from_pretrained`; of `train.parameters` the whole model. Errors: Error 2 where there is none yet."""
        for name in ("adapter", "model"):
            if (self.public / name).is_dir():
                return self.public / name
        raise Error(2, f"{self.path}: has no adapter yet; rldp.resume goes on with a run that was stopped")

    def synthesize(self, rows: int, out: str | os.PathLike[str], model: str | os.PathLike[str] | None = None,
                   where: dict[str, Any] | None = None, seed: int | None = None, temperature: float | None = None,
                   batch: int | None = None, threads: int | None = None, resume: bool = False) -> dict[str, Any]:
        """A made-up table in the words of the run's template (docs/synthetic.md); answers what was made. It costs no ε."""
        return ask(["synthesize", str(self.path),
                    *flags(rows=rows, out=out, model=model, seed=seed, temperature=temperature, batch=batch, threads=threads, resume=resume,
                           where=[f"{column}={value}" for column, value in (where or {}).items()])])

    def publish_check(self) -> dict[str, Any]:
        """`rldp publish --check`: the files and words that would leave the house, and under "problems" what speaks against it."""
        return json.loads(call(["publish", "--check", "--json", str(self.path)], accept=(0, 4))[1])

    def log_to(self, where: str, directory: str | os.PathLike[str] | None = None, **settings: Any) -> str:
        """The run's public numbers to "wandb", "mlflow" or "tensorboard", by that package, into files; answers where (rldp.logs)."""
        from .logs import log
        return log(self, where, directory, **settings)

    def _repr_html_(self) -> str:
        report = self.public / "report.html"
        if report.exists():
            return _frame(report.read_text(encoding="utf-8"))
        steps = self.steps
        return f"<p><b>{html.escape(str(self.path))}</b>: {len(steps)} steps, no report yet</p>"


def _frame(page: str) -> str:
    """A page of the program's in a notebook: apart, for its style is its own, and without scripts, network or links to here."""
    return f'<iframe sandbox srcdoc="{html.escape(page, quote=True)}" style="width: 100%; height: 40em; border: 1px solid #ccc"></iframe>'


class Running:
    """A run that goes on in a process of its own: an iterator over its steps.

    The end of a `with` block waits for it; a block that raises stops it first, resumable. What the program says goes to standard error."""

    def __init__(self, words: list[str], out: pathlib.Path, data: Any, quiet: bool, given: Configuration | None = None) -> None:
        self.path = out
        self._given = given
        self._said: list[str] = []
        already = Run(out).steps[-1:] if (out / "public/metrics.jsonl").exists() else []
        self._steps = _Follower(out / "public/metrics.jsonl", already[0]["step"] if already else -1)
        self.process = start_program(words, data is not None, subprocess.DEVNULL)
        self._feed = None if data is None else Feed(data, self.process.stdin)
        self._listener = threading.Thread(target=self._listen, args=(quiet,), name="rldp", daemon=True)
        self._listener.start()

    def _listen(self, quiet: bool) -> None:
        with self.process.stderr as said:  # type: ignore[union-attr]
            for bytes_said in said:
                line = bytes_said.decode("utf-8", "replace")
                self._said = [*self._said[-50:], line]
                if not quiet:
                    print(line, end="", file=sys.stderr)
        if self._given:
            self._given.close()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is KeyboardInterrupt:
            self._interrupted()
        else:
            if kind is not None:
                self.stop()
            self._await_end()

    def __iter__(self) -> Iterator[Step]:
        try:
            while self.process.poll() is None:
                yield from self._steps.take()
                time.sleep(_POLL)
            yield from self._steps.take()
        except KeyboardInterrupt:
            self._interrupted()

    def stop(self) -> None:
        """As Ctrl-C does: the step that is being made is ended, and `rldp.resume` goes on. A second call ends the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)

    def _await_end(self) -> None:
        while True:
            try:
                self.process.wait()
                break
            except KeyboardInterrupt:  # asked twice
                self.stop()
        self._listener.join()
        self._steps.close()

    def _interrupted(self) -> None:
        self.stop()
        self._await_end()
        raise self._error(130) from None

    def _error(self, status: int) -> Error:
        line = last_line("".join(self._said))
        return Error(status, self._given.without_place(line) if self._given else line,
                     Run(self.path) if (self.path / "public").is_dir() else None)

    def wait(self) -> Run:
        """To its end. Errors: Error with the program's own line; of status 3 and 130 `Error.run` has what there is."""
        try:
            self.process.wait()
        except KeyboardInterrupt:
            self._interrupted()
        self._await_end()
        if self._feed:
            self._feed.join()
        if self.process.returncode != 0:
            raise self._error(self.process.returncode)
        return Run(self.path)


def start(config: Any, out: str | os.PathLike[str] | None = None, *, data: Any = None, sign: str | os.PathLike[str] | None = None,
          dashboard: str | int | None = None, quiet: bool = False, **overrides: Any) -> Running:
    """Begins a run and comes back at once: iterate over its steps, or `wait`.

    `config`: a file, a Config or a dict, whose paths are relative to the working directory. `data`: rows in place of `data.path`
    (rldp.rows). `overrides`: keys with a double underscore for the point, as train__steps=60."""
    if out is None:
        if hasattr(config, "to_dict") or isinstance(config, dict):
            raise Error(2, "rldp.run: give out, the directory to make; a configuration without a file has no name")
        out = pathlib.Path("runs", pathlib.Path(config).stem)
    given = Configuration(config, data, **overrides)
    return Running(["run", *given.words, *flags(out=out, sign=sign, dashboard=dashboard)], pathlib.Path(out), data, quiet, given)


def run(config: Any, out: str | os.PathLike[str] | None = None, *, on_step: Callable[[Step], None] | None = None, **how: Any) -> Run:
    """Trains to the end, and calls `on_step` with every step; other arguments as of `start`.

    Ctrl-C, an interrupted kernel and an `on_step` that raises stop it so that `rldp.resume` goes on. Errors: Error."""
    return _follow(start(config, out, **how), on_step)


def resume(path: str | os.PathLike[str] | Run, *, data: Any = None, on_step: Callable[[Step], None] | None = None,
           accept_lost_lines: bool = False, quiet: bool = False) -> Run:
    """Goes on with a run that was stopped. One that read `data` needs the same rows again, which are told by their digest."""
    place = path.path if isinstance(path, Run) else pathlib.Path(path)
    return _follow(Running(["run", *flags(resume=place, accept_lost_lines=accept_lost_lines)], place, data, quiet), on_step)


def _follow(running: Running, on_step: Callable[[Step], None] | None) -> Run:
    with running:
        if on_step:
            for step in running:
                on_step(step)
        return running.wait()
