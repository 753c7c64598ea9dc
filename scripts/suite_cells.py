#!/usr/bin/env python3
"""Keeps what a suite has measured, in a file that can be gone on from elsewhere: figures of every cell, no weights and no records.
    scripts/suite_cells.py pack runs/suite research/evidence/suite.tar.xz --place beds=beds --place model=path/to/stories260K
    scripts/suite_cells.py unpack runs/suite research/evidence/suite.tar.xz --place beds=beds --place model=path/to/stories260K
Paths of this machine stand in the file as their places' names. `rldp suite FILE --out runs/suite` goes on with what was unpacked."""
import argparse
import io
import os
import pathlib
import sys
import tarfile

OF_GRID = {"grid.json", "progress.json"}
OF_RUN = {"config.json", "certificate.json", "summary.json", "metrics.jsonl", "ledger.jsonl", "held_out.json", "template.json"}


def is_kept(path):
    """A path below a bed: of its grid, of its cells' notes, of a run."""
    parts = path.parts
    if len(parts) == 1:
        return parts[0] in OF_GRID
    if parts[:2] == ("trusted", "cells"):
        return len(parts) == 3 and path.suffix == ".json"
    return parts[0] == "cells" and len(parts) == 4 and ".partial" not in parts[1] and parts[3] in OF_RUN


def list_ended(bed):
    """Names of cells that have a summary: a run that was cut goes on nowhere else."""
    return {one.name for one in (bed / "cells").glob("*") if (one / "public/summary.json").exists()}


def name_of(place):
    return f"<{place}>"


def pack(out, archive, places):
    cells = 0
    with tarfile.open(archive, "w:xz", preset=9) as kept:
        for bed in sorted(one for one in out.iterdir() if (one / "grid.json").exists()):
            ended = list_ended(bed)
            cells += len(ended)
            for file in sorted(one for one in bed.rglob("*") if one.is_file()):
                path = file.relative_to(bed)
                if not is_kept(path) or (path.parts[0] == "cells" and path.parts[1] not in ended):
                    continue
                if path.parts[0] == "trusted" and file.name.split(".")[0] not in ended:
                    continue
                text = file.read_text()
                for place, there in places.items():
                    text = text.replace(there, name_of(place))
                about = tarfile.TarInfo(f"{bed.name}/{path.as_posix()}")
                about.size = len(text.encode())
                kept.addfile(about, io.BytesIO(text.encode()))
    return cells


def unpack(out, archive, places):
    cells = 0
    with tarfile.open(archive) as kept:
        for one in kept:
            path = out / one.name
            if not one.isfile() or not path.resolve().is_relative_to(out.resolve()):
                sys.exit(f"{archive}: {one.name} is no file below {out}; use an archive of pack")
            if path.exists():
                continue
            text = kept.extractfile(one).read().decode()
            for place, there in places.items():
                text = text.replace(name_of(place), there)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            cells += path.name == "summary.json"
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pack", "unpack"])
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="of rldp suite")
    parser.add_argument("archive", type=pathlib.Path, metavar="FILE.tar.xz")
    parser.add_argument("--place", action="append", default=[], metavar="NAME=DIR", help="a directory that configurations name, repeatable")
    asked = parser.parse_args()
    places = dict(one.split("=", 1) for one in asked.place)
    places = {name: os.path.abspath(there) for name, there in places.items()}
    done = {"pack": pack, "unpack": unpack}[asked.what](asked.out, asked.archive, places)
    print(f"{done} cells")


if __name__ == "__main__":
    main()
