#!/bin/sh
# Imitates `rldp run CONFIG … --out DIR` and `rldp run --resume DIR`; what becomes of a cell follows from its name.
set -eu
home=$(dirname "$0")
mode=new
# `audit DIR --quiet`
if [ "$1" = audit ]; then
    id=$(basename "$2")
    echo "audit $id" >> "$home/calls"
    case $id in unaudited*) echo "no memory" >&2; exit 1 ;; esac
    mkdir -p "$2/trusted/audit"
    cp "$home/audit.json" "$2/trusted/audit/audit.json"
    exit 0
fi
while [ $# -gt 0 ]; do
    case $1 in
        --out) dir=$2; shift ;;
        --resume) mode=resume; dir=$2; shift ;;
        --corpora) corpora=$2; shift ;;
        --set) echo "$2" >> "$home/overrides"; shift ;;
    esac
    shift
done
id=$(basename "$dir")
echo "$mode $id" >> "$home/calls"
mkdir -p "$corpora"  # where cells share their records as tokens: also one that goes on
echo "$id" >> "$corpora/used"
echo "$OMP_NUM_THREADS" > "$home/threads"

begin() {
    mkdir -p "$dir.partial-123456/public" "$dir.partial-123456/trusted"
    cp "$home/ledger.jsonl" "$dir.partial-123456/public/"
    echo key > "$dir.partial-123456/trusted/run.key"
    mv -T "$dir.partial-123456" "$dir"
}
summarise() {
    cp "$home/$1.json" "$dir/public/summary.json"
}
erase() {
    echo '{}' > "$dir/trusted/certificate.json"
    rm -f "$dir/trusted/run.key"
}
finish() {
    summarise "$1"
    erase
    mv "$dir/trusted/certificate.json" "$dir/public/"
    cat "$home/$1.json"
}

case $mode-$id in
    new-refused*) echo "first line" >&2; echo "out of luck" >&2; exit 2 ;;
    new-breaks*) begin; echo "the disk is full" >&2; exit 1 ;;
    new-killed*) begin; kill -KILL $$ ;;
    new-cut-before*) begin; summarise summary; kill -KILL $$ ;;
    new-cut-within*) begin; summarise summary; erase; kill -KILL $$ ;;
    new-exhausted*) begin; finish exhausted; exit 3 ;;
    new-liar*) exit 0 ;;
    # two that can only end together
    new-meets-a*) begin; echo met > "$home/fifo"; finish summary ;;
    new-meets-b*) begin; cat "$home/fifo" > /dev/null; finish summary ;;
    # has its parent interrupted, and saves when it is told to
    new-waits*)
        begin
        sleep 3600 &
        nap=$!
        trap 'kill $nap; summarise interrupted; echo "{}" > "$dir/public/certificate.json"; exit 130' INT TERM
        kill -"$(cat "$home/signal")" $PPID
        wait $nap
        ;;
    new-*) begin; finish summary ;;
    resume-*) finish summary ;;
esac
