#!/usr/bin/env python3
"""A made-up table by a method that counts marginals, to stand beside that of a run: from the same records, which the run
trained on, the same public template and at the same (epsilon, delta), for rldp judge to compare.

    scripts/marginals.py RUN TABLE OUT [--method mst|aim|independent] [--rows 5000] [--epsilon E] [--seed 1] [--bins 16]

independent: each column alone, with Gaussian noise. mst: as McKenna, Miklau and Sheldon, "Winning the NIST contest: a
scalable and general approach to differentially private synthetic data" (2021), chapter 3: each column, then a spanning
tree of pairs chosen by the exponential mechanism, all estimated as one model by mbi (pip install mbi==2.0.0). aim: as
McKenna, Mullins, Sheldon and Miklau, "AIM: An Adaptive and Iterative Mechanism for Differentially Private Synthetic
Data" (VLDB 2022), for all pairs of columns: round by round the column or pair that such a model misses most, with less
noise once noise hides what is left. Unlike theirs it merges rare values as mst does, and its model has 1 MB at most
where theirs has 80, to end in minutes.

Numbers are counted in bins of the declared range and drawn evenly within one. Of records, not of persons; columns are
categories or numbers, and the cells of others are left empty. The noise is numpy's, which an adversary may predict:
this is for comparing, not for releasing.
"""
import argparse
import csv
import decimal
import hashlib
import itertools
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
            kind = "integer" if "integer" in declared else "number"
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


def choose(scores, epsilon, change, random):
    """The exponential mechanism, where a record changes a score by `change` at most: epsilon^2 / 8 of rho."""
    weights = np.exp(epsilon / (2 * change) * (scores - scores.max()))
    return random.choice(len(scores), p=weights / weights.sum())


def marginal(data, sizes, columns):
    places = np.ravel_multi_index(tuple(data[:, c] for c in columns), [sizes[c] for c in columns])
    return np.bincount(places, minlength=np.prod([sizes[c] for c in columns]))


def counts_of(potentials, sizes, columns, total):
    """What a model with these potentials, {columns in order: table}, counts for some of its columns: the others are summed
    out one by one."""
    factors = list(potentials.items())
    left = set(range(len(sizes))) - set(columns)

    def joined(c):
        return sorted({c}.union(*(of for of, _ in factors if c in of)))

    def product(of, tables):
        return sum(table.reshape([sizes[c] if c in own else 1 for c in of]) for own, table in tables)

    while left:
        c = min(left, key=lambda c: np.prod([sizes[one] for one in joined(c)]))
        of = joined(c)
        table = product(of, [f for f in factors if c in f[0]])
        top, axis = table.max(), of.index(c)
        summed = top + np.log(np.maximum(np.exp(table - top).sum(axis), 1e-300))
        factors = [f for f in factors if c not in f[0]] + [(tuple(one for one in of if one != c), summed)]
        left.remove(c)
    table = np.broadcast_to(product(columns, factors), [sizes[c] for c in columns])
    table = np.exp(table - table.max())
    return (total * table / table.sum()).ravel()


def load_mbi():
    import jax
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi
    return mbi


class Model:
    """Of columns that were counted with noise, by mbi. Values that the noise hides are one place from here on, and drawn
    evenly at the end."""

    def __init__(self, alone, deviation):
        self.merged, self.sums, self.measured = [], [], []
        for i, counts in enumerate(alone):
            rare = counts < 3 * deviation
            to = np.cumsum(~rare) - 1
            to[rare] = (~rare).sum()
            sums, of = np.bincount(to, weights=counts), np.bincount(to)  # each sum has the noise of as many counts
            self.merged.append(to)
            self.sums.append(sums)
            self.measured.append(((i,), sums / np.sqrt(of), deviation, 1 / np.sqrt(of)))
        self.sizes = [len(sums) for sums in self.sums]
        self.total = max(1.0, np.mean([sums.sum() for sums in self.sums]))
        self.fitted = None

    def places(self, data):
        return np.array([to[column] for to, column in zip(self.merged, data.T)]).T

    def measure(self, columns, counts, deviation):
        self.measured.append((columns, counts, deviation, None))

    def fit(self):
        mbi = load_mbi()
        domain = mbi.Domain(range(len(self.sizes)), self.sizes)
        measured = []
        for columns, counts, deviation, weights in self.measured:
            query = mbi.marginal_loss.DatavectorQuery() if weights is None else mbi.WeightedQuery(weights)
            measured.append(mbi.LinearMeasurement(counts, columns, deviation, query))
        method = mbi.estimation.MirrorDescent()
        self.fitted = method.estimate(domain, measured, known_total=self.total, iters=1000, warm_start=self.fitted)
        self.potentials = {columns: np.asarray(self.fitted.potentials[columns].values) for columns in self.fitted.cliques}

    def counts(self, columns):
        return counts_of(self.potentials, self.sizes, columns, self.total)

    def megabytes(self, columns):
        """Of the model with these columns measured, too."""
        mbi = load_mbi()
        domain = mbi.Domain(range(len(self.sizes)), self.sizes)
        return mbi.junction_tree.hypothetical_model_size(domain, [*(of for of, *_ in self.measured), columns])

    def rows(self, rows, random):
        np.random.seed(random.integers(2**32))  # which mbi draws by
        made = self.fitted.synthetic_data(rows).to_dict()
        out = []
        for column, to in enumerate(self.merged):
            members = [np.flatnonzero(to == place) for place in range(self.sizes[column])]
            out.append([random.choice(members[place]) for place in made[column]])
        return np.array(out).T


