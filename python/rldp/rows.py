"""Rows of tables that people have, as the framed JSON lines that `data.path: "-"` reads (docs/data.md).

Taken are a path of Parquet, Arrow or Excel, a frame of pandas or polars, a table of Arrow, a `datasets.Dataset`, a relation of DuckDB,
whatever else has `__arrow_c_stream__`, and an iterable of dicts.

>>> import io
>>> out = io.BytesIO()
>>> write_rows([{"town": "Graz", "min": 31}, {"town": None, "min": 4}], out)
2
>>> print(out.getvalue().decode().splitlines()[1])
{"town": "Graz", "min": 31}
"""
from __future__ import annotations

import datetime
import decimal
import hashlib
import importlib.util
import itertools
import json
import math
import os
import pathlib
import sys
import zipfile
from typing import Any, BinaryIO, Callable, Iterable, Iterator

from .errors import Error

_BATCH = 4096  # rows that are in memory as text at a time


def _refuse(column: str, kind: str) -> Error:
    return Error(2, f"column \"{column}\" holds {kind}: a column is text, a number, true or false, a date, or a list of them; "
                    "convert it, or leave it out")


def _plain(value: Any) -> Any:
    """A cell in JSON's types; None is a missing value. Raises TypeError for what has no such form."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return None if value != value else value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()  # NaT
    if isinstance(value, decimal.Decimal):
        return None if value.is_nan() else str(value)
    if isinstance(value, (list, tuple)):
        inner = [_plain(one) for one in value]
        if any(isinstance(one, (list, dict)) for one in inner):
            raise TypeError("lists of lists")
        return inner
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist") and hasattr(value, "dtype"):  # of NumPy's, or a tensor
        return _from_numpy(value)
    raise TypeError(type(value).__name__)


def _from_numpy(value: Any) -> Any:
    kind = getattr(value.dtype, "kind", None)  # a tensor's has none
    if getattr(value, "shape", None) != ():
        return _plain(list(value) if kind else value.tolist())
    if kind == "m":
        raise TypeError("timedelta64")
    if kind == "f" and value.dtype.itemsize < 8:
        return _plain(float(str(value)))  # as short as it is written: .item() tells 0.1 as 0.10000000149011612
    inner = value.item()
    if kind == "M" and isinstance(inner, int):  # nanoseconds and finer, which datetime has not
        coarse = value.astype("datetime64[us]")
        return _plain(coarse.item()) if coarse == value else str(value).replace("T", " ")
    return _plain(inner)


def _not_finite(value: float) -> None:
    if math.isnan(value):
        return None  # as frames say that there is none
    raise TypeError("an infinite number")


def _conversation(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "role" in one for one in value)


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode

    def dump(row: dict[str, Any]) -> bytes:
        return encode(row).encode()

    for row in rows:
        plain = {}
        for column, value in row.items():
            kind = type(value)
            if kind is str or kind is int or value is None or (column == "messages" and _conversation(value)):
                plain[column] = value
                continue
            try:
                plain[column] = _plain(value)
            except TypeError as wrong:
                raise _refuse(str(column), str(wrong)) from None
            except RecursionError:
                raise _refuse(str(column), "a list that holds itself") from None
        if not all(type(column) is str for column in plain):
            raise Error(2, f"column {next(c for c in plain if type(c) is not str)!r} has no name that is text; rename it")
        try:
            yield dump(plain)
        except ValueError:  # half of a surrogate pair, a number of thousands of digits
            raise _refuse(*next((ascii(column)[1:-1], "what is no text or number of JSON's") for column, value in plain.items()
                                if not _fits(dump, {column: value}))) from None


def _fits(dump: Callable[[dict[str, Any]], bytes], row: dict[str, Any]) -> bool:
    try:
        dump(row)
    except ValueError:
        return False
    return True


def _need(package: str, for_what: str) -> Any:
    if importlib.util.find_spec(package) is None:
        raise Error(2, f"{for_what} is read by {package}: pip install {package}")
    return importlib.import_module(package)


def _check_arrow(schema: Any) -> None:
    """Types that no JSON stands for, before a row is written."""
    import pyarrow.types as of
    _check_names(schema.names)
    for column in schema:
        kind = column.type.value_type if of.is_dictionary(column.type) else column.type
        if column.name == "messages" and of.is_list(kind):
            continue
        inner = kind.value_type if of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind) else kind
        if (of.is_nested(inner) or of.is_binary(inner) or of.is_large_binary(inner) or of.is_fixed_size_binary(inner) or of.is_duration(inner)
                or of.is_interval(inner)):
            raise _refuse(column.name, str(kind))


def _check_names(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise Error(2, f"two columns are called \"{name}\"; rename one")
        seen.add(name)


def _from_arrow(batches: Any) -> Iterator[dict[str, Any]]:
    _check_arrow(batches.schema)
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH):
            yield from batch.slice(start, _BATCH).to_pylist()


def _from_file(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    kind = path.suffix.lower()
    if not path.exists():
        raise Error(2, f"{path}: no such file")
    try:
        if kind == ".parquet":
            file = _need("pyarrow.parquet" if importlib.util.find_spec("pyarrow") else "pyarrow", "Parquet").ParquetFile(path)
            _check_arrow(file.schema_arrow)
            for batch in file.iter_batches(_BATCH):
                yield from batch.to_pylist()
        elif kind in (".arrow", ".feather", ".ipc"):
            _need("pyarrow", "Arrow")
            import pyarrow.feather
            yield from _from_arrow(pyarrow.feather.read_table(path).to_reader())
        elif kind in (".xlsx", ".xlsm"):
            excel = _need("openpyxl", "Excel")
            try:
                first = excel.load_workbook(path, read_only=True, data_only=True).worksheets[0]
            except (AttributeError, IndexError):  # openpyxl's, at a sheet that is a chart
                raise Error(2, f"{path}: a sheet of it is a chart; save the table in a file of its own") from None
            rows = first.iter_rows(values_only=True)
            names = next(rows, None)
            if names is None or any(name is None for name in names):
                raise Error(2, f"{path}: the first row of the first sheet has to name every column")
            _check_names(map(str, names))
            for row in rows:
                if any(cell is not None for cell in row):
                    yield dict(zip(map(str, names), row))
        else:
            raise Error(2, f"{path}: is none of .parquet, .arrow, .feather and .xlsx; rldp itself reads .csv, .tsv, .jsonl and .txt")
    # What the packages raise for files that are none, and for times that Python has no form for.
    except (OSError, ValueError, KeyError, OverflowError, zipfile.BadZipFile) as damaged:
        raise Error(2, f"{path}: can't be read: {str(damaged).splitlines()[0]}") from None


def each_row(data: Any) -> Iterator[dict[str, Any]]:
    """The rows of `data` as dicts. Errors: Error 2 naming the column for a type that JSON lines have no form for."""
    if isinstance(data, (str, os.PathLike)):
        return _from_file(pathlib.Path(data))
    kind = type(data).__module__.partition(".")[0]
    if kind == "datasets":
        if not hasattr(data, "with_format") or hasattr(data, "keys"):
            raise Error(2, "a dataset of several splits: give one of them, such as data[\"train\"]")
        return iter(data.with_format(None))
    if kind in ("pandas", "polars") and not hasattr(data, "collect") and not (hasattr(data, "columns") and hasattr(data, "dtypes")):
        raise Error(2, f"{type(data).__name__} is no table: give a frame, as by to_frame()")
    if kind == "polars":
        frame = data.collect() if hasattr(data, "collect") else data
        return _polars(frame)
    if kind == "pandas":
        return _pandas(data)
    if hasattr(data, "__arrow_c_stream__") or kind in ("duckdb", "_duckdb"):
        pyarrow = _need("pyarrow", f"a table of {kind}'s")
        if hasattr(data, "to_arrow_reader"):  # a relation of DuckDB, batch by batch
            return _from_arrow(data.to_arrow_reader(_BATCH))
        return _from_arrow(pyarrow.RecordBatchReader.from_stream(data))
    if isinstance(data, Iterable):
        return _dicts(data)
    raise Error(2, f"{type(data).__name__} is no table: give a frame, an Arrow table, a dataset, a relation, a path or dicts")


def _dicts(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for row in rows:
        if not isinstance(row, dict):
            raise Error(2, f"a row is a dict, and here is {type(row).__name__}")
        yield row


def _polars(frame: Any) -> Iterator[dict[str, Any]]:
    for name, kind in frame.schema.items():
        inner = getattr(kind, "inner", None) or kind
        if str(inner).startswith(("Struct", "Binary", "Duration", "Object", "List", "Array")) and name != "messages":
            raise _refuse(name, str(kind))
    return frame.iter_rows(named=True, buffer_size=_BATCH)


def _pandas(frame: Any) -> Iterator[dict[str, Any]]:
    for name, kind in frame.dtypes.items():
        if str(kind).startswith(("timedelta", "complex", "period", "interval")):
            raise _refuse(str(name), str(kind))
    named = [name for name in frame.index.names if name is not None]
    if named:
        raise Error(2, f"\"{named[0]}\" is an index, and no column: frame.reset_index() makes it one, frame.reset_index(drop=True) leaves it out")
    names = [str(name) for name in frame.columns]
    _check_names(names)
    for start in range(0, len(frame), _BATCH):
        # Columns as lists hold Python's own values; a frame's rows would make whole numbers floats.
        columns = [_pandas_cells(frame.iloc[start:start + _BATCH, i]) for i in range(len(names))]
        yield from (dict(zip(names, cells)) for cells in zip(*columns))


def _pandas_cells(column: Any) -> list[Any]:
    """Cell by cell: how one is told must not depend on the others, which are other people's."""
    kind = str(column.dtype)
    if kind in ("float16", "float32"):
        return list(column.to_numpy())
    cells = column.astype(object).tolist()
    if kind == "float64":  # whole numbers, where a frame has one that is missing
        return [int(value) if value.is_integer() and abs(value) < 2**53 else value for value in cells]
    if kind.startswith("datetime64"):  # it has no dates: they are times at midnight
        return [None if value != value else value.date() if value == value.normalize() else value for value in cells]
    return cells


