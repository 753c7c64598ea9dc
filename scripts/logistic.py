#!/usr/bin/env python3
"""What logistic regression reaches on a template's columns: AUC and accuracy beside those of eval.target.

scripts/logistic.py TABLE.csv TEMPLATE.json TARGET [--group COLUMN] [--seed N]; needs numpy. Not private, and on a split of its
own: a yardstick. With --group, rows of one value of that column stand on one side: what group units are held out by."""
import argparse
import csv
import json
import sys

import numpy as np


def columns_of(rows, template, target):
    named = template.get("columns", {})
    left_out = {template.get("record"), template.get("person"), target, *template.get("leave_out", [])}
    names = named if template.get("only_named") else rows[0].keys()
    return [name for name in names if name not in left_out]


def features(rows, names, most_values=64):
    """Numbers standardised; of other columns one feature for each of the commonest values."""
    parts = []
    for name in names:
        values = [row[name] for row in rows]
        try:
            numbers = np.array([float(value) for value in values])
            if not np.isfinite(numbers).all():
                sys.exit(f"logistic: column {name} has a number that is not finite; mend it, or leave it out of the template")
            parts.append(((numbers - numbers.mean()) / (numbers.std() + 1e-9))[:, None])
        except ValueError:
            kinds, counts = np.unique(values, return_counts=True)
            kinds = kinds[np.argsort(-counts)][:most_values]
            parts.append((np.array(values)[:, None] == kinds[None, :]).astype(float))
    return np.hstack([*parts, np.ones((len(rows), 1))])


def fit(x, y, classes, l2=1e-3, steps=300):
    """Multinomial logistic regression by Nesterov's accelerated gradient, whose step follows from the largest eigenvalue."""
    truth = np.eye(classes)[y]
    step = 1 / (0.5 * np.linalg.norm(x, 2) ** 2 / len(x) + l2)
    weights = ahead = np.zeros((x.shape[1], classes))
    for t in range(steps):
        gradient = x.T @ (softmax(x @ ahead) - truth) / len(x) + l2 * ahead
        last, weights = weights, ahead - step * gradient
        ahead = weights + t / (t + 3) * (weights - last)
    return weights


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def auc(scores, positive):
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores):  # equal scores share their mean rank
        same = scores == value
        if same.sum() > 1:
            ranks[same] = ranks[same].mean()
    n = positive.sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("template")
    parser.add_argument("target")
    parser.add_argument("--group")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with open(given.table, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    with open(given.template, encoding="utf-8") as file:
        template = json.load(file)
    for name in filter(None, [given.target, given.group]):
        if name not in rows[0]:
            sys.exit(f"logistic: {given.table} has no column {name}; it has {', '.join(rows[0])}")
    kinds, y = np.unique([row[given.target] for row in rows], return_inverse=True)
    x = features(rows, columns_of(rows, template, given.target))
    _, group = np.unique([row[given.group] if given.group else str(i) for i, row in enumerate(rows)], return_inverse=True)
    order = np.random.default_rng(given.seed).permutation(group.max() + 1)
    in_held = np.isin(group, order[: len(order) // 10])
    held, train = np.flatnonzero(in_held), np.flatnonzero(~in_held)
    p = softmax(x[held] @ fit(x[train], y[train], len(kinds)))
    shown = range(1, 2) if len(kinds) == 2 else range(len(kinds))
    areas = [auc(p[:, c], y[held] == c) for c in shown]
    print(f"{len(train)} rows, {x.shape[1]} features, {len(kinds)} values of {given.target}")
    print(f"AUC {np.mean(areas):.4f}, accuracy {(p.argmax(axis=1) == y[held]).mean():.4f}, "
          f"commonest value alone {np.bincount(y[held]).max() / len(held):.4f}")


if __name__ == "__main__":
    main()
