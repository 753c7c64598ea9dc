#!/usr/bin/env python3
"""What of rldp works on this machine's CUDA device, and how fast. In two calls, for a device that is lent by the minute:

    scripts/gpu_check.sh first          smoke, golden files, rounding, the first steps: ten minutes at most
    scripts/gpu_check.sh second         larger models, the pipeline, two ranks, compute-sanitizer: ten more
    scripts/gpu_check.sh page           the figures of both as Markdown
    scripts/gpu_check.sh first second   both

Programs are those of scripts/build.sh --cuda, or, where they were packed elsewhere (scripts/gpu_bundle.sh), of build-cuda/bundle.tar.xz.
python3 must have PyTorch, the same that they were built with. Every part has seconds of its own, and what came of it is in gpu_check.json
before the next begins. Exit status 1 where a part failed; one that needs more memory than the device has, or a tool that is not here,
says so and is no failure."""
import argparse
import json
import math
import os
import pathlib
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-cuda"
DEMO = "config/demo.json"
CALL = 570  # seconds of a call; no part begins that could end after it


def say(text):
    print(f"gpu_check: {text}", file=sys.stderr, flush=True)


class wrong(Exception):
    """A figure that is not what it must be."""


class absent(Exception):
    """What this machine lacks; no failure."""


class programs:
    """Where the programs lie, and with which libraries they start."""

    def __init__(self, scratch):
        import torch
        self.environment = dict(os.environ)
        packed = BUILD / "bundle.tar.xz"
        self.bundle = None
        if packed.exists() and not (BUILD / "rldp-torch").exists():
            self.bundle = scratch / "bundle"
            shutil.unpack_archive(packed, self.bundle)
            made_with = (self.bundle / "pytorch").read_text().strip()
            if made_with != torch.__version__:
                sys.exit(f"gpu_check: {packed} was made with PyTorch {made_with or 'of no name'}, and python3 has {torch.__version__}: pack it again "
                         "with that one (RLDP_PYTORCH, scripts/setup.sh --cuda)")
            torch_libraries = pathlib.Path(torch.__file__).parent / "lib"
            self.environment["LD_LIBRARY_PATH"] = f"{self.bundle}/lib:{torch_libraries}"
            self.environment["RLDP_GOLDEN"] = str(self.bundle / "golden")
            self.environment["PYTHONPATH"] = ":".join([str(self.bundle / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.environment["RLDP_BOOKS"] = str(scratch / "books")

    def __call__(self, name):
        places = [self.bundle / "bin"] if self.bundle else [BUILD, BUILD / "bench", BUILD / "tests/cuda"]
        for place in places:
            if (place / name).exists():
                return place / name
        sys.exit(f"gpu_check: {name} is neither in {places[0]} nor in a bundle; call scripts/build.sh --cuda rldp test_cuda benchmarks, or "
                 "scripts/gpu_bundle.sh on another machine")


class report:
    """Parts by name: status, seconds, figures, and the last lines where one failed. On disk before the next begins."""

    def __init__(self, path, begun, only):
        self.path, self.begun, self.only = path, begun, only
        self.parts = json.loads(path.read_text())["parts"] if path.exists() else {}

    def take(self, name, seconds, work):
        """`work` gets the time at which it must have ended, and returns figures."""
        if self.only and not any(word in name for word in self.only):
            return
        left = CALL - (time.monotonic() - self.begun)
        if left < min(seconds, 20):
            self.note(name, {"status": "not begun: no time was left"})
            return
        say(f"{name} ({seconds} s at most)")
        begin = time.monotonic()
        try:
            part = {"status": "passed", "figures": work(begin + min(seconds, left))}
        except absent as what:
            part = {"status": f"left out: {what}"}
        except (wrong, ValueError, KeyError, OSError) as what:
            part = {"status": "failed", "why": str(what)}
        part["seconds"] = round(time.monotonic() - begin, 1)
        self.note(name, part)

    def note(self, name, part):
        self.parts[name] = part
        if not part["status"].startswith("passed"):
            say(f"{name}: {part['status']}\n{part.get('why', '')}")
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps({"parts": self.parts}, indent=2) + "\n")
        draft.rename(self.path)

    def passed(self):
        return all(part["status"] != "failed" for part in self.parts.values())


def output_of(command, until, environment):
    """Of a command that must end well, by then; whoever it started ends with it."""
    words = [str(word) for word in command]
    child = subprocess.Popen(words, cwd=ROOT, env=environment, text=True, errors="replace", stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        said = child.communicate(timeout=max(1, until - time.monotonic()))[0]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        raise wrong("took longer than it may; its last lines:\n" + "\n".join(child.communicate()[0].splitlines()[-15:])) from None
    if child.returncode == 0:
        return said
    if "out of memory" in said:
        raise absent("does not fit the device's memory")
    raise wrong(f"{words[0]} ended with status {child.returncode}:\n" + "\n".join(said.splitlines()[-15:]))


def tensors_of(path):
    """Of a file of safetensors in float32: numbers by name."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, one in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        if one["dtype"] != "F32":
            raise wrong(f"{path}: {name} is of {one['dtype']}")
        begin, end = one["data_offsets"]
        out[name] = memoryview(raw)[8 + size + begin:8 + size + end].cast("f")
    return out


def distance(one, other):
    """Of two adapters, in norms of the second."""
    apart = of = 0.0
    for name, numbers in tensors_of(other).items():
        for a, b in zip(tensors_of(one)[name], numbers):
            apart += (a - b) ** 2
            of += b * b
    return math.sqrt(apart / of)


def write_random_gpt2(directory):
    """GPT-2 small's layers with the demo's vocabulary and tokenizer, weights at random."""
    import torch
    demo = ROOT / "config/tiny-gpt2"
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(demo / name, directory / name)
    shape = json.loads((demo / "config.json").read_text()) | {"n_embd": 768, "n_head": 12, "n_layer": 12}
    (directory / "config.json").write_text(json.dumps(shape))
    raw = (demo / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    kept = json.loads(raw[8:8 + size])
    block = {name.split(".h.0.")[1]: one["shape"] for name, one in kept.items() if ".h.0." in name}
    prefix = next(name for name in kept if ".h.0." in name).split("h.0.")[0]
    sizes = {name: one["shape"] for name, one in kept.items() if ".h." not in name and name != "__metadata__"}
    sizes |= {f"{prefix}h.{layer}.{name}": one for layer in range(12) for name, one in block.items()}
    torch.manual_seed(1)
    header, parts, at = {}, [], 0
    for name, narrow in sizes.items():
        wide = [{64: 768, 192: 2304, 256: 256 if "wpe" in name else 3072}.get(n, n) for n in narrow]
        gain = name.endswith("weight") and len(wide) == 1
        numbers = torch.ones(wide) if gain else torch.randn(wide) * (0.02 if len(wide) > 1 else 0)
        parts.append(numbers.numpy().tobytes())
        header[name] = {"dtype": "F32", "shape": wide, "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


class checks:
    def __init__(self, found, scratch, device):
        self.found, self.scratch, self.device, self.program = found, scratch, device, programs(scratch)
        self.on_device = ("--set", f'device="{device}"')

    def ask(self, command, until, **more):
        return output_of(command, until, self.program.environment | more)

    def run(self, name, until, *more, config=DEMO, **environment):
        """A run of its own directory; its summary."""
        out = self.scratch / name
        shutil.rmtree(out, ignore_errors=True)
        begin = time.monotonic()
        self.ask([self.program("rldp"), "run", config, "--quiet", "--out", out, *more], until, **environment)
        return json.loads((out / "public/summary.json").read_text()) | {"wall_seconds": round(time.monotonic() - begin, 2)}

    # (a) what a user would try first

    def machine(self, until):
        said = json.loads(self.ask([self.program("rldp"), "machine", "--json"], until))
        if self.device not in said["device"]:
            raise wrong(f"this LibTorch sees no device {self.device}: {said}")
        if self.device == "cpu":
            return said
        card = self.ask(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], until)
        return said | json.loads(self.ask([self.program("rldp"), "version", "--json"], until)) | {"card": card.strip().splitlines()}

    def demo(self, until):
        self.run("demo", until, *self.on_device, "--set", "train.steps=12")
        self.ask([self.program("rldp"), "verify", self.scratch / "demo"], until)
        fixed = ("--set", "noise.insecure_reproducible=true", "--set", "train.steps=12")
        there = self.run("fixed", until, *self.on_device, *fixed)
        here = self.run("fixed-cpu", until, *fixed)
        apart = distance(*(self.scratch / each / "public/adapter/adapter_model.safetensors" for each in ("fixed", "fixed-cpu")))
        if apart > 0.05:
            raise wrong(f"the adapter is {apart:.3g} of its norm from the processor's")
        return {"adapter_from_processors": apart, "seconds": there["wall_seconds"], "seconds_on_processor": here["wall_seconds"]}

    def gpt2(self, until):
        model = self.scratch / "random-gpt2"
        model.mkdir(exist_ok=True)
        write_random_gpt2(model)
        said = self.run("gpt2", until, *self.on_device, "--set", f'model.path="{model}"', "--set", "train.steps=12", "--set",
                        'method.name="static"')
        self.ask([self.program("rldp"), "verify", self.scratch / "gpt2"], until)
        return {"seconds": said["wall_seconds"]}

    # (b), (c)

    def golden(self, until):
        said = self.ask([self.program("test_cuda")], until)
        if "skipped: this" in said:
            raise wrong("some cases were skipped:\n" + said)
        return {"last_line": said.strip().splitlines()[-1], "golden_files": "skipped: no shared" not in said}

    def rounding(self, until):
        """Of bench_rounding's table; refused beyond a fifth of η."""
        said = self.ask([self.program("bench_rounding"), "config/tiny-gpt2", "--device", self.device, "--draws", "40", "--batch", "16", "64",
                         "--dtype", "float32", "tf32", "bfloat16"], until)
        rows = [line.split() for line in said.splitlines() if line.startswith(("float32", "tf32", "bfloat16"))]
        out = [dict(zip(("arithmetic", "batch", "sum", "statistics", "eta"), [row[0], *map(float, row[1:])])) for row in rows]
        if not out:
            raise wrong("no table:\n" + said)
        for row in out:
            if max(row["sum"], row["statistics"]) > row["eta"] / 5:
                raise wrong(f"rounding of {row['arithmetic']} moves more than a fifth of its margin: {row}")
        return out

    # (d)

    def product(self, until):
        """TFLOP/s of the product of two matrices of 8,192 × 8,192 in bfloat16, random numbers."""
        import torch
        a, b = (torch.randn(8192, 8192, device=self.device, dtype=torch.bfloat16) for _ in range(2))
        wait = torch.cuda.synchronize if self.device == "cuda" else lambda: None
        spans = []
        for _ in range(23):
            wait()
            begin = time.perf_counter()
            a @ b
            wait()
            spans.append(time.perf_counter() - begin)
        return {"tflops": 2 * 8192 ** 3 / statistics.median(spans[3:]) / 1e12}

    def step(self, model, precision, dropout=0):
        def work(until):
            self.product_again = self.product(until)
            said = json.loads(self.ask(
                [self.program("bench_step"), "--device", self.device, "--model", model, "--batch", "16", "--length", "400", "--precision", precision,
                 "--dropout", dropout, "--steps", "3", "--repeats", "2"], until))
            private = said["private step"]["milliseconds"]
            speed = said["unavoidable_products"]["gigaflop"] / private
            return {"private_ms": private, "ordinary_ms": said["ordinary LoRA step"]["milliseconds"],
                    "private_to_ordinary": said["ratio_private_to_ordinary"],
                    "tensor_mebibytes": said["private step"]["peak_tensor_mebibytes"],
                    "ordinary_tensor_mebibytes": said["ordinary LoRA step"]["peak_tensor_mebibytes"], "tflops": speed,
                    "of_product": speed / self.product_again["tflops"], "all": said}
        return work

    def peers(self, model, precision):
        return lambda until: json.loads(self.ask(
            [sys.executable, "bench/peers.py", "--device", self.device, "--model", model, "--batch", "16", "--length", "400", "--precision", precision,
             "--kinds", "plain,opacus", "--steps", "3", "--repeats", "2"], until))["kinds"]

    # (e), (f), (g)

    def pipeline(self, until):
        busy, over = [], threading.Event()

        def watch():
            while not over.wait(0.2):
                said = subprocess.run(["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"], capture_output=True,
                                      text=True, check=False).stdout.split()
                busy.extend(int(word) for word in said[:1] if word.isdigit())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            said = json.loads(self.ask([self.program("bench_pipeline"), DEMO, *self.on_device, "--set", "train.steps=24", "--repeats",
                                        "3"], until))
        finally:
            over.set()
            watcher.join()
        return {"card_busy_percent": statistics.mean(busy) if busy else None, "all": said}

    def ranks(self, until):
        fixed = (*self.on_device, "--set", "noise.insecure_reproducible=true", "--set", "train.steps=30")
        ends = {n: self.run(f"ranks-{n}", until, *fixed, *(("--workers", n) if n > 1 else ()), CUDA_VISIBLE_DEVICES="0" if n == 1 else "0,0")
                for n in (1, 2)}
        apart = distance(*(self.scratch / f"ranks-{n}" / "public/adapter/adapter_model.safetensors" for n in (2, 1)))
        if apart > 0.01:
            raise wrong(f"two ranks' adapter is {apart:.3g} of its norm from one's")
        return {"adapter_from_one_rank": apart, "seconds": {n: end["wall_seconds"] for n, end in ends.items()}}

    def memory_errors(self, until):
        if not shutil.which("compute-sanitizer"):
            raise absent("compute-sanitizer is not installed")
        out = self.scratch / "sanitized"
        said = self.ask(["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9", "--target-processes", "all", self.program("rldp"),
                         "run", DEMO, "--quiet", "--out", out, *self.on_device, "--set", "train.steps=2", "--set", "train.micro_batch=4",
                         "--set", "train.expected_batch_size=8"], until)
        if "Device not supported" in said:
            raise absent("compute-sanitizer refuses this device")
        return {"last_line": said.strip().splitlines()[-1]}

    def first(self):
        take = self.found.take
        take("machine", 60, self.machine)
        if self.found.parts.get("machine", {}).get("status") == "failed":
            return
        take("demo, card and processor", 90, self.demo)
        take("run of a random GPT-2 small", 60, self.gpt2)
        take("tests", 150, self.golden)
        take("rounding", 60, self.rounding)
        take("product of 8192³", 20, self.product)
        for model in ("gpt2-small", "llama-3.2-1b"):
            take(f"step of {model}, bfloat16", 80, self.step(model, "bfloat16"))
            take(f"peers' step of {model}, bfloat16", 60, self.peers(model, "bfloat16"))

    def second(self):
        take = self.found.take
        take("step of mistral-7b, bfloat16", 120, self.step("mistral-7b", "bfloat16"))
        take("peers' step of mistral-7b, bfloat16", 80, self.peers("mistral-7b", "bfloat16"))
        take("step of smollm2-135m, bfloat16", 60, self.step("smollm2-135m", "bfloat16"))
        take("peers' step of smollm2-135m, bfloat16", 60, self.peers("smollm2-135m", "bfloat16"))
        take("pipeline", 90, self.pipeline)
        take("two ranks on one card", 60, self.ranks)
        take("step of llama-3.2-1b, tf32", 80, self.step("llama-3.2-1b", "tf32"))
        take("step of llama-3.2-1b, bfloat16, dropout 0.05", 80, self.step("llama-3.2-1b", "bfloat16", 0.05))
        take("compute-sanitizer", 120, self.memory_errors)


def write_page(parts):
    machine = parts.get("machine", {}).get("figures", {})
    print(f"{', '.join(machine.get('card', ['no card']))}; LibTorch {machine.get('libtorch', '?')}\n")
    print("| step, 16 × 400 tokens | private ms | to ordinary | TFLOP/s | of 8192³ | MiB | plain PyTorch ms | Opacus ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, part in parts.items():
        if not name.startswith("step of "):
            continue
        if "figures" not in part:
            print(f"| {name[8:]} | {part['status']} |")
            continue
        figures, peers = part["figures"], parts.get("peers' " + name, {}).get("figures", {})
        beside = [f"{peers[kind]['milliseconds']:.1f}" if kind in peers else "" for kind in ("plain", "opacus")]
        print(f"| {name[8:]} | {figures['private_ms']:.1f} | {figures['private_to_ordinary']:.2f} | {figures['tflops']:.0f} | "
              f"{figures['of_product']:.2f} | {figures['tensor_mebibytes']:.0f} | {' | '.join(beside)} |")
    print("\n| part | what came of it | seconds |\n| --- | --- | ---: |")
    for name, part in parts.items():
        if "step of " not in name:
            shown = {key: value for key, value in part["figures"].items() if key != "all"} if isinstance(part.get("figures"), dict) else ""
            print(f"| {name} | {part['status']} {json.dumps(shown) if shown else ''} | {part.get('seconds', '')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", nargs="+", choices=["first", "second", "page"])
    parser.add_argument("--only", action="append", metavar="WORDS", help="parts whose names hold them")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try this script")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu_check.json"), metavar="FILE")
    given = parser.parse_args()
    ok = True
    for call in given.calls:
        if call == "page":
            if not given.out.exists():
                sys.exit(f"gpu_check: {given.out} is not there; call with first and second before")
            write_page(json.loads(given.out.read_text())["parts"])
            continue
        try:
            import torch  # noqa: F401
        except ImportError:
            sys.exit("gpu_check: python3 has no torch: call with the python that scripts/setup.sh --cuda found, or pip install torch")
        with tempfile.TemporaryDirectory() as scratch:
            found = report(given.out, time.monotonic(), given.only)
            getattr(checks(found, pathlib.Path(scratch), given.device), call)()
        ok = ok and found.passed()
        say(f"written: {given.out}")
    sys.exit(not ok)


main()
