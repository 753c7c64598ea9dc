#!/usr/bin/env bash
# Formatting of every source, shellcheck of every script, the files that sanitizers' suppressions name, and what pages say. Tools that are missing are named and left out, and so are versions of
# clang-format that would lay out other lines; with RLDP_NOTHING_SKIPPED=1 that is a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
skip() { echo "lint: skipped $*"; [[ -z ${RLDP_NOTHING_SKIPPED:-} ]] || failed=1; }
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    git ls-files '*.cpp' '*.hpp' | xargs clang-format --dry-run -Werror || failed=1
else
    skip "formatting: clang-format 14 is not installed"
fi
if command -v shellcheck >/dev/null; then
    git ls-files '*.sh' .ci/run | xargs shellcheck -x || failed=1
else
    skip "scripts: shellcheck is not installed"
fi
# Pictures that are not what their sources make.
python3 scripts/pictures.py --check || failed=1
# A suppression of a file that was renamed says nothing any more.
while read -r file; do
    [[ -f $file ]] || { echo "lint: a suppression names $file, which is not there"; failed=1; }
done < <(sed -n 's/^[a-z]*:\(.*\/.*\.cpp\)$/\1/p' scripts/*.supp)
# Long sentences, words that nobody explains, dead links and citations of what is not there.
python3 scripts/words.py || failed=1
exit "$failed"
