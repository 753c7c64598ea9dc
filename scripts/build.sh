#!/usr/bin/env bash
# Configures build/ and builds the targets named (all of them by default). Further options for CMake: environment variable
# RLDP_CMAKE_OPTIONS. A downloaded LibTorch is found through CMAKE_PREFIX_PATH.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# One compiler process takes up to 2 GB where it reads torch's headers.
memory_gb=$(($(awk '/MemAvailable/ {print $2}' /proc/meminfo) / 1000000))
jobs=$((memory_gb / 2 < $(nproc) ? memory_gb / 2 : $(nproc)))

generator=()
[[ -f $root/build/CMakeCache.txt ]] || generator=(-G Ninja)
read -ra options <<< "${RLDP_CMAKE_OPTIONS:-}"
cmake -S "$root" -B "$root/build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release "${options[@]}"
cmake --build "$root/build" --parallel "$((jobs > 0 ? jobs : 1))" --target "${@:-all}"
