#!/usr/bin/env python3
"""Writes the two notebooks from the cells below. A notebook is JSON; here it can be read and reviewed.

    make.py            the notebooks
    make.py --run      runs them, too, and renders them into docs/
    make.py --check    runs them and writes nothing; fails where a notebook is not what the cells say"""
import ast
import contextlib
import io
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent

TABLE = [
    "# From a table to a made-up one\n\nRentals of bicycles, several per customer, made up here. In practice `rentals` is your data frame. The model has 0.3 million parameters and learns only "
    "the form.",
    ("import os, pathlib, random, tempfile\n"
     "import rldp\n\n"
     "scratch = pathlib.Path(tempfile.mkdtemp())\n"
     "os.environ[\"RLDP_BOOKS\"] = str(scratch / \"books\")    # this example's budget book is nobody's\n"
     "draw = random.Random(7)\n"
     "rentals = [{\"customer_id\": f\"K{draw.randrange(300)}\", \"town\": draw.choice([\"Graz\", \"Graz\", \"Lyon\", \"Turin\"]),\n"
     "            \"kind\": draw.choice([\"city\", \"electric\"]), \"min\": draw.randrange(5, 90)} for _ in range(2000)]\n"
     "rentals[0]"),
    "`init` looks at it and says what only you can say. What stands under PRIVATE is for you alone.",
    "rldp.init(rentals, \"config/tiny-gpt2\", out=scratch / \"rentals.json\")",
    "All rentals of a customer are protected together, and the types of columns are declared: they are public.",
    ("first = rldp.init(rentals, \"config/tiny-gpt2\", out=scratch / \"rentals.json\", person=\"customer_id\", population=210, max_tokens=64,\n"
     "                  type=[\"town=category:Graz,Lyon,Turin\", \"kind=category:city,electric\", \"min=integer:1:120\"])\n"
     "plan = rldp.check(first.config, data=rentals)\n"
     "plan[\"steps\"], plan[\"guaranteed_epsilon\"], plan[\"noise_multiplier\"]"),
    "Rows go through a pipe, and no copy of them to a disk.",
    ("told = []\n"
     "run = rldp.run(first.config, data=rentals, out=scratch / \"rentals\", on_step=told.append, quiet=True, public__path=\"template:500\")\n"
     "len(told), run.summary[\"guaranteed_epsilon\"], run.certificate.verify()[\"guarantee\"]"),
    "A table in the words of the template, from the public side alone. It costs no ε.",
    ("made = run.synthesize(200, scratch / \"synthetic.csv\", model=\"config/tiny-gpt2\", seed=1)\n"
     "print(\"\".join(open(scratch / \"synthetic.csv\").readlines()[:6]))"),
    "What would leave the house, if the adapter were handed on:",
    "[file[\"name\"] for file in run.publish_check()[\"files\"]]",
]

METHODS = [
    "# Comparing methods\n\nThree methods under one contract, on made-up encounters, which are nobody's. Each cell is a run of its own.",
    ("import os, pathlib, tempfile\n"
     "import rldp\n\n"
     "scratch = pathlib.Path(tempfile.mkdtemp())\n"
     "os.environ[\"RLDP_BOOKS\"] = str(scratch / \"books\")\n"
     "compared = rldp.compare(\"config/demo.json\", out=scratch / \"compared\", methods=[\"static\", \"dp_lora\", \"rldp\"], epsilons=[8], seeds=[0],\n"
     "                        train__steps=20, data__path=\"synthetic:1000\", rl__interval=4, rl__warmup=4)\n"
     "sorted(compared.table)"),
    "The perplexity of held-out records at the end, by method:",
    ("for cell in sorted((scratch / \"compared/cells\").iterdir()):\n"
     "    summary = rldp.Run(cell).summary\n"
     "    print(summary[\"method\"], round(summary[\"perplexity_after\"], 3), summary[\"perplexity_after_in\"])"),
    "Three looks with noise and one seed prove nothing; research/experiments.md has what does. What a contract costs can be asked without any run:",
    ("for epsilon in (0.5, 2, 8):\n"
     "    print(epsilon, round(rldp.calibrate(epsilon, 1e-5, rate=64 / 4320, steps=120)[\"noise_multiplier\"], 3))"),
]


def notebook(cells):
    out = []
    for number, text in enumerate(cells):
        kind = "code" if number % 2 else "markdown"
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        out.append(cell | {"execution_count": None, "outputs": []} if kind == "code" else cell)
    return {"cells": out, "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                                       "language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def rendered(cells):
    """Markdown of the cells, with what they print and answer: run one after the other in one namespace."""
    space, out = {}, []
    for number, text in enumerate(cells):
        if number % 2 == 0:
            out.append(text)
            continue
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            tree = compile(text, "cell", "exec", flags=ast.PyCF_ONLY_AST)
            tail = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "cell", "exec"), space)
            answer = eval(compile(ast.Expression(tail.value), "cell", "eval"), space) if tail else None
        shown = said.getvalue() + ("" if answer is None else repr(answer) + "\n")
        out.append(f"```python\n{text}\n```" + (f"\n```text\n{shown}```" if shown else ""))
    return "\n\n".join(out) + "\n"


if __name__ == "__main__":
    for name, cells in (("table", TABLE), ("methods", METHODS)):
        file, text = HERE / f"{name}.ipynb", json.dumps(notebook(cells), indent=1, ensure_ascii=False) + "\n"
        if "--check" in sys.argv:
            if file.read_text(encoding="utf-8") != text:
                sys.exit(f"{file}: is not what make.py says; call it")
            rendered(cells)
            continue
        file.write_text(text, encoding="utf-8")
        if "--run" in sys.argv:
            (HERE.parents[1] / f"docs/notebook-{name}.md").write_text(rendered(cells), encoding="utf-8")
