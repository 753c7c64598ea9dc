#!/usr/bin/env python3
"""Bases that transformers and bitsandbytes quantized, against PyTorch and PEFT on the numbers that their blocks stand for: each of
these, logits, and adapters' gradients record by record.   against_peft.py TEST_MODELS SHARED   (or: --write DIRECTORY, the case of the tests)
The comparison is test_models' own: cases are written as it reads them, below RLDP_GOLDEN."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
try:
    import bitsandbytes
    import peft
    import torch
    import transformers
    from safetensors.torch import save_file
except ImportError as absent:
    print(f"skipped: python3 has no {absent.name}")
    sys.exit(77)


def fnv(numbers):
    out = 0xCBF29CE484222325
    for byte in numbers.contiguous().numpy().tobytes():
        out = ((out ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{out:016x}"


def make_llama(directory, seed, **sizes):
    """Drawn so that every part shows, in float32."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(max_position_embeddings=64, **sizes)
    model = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(1 + 0.3 * torch.randn_like(weight) if weight.dim() == 1 else torch.randn_like(weight) / weight.shape[1] ** 0.5)
    model.save_pretrained(directory)


def quantize(base, directory, **how):
    settings = transformers.BitsAndBytesConfig(bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32, **how)
    model = transformers.AutoModelForCausalLM.from_pretrained(base, quantization_config=settings, dtype=torch.float32, device_map="cpu")
    model.save_pretrained(directory)
    return model


def dequantize(quantized):
    """By the modules' names, as bitsandbytes does it."""
    found = {}
    for name, module in quantized.named_modules():
        if isinstance(module, bitsandbytes.nn.Linear4bit):
            found[name] = bitsandbytes.functional.dequantize_4bit(module.weight.data, module.weight.quant_state).float()
        elif isinstance(module, bitsandbytes.nn.Linear8bitLt):
            weight = module.weight
            found[name] = torch.ops.bitsandbytes.int8_vectorwise_dequant(weight.data, weight.SCB).float()
    return found


