#!/usr/bin/env python3
"""Tests of the Python module:   run.py FILES… [--doctests]

Where packages are missing that a test needs, the last line names them; with RLDP_NOTHING_SKIPPED=1 that is a failure."""
import doctest
import importlib
import os
import pathlib
import pkgutil
import sys
import unittest

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parents[1] / "python")]
os.environ["PYTHONPATH"] = sys.path[1]  # for those that are called
import rldp  # noqa: E402

suite = unittest.TestSuite()
for word in sys.argv[1:]:
    if word == "--doctests":
        for module in pkgutil.iter_modules(rldp.__path__):
            if module.name != "__main__":
                suite.addTests(doctest.DocTestSuite(importlib.import_module(f"rldp.{module.name}")))
        suite.addTests(doctest.DocFileSuite(str(here.parents[1] / "docs/python.md"), module_relative=False))
    else:
        suite.addTests(unittest.defaultTestLoader.loadTestsFromName(word))
result = unittest.TextTestRunner(verbosity=1).run(suite)
if result.skipped:
    print("missing:" if os.environ.get("RLDP_NOTHING_SKIPPED") else "skipped:", "; ".join(sorted({why for _, why in result.skipped})))
failed = not result.wasSuccessful() or result.testsRun == 0 or (result.skipped and os.environ.get("RLDP_NOTHING_SKIPPED"))
sys.exit(1 if failed else 0)
