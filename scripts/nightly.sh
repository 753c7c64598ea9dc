#!/usr/bin/env bash
# Everything, however long it takes (half a day on two cores): the tests, the sanitizers, clang-tidy on all sources, fuzzing, and
# the long versions of the fault, kill, noninterference and public-files tests. What fails is named at the end.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

failed=()
try() {
    echo "nightly: $*"
    "$@" || failed+=("$*")
}

try scripts/test.sh --nightly
try scripts/lint.sh
try env RLDP_TIDY_FILES=1000 scripts/tidy.sh "$(git hash-object -t tree /dev/null)"
try scripts/sanitize.sh
try scripts/fuzz.sh 900
try scripts/kill.sh
try scripts/noninterference.sh
try scripts/fuzz_public.sh
try scripts/faults.sh
if ((${#failed[@]} > 0)); then
    printf 'nightly: FAILED: %s\n' "${failed[@]}"
    exit 1
fi
echo "nightly: all passed"
