#!/usr/bin/env python3
"""Builds against a LibTorch with CUDA in build-gpu/, runs the CUDA tests, what rounding moves, the step's and the pipeline's benchmarks,
and a run of one and of two ranks on the device, and writes what came of it as one JSON. Exit status 1 where anything failed; then, too,
the JSON is whole. A benchmark that does not fit the device's memory says so, and is no failure.

Needed: CUDA's toolkit (nvcc), which LibTorch's CMake files ask for; a LibTorch: an unpacked one (C++, cxx11 ABI, CUDA) from
https://pytorch.org, or python3's (pip install torch, 2.6 or later); and the distribution's other packages, which scripts/setup.sh installs,
or, where nothing can be installed, a copy of them under a prefix of its own (--carried DIR, with DIR/lib and DIR/include).

A device that is lent by the minute: --only build on any machine with the toolkit, then --only run."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-gpu"
# Model, precision and dropout, of 16 records of 400 tokens.
STEPS = [(model, precision, 0) for model in ("gpt2-small", "llama-3.2-1b", "mistral-7b") for precision in ("bfloat16", "tf32")]
STEPS.append(("llama-3.2-1b", "bfloat16", 0.05))
TARGETS = ["rldp", "test_cuda", "bench_step", "bench_pipeline", "bench_rounding"]


def say(text):
    print(f"gpu_check: {text}", file=sys.stderr, flush=True)


def own_libtorch():
    """Where python3's torch lies. Ends the program where it can't be used."""
    try:
        import torch
    except ImportError:
        sys.exit("gpu_check: python3 has no torch: pip install torch, or download LibTorch from https://pytorch.org and give --libtorch DIR")
    if not torch.compiled_with_cxx11_abi():
        sys.exit("gpu_check: python3's torch has the old C++ ABI, which the distribution's libraries don't; take torch 2.6 or later")
    return pathlib.Path(torch.__file__).parent


class report:
    """Commands, each a part: its status, seconds, last lines and figures."""

    def __init__(self):
        self.parts = {}

    def run(self, name, command, figures=None, may_not_fit=False, **more):
        """Whether it ended with 0. `figures`: what to make of its output. `may_not_fit`: to want more memory than there is is no failure."""
        say(name)
        begin = time.monotonic()
        words = [str(word) for word in command]
        try:
            done = subprocess.run(words, cwd=ROOT, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False, **more)
        except OSError as missing:
            done = subprocess.CompletedProcess(words, 127, stdout=str(missing))
        part = {"status": done.returncode, "seconds": round(time.monotonic() - begin, 3),
                "last_lines": done.stdout.splitlines()[-15:]}
        self.parts[name] = part
        if done.returncode == 0 and figures:
            try:
                part["figures"] = figures(done.stdout)
            except (ValueError, OSError, KeyError) as wrong:
                part.update(status=1, wrong=str(wrong))
        if part["status"] != 0 and may_not_fit and "out of memory" in done.stdout:
            part.update(status=0, fits=False)
            say(f"{name}: does not fit the device's memory")
        if part["status"] != 0:
            say("\n  ".join([f"{name}: failed with status {part['status']}", *part["last_lines"], part.get("wrong", "")]))
        return part["status"] == 0

    def passed(self):
        return all(part["status"] == 0 for part in self.parts.values())


def device_in(said):
    machine = json.loads(said)
    if "cuda" not in machine["device"]:
        raise ValueError("this LibTorch sees no CUDA device")
    return machine


def cases_in(said):
    if "skipped: " in said:
        raise ValueError("some cases were skipped")
    return said.strip().splitlines()[-1]


def rounding_in(said):
    """Of bench_rounding's table; refused beyond a fifth of η."""
    rows = [line.split() for line in said.splitlines() if line.startswith(("float32", "tf32", "bfloat16"))]
    out = [dict(zip(("arithmetic", "batch", "sum", "statistics", "eta"), [row[0], *map(float, row[1:])])) for row in rows]
    if not out:
        raise ValueError("no table")
    for row in out:
        if max(row["sum"], row["statistics"]) > row["eta"] / 5:
            raise ValueError(f"rounding of {row['arithmetic']} moves more than a fifth of its margin: {row}")
    return out


