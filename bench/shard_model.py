#!/usr/bin/env python3
"""What sharing a base over ranks (model.shard) comes to on hardware that was not at hand: tokens a second, on paper.

    bench/shard_model.py

A pass of T tokens costs a rank 4·P·T operations (two forward, two for the input's gradient: adapters need no gradient of the
base), and brings it (W - 1)/W of the layers' bytes twice. With one layer brought ahead the longer of the two counts:

    seconds(W) = max(4·P·T / speed, 2·(W - 1)/W·bytes / link)        tokens a second = W·T / seconds(W)

T* is where both are equal: with fewer tokens a pass, the link decides. FSDP moves the same bytes, all ranks in step, so that
each step takes the slowest rank's passes: of B units the largest of W shares, in the mean (simulated). Stages of a pipeline
move activations alone, width·2 bytes a token and boundary, twice; with m passes under way W + m - 1 take the time of m."""
import math
import random

MODELS = {"8B": dict(parameters=8.0e9, layers=32, width=4096, beside=2 * 128256 * 4096),
          "70B": dict(parameters=70.6e9, layers=80, width=8192, beside=2 * 128256 * 8192)}
BYTES = 2  # of a number, bfloat16
# Peak of dense bfloat16, of which a pass gets so much; bytes a second into a rank.
UTILISATION = 0.4
CARDS = {"24 GB": 165e12, "80 GB": 989e12}
LINKS = {"NVLink": 450e9, "PCIe 4": 25e9, "PCIe 5": 50e9, "100 Gb/s": 12.5e9}
CASES = [("8B", 2, "24 GB", ("PCIe 4", "100 Gb/s")), ("70B", 8, "80 GB", ("NVLink", "PCIe 5", "100 Gb/s"))]
LENGTHS = (512, 2048, 8192)
BATCH = 256  # units of a step
GIGA = 1e9


def bytes_of_layers(model):
    return BYTES * (model["parameters"] - model["beside"])


def seconds(model, ranks, speed, link, tokens):
    compute = 4 * model["parameters"] * tokens / speed
    return compute, 2 * (ranks - 1) / ranks * bytes_of_layers(model) / link


def slowest_share(ranks, batch=BATCH, repeats=2000):
    """The largest of the ranks' shares of a Poisson draw, over the mean share."""
    dice, total = random.Random(1), 0
    for _ in range(repeats):
        units = max(1, round(dice.gauss(batch, math.sqrt(batch))))
        counts = [0] * ranks
        for _ in range(units):
            counts[dice.randrange(ranks)] += 1
        total += max(counts) / (units / ranks)
    return total / repeats


def pipeline(model, ranks, speed, link, tokens, passes):
    stage = max(4 * model["parameters"] * tokens / speed / ranks, 2 * model["width"] * BYTES * tokens / link)
    return passes * tokens / ((passes + ranks - 1) * stage)


def main():
    for name, model in MODELS.items():
        layers = bytes_of_layers(model)
        print(f"{name}: {layers / GIGA:.1f} GB of layers, {layers / model['layers'] / GIGA:.2f} GB each, "
              f"{BYTES * model['beside'] / GIGA:.1f} GB embedding and head")
    print()
    print(f"{'':<28}{'T*':>8}" + "".join(f"{'T=' + str(t):>22}" for t in LENGTHS) + f"{'holds, GB':>12}")
    for name, ranks, card, links in CASES:
        model, speed = MODELS[name], CARDS[card] * UTILISATION
        slow = slowest_share(ranks)
        share = -(-model["layers"] // ranks) + 4
        holds = (BYTES * model["beside"] + share * bytes_of_layers(model) / model["layers"]) / GIGA
        for link in links:
            wire = LINKS[link]
            balance = (ranks - 1) / ranks * bytes_of_layers(model) * speed / (2 * model["parameters"] * wire)
            row = f"{name}, {ranks} x {card}, {link}"
            cells = []
            for tokens in LENGTHS:
                compute, brought = seconds(model, ranks, speed, wire, tokens)
                ours = ranks * tokens / max(compute, brought) / slow
                piped = pipeline(model, ranks, speed, wire, tokens, BATCH)
                cells.append(f"{ours:,.0f} / {piped:,.0f}")
            print(f"{row:<28}{balance:>8,.0f}" + "".join(f"{cell:>22}" for cell in cells) + f"{holds:>12.1f}")
        print(f"   the slowest of {ranks} shares of {BATCH} units: {slow:.2f} times the mean")
    print("\ntokens a second: shared / in stages (FSDP: as shared)")


if __name__ == "__main__":
    main()
