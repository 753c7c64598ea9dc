"""What peers make of ours, by their current versions: PEFT and transformers of adapters and merged models, Opacus and dp_accounting of
prices, lm-eval of a model. What is not installed is skipped by its name."""
import json
import math
import pathlib
import unittest

import rldp
from rldp import _program
from test_module import DEMO, MODEL, SMALL, InScratch
from test_tables import needs

PHASES = [(1.1, 0.01, 1000), (0.7, 0.002, 3000), (4.0, 0.1, 50)]
DELTA = 1e-5


def ours(phase):
    return {name: price["epsilon"] for name, price in rldp.account([phase], delta=DELTA).items() if isinstance(price, dict)}


class Accountants(unittest.TestCase):
    @needs("dp_accounting")
    def test_dp_accounting(self):
        import dp_accounting
        from dp_accounting.pld import PLDAccountant
        from dp_accounting.rdp import RdpAccountant
        for noise, rate, steps in PHASES:
            event = dp_accounting.SelfComposedDpEvent(
                dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)), steps)
            said = ours((noise, rate, steps))
            pld = PLDAccountant().compose(event).get_epsilon(DELTA)
            self.assertLess(abs(said["pld"] / pld - 1), 1e-2, (noise, rate, steps, said, pld))
            self.assertLess(abs(said["rdp"] / RdpAccountant().compose(event).get_epsilon(DELTA) - 1), 5e-2)

    @needs("opacus")
    def test_opacus(self):
        from opacus.accountants import PRVAccountant, RDPAccountant
        for noise, rate, steps in PHASES:
            said = ours((noise, rate, steps))
            for name, make, within in (("rdp", RDPAccountant, 5e-2), ("pld", PRVAccountant, 2e-2)):
                by = make()
                by.history = [(noise, rate, steps)]
                self.assertLess(abs(said[name] / by.get_epsilon(delta=DELTA) - 1), within, (name, noise, rate, steps))


@needs("torch", "transformers", "peft")
class Adapter(InScratch):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_ = rldp.run(DEMO, cls.path("first"), quiet=True, **{**SMALL, "train__lr": 0.05})
        _program.call(["merge", str(MODEL), "--adapter", str(cls.run_.adapter), "--out", cls.path("merged")])

    def base(self):
        from transformers import AutoModelForCausalLM
        return AutoModelForCausalLM.from_pretrained(str(MODEL)).eval()

    def ids(self):
        import torch
        return torch.arange(3, 43).reshape(2, 20)

    def test_peft_loads_switches_off_merges_and_saves(self):
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM
        with torch.no_grad():
            plain = self.base()(self.ids()).logits
            tuned = PeftModel.from_pretrained(self.base(), str(self.run_.adapter)).eval()
            with_adapter = tuned(self.ids()).logits
            self.assertGreater((with_adapter - plain).abs().max(), 1e-3)
            with tuned.disable_adapter():
                torch.testing.assert_close(tuned(self.ids()).logits, plain)
            tuned.save_pretrained(self.path("again"))
            again = PeftModel.from_pretrained(self.base(), self.path("again")).eval()
            torch.testing.assert_close(again(self.ids()).logits, with_adapter)
            merged = AutoModelForCausalLM.from_pretrained(self.path("merged")).eval()
            torch.testing.assert_close(merged(self.ids()).logits, with_adapter, atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(tuned.merge_and_unload()(self.ids()).logits, with_adapter, atol=1e-4, rtol=1e-4)

    def test_peft_puts_two_adapters_side_by_side(self):
        import torch
        from peft import PeftModel
        with torch.no_grad():
            both = PeftModel.from_pretrained(self.base(), str(self.run_.adapter), adapter_name="one").eval()
            alone = both(self.ids()).logits
            both.load_adapter(str(self.run_.adapter), adapter_name="two")
            both.set_adapter("two")
            torch.testing.assert_close(both(self.ids()).logits, alone)

    def test_transformers_generates_from_the_merged_model_what_ours_does(self):
        from transformers import AutoModelForCausalLM, AutoTokenizer
        prompt = "The patient"
        words = AutoTokenizer.from_pretrained(self.path("merged"))
        model = AutoModelForCausalLM.from_pretrained(self.path("merged")).eval()
        ids = words(prompt, return_tensors="pt")
        made = model.generate(**ids, do_sample=False, max_new_tokens=24)
        said = json.loads(_program.call(["generate", self.path("merged"), "--prompt", prompt, "--max-new-tokens", "24", "--temperature", "0",
                                         "--json"])[1])
        self.assertIn(said["text"], words.decode(made[0]))

    @needs("lm_eval")
    def test_lm_eval_scores_the_merged_model(self):
        from lm_eval import simple_evaluate
        from lm_eval.models.huggingface import HFLM
        from lm_eval.tasks import TaskManager
        rows = pathlib.Path(self.path("rows.jsonl"))
        rows.write_text("".join(json.dumps({"text": f"The patient was between {10 * i} and {10 * i + 10} years old."}) + "\n" for i in range(8)))
        task = {"task": "told", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(rows)}}, "test_split": "test",
                "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}",
                "metric_list": [{"metric": "byte_perplexity"}]}
        found = simple_evaluate(model=HFLM(pretrained=self.path("merged"), device="cpu", batch_size=1), tasks=[task],
                                task_manager=TaskManager(), bootstrap_iters=0)
        perplexity = found["results"]["told"]["byte_perplexity,none"]
        self.assertTrue(math.isfinite(perplexity) and 1 < perplexity < 256, perplexity)
