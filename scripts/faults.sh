#!/usr/bin/env bash
# Plays 10,000 cases of faults against the program (docs/reliability.md) and prints what came of each class. Called again it
# goes on where it was cut: cases in the file of results are not played again. RLDP_FAULTS changes the number,
# RLDP_FAULT_SEED the faults, RLDP_FAULT_RESULTS the file. One case again, its files kept:
#   build/tests/faults/faults --program build/rldp --shim build/tests/faults/librldp_faults_shim.so --sources . \
#       --seed SEED --first CASE --cases 1 --keep
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/build.sh" rldp faults rldp_faults_shim
cd "$root"
seed=${RLDP_FAULT_SEED:-1}
results=${RLDP_FAULT_RESULTS:-build/faults-$seed.tsv}
# Runs write each step to disk; in memory that takes no time.
scratch=/dev/shm
[[ -w $scratch ]] || scratch=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d -p "$scratch" rldp-faults-XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
RLDP_FAULTS=${RLDP_FAULTS:-10000} RLDP_FAULT_SEED=$seed build/tests/faults/faults --program build/rldp \
    --shim build/tests/faults/librldp_faults_shim.so --sources . --results "$results" "$@"
