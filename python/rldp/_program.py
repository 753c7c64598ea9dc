"""Finds the program and calls it. All that the module knows of a run, it asks the program or reads from public files."""
from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any, Iterator, NoReturn

from .errors import Error

HERE = pathlib.Path(__file__).resolve().parent
_WHEEL = HERE / "program/bin/rldp"
_BUILT = HERE / "program/built.json"  # what the wheel's own program was built with
_QUICK = {"account", "calibrate", "book", "discover", "distances", "runs", "advise", "dashboard", "key", "sign", "verify", "publish", "reference", "version", "help"}


def check_torch() -> None:
    """That the wheel's program finds the PyTorch that it was built for. Errors: Error 2."""
    if not _BUILT.exists():
        return
    built = json.loads(_BUILT.read_text(encoding="utf-8"))["torch"]
    try:
        here = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise Error(2, f"this Python has no PyTorch, and this rldp was built for {built}: pip install torch=={built}") from None
    if here != built:
        raise Error(2, f"this rldp was built for PyTorch {built}, and here is {here}: build it again (pip install --force-reinstall "
                       f"--no-deps on rldp's sources), or pip install torch=={built}")


def _is_program(path: pathlib.Path) -> bool:
    """The program, or a script that calls it in a container: not the module's own of the same name, which would look for itself."""
    try:
        with path.open("rb") as file:
            return os.access(path, os.X_OK) and b"rldp._program" not in file.read(4096)
    except OSError:
        return False


def find_program() -> pathlib.Path:
    """RLDP_PROGRAM, else the wheel's own, else `rldp` on the PATH. Errors: Error 2 where there is none."""
    if named := os.environ.get("RLDP_PROGRAM"):
        if not _is_program(path := pathlib.Path(named).expanduser()):
            raise Error(2, f"RLDP_PROGRAM: {named} is no program; give the path of rldp, as build/rldp")
        return path
    if _WHEEL.exists():
        return _WHEEL
    for directory in os.get_exec_path():
        if found := shutil.which("rldp", path=directory):
            if _is_program(pathlib.Path(found)):
                return pathlib.Path(found)
    raise Error(2, "there is no program rldp: build it (scripts/build.sh), and set RLDP_PROGRAM to build/rldp or put it on the PATH")


def command(words: list[str]) -> list[str]:
    """The program with its arguments. Errors: as find_program and check_torch."""
    program = find_program()
    if program == _WHEEL and words and words[0] not in _QUICK:
        check_torch()
    return [str(program), *words]


def main() -> NoReturn:
    """`rldp` of a wheel: becomes the program."""
    try:
        words = command(sys.argv[1:])
    except Error as refused:
        sys.exit(f"rldp: {refused}" if refused.status == 1 else _say(refused))
    os.execv(words[0], words)


def _say(refused: Error) -> int:
    print(f"rldp: {refused}", file=sys.stderr)
    return refused.status


class Feed:
    """Writes rows into a pipe from a thread of its own, while the program reads it."""

    def __init__(self, rows: Any, into: Any) -> None:
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._write, args=(rows, into), name="rldp rows", daemon=True)
        self._thread.start()

    def _write(self, rows: Any, into: Any) -> None:
        from .rows import write_rows
        try:
            write_rows(rows, into)
        except BrokenPipeError:  # the program has ended, and says itself why
            pass
        except BaseException as failure:  # raised where the program's end is waited for
            self.failure = failure
        with contextlib.suppress(BrokenPipeError):
            into.close()

    def join(self) -> None:
        self._thread.join()
        if self.failure:
            raise self.failure


def last_line(said: str) -> str:
    """Of what went to standard error: the program's own line on what is wrong."""
    lines = [line for line in said.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("rldp: ")]
    return own[-1][len("rldp: "):] if own else lines[-1] if lines else "the program said nothing"


def start_program(words: list[str], fed: bool, stdout: int) -> subprocess.Popen[bytes]:
    """In a session of its own: a terminal's Ctrl-C reaches Python alone, which passes it on once. Errors: as command, and Error 2."""
    whole = command(words)
    try:
        return subprocess.Popen(whole, stdin=subprocess.PIPE if fed else subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                                start_new_session=True)
    except OSError as wrong:
        raise Error(2, f"{whole[0]}: can't be started ({wrong.strerror}); give RLDP_PROGRAM the path of rldp, as build/rldp") from None


