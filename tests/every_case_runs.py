#!/usr/bin/env python3
"""Every case that a test program holds is run by exactly one entry of ctest's, every entry belongs to one tier and runs some
case: what looks like a test can't run nothing, and no case belongs to no tier.

    tests/every_case_runs.py BUILD_DIRECTORY TIER[,TIER…] NAME=PROGRAM…
"""
import json
import pathlib
import re
import subprocess
import sys

complaints = []
build, tiers = sys.argv[1], set(sys.argv[2].split(","))
programs = dict(argument.split("=", 1) for argument in sys.argv[3:])
shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)

entries = {}  # of a program: each entry's name and filter
for test in json.loads(shown.stdout)["tests"]:
    labels = [one for at in test.get("properties", []) if at["name"] == "LABELS" for one in at["value"]]
    if len(tiers.intersection(labels)) != 1:
        complaints.append(f"{test['name']}: belongs to no tier" if not labels else f"{test['name']}: belongs to {', '.join(labels)}")
    command = test.get("command", [])
    if len(command) == 3 and command[1] == "-#":
        entries.setdefault(pathlib.Path(command[0]).name, []).append((test["name"], command[2]))


def takes(filter, file, tags):
    """Whether Catch2 would run a case of that file and those tags under a filter of the form [#file]…[tag]…~[tag]…"""
    wanted = set(re.findall(r"(?<!~)\[([^\]]+)\]", filter))
    unwanted = set(re.findall(r"~\[([^\]]+)\]", filter))
    has = set(tags) | {"#" + file}
    return wanted <= has and not unwanted & has


cases = 0
for name, program in programs.items():
    listed = subprocess.run([program, "--cases"], capture_output=True, text=True, check=True).stdout.splitlines()
    if not listed:
        complaints.append(f"{name}: has no case")
    ran = dict.fromkeys((entry for entry, _ in entries.get(name, [])), 0)
    for line in listed:
        file, tags, case = line.split("\t", 2)
        by = [entry for entry, filter in entries.get(name, []) if takes(filter, file, re.findall(r"\[([^\]]+)\]", tags))]
        if len(by) != 1:
            complaints.append(f"{name}, {file}: '{case}' is run by " + (", ".join(by) if by else "no entry"))
        for entry in by:
            ran[entry] += 1
        cases += 1
    complaints += [f"{entry}: runs no case" for entry, count in ran.items() if count == 0]

print("\n".join(complaints) or f"{cases} cases of {len(programs)} programs, each in one entry of one tier")
sys.exit(bool(complaints) or not programs)
