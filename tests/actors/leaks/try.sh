#!/usr/bin/env bash
# Whether a source builds, or fails for the reason it is meant to fail for:
#   try.sh builds|fails REASON SOURCE INCLUDE_DIRECTORY[,…] COMPILER FLAGS…
set -euo pipefail
expected=$1 reason=$2 source=$3
IFS=, read -ra includes <<< "$4"
outcome=builds
said=$(LC_ALL=C "${@:5}" "${includes[@]/#/-I}" -fsyntax-only "$source" 2>&1) || outcome=fails
[[ $outcome == "$expected" ]] && { [[ $outcome == builds ]] || grep -qE "$reason" <<< "$said"; } && exit 0
printf 'should be one that %s (%s); it %s:\n%s\n' "$expected" "$reason" "$outcome" "$said"
exit 1
