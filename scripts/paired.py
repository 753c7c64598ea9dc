#!/usr/bin/env python3
"""Two arms of one or more protocols, paired by seed: scripts/paired.py OURS OTHER CSV... [--factors 0.25 0.5 1 2 4] [--epsilon 2]

CSV are tables that `rldp compare --protocol` wrote; of several budgets, --epsilon says which. With --factors, what counts of a seed is the mean over the arms NAME_x<factor>
(NAME itself where the factor is 1): what a method is worth where its rate may be off by any of them. Less is better. Prints
means, the gain of OURS with its 95 % interval (Student), the exact paired permutation test over seeds, and wins.
"""
import argparse
import csv
import itertools
import math
import statistics
import sys

# Student's t at 97.5 %, by degrees of freedom.
T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def cells(files, epsilon):
    """{arm: {seed: measure}} of the finished cells of the test stage."""
    out, measures, budgets = {}, set(), set()
    for file in files:
        with open(file, newline="") as opened:
            for row in csv.DictReader(opened):
                if row["stage"] != "test" or row["status"] != "done":
                    continue
                if epsilon is not None and float(row["epsilon"]) != epsilon:
                    continue
                budgets.add(row["epsilon"])
                measure = list(row)[5]
                measures.add(measure)
                out.setdefault(row["arm"], {})[int(row["seed"])] = float(row[measure])
    if len(measures) != 1:
        sys.exit(f"{' '.join(files)}: measure {sorted(measures) or 'nothing'}; give tables of one measure")
    if len(budgets) > 1:
        sys.exit(f"{' '.join(files)}: budgets {', '.join(sorted(budgets))}; choose one by --epsilon")
    return out


def of(arm, found, factors):
    arms = [arm if f == 1 else f"{arm}_x{f:g}" for f in factors]
    missing = [one for one in arms if one not in found]
    if missing:
        sys.exit(f"{', '.join(missing)}: no such arm; there are {', '.join(sorted(found))}")
    seeds = set.intersection(*(set(found[one]) for one in arms))
    return {seed: statistics.mean(found[one][seed] for one in arms) for seed in seeds}


def permutation(differences):
    observed = abs(sum(differences))
    flips = list(itertools.product((1, -1), repeat=len(differences)))
    return sum(abs(sum(s * d for s, d in zip(f, differences))) >= observed - 1e-12 for f in flips) / len(flips)


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("ours")
    asked.add_argument("other")
    asked.add_argument("csv", nargs="+")
    asked.add_argument("--factors", nargs="+", type=float, default=[1])
    asked.add_argument("--epsilon", type=float)
    given = asked.parse_args()
    found = cells(given.csv, given.epsilon)
    ours, other = (of(arm, found, given.factors) for arm in (given.ours, given.other))
    pairs = sorted(set(ours) & set(other))
    if len(pairs) < 2:
        sys.exit(f"{given.ours}, {given.other}: {len(pairs)} pairs; two at least are needed")
    if len(pairs) - 1 not in T:
        sys.exit(f"{len(pairs)} pairs; this counts all sign flips, of ten pairs at most")
    gains = [other[one] - ours[one] for one in pairs]
    mean = statistics.mean(gains)
    half = T[len(gains) - 1] * statistics.stdev(gains) / math.sqrt(len(gains))
    for name, all_of in ((given.ours, ours), (given.other, other)):
        print(f"{name}: {statistics.mean(all_of[p] for p in pairs):.4f} ± {statistics.stdev([all_of[p] for p in pairs]):.4f}")
    print(f"gain {mean:+.4f} ({mean - half:+.4f} … {mean + half:+.4f}), p = {permutation(gains):.3g}, "
          f"{sum(g > 0 for g in gains)} of {len(gains)}")


if __name__ == "__main__":
    main()
