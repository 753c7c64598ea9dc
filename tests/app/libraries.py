#!/usr/bin/env python3
"""What a program has loaded: one OpenMP, and of libstdc++'s symbols none from a library of LibTorch's, which exports old copies of some
(cmake/LibTorch.cmake).   libraries.py PROGRAM ARGUMENTS…"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def loaded(command):
    """What ld.so says of it: the paths of its libraries, and (file that has it, symbol) of each symbol that was bound."""
    with tempfile.TemporaryDirectory() as scratch:
        said = pathlib.Path(scratch, "ld")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "LD_DEBUG": "libs,bindings", "LD_BIND_NOW": "1", "LD_DEBUG_OUTPUT": said})
        text = "".join(each.read_text(errors="replace") for each in pathlib.Path(scratch).iterdir())
    return set(re.findall(r"calling init: (\S+)", text)), re.findall(r"binding file \S+ \[\d+\] to (\S+) \[\d+\]: normal symbol `(\w+)'", text)


def symbols_of(library):
    said = subprocess.run(["nm", "--dynamic", "--defined-only", "--format=posix", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[0].split("@")[0] for line in said.splitlines()}


libraries, bindings = loaded(sys.argv[1:])
named = lambda pattern: [path for path in sorted(libraries) if re.match(pattern, pathlib.Path(path).name)]
standard, openmp = named(r"libstdc\+\+\.so"), named(r"lib(gomp|omp|iomp5)[-.]")
if len(standard) != 1 or not named(r"libtorch_cpu\.so") or len(bindings) < 10000:
    sys.exit(f"libraries: not understood: {len(bindings)} symbols of {sorted(libraries)}")
own = symbols_of(standard[0])
strange = {f"{symbol} of {path}" for path, symbol in bindings
           if symbol in own and re.match(r"lib(torch|c10)", pathlib.Path(path).name)}
for line in sorted(strange):
    print(f"libraries: bound elsewhere than to {standard[0]}: {line}")
if len(openmp) != 1:
    print(f"libraries: more or less than one OpenMP: {openmp}")
sys.exit(bool(strange) or len(openmp) != 1)
