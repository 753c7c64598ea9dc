#!/usr/bin/env python3
"""A step of other programs, for bench_step and bench_whole to be compared with: plain PyTorch (no privacy), Opacus and
FastDP. Each kind in a process of its own, kinds in turn. Prints JSON: milliseconds and peak memory of the process.

    bench/peers.py [--model gpt2-small|stories260k|…] [--device cpu|cuda] [--precision float32|tf32|bfloat16]
                   [--parameters lora|all] [--batch 4] [--length 128] [--threads 2] [--steps 3] [--repeats 3]
                   [--kinds plain,opacus,opacus-ghost,fastdp]

Needs PyTorch from 1.13 on; PYTHONPATH names the sources of Opacus and FastDP where they are not installed. Weights are
random; LoRA is of rank 8 on queries and values, without dropout, computed as PEFT does. PyTorch before 2 has no fused
attention and multiplies narrow heads' matrices one by one: with it --model stories260k says little."""
import argparse
import importlib.abc
import importlib.machinery
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
import types

RANK, SCALE = 8, 2.0
SHAPES = {"gpt2-small": dict(vocabulary=50257, width=768, layers=12, heads=12, inner=3072, window=1024, tied=True),
          "stories260k": dict(vocabulary=512, width=64, layers=5, heads=8, kv_heads=4, inner=172, window=512),
          "smollm2-135m": dict(vocabulary=49152, width=576, layers=30, heads=9, kv_heads=3, inner=1536, window=2048, tied=True),
          "llama-3.2-1b": dict(vocabulary=128256, width=2048, layers=16, heads=32, kv_heads=8, inner=8192, window=2048, tied=True),
          "mistral-7b": dict(vocabulary=32000, width=4096, layers=32, heads=32, kv_heads=8, inner=14336, window=2048)}
# One heap that keeps what was freed, as the program's own (actors/threads.cpp): glibc's default gives every large tensor
# fresh pages.
HEAP = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}


def model_of(torch, shape, tied):
    """GPT-2 or Llama as plain modules of PyTorch."""
    nn, F = torch.nn, torch.nn.functional
    width, heads, inner, vocabulary = shape["width"], shape["heads"], shape["inner"], shape["vocabulary"]
    d = width // heads

    def attend(q, k, v, mask):
        scores = (q * (1 / math.sqrt(d))) @ k.transpose(-2, -1) + mask
        return torch.softmax(scores, -1) @ v

    def fused(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    attention = fused if hasattr(F, "scaled_dot_product_attention") else attend

    class Gpt2Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.c_attn, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.proj = nn.Linear(width, inner), nn.Linear(inner, width)

        def forward(self, x, mask, _):
            b, t, _ = x.shape
            q, k, v = (part.view(b, t, heads, d).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).split(width, 2))
            x = x + self.o(attention(q, k, v, mask).transpose(1, 2).reshape(b, t, width))
            return x + self.proj(F.gelu(self.fc(self.ln_2(x))))

    class RootMeanSquare(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))

    class LlamaBlock(nn.Module):
        def __init__(self):
            super().__init__()
            keys = shape["kv_heads"] * d
            self.ln_1, self.ln_2 = RootMeanSquare(), RootMeanSquare()
            self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
            self.k, self.v = nn.Linear(width, keys, bias=False), nn.Linear(width, keys, bias=False)
            self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
            self.down = nn.Linear(inner, width, bias=False)

        def forward(self, x, mask, turns):
            b, t, _ = x.shape
            y = self.ln_1(x)
            q, k, v = (of(y).view(b, t, -1, d).transpose(1, 2) for of in (self.q, self.k, self.v))
            cosine, sine = turns

            def turned(z):
                low, high = z.chunk(2, -1)
                return z * cosine + torch.cat((-high, low), -1) * sine

            group = heads // shape["kv_heads"]
            k, v = turned(k).repeat_interleave(group, 1), v.repeat_interleave(group, 1)
            x = x + self.o(attention(turned(q), k, v, mask).transpose(1, 2).reshape(b, t, width))
            y = self.ln_2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.gpt2 = "kv_heads" not in shape
            self.wte = nn.Embedding(vocabulary, width)
            if self.gpt2:
                self.wpe = nn.Embedding(shape["window"], width)
            self.blocks = nn.ModuleList((Gpt2Block if self.gpt2 else LlamaBlock)() for _ in range(shape["layers"]))
            self.norm = nn.LayerNorm(width) if self.gpt2 else RootMeanSquare()
            self.head = nn.Linear(width, vocabulary, bias=False)
            for p in self.parameters():
                if p.dim() > 1:
                    nn.init.normal_(p, std=0.02)
            if tied:
                self.head.weight = self.wte.weight

        def forward(self, ids):
            t = ids.shape[1]
            mask = torch.full((t, t), -math.inf).triu(1)
            x, turns = self.wte(ids), None
            if self.gpt2:
                x = x + self.wpe(torch.arange(t).repeat(len(ids), 1))  # rows of its own for each record: Opacus asks for it
            else:
                angles = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
                turns = torch.cat((angles.cos(),) * 2, -1), torch.cat((angles.sin(),) * 2, -1)
            for block in self.blocks:
                x = block(x, mask, turns)
            return self.head(self.norm(x))

    return Model()


