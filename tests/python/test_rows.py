"""Rows without any package: dicts, their types, the frame that they go in, and what is refused."""
import datetime
import decimal
import hashlib
import io
import json
import math
import pickle
import subprocess
import sys
import types
import unittest

import rldp


def written(data):
    out = io.BytesIO()
    count = rldp.write_rows(data, out)
    first, *lines, last, nothing = out.getvalue().split(b"\n")
    return count, json.loads(first), lines, json.loads(last), nothing


class Rows(unittest.TestCase):
    def test_a_frame_tells_how_many_rows_it_has_and_their_digest(self):
        count, first, lines, last, nothing = written([{"a": 1, "b": "x"}, {"a": None, "b": "ü\n"}])
        self.assertEqual((count, first, nothing), (2, {"rldp_rows": 1}, b""))
        self.assertEqual([json.loads(line) for line in lines], [{"a": 1, "b": "x"}, {"a": None, "b": "ü\n"}])
        self.assertEqual(last, {"rldp_end": {"rows": 2, "sha256": hashlib.sha256(b"\n".join(lines) + b"\n").hexdigest()}})

    def test_no_row_is_a_frame_too(self):
        self.assertEqual(written([])[0::3], (0, {"rldp_end": {"rows": 0, "sha256": hashlib.sha256(b"").hexdigest()}}))

    def test_what_has_a_form_in_json_is_told(self):
        cases = [(True, True), (2**70, 2**70), (0.5, 0.5), (math.nan, None), (datetime.date(2024, 2, 29), "2024-02-29"),
                 (datetime.datetime(2024, 2, 29, 13, 5), "2024-02-29 13:05:00"), (datetime.time(8, 30), "08:30:00"),
                 (decimal.Decimal("1.50"), "1.50"), (["fast", 1, None], ["fast", 1, None]), (("a",), ["a"])]
        tensor = types.SimpleNamespace(dtype="torch.int64", shape=(), item=lambda: 3, tolist=lambda: 3)
        several = types.SimpleNamespace(dtype="torch.int64", shape=(2,), tolist=lambda: [1, 2])
        for given, told in [*cases, (tensor, 3), (several, [1, 2])]:
            self.assertEqual(json.loads(written([{"c": given}])[2][0]), {"c": told}, given)

    def test_conversations_are_told_as_they_are(self):
        talk = [{"role": "user", "content": "And the fee?"}, {"role": "assistant", "content": "Two francs."}]
        self.assertEqual(json.loads(written([{"messages": talk}])[2][0]), {"messages": talk})

    def test_what_has_none_is_refused_by_its_column(self):
        for value in (b"bytes", {"x": 1}, math.inf, 1j, [[1]], datetime.timedelta(1), object()):
            with self.assertRaisesRegex(rldp.Error, 'column "photo" holds ') as said:
                written([{"id": 1, "photo": value}])
            self.assertEqual(said.exception.status, 2)
        itself = []
        itself.append(itself)
        for value in ("half a pair \ud83d", 10**5000, itself):
            with self.assertRaisesRegex(rldp.Error, 'column "photo" holds '):
                written([{"id": 1, "photo": value}])
        with self.assertRaisesRegex(rldp.Error, r'column "\\ud83d" holds '):
            written([{"\ud83d": "x"}])
        with self.assertRaisesRegex(rldp.Error, "column 7 has no name that is text"):
            written([{7: "x"}])

    def test_what_is_no_table_is_refused(self):
        for data, why in ((3, "int is no table"), ([1], "a row is a dict, and here is int"), ("nowhere.parquet", "nowhere.parquet: no such file"),
                          (__file__, "is none of .parquet")):
            with self.assertRaisesRegex(rldp.Error, why):
                written(data)

    def test_an_error_goes_from_one_process_to_another(self):
        said = pickle.loads(pickle.dumps(rldp.Error(130, "go on with --resume", "run")))
        self.assertEqual((said.status, str(said), said.run, said.resumable), (130, "go on with --resume", "run", True))

    def test_the_command_refuses_in_a_line(self):
        said = subprocess.run([sys.executable, "-m", "rldp", "rows", "nowhere.parquet"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr), (2, "rldp: nowhere.parquet: no such file\n"))
        self.assertEqual(subprocess.run([sys.executable, "-m", "rldp", "rows"], capture_output=True).returncode, 2)


class Configuration(unittest.TestCase):
    def test_none_is_left_out_and_both_ways_agree(self):
        given = {"privacy": {"epsilon": 2, "unit": {"group": "patient"}}, "noise": {"deck": {"levels": 4}}, "seed": 7}
        config = rldp.Config.from_dict(given)
        self.assertEqual(config.noise.deck.levels, 4)
        self.assertEqual(config.to_dict(), given)
        self.assertEqual(json.loads(config.to_json()), given)

    def test_a_key_that_is_not_there_is_refused(self):
        with self.assertRaisesRegex(rldp.Error, "Train.epoch: no such key; did you mean epochs?"):
            rldp.Config().train.epoch = 3
        with self.assertRaisesRegex(rldp.Error, "no such key"):
            rldp.Config.from_dict({"privcy": {}})
