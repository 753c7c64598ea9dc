#!/usr/bin/env bash
# What takes too long for every change: all tests, the sanitizers, clang-tidy, fuzzing, and the longer versions of the fault, kill,
# noninterference and public-files tests. What fails is named at the end.
#   scripts/nightly.sh           some two hours on two cores: green before an issue is closed
#   scripts/nightly.sh --long    half a day: ten to thirty times as many cases of each, and clang-tidy on every source
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
start=$SECONDS

if [[ ${1:-} == --long ]]; then
    fuzz_seconds=900 tidy_files=1000 tidy_since=$(git hash-object -t tree /dev/null)
    export RLDP_KILLS=200 RLDP_RANK_KILLS=50 RLDP_TABLES=200 RLDP_RUNS=10000 RLDP_FAULTS=10000
else
    fuzz_seconds=30 tidy_files=40 tidy_since=HEAD~10
    export RLDP_KILLS=20 RLDP_RANK_KILLS=5 RLDP_TABLES=10 RLDP_RUNS=300 RLDP_FAULTS=500
fi

failed=()
try() {
    local began=$SECONDS
    echo "nightly: $*"
    "$@" || failed+=("$*")
    echo "nightly: $* took $((SECONDS - began)) s"
}

try scripts/test.sh --nightly
try scripts/lint.sh
try env RLDP_TIDY_FILES="$tidy_files" scripts/tidy.sh "$tidy_since"
try scripts/sanitize.sh
try scripts/fuzz.sh "$fuzz_seconds"
try scripts/kill.sh
try scripts/noninterference.sh
try scripts/fuzz_public.sh
try scripts/faults.sh
if ((${#failed[@]} > 0)); then
    printf 'nightly: FAILED: %s\n' "${failed[@]}"
    exit 1
fi
echo "nightly: all passed in $(((SECONDS - start) / 60)) min"
