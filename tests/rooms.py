#!/usr/bin/env python3
"""A room sees only what it names: every header that a source includes belongs to its own target, to base, or to
a target on the link line, and a library names no room in vain. Tests and benchmarks also see what those reach. Every
source of a folder stands in its CMakeLists.txt. The first picture of docs/architecture.md has an arrow for each of
those dependencies between the rooms that it shows, and for nothing else.

    tests/rooms.py SOURCES
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
rooms = ["base", "config", "data", "models", "privacy", "rl", "eval", "run", "messages", "monitor", "actors", "app", "bench", "tests"]
complaints = []


class target:
    def __init__(self, kind, name, folder, arguments):
        words = arguments.split()
        self.kind, self.name, self.folder = kind, name, folder
        self.sources, self.depends = [], []
        into = None
        for word in words:
            if word in ("SOURCES", "DEPENDS", "PRIVATE"):
                into = self.sources if word == "SOURCES" else self.depends
            elif word not in ("TORCH", "HOT") and into is not None:
                into.append(word)


def targets_of(listing):
    text = re.sub(r"#.*", "", listing.read_text())
    for call in re.finditer(r"rldp_(library|test|bench|fuzz_target)\((\w+)([^()]*(?:\$<[^()]*>[^()]*)*)\)", text):
        kind, name, arguments = call.groups()
        if kind == "fuzz_target":
            arguments = f"SOURCES {name}.cpp " + arguments
        yield target(kind, name, listing.parent, arguments)
    for call in re.finditer(r"add_library\((\w+) INTERFACE\)", text):
        yield target("headers", call[1], listing.parent, "")
    for call in re.finditer(r"add_executable\(([\w-]+) ([^()$]*)\)", text):
        yield target("other", call[1], listing.parent, "SOURCES " + call[2])
    for call in re.finditer(r"add_library\((\w+) (?:SHARED|OBJECT|STATIC) ([^()$]*)\)", text):
        yield target("other", call[1], listing.parent, "SOURCES " + call[2])


listings = [root / "CMakeLists.txt"] + [path for room in rooms for path in sorted((root / room).rglob("CMakeLists.txt"))]
targets = {}
for listing in listings:
    for found in targets_of(listing):
        targets[found.name] = found
for listing in listings:
    for call in re.finditer(r"target_link_libraries\(([\w-]+) (?:PRIVATE|PUBLIC|INTERFACE) ([^()]*)\)", listing.read_text()):
        if call[1] in targets:
            targets[call[1]].depends += call[2].split()


def reached(name):
    seen, open_ = set(), [name]
    while open_:
        one = open_.pop()
        if one in targets and one not in seen:
            seen.add(one)
            open_ += targets[one].depends
    return seen


libraries = {}
for one in targets.values():
    if one.folder.relative_to(root).parts[:1] not in (("tests",), ("bench",), ()):
        libraries.setdefault(one.folder, one.name)  # the library, before the program made of it


def owner(path):
    """The target of the nearest folder above that is one."""
    for folder in path.parents:
        if folder in libraries:
            return libraries[folder]
        if folder == root:
            return None


listed = set()
for one in targets.values():
    strict = not one.folder.is_relative_to(root / "tests") and not one.folder.is_relative_to(root / "bench")
    may = {one.name, "rldp_base", *one.depends} if strict else reached(one.name)
    used = set()
    for source in one.sources:
        path = (one.folder / source.replace("${PROJECT_SOURCE_DIR}/", str(root) + "/")).resolve()
        if not path.suffix == ".cpp" or not path.exists():
            continue
        listed.add(path)
        todo, seen = [path], set()
        while todo:  # its own headers, wherever they lie in its folder, speak for it
            file = todo.pop()
            if file in seen:
                continue
            seen.add(file)
            for name in re.findall(r'#include "([^"]+)"', file.read_text()):
                header = root / name
                if not header.exists():
                    continue
                holder = owner(header)
                if holder is None or holder == one.name:
                    todo.append(header)
                    continue
                used.add(holder)
                if holder not in may:
                    complaints.append(f"{file.relative_to(root)} includes {name} of {holder}, which {one.name} does not name")
    if strict and one.kind == "library":
        for name in one.depends:
            if name in targets and name not in used and targets[name].sources and targets[name].folder != one.folder:
                complaints.append(f"{one.name} names {name}, of which it includes nothing")

for room in rooms:
    for path in sorted((root / room).rglob("*.cpp")):
        if path.resolve() not in listed and not re.search(r"/(leaks)/|test_hooks", str(path)):
            complaints.append(f"{path.relative_to(root)} is in no target")

picture = re.search(r"```mermaid\n(flowchart TB.*?)```", (root / "docs/architecture.md").read_text(), re.S)[1]
shown = dict(re.findall(r'(\w+)\["([^"]+)"\]', picture))
arrows = {name: set() for name in shown}
for line in picture.splitlines():
    if "-->" in line:
        tail, heads = re.sub(r'\["[^"]*"\]', "", line).split("-->")
        arrows[tail.strip()] |= {head.strip() for head in heads.split("&")}


def below(name):
    return arrows[name] | {room for one in arrows[name] for room in below(one)}


inside = {name: {one for one in targets if targets[one].folder == root / folder} for name, folder in shown.items()}
for name in shown:
    found = {one for target_of in inside[name] for one in reached(target_of)}
    named = {one for target_of in inside[name] for one in targets[target_of].depends}
    for other in set(shown) - {name}:
        if other in arrows[name] and not inside[other] & found:
            complaints.append(f"docs/architecture.md: no dependency leads from {shown[name]} to {shown[other]}")
        if inside[other] & named and other not in below(name):
            complaints.append(f"docs/architecture.md: {shown[name]} depends on {shown[other]}, and no arrow says so")

print("\n".join(sorted(set(complaints))) or f"{len(targets)} targets see only what they name")
sys.exit(bool(complaints))
