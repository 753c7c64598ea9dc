#!/usr/bin/env python3
"""Compare next-token log-probabilities of `rldp generate` with those of transformers and PEFT.

    scripts/check_peft.py MODEL_DIR ADAPTER_DIR [--rldp build/rldp] [--prompts FILE] [--tolerance 1e-4]

Prints the largest difference over all tokens of the vocabulary and all prompts; exits with 1 where it exceeds the
tolerance, and with 77 and `skipped: …` where torch, transformers or peft are absent: nothing was compared then.
"""

import argparse
import json
import subprocess
import sys

PROMPTS = [
    "Once upon a time",
    "The patient was admitted with chest pain and",
    "A",
    "She was 64 years old; her blood pressure was 140/90, and",
    "In the end the little dog found the red ball and ran all the way home. Then it",
]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="Hugging Face directory of the base")
    parser.add_argument("adapter", help="PEFT directory")
    parser.add_argument("--rldp", default="build/rldp", help="the program (default build/rldp)")
    parser.add_argument("--prompts", help="file with one prompt per line (default: a few short ones)")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="largest difference allowed (default 1e-4)")
    return parser.parse_args()


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"check_peft: {' '.join(command[:2])}: {done.stderr.strip()}")
    return done.stdout


def our_log_probabilities(arguments, prompt, vocabulary, adapter):
    command = [arguments.rldp, "generate", arguments.model, "--prompt", prompt, "--max-new-tokens", "1", "--json"]
    command += ["--logprobs", str(vocabulary)] + (["--adapter", adapter] if adapter else [])
    pairs = json.loads(run(command))["logprobs"][0]
    assert len(pairs) == vocabulary, f"{len(pairs)} log-probabilities for {vocabulary} tokens"
    return [value for _, value in sorted(pairs)]


def main():
    arguments = parse_arguments()
    try:
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM
    except ImportError as missing:
        print(f"skipped: {missing}; nothing was compared")
        sys.exit(77)

    prompts = open(arguments.prompts).read().splitlines() if arguments.prompts else PROMPTS
    ids = [json.loads(line) for line in run([arguments.rldp, "tokenize", arguments.model], "\n".join(prompts)).splitlines()]
    base = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32).eval()
    vocabulary = base.config.vocab_size

    def theirs(model):
        with torch.no_grad():
            return [torch.log_softmax(model(torch.tensor([row])).logits[0, -1].double(), 0) for row in ids]

    plain = theirs(base)
    adapted = theirs(PeftModel.from_pretrained(base, arguments.adapter).eval())
    moved = max((x - y).abs().max().item() for x, y in zip(plain, adapted))
    worst = 0.0
    for name, expected, adapter in (("base", plain, None), ("adapted", adapted, arguments.adapter)):
        ours = [torch.tensor(our_log_probabilities(arguments, p, vocabulary, adapter)).double() for p in prompts]
        difference = max((x - y).abs().max().item() for x, y in zip(ours, expected))
        print(f"{name}: largest difference {difference:.2e} over {len(prompts)} prompts and {vocabulary} tokens")
        worst = max(worst, difference)
    print(f"the adapter changes log-probabilities by up to {moved:.2e}")
    if not worst <= arguments.tolerance:
        sys.exit(f"check_peft: {worst:.2e} exceeds {arguments.tolerance:.0e}")
    print("ok")


if __name__ == "__main__":
    main()
