#!/usr/bin/env python3
"""What a run of tests came to: tests/summary.py WHAT ENTRIES.xml CASES.tsv [--durations]

WHAT names the tests in the last line. ENTRIES.xml is ctest's --output-junit, CASES.tsv what test programs wrote of their cases
(tests/main.cpp). The time of each file goes to durations.tsv beside CASES.tsv; --durations prints the twenty slowest.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree

what, junit, log = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
outcomes, skipped, seconds, crashed = collections.Counter(), collections.Counter(), collections.Counter(), []

failed_files = set()
for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
    took, outcome, program, file, case, why = (line.split("\t") + [""] * 6)[:6]
    outcomes[outcome] += 1
    if outcome == "skipped":
        skipped[why] += 1
    if outcome == "failed":
        failed_files.add(f"{program}/{file}")
    seconds[f"{program}/{file}"] += float(took)

root = xml.etree.ElementTree.parse(junit).getroot()
for entry in root.iter("testcase"):
    name, status = entry.get("name"), entry.get("status")
    of_catch = re.fullmatch(r"(\w+/\w+)( full| nightly)?", name)
    if of_catch:
        if status not in ("run", "disabled") and of_catch[1] not in failed_files:
            outcomes["failed"] += 1
            crashed.append(name)
        continue
    seconds[name] += float(entry.get("time", 0))
    if status == "notrun" and entry.find("skipped") is not None and "SKIP" in entry.find("skipped").get("message", ""):
        said = re.search(r"skipped: *([^\n]*)", entry.findtext("system-out") or "")
        outcomes["skipped"] += 1
        skipped[said[1] if said else name] += 1
    else:
        outcomes["passed" if status == "run" else "failed"] += 1

slowest = seconds.most_common()
(log.parent / "durations.tsv").write_text("".join(f"{took:.2f}\t{name}\n" for name, took in slowest))
if "--durations" in sys.argv:
    print(f"the twenty slowest of {len(slowest)} files, in seconds:")
    print("".join(f"{took:8.1f}  {name}\n" for name, took in slowest[:20]), end="")
for name in crashed:
    print(f"{name}: ended without telling of a case that failed")
why = "; ".join(f"{count} x {reason}" if count > 1 else reason for reason, count in skipped.most_common())
print(f"{what}: {outcomes['passed']} passed, {outcomes['failed']} failed, {outcomes['skipped']} skipped" + (f" ({why})" if why else ""))
