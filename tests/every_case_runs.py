#!/usr/bin/env python3
"""Every case that a test program lists is an entry of ctest's, and every entry is a case.

A name with a semicolon, for example, falls apart in CMake's lists: ctest then runs pieces of it, which match nothing.
Usage: every_case_runs.py BUILD_DIRECTORY PREFIX=PROGRAM...
"""
import json
import subprocess
import sys


def listed(program):
    """The names of a program's cases, as Catch2 2 (--list-test-names-only) or 3 (--list-tests) prints them."""
    for option in (["--list-test-names-only"], ["--list-tests", "--verbosity", "quiet"]):
        done = subprocess.run([program, *option], capture_output=True, text=True)
        names = [line for line in done.stdout.splitlines() if line.strip()]
        if names and not done.stderr:
            return [name.strip() for name in names]
    sys.exit(f"{program}: lists no case")


def main():
    build, programs = sys.argv[1], [argument.split("=", 1) for argument in sys.argv[2:]]
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    entries = [test["name"] for test in json.loads(shown.stdout)["tests"]]
    wrong = cases = 0
    for prefix, program in programs:
        expected = sorted(listed(program))
        found = sorted(entry.split(":", 1)[1].strip() for entry in entries if entry.startswith(f"{prefix}:"))
        cases += len(expected)
        for name in sorted(set(expected) ^ set(found)):
            print(("not an entry of ctest: " if name in expected else "no case of the program: ") + f"{prefix}: {name}")
            wrong += 1
        if len(expected) != len(found):
            print(f"{prefix}: {len(expected)} cases, {len(found)} entries")
            wrong += 1
    print(f"{cases} cases in {len(programs)} programs, {wrong} differences")
    return 1 if wrong or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
