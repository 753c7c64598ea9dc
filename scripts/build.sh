#!/usr/bin/env bash
# Configures build/ and builds the targets named (all of them by default). Further options for CMake: environment variable
# RLDP_CMAKE_OPTIONS. A downloaded LibTorch is found through CMAKE_PREFIX_PATH.
#   scripts/build.sh --cuda [TARGETS…]        in build-cuda/, with the LibTorch and the toolkit that scripts/setup.sh --cuda found
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build=$root/build
options=()
if [[ ${1:-} == --cuda ]]; then
    shift
    build=$root/build-cuda
    # shellcheck source=scripts/cuda.sh
    . "$root/scripts/cuda.sh"
    if ! { libtorch=$(cuda_libtorch) && version=$(cuda_of "$libtorch") && toolkit=$(cuda_toolkit "$version"); }; then
        echo "build: no LibTorch with CUDA and a toolkit of its version here; call scripts/setup.sh --cuda" >&2
        exit 1
    fi
    export CMAKE_PREFIX_PATH=$libtorch${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH} CUDA_HOME=$toolkit
    options=(-DCUDA_TOOLKIT_ROOT_DIR="$toolkit" -DCMAKE_CUDA_COMPILER="$toolkit/bin/nvcc")
fi

# One compiler process takes up to 2 GB where it reads torch's headers.
memory_gb=$(($(awk '/MemAvailable/ {print $2}' /proc/meminfo) / 1000000))
jobs=$((memory_gb / 2 < $(nproc) ? memory_gb / 2 : $(nproc)))

generator=()
[[ -f $build/CMakeCache.txt ]] || generator=(-G Ninja)
read -ra more <<< "${RLDP_CMAKE_OPTIONS:-}"
options+=("${more[@]}")
cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release "${options[@]}"
cmake --build "$build" --parallel "$((jobs > 0 ? jobs : 1))" --target "${@:-all}"
