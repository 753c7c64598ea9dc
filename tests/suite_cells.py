#!/usr/bin/env python3
"""scripts/suite_cells.py there and back: tests/suite_cells.py SCRIPT"""
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile


def call(*arguments):
    return subprocess.run([sys.executable, sys.argv[1], *map(str, arguments)], capture_output=True, text=True)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make_grid(bed, data):
    write(bed / "grid.json", f'"{data}/bed.csv"')
    for cell in ("done", "cut"):
        run = bed / "cells" / cell
        for name in ("config.json", "metrics.jsonl", "ledger.jsonl", "report.html", "adapter/adapter_model.safetensors"):
            write(run / "public" / name, name + cell)
        write(run / "trusted/membership.json", "who")
        write(bed / "trusted/cells" / f"{cell}.time.json", "1")
    write(bed / "cells/done/public/summary.json", "{}")


def list_files(folder):
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())


def main():
    with tempfile.TemporaryDirectory() as scratch:
        here = pathlib.Path(scratch)
        make_grid(here / "out/bed", here / "data")
        archive = here / "kept.tar.xz"
        assert call("pack", here / "out", archive, "--place", f"beds={here / 'data'}").stdout == "1 cells\n"
        with tarfile.open(archive) as kept:
            assert str(here) not in kept.extractfile("bed/grid.json").read().decode()
        # Elsewhere, where the data lie in another place; what is there already stays.
        write(here / "back/bed/cells/done/public/config.json", "mine")
        assert call("unpack", here / "back", archive, "--place", "beds=/elsewhere").stdout == "1 cells\n"
        wanted = ["config.json", "ledger.jsonl", "metrics.jsonl", "summary.json"]
        assert list_files(here / "back/bed") == [*(f"cells/done/public/{name}" for name in wanted), "grid.json", "trusted/cells/done.time.json"]
        assert (here / "back/bed/grid.json").read_text() == '"/elsewhere/bed.csv"'
        assert (here / "back/bed/cells/done/public/config.json").read_text() == "mine"
        with tarfile.open(archive, "w:xz") as hostile:
            about = tarfile.TarInfo("../escaped")
            about.size = 1
            hostile.addfile(about, io.BytesIO(b"x"))
        refused = call("unpack", here / "back", archive)
        assert refused.returncode == 1 and "is no file below" in refused.stderr and not (here / "escaped").exists()


if __name__ == "__main__":
    main()
