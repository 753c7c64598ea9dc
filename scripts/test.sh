#!/usr/bin/env bash
# Installs what is missing, builds the tests of a tier and runs them:
#   scripts/test.sh              fast: what a change to any room could break, one whole run, the mechanism's mutants
#   scripts/test.sh --full       and the rest of what guards the contract: more runs, audits, ranks, faults, kills, all mutants
#   scripts/test.sh --nightly    and what takes long (scripts/nightly.sh calls it)
# --durations prints the slowest files; other arguments go to ctest, for example: scripts/test.sh -R ledger
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
start=$SECONDS

tier=fast
tiers=fast
durations=()
arguments=()
for argument in "$@"; do
    case $argument in
        --full) tier=full tiers="fast|full" ;;
        --nightly) tier=nightly tiers="fast|full|nightly" ;;
        --durations) durations=(--durations) ;;
        *) arguments+=("$argument") ;;
    esac
done
case $tier in
    fast) echo "test: some 7 to 12 minutes on two cores after the demo, half of them compiling; less where a compiler cache is filled" ;;
    full) echo "test: some 25 minutes on two cores after the demo, a third of them compiling" ;;
    nightly) echo "test: some 40 minutes on two cores after the demo" ;;
esac

"$root/scripts/setup.sh"
IFS='|' read -ra targets <<< "$tiers"
"$root/scripts/build.sh" "${targets[@]/#/tests_}"
built=$((SECONDS - start))

log=$root/build/tests/cases.tsv
rm -f "$log"
# Two tests at a time, each on one core: torch would otherwise take all cores for each. (nproc heeds OMP_NUM_THREADS.)
parallel=$(($(nproc) > 1 ? 2 : 1))
status=0
RLDP_TEST_LOG=$log ctest --test-dir "$root/build" --output-on-failure --parallel "$parallel" --label-regex "^($tiers)\$" \
    --output-junit "$root/build/tests/entries.xml" "${arguments[@]}" || status=$?
minutes() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }
echo "test: $(minutes "$built") of setting up and compiling, $(minutes $((SECONDS - start - built))) of tests"
python3 "$root/tests/summary.py" "$tier tests" "$root/build/tests/entries.xml" "$log" "${durations[@]}"
exit "$status"