def write_case(base, quantized, directory, targets, batch, length):
    """case.json, case.safetensors and adapter, of the base in float32 with `quantized`'s numbers in it."""
    numbers = dequantize(quantized)
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, attn_implementation="eager").eval()
    for name, matrix in numbers.items():
        model.get_submodule(name).weight.data.copy_(matrix)
    model.name_or_path = directory.name
    torch.manual_seed(1)
    lengths = [length] + [int(n) for n in torch.randint(2, length + 1, (batch - 1,))]
    mask = (torch.arange(length) < torch.tensor(lengths).unsqueeze(1)).long()
    ids = torch.randint(model.config.vocab_size, (batch, length)) * mask
    labels = torch.where(mask == 1, ids, torch.full_like(ids, -100))
    out = {"input_ids": ids, "attention_mask": mask, "labels": labels}

    def row_loss(model, row):
        return model(ids[row : row + 1], attention_mask=mask[row : row + 1], labels=labels[row : row + 1]).loss

    with torch.no_grad():
        said = model(ids, attention_mask=mask, output_hidden_states=True)
        out["logits_base"] = said.logits
        for i, states in enumerate(said.hidden_states):
            out[f"hidden_base.{i}"] = states
        out["loss_base"] = torch.stack([row_loss(model, row) for row in range(batch)])

    rank = 2
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=rank, lora_alpha=4, target_modules=targets, task_type="CAUSAL_LM")).eval()
    parameters = {name: weight for name, weight in adapted.named_parameters() if "lora_" in name}
    with torch.no_grad():
        for name, weight in parameters.items():  # larger ones make what rounding moves larger than what is looked for
            weight.copy_((0.1 if "lora_B" in name else 1) * torch.randn_like(weight) / weight.shape[1] ** 0.5)
    adapted.save_pretrained(directory / "adapter")
    (directory / "adapter/README.md").unlink(missing_ok=True)
    gradients = {name: [] for name in parameters}
    losses = []
    for row in range(batch):
        adapted.zero_grad()
        loss = row_loss(adapted, row)
        loss.backward()
        losses.append(loss.detach())
        for name, weight in parameters.items():
            gradients[name].append(weight.grad.clone())
    out["loss_lora"] = torch.stack(losses)
    with torch.no_grad():
        out["logits_lora"] = adapted(ids, attention_mask=mask).logits

    modules = [name.removeprefix("base_model.model.").removesuffix(".lora_A.default.weight") for name in parameters if "lora_A" in name]
    parts = {}
    for module in modules:
        for part in ("lora_A", "lora_B"):
            rows = torch.stack(gradients[f"base_model.model.{module}.{part}.default.weight"])
            parts[module, part] = out[f"grad.{module}.{part}"] = rows
    flat = [torch.cat([parts[module, part].flatten(1) for part in ("lora_A", "lora_B")], 1).double() for module in modules]
    out["nu"] = torch.stack([rows.norm(dim=1) for rows in flat])
    middle = out["nu"].median(dim=1).values
    for kind, radii in (("mixed", middle), ("extreme", middle * torch.tensor([100.0 if i % 2 else 0.01 for i in range(len(modules))]))):
        out[f"radii.{kind}"] = radii
        out[f"clip_coef.{kind}"] = (radii.unsqueeze(1) / (out["nu"] + 1e-6)).clamp(max=1)
        for i, module in enumerate(modules):
            for part in ("lora_A", "lora_B"):
                out[f"clipped_sum.{kind}.{module}.{part}"] = torch.einsum("u,uij->ij", out[f"clip_coef.{kind}"][i], parts[module, part].double()).float()
    save_file({name: value.detach().contiguous() for name, value in out.items()}, directory / "case.safetensors")
    described = {
        "adapter": "adapter",
        "pairs": [{"name": module} for module in modules],
        "weights": {f"{name}.weight": fnv(matrix) for name, matrix in numbers.items()},
        "versions": {of.__name__: of.__version__ for of in (torch, transformers, peft, bitsandbytes)},
    }
    (directory / "case.json").write_text(json.dumps(described, indent=1) + "\n")


def make_case(base, directory, how, targets, batch=4, length=16):
    directory.mkdir(parents=True)
    write_case(base, quantize(base, directory, **how), directory, targets, batch, length)


NF4 = {"load_in_4bit": True, "bnb_4bit_use_double_quant": True}
KINDS = {"nf4": NF4, "nf4_single": {"load_in_4bit": True}, "int8": {"load_in_8bit": True}}
SMALL = {"hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 16}


def main():
    if sys.argv[1] == "--write":
        with tempfile.TemporaryDirectory() as scratch:
            make_llama(scratch, 1, num_hidden_layers=1, **SMALL)
            return make_case(scratch, pathlib.Path(sys.argv[2]), NF4, ["q_proj", "v_proj", "gate_proj"], 3, 8)
    program, shared = sys.argv[1], pathlib.Path(sys.argv[2])
    every = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch) / "cases"
        wide = pathlib.Path(scratch) / "wide"
        make_llama(wide, 2, num_hidden_layers=3, **(SMALL | {"hidden_size": 128, "intermediate_size": 384, "vocab_size": 96}))
        stories = shared / "data/stories260K"
        for kind, how in KINDS.items():
            make_case(wide, root / f"wide_{kind}", how, every)
            if stories.exists():  # whose 172 inner numbers fill no blocks of nf4
                left_out = {"llm_int8_skip_modules": ["down_proj", "lm_head"]} if how.get("load_in_4bit") else {}
                make_case(stories, root / f"stories_{kind}", how | left_out, every)
        print(f"{len(list(root.iterdir()))} cases")
        sys.exit(subprocess.run([program, "[golden]"], env=os.environ | {"RLDP_GOLDEN": str(root)}).returncode)


if __name__ == "__main__":
    main()
