#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. Arguments go to ctest, for example: scripts/test.sh -R ledger
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/setup.sh"
"$root/scripts/build.sh"
# Two tests at a time, each on one core: torch would otherwise take all cores for each. (nproc heeds OMP_NUM_THREADS.)
parallel=$(($(nproc) > 1 ? 2 : 1))
OMP_NUM_THREADS=1 ctest --test-dir "$root/build" --output-on-failure --parallel "$parallel" "$@"
