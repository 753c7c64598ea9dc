"""RLDP for Python: differentially private fine-tuning of language models. A thin door to the program `rldp`, which does all the work.

    run = rldp.run("config/demo.json", out="runs/first")
    run.summary["guaranteed_epsilon"], run.certificate.verify(), run.adapter

docs/python.md has the rest."""
from __future__ import annotations

from . import config
from .commands import Comparison, First, account, calibrate, check, compare, init
from .config import Config
from .errors import Error
from .rows import write_rows
from .runs import Certificate, Run, Running, resume, run, start

__all__ = ["Certificate", "Comparison", "Config", "Error", "First", "Run", "Running", "account", "calibrate", "check", "compare", "config",
           "init", "resume", "run", "start", "write_rows"]
