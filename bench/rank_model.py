#!/usr/bin/env python3
"""How a step's time falls with the number of ranks, from measured constants: a table, and with --plot a figure (gnuplot).

    bench/rank_model.py [--plot docs/ranks.svg]

time(W) = ceil(m/W)·b·u + D·(noise + optimiser + 2·(tag + mask) + seal) + (W - 1)·12·D/wire + 2·latency
with m micro-batches of b units, u seconds for a unit on one rank, D coordinates, which rank 0 tells each other rank (4 bytes)
and hears of each (8). All but the first term is the serial part."""
import argparse
import math
import subprocess

# Nanoseconds per coordinate on one thread of the machine of docs/cluster.md: bench_noise, bench_ranks.
NOISE, OPTIMISER, TAG, MASK, SEAL = 30, 4, 5.2, 9.0, 5.6
LATENCY = 50e-6  # seconds, of a message
# Coordinates D, and operations for a unit of 128 tokens: four per weight and token (two forward, two backward: LoRA needs no
# gradient of the base).
MODELS = {"GPT-2 small": (294_912, 4 * 124e6 * 128), "Llama 1B": (851_968, 4 * 1.24e9 * 128),
          "Mistral 7B": (3_407_872, 4 * 7.2e9 * 128)}
BATCH, MICRO_BATCH = 1024, 1
# Operations a second of a rank (a guess for the second), bytes a second between ranks.
SETTINGS = {"processors, 10 Gbit/s": (6e11, 1.25e9), "processors, 100 Gbit/s": (6e11, 12.5e9),
            "GPUs, 10 Gbit/s": (6e13, 1.25e9), "GPUs, 100 Gbit/s": (6e13, 12.5e9)}


def parts(ranks, coordinates, unit, wire):
    """Seconds of a step: shared, serial."""
    shared = math.ceil(BATCH / MICRO_BATCH / ranks) * MICRO_BATCH * unit
    local = coordinates * 1e-9 * (NOISE + OPTIMISER)
    if ranks == 1:
        return shared, local
    apart = coordinates * 1e-9 * (2 * (TAG + MASK) + SEAL)
    return shared, local + apart + (ranks - 1) * 12 * coordinates / wire + 2 * LATENCY


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot")
    given = parser.parse_args()
    lines, data = [], []
    for name, (coordinates, operations) in MODELS.items():
        for setting, (speed, wire) in SETTINGS.items():
            unit = operations / speed
            points = [(w, *parts(w, coordinates, unit, wire)) for w in (2 ** k for k in range(11))]
            tenth = next((w for w in range(2, 1025)
                          if (lambda p: p[1] / sum(p))(parts(w, coordinates, unit, wire)) >= 0.1), None)
            alone = sum(points[0][1:])
            lines.append((name, setting, [alone / (shared + serial) for _, shared, serial in points], tenth))
            data.append("\n".join(f"{w} {alone / (shared + serial)}" for w, shared, serial in points))
    print(f"{'model':<14}{'ranks':<25}" + "".join(f"{'W=' + str(w):>9}" for w in (16, 64, 256, 1024)) + "   serial part 10 % at W")
    for name, setting, speedups, tenth in lines:
        print(f"{name:<14}{setting:<25}" + "".join(f"{speedups[k]:>9.1f}" for k in (4, 6, 8, 10)) + f"   {tenth or 'beyond 1024'}")
    if given.plot:
        titles = [f"{name}, {setting}" for name, setting, _, _ in lines]
        script = ("set terminal svg size 860,560 font 'sans,12'; set output '%s'; set logscale xy 2; set key left top;"
                  "set xlabel 'ranks'; set ylabel 'times as fast as one rank'; set grid; $d << EOD\n%s\nEOD\n"
                  "plot x with lines dt 3 lc 'gray' title 'ideal', %s" % (
                      given.plot, "\n\n\n".join(data),
                      ", ".join(f"$d index {i} with linespoints title '{t}'" for i, t in enumerate(titles))))
        subprocess.run(["gnuplot"], input=script, text=True, check=True)


if __name__ == "__main__":
    main()
