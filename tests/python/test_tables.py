"""Rows of every kind of table that people have. What needs a package that is not installed is skipped by its name."""
import datetime
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest

import rldp

ROWS = [{"id": 1, "town": "Graz", "price": 2.5, "day": datetime.date(2024, 2, 29), "helmet": True},
        {"id": 2, "town": None, "price": None, "day": None, "helmet": False}]
TOLD = [{"id": 1, "town": "Graz", "price": 2.5, "day": "2024-02-29", "helmet": True},
        {"id": 2, "town": None, "price": None, "day": None, "helmet": False}]


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"{', '.join(missing)} not installed")


def told(data):
    out = io.BytesIO()
    rldp.write_rows(data, out)
    return [json.loads(line) for line in out.getvalue().split(b"\n")[1:-2]]


class Tables(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def path(self, name):
        return pathlib.Path(self.place.name, name)

    @needs("pandas")
    def test_pandas(self):
        import pandas
        frame = pandas.DataFrame(ROWS)
        frame["town"] = frame["town"].astype("category")
        self.assertEqual(told(frame), TOLD)
        frame["day"] = pandas.to_datetime(frame["day"])
        self.assertEqual([row["day"] for row in told(frame)], ["2024-02-29", None])
        self.assertEqual(told(pandas.DataFrame({"at": pandas.to_datetime(["2024-02-29 13:05"])})), [{"at": "2024-02-29 13:05:00"}])
        self.assertEqual(told(pandas.DataFrame({"n": pandas.array([3, None], dtype="Int64")})), [{"n": 3}, {"n": None}])
        with self.assertRaisesRegex(rldp.Error, 'column "wait" holds timedelta'):
            told(pandas.DataFrame({"wait": pandas.to_timedelta([1], unit="s")}))
        with self.assertRaisesRegex(rldp.Error, 'column "photo" holds bytes'):
            told(pandas.DataFrame({"photo": [b"x"]}))
        with self.assertRaisesRegex(rldp.Error, 'two columns are called "a"'):
            told(pandas.DataFrame([[1, 2]], columns=["a", "a"]))
        with self.assertRaisesRegex(rldp.Error, '"patient" is an index, and no column'):
            told(pandas.DataFrame({"patient": [1], "a": [2]}).set_index("patient"))
        with self.assertRaisesRegex(rldp.Error, "Series is no table"):
            told(pandas.Series([1]))
        self.assertEqual(told(pandas.DataFrame({"n": [31, None], "x": [0.5, 2]})), [{"n": 31, "x": 0.5}, {"n": None, "x": 2}])
        self.assertEqual(told(pandas.DataFrame({"x": pandas.array([0.1], dtype="float32")})), [{"x": 0.1}])

    @needs("pandas")
    def test_how_a_cell_is_told_does_not_depend_on_other_people_s(self):
        import pandas
        for column, cell in ((pandas.to_datetime(["2024-02-29 00:00", "2024-03-01 10:30"]), "2024-02-29"), ([31.0, 0.5], 31)):
            frame = pandas.DataFrame({"a": column})
            self.assertEqual(told(frame)[:1], told(frame[:1]))
            self.assertEqual(told(frame)[0], {"a": cell})

    @needs("numpy")
    def test_numbers_and_times_of_numpy(self):
        import numpy
        cases = [(numpy.datetime64("2024-01-01", "ns"), "2024-01-01 00:00:00"), (numpy.datetime64("NaT"), None),
                 (numpy.datetime64("2024-01-01T00:00:00.000000005"), "2024-01-01 00:00:00.000000005"),
                 (numpy.datetime64("2024-01-01", "D"), "2024-01-01"), (numpy.float32(0.1), 0.1), (numpy.int64(3), 3),
                 (numpy.array(["2024-01-01"], "datetime64[ns]"), ["2024-01-01 00:00:00"]), (numpy.array([1, 2]), [1, 2])]
        for given, wanted in cases:
            self.assertEqual(told([{"a": given}]), [{"a": wanted}], repr(given))
        with self.assertRaisesRegex(rldp.Error, 'column "a" holds timedelta64'):
            told([{"a": numpy.timedelta64(5, "ns")}])
        self.assertTrue(rldp.account([(numpy.float64(1.1), numpy.float32(0.5), numpy.int64(3))], delta=1e-5))

    @needs("polars")
    def test_polars(self):
        import polars
        self.assertEqual(told(polars.DataFrame(ROWS)), TOLD)
        self.assertEqual(told(polars.LazyFrame(ROWS).filter(polars.col("id") == 2)), TOLD[1:])
        self.assertEqual(told(polars.DataFrame({"tags": [["a", "b"]]})), [{"tags": ["a", "b"]}])
        for kind in ({"x": [{"y": 1}]}, {"x": [b"z"]}, {"x": [datetime.timedelta(1)]}):
            with self.assertRaisesRegex(rldp.Error, 'column "x" holds '):
                told(polars.DataFrame(kind))

    @needs("pyarrow")
    def test_arrow_and_its_files(self):
        import pyarrow
        import pyarrow.feather
        import pyarrow.parquet
        table = pyarrow.Table.from_pylist(ROWS)
        self.assertEqual(told(table), TOLD)
        pyarrow.parquet.write_table(table, self.path("a.parquet"))
        pyarrow.feather.write_feather(table, self.path("a.feather"))
        self.assertEqual(told(self.path("a.parquet")), TOLD)
        self.assertEqual(told(str(self.path("a.feather"))), TOLD)
        twice = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
        pyarrow.parquet.write_table(twice, self.path("twice.parquet"))
        endless = pyarrow.table({"at": pyarrow.array([2**62], pyarrow.timestamp("us"))})
        pyarrow.parquet.write_table(endless, self.path("endless.parquet"))
        with self.assertRaisesRegex(rldp.Error, "endless.parquet: can't be read"):
            told(self.path("endless.parquet"))
        for data in (twice, self.path("twice.parquet")):
            with self.assertRaisesRegex(rldp.Error, 'two columns are called "a"'):
                told(data)
        pyarrow.parquet.write_table(pyarrow.table({"at": [{"x": 1}]}), self.path("b.parquet"))
        with self.assertRaisesRegex(rldp.Error, 'column "at" holds struct'):
            told(self.path("b.parquet"))
        self.path("c.parquet").write_bytes(b"no Parquet")
        with self.assertRaisesRegex(rldp.Error, "c.parquet: can't be read: "):
            told(self.path("c.parquet"))

    @needs("pyarrow")
    def test_conversations_of_arrow(self):
        import pyarrow
        talk = [{"role": "user", "content": "Why?"}]
        self.assertEqual(told(pyarrow.Table.from_pylist([{"messages": talk}])), [{"messages": talk}])

    @needs("openpyxl")
    def test_excel(self):
        import openpyxl
        book = openpyxl.Workbook()
        for row in (["id", "town"], [1, "Graz"], [None, None], [2, None]):
            book.active.append(row)
        book.save(self.path("a.xlsx"))
        self.assertEqual(told(self.path("a.xlsx")), [{"id": 1, "town": "Graz"}, {"id": 2, "town": None}])
        openpyxl.Workbook().save(self.path("b.xlsx"))
        with self.assertRaisesRegex(rldp.Error, "the first row of the first sheet has to name every column"):
            told(self.path("b.xlsx"))
        self.path("c.xlsx").write_bytes(b"")
        chart = openpyxl.Workbook()
        chart.create_chartsheet()
        chart.remove(chart.active)
        chart.save(self.path("d.xlsx"))
        twice = openpyxl.Workbook()
        twice.active.append(["a", "a"])
        twice.save(self.path("e.xlsx"))
        for name, why in (("c", "can't be read"), ("d", "a sheet of it is a chart"), ("e", 'two columns are called "a"')):
            with self.assertRaisesRegex(rldp.Error, why):
                told(self.path(f"{name}.xlsx"))

    @needs("duckdb", "pyarrow")
    def test_duckdb(self):
        import duckdb
        self.assertEqual(told(duckdb.sql("select 1 as id, 'Graz' as town union all select 2, null order by id")),
                         [{"id": 1, "town": "Graz"}, {"id": 2, "town": None}])

    @needs("datasets")
    def test_datasets(self):
        import datasets
        rows = datasets.Dataset.from_list([{"id": 1, "town": "Graz"}, {"id": 2, "town": None}])
        self.assertEqual(told(rows), [{"id": 1, "town": "Graz"}, {"id": 2, "town": None}])
        with self.assertRaisesRegex(rldp.Error, "several splits"):
            told(datasets.DatasetDict({"train": rows}))
