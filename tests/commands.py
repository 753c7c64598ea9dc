#!/usr/bin/env python3
"""Every command in a fenced block of the pages is one that the program has: its subcommand, its options, the keys that it sets and
the files of this repository that it names. Those that read nothing else and take a moment are run; run_pages.py runs the others.

    commands.py RLDP
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[1]
rldp = pathlib.Path(sys.argv[1]).resolve()
here = ("config/", "docs/", "research/", "scripts/", "bench/", "tests/", "python/")  # folders whose files a page may name
instant = {"account", "calibrate"}  # of inputs that stand in the command itself


def list_pages():
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]


def list_commands(page):
    """(line number, words) of each line in a fence that calls something."""
    inside, held, first = False, "", 0
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.startswith("```"):
            inside, held = not inside, ""
            continue
        if not inside:
            continue
        first = first if held else number
        held += line.removeprefix("$ ")
        if held.endswith("\\"):
            held = held[:-1] + " "
            continue
        said, held = held.strip(), ""
        if not re.match(r"([A-Z_]+=\S+ +)*(build/rldp|rldp|scripts/|build/bench/)", said):
            continue
        for part in re.split(r" *(?:&&|;) +", re.sub(r"(^|\s)#.*", "", said)):
            try:
                words = shlex.split(part)
            except ValueError as wrong:
                yield first, [f"({wrong})"]
                continue
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words.pop(0)
            if words:
                yield first, words


helps = {}


def help_of(name):
    if name not in helps:
        said = subprocess.run([rldp, *name.split(), "--help"], capture_output=True, text=True)
        helps[name] = set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", said.stdout)) if said.returncode == 0 else None
    return helps[name]


def list_keys():
    out = set()

    def walk(schema, before):
        for name, below in schema.get("properties", {}).items():
            out.add(before + name)
            walk(below, before + name + ".")
            for choice in below.get("oneOf", below.get("anyOf", [])):
                walk(choice, before + name + ".")

    walk(json.loads((root / "config/config.schema.json").read_text()), "")
    return out


def find_faults(words, keys):
    name, *arguments = words
    if name.startswith("("):
        yield f"can't be read as words of a shell {name}"
        return
    for word in words:
        path = word.split("=", 1)[-1].strip("\"',")
        if path.startswith(here) and not re.search(r"[*<>…{\[$]|NAME|DIR", path) and not (root / path).exists():
            yield f"{path}: there is no such file"
    if name not in ("rldp", "build/rldp"):
        return
    if not arguments or arguments[0].startswith("-") or not re.fullmatch(r"[a-z][a-z-]*", arguments[0]):
        return
    if arguments[:2] == ["key", "new"]:
        arguments = ["key new", *arguments[2:]]
    command, arguments = arguments[0], arguments[1:]
    options = help_of(command)
    if options is None:
        yield f"{command}: the program has no such command"
        return
    taker = ""
    for word in arguments:
        if word.startswith("--"):
            taker = word.split("=", 1)[0]
            if taker not in options:
                yield f"{command} has no option {taker}"
        elif taker in ("--set", "--grid") and "=" in word and not re.match(r"KEY|[^=]*…", word):
            key = word.split("=", 1)[0]
            if key not in keys:
                yield f"{taker} {key}: the configuration has no such key"


def main():
    keys, faults, seen, done = list_keys(), [], 0, 0
    for page in list_pages():
        for number, words in list_commands(page):
            seen += 1
            said = [*find_faults(words, keys)]
            if not said and len(words) > 1 and words[1] in instant and not any("runs/" in word or "…" in word for word in words):
                with tempfile.TemporaryDirectory() as place:
                    run = subprocess.run([rldp, *words[1:]], cwd=root, capture_output=True, text=True, env={**os.environ, "RLDP_BOOKS": place})
                done += 1
                if run.returncode != 0:
                    said.append(f"status {run.returncode}: {run.stderr.strip()}")
            faults += [f"{page.relative_to(root)}:{number}: {shlex.join(words)[:120]}\n    {one}" for one in said]
    print("\n".join(faults))
    print(f"{seen} commands of {len(list_pages())} pages looked at, {done} of them run")
    sys.exit(1 if faults or seen == 0 or done == 0 else 0)


if __name__ == "__main__":
    main()
