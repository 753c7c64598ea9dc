#!/usr/bin/env bash
# Fuzzes the readers of files from outside under the address and undefined-behaviour sanitizers, each for so many seconds:
#   scripts/fuzz.sh [SECONDS [TARGETS…]]        by default 20 seconds each of all: safetensors model_config tokenizer adapter
# Corpus, logs and what was found stay in build-fuzz/. Needs clang with libFuzzer; without them nothing is done.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${1:-20}
build=$root/build-fuzz
targets=("${@:2}")
((${#targets[@]} > 0)) || targets=(safetensors model_config tokenizer adapter)
longest=65536  # bytes of an input

skip() { echo "fuzz: skipped: $*"; exit 0; }
command -v clang++ >/dev/null || skip "clang is not installed"
clang++ -fsanitize=fuzzer,address,undefined -x c++ -o /dev/null - 2>/dev/null \
    <<< 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' ||
    skip "clang comes without libFuzzer (on Debian: libclang-rt-dev)"

generator=()
[[ -f $build/CMakeCache.txt ]] || generator=(-G Ninja)
# clang refuses a precompiled header, and so one from ccache, whose headers have other times by now.
export CCACHE_DISABLE=1
cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_CXX_COMPILER=clang++ -DRLDP_FUZZ=ON -DRLDP_TESTS=OFF -DRLDP_BENCH=OFF \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1
parallel=$(($(nproc) > 1 ? 2 : 1))
cmake --build "$build" --parallel "$parallel" --target "${targets[@]/#/fuzz_}"

# Small files to start from: the project's own, and where they are present those of the tests.
small_files() {  # PATTERN
    local directory
    for directory in "$root/tests/fuzz/seeds" "$root/config" "${RLDP_GOLDEN:-$root/../shared/golden/models}" "$root/../shared/data"; do
        [[ ! -d $directory ]] || find "$directory" -name "$1" -type f -size "-$((longest + 1))c"
    done
}
# Takes standard input as a seed.
seed() {  # TARGET
    local bytes=$build/seeds/$1/new
    cat > "$bytes"
    mv "$bytes" "$build/seeds/$1/$(sha1sum "$bytes" | cut -d ' ' -f 1)"
}
rm -rf "$build/seeds"
for target in safetensors model_config tokenizer adapter; do mkdir -p "$build/seeds/$target" "$build/corpus/$target" "$build/found"; done
small_files '*.safetensors' | while read -r file; do seed safetensors < "$file"; done
small_files config.json | while read -r file; do seed model_config < "$file"; done
small_files 'tokenizer*.json' | while read -r file; do seed tokenizer < "$file"; done
small_files adapter_config.json | while read -r file; do
    size=$(stat -c %s "$file")
    # shellcheck disable=SC2059  # the format is two bytes, little-endian
    { printf "$(printf '\\x%02x\\x%02x' $((size & 255)) $((size >> 8)))"; cat "$file" "${file%config.json}model.safetensors"; } | seed adapter
done

scratch=/dev/shm
[[ -w $scratch ]] || scratch=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d -p "$scratch" rldp-fuzz-XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
export OMP_NUM_THREADS=1
export ASAN_OPTIONS=strict_string_checks=1:quarantine_size_mb=16
export LSAN_OPTIONS=suppressions=$root/scripts/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=suppressions=$root/scripts/ubsan.supp:print_stacktrace=1:halt_on_error=1

# One allocation may take what tests/fuzz/reading.cpp grants the longest input in all; of the process, torch takes most.
fuzz() {  # TARGET
    local outcome="nothing found"
    "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -max_len="$longest" -timeout=10 -malloc_limit_mb=9 -rss_limit_mb=1024 \
        -print_final_stats=1 -artifact_prefix="$build/found/$1-" "$build/corpus/$1" "$build/seeds/$1" > "$build/$1.log" 2>&1 ||
        outcome="FAILED: $(grep -a -m 1 -E '^fuzz: |ERROR: |runtime error: ' "$build/$1.log" | LC_ALL=C tr -c '[:print:]\n' '?'); see build-fuzz/$1.log"
    local executions coverage
    executions=$(LC_ALL=C sed -n 's/^stat::number_of_executed_units: *//p' "$build/$1.log")
    coverage=$(grep -a -o 'cov: [0-9]*' "$build/$1.log" | tail -n 1)
    echo "fuzz: $1: ${executions:-unknown} executions, ${coverage:-cov: none}, $outcome" > "$build/$1.outcome"
}
for target in "${targets[@]}"; do
    while (($(jobs -rp | wc -l) >= parallel)); do wait -n; done
    fuzz "$target" &
done
wait
outcomes=("${targets[@]/%/.outcome}")
cd "$build"
cat "${outcomes[@]}"
! grep -q FAILED "${outcomes[@]}"