def with_lora(torch, model):
    nn = torch.nn

    class Lora(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base
            self.a, self.b = nn.Linear(base.in_features, RANK, bias=False), nn.Linear(RANK, base.out_features, bias=False)

        def forward(self, x):
            return self.base(x) + self.b(self.a(x)) * SCALE

    for p in model.parameters():
        p.requires_grad_(False)
    for block in model.blocks:
        for name in ("c_attn",) if model.gpt2 else ("q", "v"):
            setattr(block, name, Lora(getattr(block, name)))


def fill_in_for_older_torch(torch):
    """What the peers import and PyTorch 1.13 has elsewhere, or not at all; nothing of it is used in a step."""
    if not hasattr(torch, "func"):
        import functorch
        torch.func = sys.modules["torch.func"] = functorch
    if not hasattr(torch.nn, "RMSNorm"):
        torch.nn.RMSNorm = type("RMSNorm", (torch.nn.Module,), {})


def stand_in_for_transformers(torch):
    """FastDP asks of a model whether it is one of Hugging Face's; where those are not installed, it is none."""
    class Empty(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return types.SimpleNamespace(get_logger=lambda *_: None) if name == "logging" else type(name, (torch.nn.Module,), {})

    class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        def find_spec(self, name, path, target=None):
            ours = name.split(".")[0] == "transformers"
            return importlib.machinery.ModuleSpec(name, self, is_package=True) if ours else None

        def create_module(self, spec):
            return Empty(spec.name)

        def exec_module(self, module):
            pass

    sys.meta_path.append(Finder())  # asked last


def step_of(torch, kind, model, batch, losses):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    private = dict(noise_multiplier=1.0, max_grad_norm=1.0)
    if kind == "plain":
        def step():
            optimizer.zero_grad(set_to_none=True)
            losses(model).mean().backward()
            optimizer.step()
    elif kind == "opacus":
        from opacus.grad_sample import GradSampleModule
        from opacus.optimizers import DPOptimizer
        wrapped = GradSampleModule(model)
        dp = DPOptimizer(optimizer, expected_batch_size=batch, **private)

        def step():
            dp.zero_grad()
            losses(wrapped).mean().backward()
            dp.step()
    elif kind == "opacus-ghost":
        from opacus.grad_sample import GradSampleModuleFastGradientClipping
        from opacus.optimizers import DPOptimizerFastGradientClipping
        from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping
        wrapped = GradSampleModuleFastGradientClipping(model, max_grad_norm=1.0, use_ghost_clipping=True)
        dp = DPOptimizerFastGradientClipping(optimizer, expected_batch_size=batch, **private)

        def step():
            dp.zero_grad()
            DPTensorFastGradientClipping(wrapped, dp, losses(wrapped)).backward()
            dp.step()
    elif kind == "fastdp":
        # Not through fastDP/__init__.py, which asks for DeepSpeed.
        package = types.ModuleType("fastDP")
        package.__path__ = importlib.machinery.PathFinder.find_spec("fastDP").submodule_search_locations
        sys.modules["fastDP"] = package
        from fastDP.privacy_engine import PrivacyEngine
        PrivacyEngine(model, batch_size=batch, sample_size=1000, epochs=1, target_delta=1e-5, clipping_mode="MixOpt",
                      clipping_fn="Abadi", loss_reduction="mean", **private).attach(optimizer)

        def step():
            losses(model).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    else:
        sys.exit(f"peers: --kinds {kind}: unknown; there are plain, opacus, opacus-ghost and fastdp")
    return step


def measure(given, kind):
    """In a process of its own: milliseconds of each step."""
    import torch
    fill_in_for_older_torch(torch)
    stand_in_for_transformers(torch)
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    if given.device != "cpu":
        torch.set_default_device(given.device)
        torch.backends.cuda.matmul.allow_tf32 = given.precision == "tf32"
    torch.set_default_dtype(torch.bfloat16 if given.precision == "bfloat16" else torch.float32)
    shape = SHAPES[given.model]
    wait = torch.cuda.synchronize if given.device == "cuda" else lambda: None
    # Opacus' ghost clipping knows no tied tensors: there the head is one of its own.
    model = model_of(torch, shape, tied="tied" in shape and not (kind == "opacus-ghost" and given.parameters == "all"))
    if given.parameters == "lora":
        with_lora(torch, model)
    ids = torch.randint(shape["vocabulary"], (given.batch, given.length))

    def losses(of):  # of each record
        logits = of(ids)[:, :-1]
        each = torch.nn.functional.cross_entropy(logits.reshape(-1, shape["vocabulary"]), ids[:, 1:].reshape(-1), reduction="none")
        return each.view(given.batch, -1).mean(1)

    step = step_of(torch, kind, model, given.batch, losses)
    step()
    wait()
    spans = []
    for _ in range(given.steps):
        begin = time.perf_counter()
        step()
        wait()
        spans.append(1e3 * (time.perf_counter() - begin))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    on_device = torch.cuda.max_memory_allocated() / 2 ** 20 if given.device == "cuda" else None
    print(json.dumps({"milliseconds": statistics.median(spans), "mebibytes": peak, "device_mebibytes": on_device, "trained": trained}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=SHAPES, default="gpt2-small")
    parser.add_argument("--parameters", choices=("lora", "all"), default="lora")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("float32", "tf32", "bfloat16"), default="float32", help="of weights, adapters and products")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", default="plain,opacus,opacus-ghost,fastdp")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.parameters == "all" and given.model != "gpt2-small":
        parser.error("--parameters all: of gpt2-small only; Opacus has no rule for the RMS norm of the other")
    if given.one:
        return measure(given, given.one)
    found = {kind: [] for kind in given.kinds.split(",")}
    for _ in range(given.repeats):
        for kind, samples in found.items():
            child = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--one", kind], env={**HEAP, **os.environ},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if child.returncode:
                sys.exit(f"peers: {kind} failed:\n{child.stderr}")
            samples.append(json.loads(child.stdout.splitlines()[-1]))
    out = {}
    for kind, samples in found.items():
        times = [sample["milliseconds"] for sample in samples]
        out[kind] = {"milliseconds": statistics.median(times), "least": min(times), "most": max(times),
                     "peak_process_mebibytes": statistics.median(sample["mebibytes"] for sample in samples),
                     "device_mebibytes": samples[0]["device_mebibytes"], "trained": samples[0]["trained"]}
    print(json.dumps({"model": given.model, "parameters": given.parameters, "device": given.device, "precision": given.precision,
                      "batch": given.batch, "length": given.length, "threads": given.threads, "kinds": out}, indent=2))


if __name__ == "__main__":
    main()
