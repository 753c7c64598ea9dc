#!/usr/bin/env python3
"""What it costs and brings to share a run's steps among processes of this machine: milliseconds per step, as the difference
of a long and a short run (what comes before and after the steps falls out), bytes per step on the loopback device, and the
largest peak of memory of a rank.

    bench/ranks.py PROGRAM CONFIG [--kinds 1x2,2x1,1x1] [--steps 24] [--repeats 3] [--set KEY=VALUE]...
    bench/ranks.py --gpt2-small DIR TOKENIZER_DIR      makes a GPT-2 small of random weights

A kind WxT is W ranks of T threads each. All kinds take turns in every repetition; medians are printed, and ratios to the
first kind, which are above 1 where a kind is faster."""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

SHORT = 4  # steps


def gpt2_small(directory, tokenizer):
    """Random weights of the shape of GPT-2 small, as a Hugging Face directory."""
    out = pathlib.Path(directory)
    out.mkdir(parents=True)
    width, layers, vocab, window = 768, 12, 50257, 1024
    (out / "config.json").write_text(json.dumps({
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": width, "n_layer": layers, "n_head": 12,
        "n_positions": window, "n_ctx": window, "vocab_size": vocab, "layer_norm_epsilon": 1e-5,
        "activation_function": "gelu_new"}))
    for file in pathlib.Path(tokenizer).iterdir():
        if file.name in ("tokenizer.json", "vocab.json", "merges.txt"):
            shutil.copy(file, out)
    shapes = {"wte.weight": (vocab, width), "wpe.weight": (window, width), "ln_f.weight": (width,), "ln_f.bias": (width,)}
    for i in range(layers):
        for name, (rows, columns) in {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width),
                                      "mlp.c_fc": (width, 4 * width), "mlp.c_proj": (4 * width, width)}.items():
            shapes[f"h.{i}.{name}.weight"] = (rows, columns)
            shapes[f"h.{i}.{name}.bias"] = (columns,)
        for name in ("ln_1", "ln_2"):
            shapes[f"h.{i}.{name}.weight"] = shapes[f"h.{i}.{name}.bias"] = (width,)
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    dice = random.Random(1)
    block = struct.pack("<65536f", *(dice.gauss(0, 0.02) for _ in range(65536)))
    with open(out / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, entry in header.items():
            size = entry["data_offsets"][1] - entry["data_offsets"][0]
            if name.endswith("weight") and len(entry["shape"]) == 1:
                file.write(struct.pack("<f", 1.0) * entry["shape"][0])
            else:
                file.write((block * (size // len(block) + 1))[:size])


def loopback_bytes():
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[0])
    return 0


def peak_memory(process, peaks):
    """The largest VmHWM, MiB, of the process's descendants, or its own where it has none, while it runs."""
    while process.poll() is None:
        try:
            ids = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split() or [process.pid]
            for one in ids:
                for line in pathlib.Path(f"/proc/{one}/status").read_text().splitlines():
                    if line.startswith("VmHWM"):
                        peaks.append(int(line.split()[1]) / 1024)
        except OSError:
            pass
        time.sleep(0.1)


def run(given, ranks, threads, steps):
    with tempfile.TemporaryDirectory() as scratch:
        command = [given.program, "run", given.config, "--quiet", "--json", "--out", scratch + "/run",
                   "--workers", str(ranks), "--set", f"train.steps={steps}", "--set", "train.epochs=null",
                   "--set", "train.eval_every=1000000", "--set", "train.eval_records=2",
                   "--set", "noise.insecure_reproducible=true"]
        for each in given.set:
            command += ["--set", each]
        began, before = time.monotonic(), loopback_bytes()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=dict(os.environ, OMP_NUM_THREADS=str(threads)))
        peaks = []
        watch = threading.Thread(target=peak_memory, args=(process, peaks))
        watch.start()
        complaint = process.communicate()[1].decode()
        watch.join()
        if process.returncode != 0:
            sys.exit(complaint)
        return time.monotonic() - began, loopback_bytes() - before, max(peaks, default=0)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--gpt2-small":
        return gpt2_small(sys.argv[2], sys.argv[3])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("config")
    parser.add_argument("--kinds", default="1x2,2x1,1x1")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    kinds = [tuple(map(int, kind.split("x"))) for kind in given.kinds.split(",")]
    spans, wire, memory = ({kind: [] for kind in kinds} for _ in range(3))
    for _ in range(given.repeats):
        for kind in kinds:
            short, few, _ = run(given, *kind, SHORT)
            long, many, peak = run(given, *kind, SHORT + given.steps)
            spans[kind].append(1000 * (long - short) / given.steps)
            wire[kind].append((many - few) / given.steps)
            memory[kind].append(peak)
    first = statistics.median(spans[kinds[0]])
    print(f"{'ranks x threads':<18}{'ms/step':>9}{'ratio':>8}{'bytes/step':>13}{'MiB/rank':>10}   each repetition")
    for kind in kinds:
        middle = statistics.median(spans[kind])
        print(f"{kind[0]} x {kind[1]:<14}{middle:>9.1f}{first / middle:>8.3f}{statistics.median(wire[kind]):>13.0f}"
              f"{max(memory[kind]):>10.0f}   {' '.join(f'{span:.1f}' for span in spans[kind])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
