#!/usr/bin/env bash
# Noninterference at length (docs/privacy.md §11): 200 random configurations of every method, each on a random table and on
# about ten others that no one may tell from it. RLDP_TABLES changes the number, RLDP_SEED the tables.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/build.sh" test_noninterference
cd "$root"
# Runs write each step to disk; in memory that takes no time.
scratch=/dev/shm
[[ -w $scratch ]] || scratch=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d -p "$scratch" rldp-public-XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
OMP_NUM_THREADS=1 RLDP_TABLES=${RLDP_TABLES:-200} RLDP_SEED=${RLDP_SEED:-$RANDOM} build/tests/noninterference/test_noninterference \
    "nothing public tells random tables of random configurations apart"