def build(libtorch, carried, found):
    prefixes = ";".join(map(str, [libtorch, *carried]))
    return ((bool(carried) or found.run("packages", [ROOT / "scripts/setup.sh"], env={**os.environ, "CMAKE_PREFIX_PATH": str(libtorch)}))
            and found.run("configure", ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                                        f"-DCMAKE_PREFIX_PATH={prefixes}"])
            and found.run("build", ["cmake", "--build", BUILD, "--parallel", os.cpu_count(), "--target", *TARGETS]))


def check(quick, found):
    if not found.run("machine", [BUILD / "rldp", "machine", "--json"], device_in):
        return
    found.run("version", [BUILD / "rldp", "version", "--json"], json.loads)
    found.run("device", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], str.splitlines)
    # One device is both ranks'; of several each takes its own.
    devices = "0,0" if len(found.parts["device"].get("figures", [])) < 2 else "0,1"
    found.run("tests", [BUILD / "tests/cuda/test_cuda"], cases_in)
    found.run("rounding", [BUILD / "bench/bench_rounding", "config/tiny-gpt2", "--device", "cuda", "--draws", "40", "--batch", "16", "64",
                           "--dtype", "float32", "tf32", "bfloat16"], rounding_in)
    for model, precision, dropout in STEPS[:1] if quick else STEPS:
        found.run(f"step of {model} in {precision}" + (f" with dropout {dropout}" if dropout else ""),
                  [BUILD / "bench/bench_step", "--device", "cuda", "--model", model, "--batch", "16", "--length", "400",
                   "--precision", precision, "--dropout", dropout, "--steps", "3", "--repeats", "2"], json.loads, may_not_fit=True)
    found.run("pipeline, with learning and without",
              [BUILD / "bench/bench_pipeline", "config/demo.json", "--set", 'device="cuda"', "--set", "train.steps=24", "--repeats", "3"],
              json.loads)
    with tempfile.TemporaryDirectory() as scratch:
        ends = []
        for ranks in (1, 2):
            found.run(f"run of {ranks} ranks",
                      [BUILD / "rldp", "run", "config/demo.json", "--quiet", "--set", 'device="cuda"', "--set",
                       "noise.insecure_reproducible=true", "--set", "train.steps=60", "--out", f"{scratch}/{ranks}",
                       *(["--workers", ranks] if ranks > 1 else [])],
                      lambda said, out=f"{scratch}/{ranks}": json.loads(pathlib.Path(out, "public/summary.json").read_text()),
                      env={**os.environ, "CUDA_VISIBLE_DEVICES": devices})
            ends.append(found.parts[f"run of {ranks} ranks"].get("figures", {}).get("perplexity_after"))
    if None not in ends and abs(ends[0] - ends[1]) > 0.01 * ends[0]:
        found.parts["run of 2 ranks"].update(status=1, wrong=f"perplexity {ends[1]}, where one rank has {ends[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libtorch", type=pathlib.Path, metavar="DIR", help="unpacked LibTorch; default: that of python3's torch")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu_check.json"), metavar="FILE")
    parser.add_argument("--carried", type=pathlib.Path, action="append", default=[], metavar="DIR",
                        help="the other packages lie here; nothing is installed")
    parser.add_argument("--only", choices=["build", "run"], help="one half of it; run takes what was built before")
    parser.add_argument("--quick", action="store_true", help="the step's benchmark on the small model alone")
    given = parser.parse_args()
    found = report()
    if given.only != "run":
        libtorch = (given.libtorch or own_libtorch()).resolve()
        if not (libtorch / "share/cmake/Torch/TorchConfig.cmake").exists():
            sys.exit(f"gpu_check: {libtorch} holds no LibTorch (share/cmake/Torch/TorchConfig.cmake)")
        build(libtorch, [each.resolve() for each in given.carried], found)
    if given.only != "build" and found.passed():
        check(given.quick, found)
    given.out.write_text(json.dumps({"passed": found.passed(), "parts": found.parts}, indent=2) + "\n")
    say(f"written: {given.out}")
    sys.exit(not found.passed())


main()