def mst(data, sizes, rho, rows, random):
    count, part = len(sizes), rho / 3
    deviation = np.sqrt(count / (2 * part))
    model = Model([noised(marginal(data, sizes, (i,)), deviation, random) for i in range(count)], deviation)
    data, sizes, sums = model.places(data), model.sizes, model.sums
    # A tree over the columns, of the pairs that independent columns would miss most: each edge by the exponential
    # mechanism, whose score changes by one where a record comes or goes.
    miss = {(i, j): np.abs(marginal(data, sizes, (i, j)) - model.total * np.outer(shares(sums[i]), shares(sums[j])).ravel()).sum()
            for i, j in itertools.combinations(range(count), 2)}
    epsilon = np.sqrt(8 * part / max(1, count - 1))
    deviation = np.sqrt(max(1, count - 1) / (2 * part))
    tree = list(range(count))  # of each column
    for _ in range(count - 1):
        open_pairs = [p for p in miss if tree[p[0]] != tree[p[1]]]
        i, j = open_pairs[choose(np.array([miss[p] for p in open_pairs]), epsilon, 1, random)]
        tree = [tree[i] if t == tree[j] else t for t in tree]
        model.measure((i, j), noised(marginal(data, sizes, (i, j)), deviation, random), deviation)
    model.fit()
    return model.rows(rows, random)


def aim(data, sizes, rho, rows, random):
    most, measure_share = 1.0, 0.9  # megabytes, and of rho for measuring, not choosing
    rho *= 1 - 1e-9  # what rounding may add
    rounds = 16 * len(sizes)
    deviation = np.sqrt(rounds / (2 * measure_share * rho))
    epsilon = np.sqrt(8 * (1 - measure_share) * rho / rounds)
    model = Model([noised(marginal(data, sizes, (i,)), deviation, random) for i in range(len(sizes))], deviation)
    left = rho - len(sizes) / (2 * deviation**2)
    model.fit()
    closure = [c for n in (1, 2) for c in itertools.combinations(range(len(sizes)), n)]
    real = {columns: marginal(model.places(data), model.sizes, columns) for columns in closure}
    # A weight in the paper counts the columns that a marginal shares with each pair: twice as many for a pair as for one.
    weights = {columns: len(columns) for columns in closure}

    def noise_of(columns):
        return np.sqrt(2 / np.pi) * deviation * len(real[columns])

    last = False
    while not last:
        price = 1 / (2 * deviation**2) + epsilon**2 / 8
        last = left <= 2 * price
        if last:
            price, deviation, epsilon = left, np.sqrt(1 / (2 * measure_share * left)), np.sqrt(8 * (1 - measure_share) * left)
        left -= price
        known = {columns for columns, *_ in model.measured}
        open_columns = [c for c in closure if len(c) == 1 or c in known or model.megabytes(c) <= (1 - left / rho) * most]
        scores = [weights[c] * (np.abs(real[c] - model.counts(c)).sum() - noise_of(c)) for c in open_columns]
        columns = open_columns[choose(np.array(scores), epsilon, max(weights.values()), random)]
        before = model.counts(columns)
        model.measure(columns, noised(real[columns], deviation, random), deviation)
        model.fit()
        if np.abs(model.counts(columns) - before).sum() <= noise_of(columns):
            deviation, epsilon = deviation / 2, 2 * epsilon
    return model.rows(rows, random)


METHODS = {"mst": mst, "aim": aim, "independent": independent}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("table")
    parser.add_argument("out")
    parser.add_argument("--method", choices=METHODS, default="mst")
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
    missing = template.get("missing", ["", "?", "None", "NULL"])
    names = [one["column"] for one in template["schema"]]
    countable = [isinstance(one.get("category"), list) or "integer" in one or "number" in one for one in template["schema"]]
    columns = [Column(one, missing, given.bins) for one, can in zip(template["schema"], countable) if can]
    left_out = [name for name, can in zip(names, countable) if not can]
    if not columns:
        sys.exit("no column is a list of categories or a range, so nothing can be counted")
    if left_out:
        print(f"{', '.join(left_out)}: no list of categories and no range, so not counted and written empty", file=sys.stderr)
    with open(given.table, newline="") as file:
        rows = list(csv.DictReader(file))
    used = [row for row, trains in zip(rows, trained_on(rows, config["data"]["split_seed"])) if trains]
    data = np.array([[column.place(row[column.name]) for column in columns] for row in used])
    epsilon, delta = given.epsilon or contract["guaranteed_epsilon"], contract["delta"]
    random = np.random.default_rng(given.seed)
    made = METHODS[given.method](data, [column.size for column in columns], rho_of(epsilon, delta), given.rows, random)
    with open(given.out, "x", newline="") as file:
        out = csv.DictWriter(file, names, restval="")
        out.writeheader()
        out.writerows({column.name: column.spell(place, random) for column, place in zip(columns, row)} for row in made)
    print(f"{given.method}: {len(used)} of {len(rows)} records, epsilon {epsilon:g} at delta {delta:g}, wrote {given.rows} rows to {given.out}")


if __name__ == "__main__":
    main()
