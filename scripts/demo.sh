#!/usr/bin/env bash
# Installs what is missing, builds the program and runs the embedded demo: a private fine-tuning of a tiny model on
# made-up records, and a table that the tuned model makes up. Arguments go to `rldp run`, for example:
# scripts/demo.sh --set privacy.epsilon=2
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
start=$SECONDS
minutes() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }

echo "demo: some six minutes on two cores the first time: packages, compiling, a run of half a minute"
"$root/scripts/setup.sh"
"$root/scripts/build.sh" rldp
echo "demo: ready after $(minutes $((SECONDS - start)))"

out=()
directory=
for ((i = 1; i <= $#; ++i)); do
    next=$((i + 1))
    case ${!i} in
        --out) directory=${!next-} ;;
        --out=*) directory=${!i#--out=} ;;
    esac
done
if [[ -z $directory ]]; then
    directory=$root/runs/demo
    for ((n = 2; ; ++n)); do
        [[ -e $directory || -e $directory.csv ]] || break
        directory=$root/runs/demo-$n
    done
    out=(--out "$directory")
fi
"$root/build/rldp" run "$root/config/demo.json" "${out[@]}" "$@"
"$root/build/rldp" synthesize "$directory" --model "$root/config/tiny-gpt2" --rows 200 --out "$directory.csv"
head -n 6 "$directory.csv"
echo "demo: took $(minutes $((SECONDS - start)))"
