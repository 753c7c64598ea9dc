#!/usr/bin/env bash
# Sourced by setup.sh and build.sh: where a LibTorch with CUDA and a toolkit of its CUDA lie. Used, in this order, are
#   LibTorch: one that CMAKE_PREFIX_PATH names; PyTorch in .cuda/python, which setup.sh --cuda puts there where python3 has none; python3's
#   toolkit:  CUDA_HOME; that of nvcc on the PATH; /usr/local/cuda; .cuda/toolkit, which setup.sh --cuda makes where there is no other
cuda_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.cuda

# Whether a directory of CMAKE_PREFIX_PATH (separated by : or ;) holds a LibTorch; prints it.
own_libtorch() {
    local prefixes prefix
    IFS=':;' read -ra prefixes <<< "${CMAKE_PREFIX_PATH:-}"
    for prefix in "${prefixes[@]}"; do
        if [[ -f $prefix/share/cmake/Torch/TorchConfig.cmake ]]; then
            echo "$prefix"
            return 0
        fi
    done
    return 1
}

# PyTorch with CUDA and the C++ ABI of the distribution's libraries (2.6 and later): prints its directory.
python_libtorch() {  # PYTHON
    command -v "$1" >/dev/null && "$1" -c 'import os, sys, torch
if not torch.version.cuda or not torch.compiled_with_cxx11_abi(): sys.exit(1)
print(os.path.dirname(torch.__file__))' 2>/dev/null
}

cuda_libtorch() {
    own_libtorch || python_libtorch "$cuda_root/python/bin/python" || python_libtorch python3
}

# The CUDA that a LibTorch was built with, as 13.0: a file of PyTorch's names it, and one of an unpacked LibTorch's.
cuda_of() {  # LIBTORCH
    sed -n "s/^cuda: .*'\([0-9.]*\)'$/\1/p" "$1/version.py" 2>/dev/null | grep . ||
        sed -n 's/.*+cu\([0-9]*\)\([0-9]\)$/\1.\2/p' "$1/build-version" 2>/dev/null | grep .
}

nvcc_version() { "$1" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p'; }

# A toolkit of the same major version; prints its directory.
cuda_toolkit() {  # VERSION
    local nvcc place
    nvcc=$(command -v nvcc || true)
    for place in "${CUDA_HOME:-}" "${nvcc%/bin/nvcc}" /usr/local/cuda "$cuda_root/toolkit"; do
        [[ -n $place && -x $place/bin/nvcc ]] || continue
        [[ $(nvcc_version "$place/bin/nvcc") == "${1%%.*}".* ]] || continue
        echo "$place"
        return 0
    done
    return 1
}
