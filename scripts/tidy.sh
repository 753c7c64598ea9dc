#!/usr/bin/env bash
# clang-tidy on the lines that differ from a commit, by default the one before: scripts/tidy.sh [COMMIT]. RLDP_TIDY_FILES is the
# most sources that are looked at (20; half a minute each), the largest changes first. Skipped where clang-tidy is missing; with
# RLDP_NOTHING_SKIPPED=1 that is a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v clang-tidy >/dev/null || ! command -v clang++ >/dev/null; then
    echo "tidy: skipped: clang-tidy is not installed"
    [[ -z ${RLDP_NOTHING_SKIPPED:-} ]] || exit 1
    exit 0
fi
since=${1:-HEAD~1}
if ! git rev-parse -q --verify "$since^{tree}" >/dev/null; then
    echo "tidy: skipped: there is no commit $since to compare with"
    exit 0
fi
# A header speaks through the source of its name, or through one that includes it.
sources_of() {
    while read -r file; do
        if [[ $file == *.cpp ]]; then
            echo "$file"
        elif [[ -e ${file%.hpp}.cpp ]]; then
            echo "${file%.hpp}.cpp"
        else
            { git grep -lF "#include \"$file\"" -- '*.cpp' ':!tests/actors/leaks' || true; } | head -n 1
        fi
    done | awk '!seen[$0]++'
}
mapfile -t changed < <(git diff --numstat --no-renames --diff-filter=d "$since" -- '*.cpp' '*.hpp' ':!tests/actors/leaks' | sort -rn |
    cut -f 3 | sources_of)
most=${RLDP_TIDY_FILES:-20}
((${#changed[@]} > most)) && echo "tidy: ${#changed[@]} sources changed since $since; looking at $most" && changed=("${changed[@]:0:most}")
((${#changed[@]} == 0)) && echo "tidy: no source changed since $since" && exit 0

# [{"name": "a/b.cpp", "lines": [[3, 5], …]}, …] of all that changed, headers too.
lines=$(git diff -U0 --diff-filter=d "$since" -- '*.cpp' '*.hpp' | awk '
    /^\+\+\+ b\// { name = substr($2, 3); next }
    /^@@ / {
        split(substr($3, 2), at, ","); count = at[2] == "" ? 1 : at[2]
        if (count > 0) ranges[name] = ranges[name] (ranges[name] ? "," : "") "[" at[1] "," at[1] + count - 1 "]"
    }
    END { for (name in ranges) printf "%s{\"name\":\"%s\",\"lines\":[%s]}", (n++ ? "," : ""), name, ranges[name] }')

# A database of its own: clang reads neither GCC's precompiled headers nor several sources as one.
cmake -S . -B build-tidy -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ -DRLDP_PRECOMPILED_HEADERS=OFF \
    -DRLDP_UNITY=OFF > build-tidy.log 2>&1 || { cat build-tidy.log; exit 1; }
rm build-tidy.log
printf '%s\n' "${changed[@]}" |
    xargs -P "$(nproc)" -n 1 clang-tidy -p build-tidy --quiet --warnings-as-errors='*' --line-filter="[$lines]"
