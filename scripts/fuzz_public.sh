#!/usr/bin/env bash
# Searches all that 10,000 random small runs show (public files, both streams) for words and token sequences of their records,
# in as many processes as there are cores. RLDP_RUNS changes the number, RLDP_SEED the tables.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
processes=$(nproc)
each=$(((${RLDP_RUNS:-10000} + processes - 1) / processes))
seed=${RLDP_SEED:-$RANDOM}

"$root/scripts/build.sh" test_public_files
cd "$root"
# Runs write each step to disk; in memory that takes no time.
scratch=/dev/shm
[[ -w $scratch ]] || scratch=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d -p "$scratch" rldp-public-XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
searches=()
for ((i = 0; i < processes; ++i)); do
    OMP_NUM_THREADS=1 RLDP_RUNS=$each RLDP_SEED=$((seed + i)) build/tests/noninterference/test_public_files \
        "no word of a record and no four of its tokens stand in anything public" &
    searches+=($!)
done
failed=0
for search in "${searches[@]}"; do wait "$search" || failed=1; done
exit "$failed"