def call(words: list[str], data: Any = None, accept: tuple[int, ...] = (0,)) -> tuple[int, str, str]:
    """Exit status and both streams. `data`: rows for `data.path: "-"`. Errors: Error for any status but those accepted."""
    with start_program(words, data is not None, subprocess.PIPE) as process:
        feed = None if data is None else Feed(data, process.stdin)
        process.stdin = None  # the feed's
        try:
            said = process.communicate()
        except BaseException:  # a kernel's interrupt comes to Python alone
            process.send_signal(signal.SIGINT)
            try:
                process.communicate()
            except BaseException:
                process.kill()
            raise
        out, err = (text.decode("utf-8", "replace") for text in said)
    if feed:
        feed.join()
    if process.returncode not in accept:
        raise Error(process.returncode, last_line(err))
    return process.returncode, out, err


def ask(words: list[str], data: Any = None) -> Any:
    """What it prints under --json."""
    said = call([*words, "--json"], data)[1]
    try:
        return json.loads(said)
    except ValueError:
        raise Error(1, f"{find_program()} is no rldp: it answered {said[:40]!r} to {words[0]} --json") from None


def flags(**given: Any) -> list[str]:
    """Options in the program's words: none for None and False, one for each of a list.

    >>> flags(rows=10, where=["sex=f", "age=3"], resume=True, seed=None)
    ['--rows', '10', '--where', 'sex=f', '--where', 'age=3', '--resume']
    """
    out: list[str] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            out += [option, os.fspath(one) if isinstance(one, os.PathLike) else str(one)]
    return out


def _leaves(of: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in of.items():
        if key.startswith("$"):
            continue
        if isinstance(value, dict) and before + key != "privacy.unit":
            yield from _leaves(value, before + key + ".")
        else:
            yield before + key, os.fspath(value) if isinstance(value, os.PathLike) else value


def _in_json(key: str, value: Any) -> str:
    """A key's value as the program reads it. Errors: Error 2 naming the key."""
    def plain(one: Any) -> Any:
        if isinstance(one, os.PathLike):
            return os.fspath(one)
        if hasattr(one, "tolist") and hasattr(one, "dtype"):  # a number or an array of NumPy's
            return one.tolist()
        raise TypeError(type(one).__name__)

    try:
        return json.dumps(value, default=plain)
    except (TypeError, ValueError, RecursionError) as wrong:
        raise Error(2, f"{key}: {wrong}: give text, a number, true or false, or a list of them") from None


class Configuration:
    """A configuration in the program's words: a file as it is, a Config or a dict by its keys, relative to the working directory."""

    def __init__(self, given: Any, data: Any = None, **overrides: Any) -> None:
        given = given.to_dict() if hasattr(given, "to_dict") else given
        if not isinstance(given, (dict, str, os.PathLike)):
            raise Error(2, f"a configuration is a file, a Config or a dict, and here is {type(given).__name__}")
        self._place = tempfile.TemporaryDirectory(prefix="rldp-") if isinstance(given, dict) else None
        self._file = pathlib.Path(self._place.name, "config.json") if self._place else pathlib.Path(given)
        settings = dict(_leaves(given)) if self._place else {}
        settings.update({key.replace("__", "."): value for key, value in overrides.items()})
        if self._place:
            self._file.write_text("{}\n", encoding="utf-8")
        if data is not None:
            settings["data.path"] = "-"
        self.words = [str(self._file)]
        for key, value in settings.items():
            self.words += ["--set", f"{key}={_in_json(key, value)}"]

    def __enter__(self) -> Configuration:
        return self

    def __exit__(self, _: Any, refused: Any, __: Any) -> None:
        self.close()
        if isinstance(refused, Error):
            refused.args = (self.without_place(str(refused)),)

    def without_place(self, line: str) -> str:
        """A line of the program's without a file that nobody has written."""
        return line.replace(f"{self._file}: ", "") if self._place else line

    def close(self) -> None:
        if self._place:
            self._place.cleanup()
