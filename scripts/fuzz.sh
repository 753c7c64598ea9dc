#!/usr/bin/env bash
# Fuzzes the readers of what comes from outside under the address and undefined-behaviour sanitizers, each for so many
# seconds:
#   scripts/fuzz.sh [SECONDS [TARGETS…]]        by default 20 seconds each of all targets of tests/fuzz/CMakeLists.txt
# It begins with tests/fuzz/seeds, written by hand, and tests/fuzz/corpora, found earlier. What it reaches beyond, logs
# and what was found stay in build-fuzz/;
#   RLDP_FUZZ_KEEP=1 scripts/fuzz.sh …          also packs the fewest small inputs that reach it all into tests/fuzz/corpora
# Needs clang with libFuzzer; without them nothing is done, and with RLDP_NOTHING_SKIPPED=1 that is a failure.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${1:-20}
build=$root/build-fuzz
mapfile -t all < <(sed -n 's/^rldp_fuzz_target(\([a-z_]*\) .*/\1/p' "$root/tests/fuzz/CMakeLists.txt")
targets=("${@:2}")
((${#targets[@]} > 0)) || targets=("${all[@]}")
longest=65536  # bytes of an input

skip() {
    echo "fuzz: skipped: $*"
    [[ -z ${RLDP_NOTHING_SKIPPED:-} ]] || exit 1
    exit 0
}
command -v clang++ >/dev/null || skip "clang is not installed"
clang++ -fsanitize=fuzzer,address,undefined -x c++ -o /dev/null - 2>/dev/null \
    <<< 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' ||
    skip "clang comes without libFuzzer (on Debian: libclang-rt-dev)"

# clang refuses a precompiled header, and so one from ccache, whose headers have other times by now.
export CCACHE_DISABLE=1
(cd "$root" && cmake --preset fuzz)
parallel=$(($(nproc) > 1 ? 2 : 1))
cmake --build "$build" --parallel "$parallel" --target "${targets[@]/#/fuzz_}"

# Beside the seeds: what was found earlier, small files of the project's own, and where they are present those of the tests.
small_files() {  # TARGET PATTERN DIRECTORIES…
    { find "${@:3}" -name "$2" -type f -size "-$((longest + 1))c" 2>/dev/null || true; } |
        while read -r file; do cp "$file" "$build/seeds/$1/$(sha1sum "$file" | cut -d ' ' -f 1)"; done
}
rm -rf "$build/seeds"
corpora=$root/tests/fuzz/corpora
for target in "${all[@]}"; do
    mkdir -p "$build"/{seeds,corpus}/"$target" "$build/found"
    [[ ! -e $corpora/$target.tar.xz ]] || tar -C "$build/seeds/$target" -xf "$corpora/$target.tar.xz"
done
models=("$root/config" "${RLDP_GOLDEN:-$root/../shared/golden/models}" "$root/../shared/golden/models_next" "$root/../shared/data")
small_files config '*.json' "$root/config" -maxdepth 1
small_files template 'narrative-*.json' "$root/config"
small_files safetensors '*.safetensors' "${models[@]}"
small_files sharded_index '*.safetensors.index.json' "${models[@]}"
small_files model_config config.json "${models[@]}"
small_files tokenizer 'tokenizer*.json' "${models[@]}"
small_files sentencepiece tokenizer.model "${models[@]}"

scratch=/dev/shm
[[ -w $scratch ]] || scratch=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d -p "$scratch" rldp-fuzz-XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
export OMP_NUM_THREADS=1
export ASAN_OPTIONS=strict_string_checks=1:quarantine_size_mb=16
export LSAN_OPTIONS=suppressions=$root/scripts/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=suppressions=$root/scripts/ubsan.supp:print_stacktrace=1:halt_on_error=1

# Beyond the seeds: of all that was found the fewest small inputs that cover it. Archives of equal files are equal.
keep() {  # TARGET
    local found=$build/kept/$1 chosen=$build/chosen/$1
    rm -rf "$found" "$chosen"
    mkdir -p "$found" "$chosen"
    find "$build/corpus/$1" "$build/seeds/$1" -type f -size -1025c -exec cp -t "$found" {} +
    cp "$root/tests/fuzz/seeds/$1"/* "$chosen"
    "$build/tests/fuzz/fuzz_$1" -set_cover_merge=1 -max_len=1024 "$chosen" "$found" > "$build/$1.keep.log" 2>&1
    for seed in "$root/tests/fuzz/seeds/$1"/*; do rm "$chosen/${seed##*/}"; done
    tar -C "$chosen" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cJf "$corpora/$1.tar.xz" .
}

# One allocation may take what tests/fuzz/reading.cpp grants the longest input in all; of the process, torch takes most.
fuzz() {  # TARGET
    local outcome="nothing found"
    "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -max_len="$longest" -timeout=10 -malloc_limit_mb=9 -rss_limit_mb=1024 \
        -print_final_stats=1 -artifact_prefix="$build/found/$1-" "$build/corpus/$1" "$build/seeds/$1" "$root/tests/fuzz/seeds/$1" > "$build/$1.log" 2>&1 ||
        outcome="FAILED: $(grep -a -m 1 -E '^fuzz: |ERROR: |runtime error: ' "$build/$1.log" | LC_ALL=C tr -c '[:print:]\n' '?'); see build-fuzz/$1.log"
    local executions coverage
    executions=$(LC_ALL=C sed -n 's/^stat::number_of_executed_units: *//p' "$build/$1.log")
    coverage=$(grep -a -o 'cov: [0-9]*' "$build/$1.log" | tail -n 1)
    [[ -z ${RLDP_FUZZ_KEEP:-} || $outcome == FAILED* ]] || keep "$1"
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
