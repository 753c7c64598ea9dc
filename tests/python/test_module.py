"""The module against the program: every function once, and what goes wrong. RLDP_PROGRAM names the program."""
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
import unittest.mock

import rldp
from rldp import _program

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO, MODEL = ROOT / "config/demo.json", ROOT / "config/tiny-gpt2"
SMALL = {"train__steps": 6, "train__expected_batch_size": 16, "train__eval_every": 3, "rl__interval": 2, "rl__warmup": 2,
         "data__path": "synthetic:400"}


def rentals(count=400, first=0):
    """A table of its own: towns and minutes of customers, from the `first` on."""
    return [{"customer_id": f"K{first + i % 150}", "town": ("Graz", "Lyon", "Turin")[i % 3], "min": 5 + i % 50, "day": f"2024-03-{1 + i % 28:02}"}
            for i in range(count)]


class InScratch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        own = unittest.mock.patch.dict(os.environ, {"RLDP_BOOKS": cls.path("books"), "OMP_NUM_THREADS": "1"})
        own.start()
        cls.addClassCleanup(own.stop)

    @classmethod
    def path(cls, name):
        return str(pathlib.Path(cls.place.name, name))

    def refused(self, status, line):
        return _Refused(self, status, line)


class _Refused:
    """Expects an rldp.Error of one line."""

    def __init__(self, test, status, line):
        self.test, self.status, self.context = test, status, test.assertRaisesRegex(rldp.Error, line)

    def __enter__(self):
        return self.context.__enter__()

    def __exit__(self, *how):
        out = self.context.__exit__(*how)
        self.test.assertEqual(self.context.exception.status, self.status)
        self.test.assertNotIn("\n", str(self.context.exception))
        return out


