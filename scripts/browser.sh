#!/usr/bin/env bash
# Tests the dashboard's page in a real browser. Needs node, npm and Chromium (scripts/setup.sh --browser); without them it says what
# it skips.
#   scripts/browser.sh [PROGRAM]     by default build/rldp
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

skip() { echo "browser: skipped: $*"; exit 0; }
for program in node npm; do command -v "$program" >/dev/null || skip "$program is not installed"; done
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is not installed"
[[ $(node -p 'process.versions.node.split(".")[0] >= 18') == true ]] || skip "node $(node --version) is older than 18"

modules=$root/build/browser
if ! cmp -s "$root/tests/browser/package.json" "$modules/package.json"; then
    mkdir -p "$modules"
    cp "$root/tests/browser/package.json" "$modules/package.json.new"
    # Without a lock file, which would name the registry; versions are exact.
    (cd "$modules" && mv package.json.new package.json && npm install --no-package-lock --no-audit --no-fund --ignore-scripts) ||
        { rm -f "$modules/package.json"; skip "npm can't fetch playwright-core and axe-core"; }
fi
program=${1:-$root/build/rldp}
[[ -x $program ]] || { echo "browser: $program: build the program first: scripts/build.sh rldp" >&2; exit 1; }
RLDP_PROGRAM=$program RLDP_BROWSER_MODULES=$modules RLDP_CHROMIUM=$chromium node --test "$root/tests/browser/"
