"""scripts/marginals.py: the records that a run trained on, a price within (epsilon, delta), and a table that the run's schema takes."""
import collections
import csv
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import rldp
from test_tables import needs

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/marginals.py"
ROWS = 600
TEMPLATE = {"opening": "A visit.", "clause": "Its {label} is {value}.",
            "schema": [{"column": "ward", "category": ["east", "west"], "required": True},
                       {"column": "age", "integer": [0, 99]},
                       {"column": "kind", "category": ["a", "b"], "required": True}]}


def make_rows():
    for i in range(ROWS):
        west = i % 3 == 0
        yield {"ward": "west" if west else "east", "age": "?" if i % 10 == 0 else str(20 + i % 50), "kind": "b" if west else "a"}


class Marginals(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def load(self):
        spec = importlib.util.spec_from_file_location("marginals", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def make_run(self):
        with open(self.place / "visits.csv", "w", newline="") as file:
            out = csv.DictWriter(file, ["ward", "age", "kind"])
            out.writeheader()
            out.writerows(make_rows())
        (self.place / "t.json").write_text(json.dumps(TEMPLATE))
        config = {"privacy": {"epsilon": 8, "delta": 1e-5, "population": 420, "book": "none"}, "method": {"name": "static"},
                  "data": {"path": "visits.csv", "template": "t.json", "max_tokens": 48},
                  "model": {"path": str(SCRIPT.parents[1] / "config/tiny-gpt2")},
                  "train": {"steps": 2, "expected_batch_size": 4, "eval_records": 2}}
        (self.place / "c.json").write_text(json.dumps(config))
        rldp.run(self.place / "c.json", out=self.place / "run", quiet=True)

    def make_table(self, method):
        said = subprocess.run([sys.executable, SCRIPT, self.place / "run", self.place / "visits.csv", self.place / f"{method}.csv", "--method",
                               method, "--rows", "2000", "--epsilon", "1000"], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(self.place / f"{method}.csv", newline="") as file:
            return said.stdout, list(csv.DictReader(file))

    @needs("numpy")
    def test_the_price_lies_between_two_bounds_that_are_known(self):
        rho_of = self.load().rho_of
        for epsilon in (0.1, 1, 8):
            for delta in (1e-9, 1e-5):
                # Bun and Steinke 2016, proposition 1.3, is the weaker one. That Gaussian noise of rho is at least so much: at this
                # epsilon its exact delta is above the one that was asked for once rho grows by a half.
                loss = math.log(1 / delta)
                rho = rho_of(epsilon, delta)
                self.assertGreater(rho, (math.sqrt(loss + epsilon) - math.sqrt(loss)) ** 2)
                mu = math.sqrt(2 * 1.5 * rho)

                def tail(x):
                    return math.erfc(x / math.sqrt(2)) / 2

                exact = tail(epsilon / mu - mu / 2) - math.exp(epsilon) * tail(epsilon / mu + mu / 2)
                self.assertGreater(exact, delta)

    @needs("numpy")
    def test_independent_columns_of_the_records_that_trained(self):
        self.make_run()
        said, rows = self.make_table("independent")
        checked = subprocess.run([os.environ["RLDP_PROGRAM"], "check", self.place / "c.json", "--set", "privacy.population=null"],
                                 capture_output=True, text=True).stdout
        trained = said.split()[1]  # "independent: 431 of 600 records"
        self.assertRegex(checked, rf"population N +{trained} units")
        ward = collections.Counter(row["ward"] for row in rows)
        self.assertEqual(set(ward), {"east", "west"})
        self.assertAlmostEqual(ward["west"] / 2000, 1 / 3, delta=0.09)  # of the 420 or so that trained, then of 2,000 draws
        ages = [row["age"] for row in rows]
        self.assertTrue(all(age == "" or 0 <= int(age) <= 99 for age in ages))
        self.assertAlmostEqual(ages.count("") / 2000, 0.1, delta=0.07)
        apart = sum((row["ward"] == "west") == (row["kind"] == "b") for row in rows) / 2000
        self.assertLess(apart, 0.7)  # 5 of 9 by chance

    @needs("numpy", "mbi")
    def test_mst_keeps_what_hangs_together(self):
        self.make_run()
        _, rows = self.make_table("mst")
        self.assertGreater(sum((row["ward"] == "west") == (row["kind"] == "b") for row in rows) / 2000, 0.98)


if __name__ == "__main__":
    unittest.main()