def write_rows(data: Any, into: BinaryIO, tell: Callable[[int], None] | None = None) -> int:
    """A first line, a line for each row, and a last one with their number and SHA-256; answers the number."""
    into.write(b'{"rldp_rows": 1}\n')
    digest, count = hashlib.sha256(), 0
    lines = _lines(each_row(data))
    while part := list(itertools.islice(lines, _BATCH)):
        text = b"\n".join(part) + b"\n"
        digest.update(text)
        into.write(text)
        count += len(part)
        if tell:
            tell(count)
    into.write(json.dumps({"rldp_end": {"rows": count, "sha256": digest.hexdigest()}}).encode() + b"\n")
    into.flush()
    return count


def main(words: list[str]) -> int:
    """`python3 -m rldp rows FILE`: to standard output, for `rldp run` and others with data.path "-"."""
    if len(words) != 1 or words[0].startswith("-"):
        print("usage: python3 -m rldp rows FILE | rldp init - --model DIRECTORY --out NAME.json", file=sys.stderr)
        return 2
    if sys.stdout.isatty():
        print("rldp: rows go into a pipe: python3 -m rldp rows FILE | rldp run CONFIG", file=sys.stderr)
        return 2
    try:
        write_rows(words[0], sys.stdout.buffer)
    except Error as refused:
        print(f"rldp: {refused}", file=sys.stderr)
        return refused.status
    except BrokenPipeError:  # who reads has ended, and says why
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