class ARun(InScratch):
    """One that is over, and all that can be asked of it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.steps = []
        cls.run_ = rldp.run(DEMO, cls.path("first"), on_step=cls.steps.append, quiet=True, **SMALL)

    def test_every_step_was_told_in_order_and_its_evaluation(self):
        own = list(dict.fromkeys(step["step"] for step in self.steps if "loss_released" in step))
        self.assertEqual(own, [1, 2, 3, 4, 5, 6])
        self.assertTrue([step for step in self.steps if step["step"] == 6 and "eval_perplexity" in step])

    def test_its_files_are_read(self):
        self.assertEqual(self.run_.summary["steps_done"], 6)
        self.assertEqual(self.run_.state, "done")
        self.assertEqual([step["step"] for step in self.run_.steps][-1], 6)
        self.assertEqual(self.run_.config["train"]["steps"], 6)
        self.assertGreater(len(self.run_.ledger), 6)
        self.assertTrue((self.run_.adapter / "adapter_config.json").exists())
        self.assertIn("<iframe sandbox srcdoc=", self.run_._repr_html_())

    def test_its_certificate(self):
        said = self.run_.certificate.verify()
        self.assertTrue(said["guarantee"])
        self.assertEqual(said["epsilon"], self.run_.summary["guaranteed_epsilon"])
        self.assertEqual(len(self.run_.certificate.digest), 64)

    def test_the_card_beside_the_adapter_is_one_of_the_files_that_it_names(self):
        card = (self.run_.adapter / "README.md").read_text(encoding="utf-8")
        self.assertTrue(card.startswith("---\n"))
        self.assertIn(self.run_.certificate.content["ledger_head"], card)
        self.assertIn("adapter/README.md", self.run_.certificate.content["files"])

    def test_what_would_leave(self):
        said = self.run_.publish_check()
        self.assertEqual(said["problems"], [])
        self.assertTrue(all(file["says"] for file in said["files"]))

    def test_a_changed_file_is_status_4(self):
        import shutil
        shutil.copytree(self.run_.path, self.path("changed"))
        with open(self.path("changed/public/summary.json"), "a", encoding="utf-8") as file:
            file.write(" ")
        with self.refused(4, "summary.json is another file"):
            rldp.Run(self.path("changed")).certificate.verify()
        self.assertRegex(rldp.Run(self.path("changed")).publish_check()["problems"][0], "summary.json is another file")

    def test_the_directory_is_taken(self):
        with self.refused(2, "first.*already"):
            rldp.run(DEMO, self.path("first"), quiet=True, **SMALL)

    def test_figures_of_its_steps_go_to_no_package_that_is_unknown(self):
        with self.refused(2, '"paper" is none of wandb, mlflow, tensorboard'):
            self.run_.log_to("paper")


class Commands(InScratch):
    def test_account_and_calibrate(self):
        price = rldp.account([(1.1, 0.01, 1000)], delta=1e-5)
        self.assertLess(price["pld"]["epsilon"], price["rdp"]["epsilon"])
        at_best = rldp.account([(1.1, 0.01, 1000)], risk=True)["attack_risk"]["best_attacks"][1]
        self.assertTrue(at_best["false_positive_rate"] == 0.01 < at_best["true_positive_rate"] < 0.05)
        self.assertLessEqual(rldp.calibrate(2, 1e-5, rate=0.01, steps=100)["epsilon"], 2)
        with self.refused(2, "noise_multiplier -1 must be positive"):
            rldp.account([(-1, 0.01, 10)], delta=1e-5)

    def test_check_of_a_file_a_dict_and_a_config(self):
        by_file = rldp.check(DEMO, **SMALL)
        self.assertEqual(by_file["steps"], 6)
        given = {"privacy": {"epsilon": 8, "delta": 1e-5}, "train": {"steps": 6, "expected_batch_size": 16},
                 "data": {"path": "synthetic:400", "template": str(ROOT / "config/narrative-uci.json")}, "model": {"path": str(MODEL)}}
        self.assertEqual(rldp.check(given)["steps"], 6)
        self.assertEqual(rldp.check(rldp.Config.from_dict(given))["steps"], 6)

    def test_what_is_wrong_with_a_configuration_is_said_without_a_file_that_nobody_wrote(self):
        with self.refused(2, "^data.path is missing"):
            rldp.check({"model": {"path": str(MODEL)}})
        with self.refused(2, "train.step.*unknown key"):
            rldp.check({"train": {"step": 3}})
        with self.refused(2, "give out"):
            rldp.run({"model": {"path": str(MODEL)}})

    def test_a_path_of_windows_is_called_what_it_is(self):
        with self.refused(2, "a path of Windows"):
            rldp.check(DEMO, data__path="C:\\data\\patients.csv")

    def test_compare(self):
        made = rldp.compare(DEMO, self.path("compared"), methods=["static", "rldp"], epsilons=[8], seeds=[0], **SMALL)
        self.assertIn("static", json.dumps(made.table))
        self.assertIn("<iframe", made._repr_html_())

    def test_a_directory_that_is_no_run(self):
        with self.refused(2, "is no run"):
            rldp.Run(self.path("nowhere"))


class Piped(InScratch):
    def test_from_a_table_to_rows_of_the_same_kind(self):
        asked = rldp.init(rentals(), MODEL, self.path("rentals.json"))
        self.assertEqual((asked.config, asked.open), (None, ["person", "population"]))
        self.assertIn("PRIVATE", repr(asked))
        first = rldp.init(rentals(), MODEL, self.path("rentals.json"), person="customer_id", population=100, max_tokens=64,
                          type=["town=category:Graz,Lyon,Turin", "min=integer:1:600", "day=date:2024-03-01:2024-03-31"])
        self.assertEqual(first.open, [])
        self.assertEqual(json.loads(first.config.read_text())["data"]["path"], "-")
        run = rldp.run(first.config, self.path("rentals"), data=rentals(), quiet=True, train__steps=4, train__expected_batch_size=16)
        self.assertEqual(run.config["data"]["path"], "-")
        self.assertFalse([path for path in run.path.rglob("*") if path.is_file() and b"K149" in path.read_bytes()], "a row is on the disk")

    def test_a_run_goes_on_with_the_same_rows_and_no_others(self):
        first = rldp.init(rentals(first=1000), MODEL, self.path("r.json"), record=True, population=280, max_tokens=64)
        with rldp.start(first.config, self.path("r"), data=rentals(first=1000), quiet=True, train__steps=40, train__eval_every=10,
                        train__expected_batch_size=8) as running:
            for step in running:
                running.stop()
                break
            with self.refused(130, "interrupted; go on with") as said:
                running.wait()
        self.assertTrue(said.exception.resumable)
        self.assertEqual(said.exception.run.path, pathlib.Path(self.path("r")))
        with self.refused(2, "standard input: nothing came"):
            rldp.resume(self.path("r"), quiet=True)
        with self.refused(2, "the ledger was begun on training data"):
            rldp.resume(self.path("r"), data=rentals(390, 1000), quiet=True)
        self.assertEqual(rldp.resume(self.path("r"), data=rentals(first=1000), quiet=True).summary["status"], "done")

    def test_a_table_that_can_not_be_told_ends_everything(self):
        bad = [*rentals(300), {"customer_id": "K1", "town": b"Graz", "min": 3, "day": ""}]
        with self.refused(2, 'column "town" holds bytes'):
            rldp.init(bad, MODEL, self.path("bad.json"))
        self.assertFalse(os.path.exists(self.path("bad.json")))

    def test_a_frame_that_ends_early_or_was_changed(self):
        whole = io.BytesIO()
        rldp.write_rows(rentals(), whole)
        frame = whole.getvalue()
        for given, line in ((b"", "nothing came"), (b'{"town": "Graz"}\n', "does not begin with"),
                            (b'{"rldp_rows": 2}\n', "form 2"), (frame[:5000], "ended early, after"),
                            (frame[:frame.rindex(b'{"rldp_end"')], "ended early, after 400 whole rows"),
                            (frame.replace(b"Graz", b"Gray", 1), "has changed them"), (frame + b"{}\n", "ended early")):
            said = subprocess.run([*_program.command(["init", "-"]), "--model", MODEL, "--out", self.path("x.json")], input=given,
                                  capture_output=True)
            self.assertEqual(said.returncode, 2, said.stderr)
            self.assertRegex(said.stderr.decode(), "^rldp: standard input: .*" + line + ".*\n$")
        self.assertFalse(os.path.exists(self.path("x.json")))


class Ends(InScratch):
    def test_an_interrupted_kernel_leaves_a_run_that_goes_on(self):
        def interrupt(step):
            if step["step"] == 1:
                os.kill(os.getpid(), signal.SIGINT)  # as a notebook's stop button does
                time.sleep(5)

        with self.refused(130, "interrupted; go on with"):
            rldp.run(DEMO, self.path("cut"), on_step=interrupt, quiet=True, **{**SMALL, "train__steps": 40, "train__eval_every": 10})
        again = rldp.Run(self.path("cut"))
        self.assertLess(len(again.steps), 40)
        seen = []
        self.assertEqual(rldp.resume(again, on_step=seen.append, quiet=True).summary["steps_done"], 40)
        self.assertEqual(seen[-1]["step"], 40)

    def test_an_interrupt_reaches_the_program_of_any_call(self):
        script, begun, ended = (pathlib.Path(self.path(name)) for name in ("stoppable", "begun", "ended"))
        os.mkfifo(begun)
        script.write_text(f"#!/bin/sh\ntrap 'echo > {ended}; exit 130' INT\necho up > {begun}\nwhile :; do sleep .05; done\n")
        script.chmod(0o755)
        main = threading.get_ident()

        def interrupt():
            begun.read_text()  # until the program is there, and is waited for
            while not any(frame.f_code.co_name == "communicate" for frame, _ in traceback.walk_stack(sys._current_frames()[main])):
                os.sched_yield()
            os.kill(os.getpid(), signal.SIGINT)

        stopper = threading.Thread(target=interrupt)
        with unittest.mock.patch.dict(os.environ, {"RLDP_PROGRAM": str(script)}), self.assertRaises(KeyboardInterrupt):
            stopper.start()
            rldp.check(DEMO)
        stopper.join()
        self.assertTrue(ended.exists())

    def test_a_callback_that_fails_stops_the_run(self):
        with self.assertRaises(ZeroDivisionError):
            rldp.run(DEMO, self.path("failed"), on_step=lambda step: 1 / 0, quiet=True, **{**SMALL, "train__steps": 40, "train__eval_every": 10})
        self.assertEqual(rldp.resume(self.path("failed"), quiet=True).summary["status"], "done")

    def test_two_runs_of_one_process(self):
        running = [rldp.start(DEMO, self.path(f"two-{i}"), quiet=True, **SMALL) for i in range(2)]
        self.assertEqual([one.wait().summary["steps_done"] for one in running], [6, 6])

    def test_what_is_no_configuration_run_or_comparison(self):
        with self.refused(2, "a configuration is a file, a Config or a dict, and here is NoneType"):
            rldp.check(None)
        place = pathlib.Path(self.path("half"))
        (place / "public").mkdir(parents=True)
        with self.refused(2, "is no run: there is no public/config.json"):
            rldp.Run(place)
        (place / "compare.json").write_text("{")
        with self.refused(2, "compare.json: is damaged"):
            rldp.Comparison(place)

    def test_a_value_that_is_none_of_a_configuration_s(self):
        with self.refused(2, "train.steps: object: give text, a number"):
            rldp.check(DEMO, train__steps=object())
        with self.refused(2, r"phases: give a list of \(noise multiplier"):
            rldp.account((1.1, 0.01, 10), delta=1e-5)

    def test_without_a_program(self):
        with unittest.mock.patch.dict(os.environ, {"RLDP_PROGRAM": "/nowhere/rldp"}), self.refused(2, "RLDP_PROGRAM: /nowhere/rldp is no program"):
            rldp.account([(1, 0.1, 1)], delta=1e-5)
        with unittest.mock.patch.dict(os.environ, {"PATH": self.path("")}), unittest.mock.patch.object(_program, "_WHEEL", pathlib.Path("/nowhere")):
            del os.environ["RLDP_PROGRAM"]
            with self.refused(2, "there is no program rldp"):
                rldp.account([(1, 0.1, 1)], delta=1e-5)

    def test_a_script_may_call_the_program_but_is_not_the_module_s_own(self):
        script = pathlib.Path(self.path("in_a_container"))
        script.write_text(f'#!/bin/sh\nexec "{os.environ["RLDP_PROGRAM"]}" "$@"\n')
        script.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"RLDP_PROGRAM": str(script)}):
            self.assertTrue(rldp.account([(1, 0.1, 1)], delta=1e-5))
            script.write_text("#!/bin/sh\necho hello\n")
            with self.refused(1, "is no rldp: it answered 'hello"):
                rldp.check(DEMO)
            script.write_text("#!/nowhere/sh\n")
            for begin in (lambda: rldp.check(DEMO), lambda: rldp.run(DEMO, self.path("never"))):
                with self.refused(2, f"{script}: can't be started"):
                    begin()
            for words, mode in (("#!/usr/bin/python3\nfrom rldp._program import main\n", 0o755), ("no program", 0o644)):
                script.unlink()
                script.write_text(words)
                script.chmod(mode)
                with self.refused(2, f"RLDP_PROGRAM: {script} is no program"):
                    rldp.account([(1, 0.1, 1)], delta=1e-5)

    def test_another_pytorch_than_the_wheel_s(self):
        built = pathlib.Path(self.path("built.json"))
        built.write_text('{"torch": "9.9.9"}')
        with unittest.mock.patch.object(_program, "_BUILT", built):
            with unittest.mock.patch("importlib.metadata.version", return_value="9.9.8"), self.refused(2, "built for PyTorch 9.9.9, and here is 9.9.8"):
                _program.check_torch()
            with unittest.mock.patch("importlib.metadata.version", side_effect=_program.importlib.metadata.PackageNotFoundError), \
                    self.refused(2, "this Python has no PyTorch"):
                _program.check_torch()
