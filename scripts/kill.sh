#!/usr/bin/env bash
# Builds the program and kills it 200 times at random moments of short runs, which resume each time (privacy contract §5),
# and 50 times one of several ranks. RLDP_KILLS and RLDP_RANK_KILLS change the numbers, RLDP_KILL_SEED repeats what a seed did, up to timing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/build.sh" rldp test_kill
cd "$root"
RLDP_KILLS=${RLDP_KILLS:-200} RLDP_RANK_KILLS=${RLDP_RANK_KILLS:-50} build/tests/kill/test_kill
