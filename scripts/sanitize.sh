#!/usr/bin/env bash
# All tests under the address and undefined-behaviour sanitizers, then, where CAF_SOURCE names CAF's sources, the tests of
# actors, servers, models and the mechanism under the thread sanitizer.
# Arguments go to both ctest calls.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=${JOBS:-2}

build() {  # PRESET TARGETS…
    (cd "$root" && cmake --preset "$1" && cmake --build "build-$1" --parallel "$jobs" --target "${@:2}")
}

export OMP_NUM_THREADS=1
# The library of faults is preloaded before the sanitizer's own.
export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:verify_asan_link_order=0
export LSAN_OPTIONS=suppressions=$root/scripts/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=suppressions=$root/scripts/ubsan.supp:print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=suppressions=$root/scripts/tsan.supp:halt_on_error=1

build asan all
ctest --test-dir "$root/build-asan" --output-on-failure -j "$jobs" "$@"

# Messages synchronise inside CAF: unless CAF itself is instrumented, every value that crosses between actors looks like a race.
if [[ -z ${CAF_SOURCE:-} ]]; then
    echo "sanitize: the thread sanitizer was left out; set CAF_SOURCE to CAF's sources (apt-get source libcaf-dev)" >&2
    exit 0
fi
caf=$root/build-tsan/caf
[[ -f $caf/CMakeCache.txt ]] || cmake -S "$CAF_SOURCE" -B "$caf" -G Ninja -DCAF_NO_EXAMPLES=ON -DCAF_NO_UNIT_TESTS=ON \
    -DCAF_NO_TOOLS=ON -DCAF_NO_OPENSSL=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
    -DCMAKE_CXX_FLAGS="-fsanitize=thread -g1 -include limits"
cmake --build "$caf" --parallel "$jobs" --target libcaf_core_shared
build tsan test_actors test_pipeline test_ranks test_audit test_monitor test_http test_models test_mechanism
export OMP_NUM_THREADS=2  # tests/support/parallel_regions.cpp shows the sanitizer each parallel region
tsan() {  # TESTS ARGUMENTS…
    # GCC 12's thread sanitizer can't start where the kernel randomises addresses by more than 28 bits.
    LD_LIBRARY_PATH=$caf/lib setarch "$(uname -m)" -R \
        ctest --test-dir "$root/build-tsan" --output-on-failure -j "$jobs" -R "^test_($1)/" "${@:2}"
}
tsan 'actors|pipeline|ranks|audit|monitor|http|models|mechanism' "$@"
