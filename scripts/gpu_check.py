#!/usr/bin/env python3
"""Builds against a LibTorch with CUDA in build-gpu/, runs the CUDA tests, the step's benchmark, and a run of one and of two ranks on
the device, and writes what came of it as one JSON. Exit status 1 where anything failed; then, too, the JSON is whole.

Needed: CUDA's toolkit (nvcc), which LibTorch's CMake files ask for, and a LibTorch: an unpacked one (C++, cxx11 ABI, CUDA) from
https://pytorch.org, or python3's (pip install torch, 2.6 or later)."""
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
SHAPES = [("stories260k", 16, 256, "float32"), ("gpt2-small", 16, 400, "tf32"), ("gpt2-small", 16, 400, "bfloat16"),
          ("llama-3.2-1b", 16, 400, "bfloat16")]


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

    def run(self, name, command, figures=None, **more):
        """Whether it ended with 0. `figures`: what to make of its output."""
        say(name)
        begin = time.monotonic()
        done = subprocess.run([str(word) for word in command], cwd=ROOT, text=True, errors="replace", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, **more)
        part = {"status": done.returncode, "seconds": round(time.monotonic() - begin, 3),
                "last_lines": done.stdout.splitlines()[-15:]}
        self.parts[name] = part
        if done.returncode == 0 and figures:
            try:
                part["figures"] = figures(done.stdout)
            except (ValueError, OSError, KeyError) as wrong:
                part.update(status=1, wrong=str(wrong))
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


def check(libtorch, quick, found):
    if not (found.run("packages", [ROOT / "scripts/setup.sh"], env={**os.environ, "CMAKE_PREFIX_PATH": str(libtorch)})
            and found.run("configure", ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                                        f"-DCMAKE_PREFIX_PATH={libtorch}"])
            and found.run("build", ["cmake", "--build", BUILD, "--parallel", os.cpu_count(), "--target", "rldp", "test_cuda", "bench_step"])
            and found.run("machine", [BUILD / "rldp", "machine", "--json"], device_in)):
        return
    found.run("version", [BUILD / "rldp", "version", "--json"], json.loads)
    found.run("device", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], str.splitlines)
    # One device is both ranks'; of several each takes its own.
    devices = "0,0" if len(found.parts["device"].get("figures", [])) < 2 else "0,1"
    found.run("tests", [BUILD / "tests/cuda/test_cuda"], cases_in)
    for model, batch, length, precision in SHAPES[:1] if quick else SHAPES:
        found.run(f"step of {model} in {precision}",
                  [BUILD / "bench/bench_step", "--device", "cuda", "--model", model, "--batch", batch, "--length", length,
                   "--precision", precision, "--repeats", "3"], json.loads)
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
    parser.add_argument("--quick", action="store_true", help="the benchmark on the small model alone")
    given = parser.parse_args()
    libtorch = (given.libtorch or own_libtorch()).resolve()
    if not (libtorch / "share/cmake/Torch/TorchConfig.cmake").exists():
        sys.exit(f"gpu_check: {libtorch} holds no LibTorch (share/cmake/Torch/TorchConfig.cmake)")
    found = report()
    check(libtorch, given.quick, found)
    given.out.write_text(json.dumps({"passed": found.passed(), "libtorch": libtorch.name, "parts": found.parts}, indent=2) + "\n")
    say(f"written: {given.out}")
    sys.exit(not found.passed())


main()
