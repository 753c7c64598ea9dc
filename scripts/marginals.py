#!/usr/bin/env python3
"""A made-up table by a method that counts marginals, to stand beside that of a run: from the same records, which the run
trained on, the same public template and at the same (epsilon, delta), for rldp judge to compare.

    scripts/marginals.py RUN TABLE OUT [--method mst] [--rows 5000] [--epsilon E] [--seed 1] [--bins 16]

independent: each column alone, with Gaussian noise. mst: as McKenna, Miklau and Sheldon, "Winning the NIST contest: a
scalable and general approach to differentially private synthetic data" (2021), chapter 3: each column, then a spanning
tree of pairs chosen by the exponential mechanism, all estimated as one model by mbi (pip install mbi==2.0.0). Numbers
are counted in bins of the declared range and drawn evenly within one. Of records, not of persons; columns are
categories or numbers. The noise is numpy's, which an adversary may predict: this is for comparing, not for releasing.
"""
import argparse
import csv
import decimal
import hashlib
import json
import pathlib
import sys

import numpy as np


def rho_of(epsilon, delta):
    """The largest rho of zero-concentrated privacy that is within (epsilon, delta) (Canonne, Kamath, Steinke 2020)."""
    alphas = 1 + np.geomspace(1e-3, 1e5, 20_000)

    def spent(rho):
        return np.min(rho * alphas + (-np.log(delta) + (alphas - 1) * np.log1p(-1 / alphas) - np.log(alphas)) / (alphas - 1))

    low, high = 0.0, epsilon
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) <= epsilon else (low, middle)
    return low


class Column:
    """Places of a column's values, from what the template declares."""

    def __init__(self, declared, missing, bins):
        self.name, self.missing = declared["column"], set(missing)
        self.has_missing = not declared.get("required", False)
        self.words = declared.get("category")
        if self.words is None:
            kind = next((k for k in ("integer", "number") if k in declared), None)
            if kind is None:
                sys.exit(f"{self.name}: neither a list of categories nor a range, so nothing can be counted")
            self.low, high = (decimal.Decimal(str(x)) for x in declared[kind])
            self.step = decimal.Decimal(str(declared.get("step", 1)))
            count = int((high - self.low) / self.step) + 1
            self.edges = np.linspace(0, count, min(bins, count) + 1).round().astype(int)
        self.size = (len(self.words) if self.words else len(self.edges) - 1) + self.has_missing

    def place(self, cell):
        """Values beyond the range count at its end, and what the template has no place for as missing, else as the first."""
        none = self.size - 1 if self.has_missing else 0
        if cell in self.missing:
            return none
        if self.words:
            return self.words.index(cell) if cell in self.words else none
        at = int((decimal.Decimal(cell) - self.low) / self.step)
        return int(np.clip(np.searchsorted(self.edges, at, side="right") - 1, 0, len(self.edges) - 2))

    def spell(self, place, random):
        if self.has_missing and place == self.size - 1:
            return ""
        if self.words:
            return self.words[place]
        return str(self.low + self.step * int(random.integers(self.edges[place], self.edges[place + 1])))


def trained_on(rows, seed):
    """Which rows a run of records without keys, split by hash, trains on (docs/privacy.md, 1)."""
    key = hashlib.blake2b(f"rldp split {seed}".encode(), digest_size=32).digest()

    def words(kind, identity):
        digest = hashlib.blake2b(kind.encode() + b"\0" + identity, key=key, digest_size=64).digest()
        return [int.from_bytes(digest[8 * i:8 * i + 8], "little") for i in range(4)]

    seen = {}
    for row in rows:
        text = "".join(f"{len(name.encode())}:{name}{len(value.encode())}:{value}" for name, value in sorted(row.items()) if value)
        own, side = words("content", b"\0" + text.encode())[:2]
        before = seen[own] = seen.get(own, -1) + 1
        _, attack, held_out, _ = words("occurrence", f"{own} {side} {before}".encode())
        yield attack >= int(0.2 * 2**64) and held_out >= int(0.1 * 2**64)


def noised(counts, deviation, random):
    return counts + random.normal(0, deviation, len(counts))


def shares(counts):
    kept = np.maximum(counts, 0)
    return kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept))


def independent(data, sizes, rho, rows, random):
    deviation = np.sqrt(len(sizes) / (2 * rho))  # a record changes a count of each column by one
    out = []
    for column, size in zip(data.T, sizes):
        of = shares(noised(np.bincount(column, minlength=size), deviation, random))
        out.append(random.choice(size, rows, p=of))
    return np.array(out).T


def mst(data, sizes, rho, rows, random):
    import jax
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi

    count, part = len(sizes), rho / 3
    names = [f"c{i}" for i in range(count)]
    deviation = np.sqrt(count / (2 * part))
    alone, merged = [], []
    for i in range(count):
        found = noised(np.bincount(data[:, i], minlength=sizes[i]), deviation, random)
        # Values that the noise hides are one from here on, and drawn evenly at the end.
        rare = found < 3 * deviation
        to = np.cumsum(~rare) - 1
        to[rare] = (~rare).sum()
        merged.append(to)
        alone.append(np.bincount(to, weights=found, minlength=to.max() + 1))
    small = np.array([to[column] for to, column in zip(merged, data.T)]).T
    sizes = [to.max() + 1 for to in merged]
    domain = mbi.Domain(names, sizes)
    found = []
    for name, to, sums in zip(names, merged, alone):
        of = np.bincount(to)  # each sum has the noise of as many counts
        found.append(mbi.LinearMeasurement(sums / np.sqrt(of), (name,), deviation, query=mbi.WeightedQuery(1 / np.sqrt(of))))
    total = max(1.0, np.mean([sums.sum() for sums in alone]))

    def pair(i, j):
        return np.bincount(small[:, i] * sizes[j] + small[:, j], minlength=sizes[i] * sizes[j])

    # A tree over the columns, of the pairs that independent columns would miss most: each edge by the exponential
    # mechanism, whose score changes by one where a record comes or goes.
    miss = {(i, j): np.abs(pair(i, j) - total * np.outer(shares(alone[i]), shares(alone[j])).ravel()).sum()
            for i in range(count) for j in range(i + 1, count)}
    epsilon = np.sqrt(8 * part / max(1, count - 1))
    deviation = np.sqrt(max(1, count - 1) / (2 * part))
    tree = list(range(count))  # of each column
    for _ in range(count - 1):
        open_pairs = [p for p in miss if tree[p[0]] != tree[p[1]]]
        scores = np.array([miss[p] for p in open_pairs])
        weights = np.exp(epsilon / 2 * (scores - scores.max()))
        i, j = open_pairs[random.choice(len(open_pairs), p=weights / weights.sum())]
        tree = [tree[i] if t == tree[j] else t for t in tree]
        found.append(mbi.LinearMeasurement(noised(pair(i, j), deviation, random), (names[i], names[j]), deviation))
    model = mbi.estimation.MirrorDescent().estimate(domain, found, known_total=total, iters=1000)
    made = model.synthetic_data(rows).to_dict()
    out = []
    for name, to in zip(names, merged):
        members = [np.flatnonzero(to == place) for place in range(to.max() + 1)]
        out.append([random.choice(members[place]) for place in np.asarray(made[name])])
    return np.array(out).T


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("table")
    parser.add_argument("out")
    parser.add_argument("--method", choices=("mst", "independent"), default="mst")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--epsilon", type=float, help="default: the run's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bins", type=int, default=16, help="of a number's range")
    given = parser.parse_args()
    template = json.loads((given.run / "public/template.json").read_text())
    with open(given.run / "public/ledger.jsonl") as ledger:
        contract = json.loads(ledger.readline())
    config = json.loads((given.run / "public/config.json").read_text())
    if contract["unit"] != "record" or config["data"]["split"] != "hash":
        sys.exit("the run protects persons, or was not split by hash: not known here")
    columns = [Column(one, template.get("missing", ["", "?", "None", "NULL"]), given.bins) for one in template["schema"]]
    with open(given.table, newline="") as file:
        rows = list(csv.DictReader(file))
    used = [row for row, trains in zip(rows, trained_on(rows, config["data"]["split_seed"])) if trains]
    data = np.array([[column.place(row[column.name]) for column in columns] for row in used])
    epsilon, delta = given.epsilon or contract["guaranteed_epsilon"], contract["delta"]
    random = np.random.default_rng(given.seed)
    method = mst if given.method == "mst" else independent
    made = method(data, [column.size for column in columns], rho_of(epsilon, delta), given.rows, random)
    with open(given.out, "x", newline="") as file:
        out = csv.writer(file)
        out.writerow(column.name for column in columns)
        out.writerows([column.spell(place, random) for column, place in zip(columns, row)] for row in made)
    print(f"{given.method}: {len(used)} of {len(rows)} records, epsilon {epsilon:g} at delta {delta:g}, wrote {given.rows} rows to {given.out}")


if __name__ == "__main__":
    main()
