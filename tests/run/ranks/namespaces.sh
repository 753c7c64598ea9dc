#!/usr/bin/env bash
# Two ranks in network namespaces of their own, with delay and loss between them (slow_network.py), share a base: the same
# bits as alone.
# Then the network is cut: both end with status 1 within the timeout, and the run goes on elsewhere. Skipped, and says so, where
# no namespace can be made.
#   namespaces.sh RLDP
set -euo pipefail
rldp=$1
skip() { echo "skipped: $*"; exit 0; }
fail() { echo "FAILED: $*" >&2; cat "$scratch"/rank*.err >&2; exit 1; }

command -v ip >/dev/null || skip "iproute2 is not installed"
((EUID == 0)) || skip "network namespaces need root"
[[ -c /dev/net/tun ]] || skip "there is no /dev/net/tun"
a=rldp-a-$$ b=rldp-b-$$
ip netns add "$a" 2>/dev/null || skip "no network namespace can be made here"
scratch=$(mktemp -d) relay=
trap 'kill -9 $relay $(jobs -p) 2>/dev/null || true; ip netns del "$a"; ip netns del "$b" 2>/dev/null; rm -rf "$scratch"' EXIT
ip netns add "$b"
coproc network { exec python3 "$(dirname "${BASH_SOURCE[0]}")/slow_network.py" "$a" "$b" 1 0.005 slow0 2>"$scratch/network.err"; }
relay=$!
disown
read -r -t 10 said <&"${network[0]}" || skip "no tun device can be made here: $(tail -n 1 "$scratch/network.err")"
echo "the network is $said: 1 ms each way, 0.5 % of packets lost"

"$rldp" key new --cluster "$scratch/secret" >/dev/null
settings=(--set data.path=synthetic:300 --set data.max_tokens=24 --set train.expected_batch_size=8 --set train.micro_batch=4
    --set train.eval_records=2 --set noise.insecure_reproducible=true --set "cluster.secret=$scratch/secret" --set cluster.timeout=10)
# As rank $1 of 2 in its namespace; the rest are arguments of run.
rank() {
    local side=a
    (($1 == 0)) || side=b
    ip netns exec "${!side}" env RANK="$1" WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29600 OMP_NUM_THREADS=1 \
        "$rldp" run config/demo.json "${settings[@]}" --quiet "${@:2}" \
        >"$scratch/rank$1.out" 2>"$scratch/rank$1.err"
}

steps=(--set train.steps=12)
OMP_NUM_THREADS=1 "$rldp" run config/demo.json "${settings[@]}" "${steps[@]}" --quiet --out "$scratch/alone" >/dev/null
shared=(--set model.shard=true)
rank 1 "${steps[@]}" "${shared[@]}" --out "$scratch/two" &
rank 0 "${steps[@]}" "${shared[@]}" --out "$scratch/two" || fail "rank 0 with status $?"
wait $! || fail "rank 1 with status $?"
cmp "$scratch"/{alone,two}/public/adapter/adapter_model.safetensors || fail "not the bits of a run in one process"

steps=(--set train.steps=3000)
rank 1 "${steps[@]}" --out "$scratch/cut" &
second=$!
rank 0 "${steps[@]}" --out "$scratch/cut" &
first=$!
ledger=$scratch/cut/public/ledger.jsonl
for ((i = 0; i < 600; ++i)); do
    [[ -f $ledger ]] && (($(wc -l <"$ledger") > 20)) && break
    sleep 0.1
done
kill -STOP "$relay"
began=$EPOCHREALTIME
for process in "$first" "$second"; do
    status=0
    wait "$process" || status=$?
    ((status == 1)) || fail "a rank behind the cut ended with status $status"
    echo "ended $(awk "BEGIN {printf \"%.1f\", $EPOCHREALTIME - $began}") s after the cut, with a timeout of 10 s"
done
(($(awk "BEGIN {print int($EPOCHREALTIME - $began)}") <= 15)) || fail "the ranks took longer than the timeout"
grep -q "silent for 10 s" "$scratch"/rank0.err "$scratch"/rank1.err || fail "nobody said why"
charges=$(wc -l <"$ledger")
OMP_NUM_THREADS=1 timeout -s INT 6 "$rldp" run --resume "$scratch/cut" --quiet >/dev/null 2>&1 || true
(($(wc -l <"$ledger") > charges)) || fail "the run did not go on"
echo "it went on from charge $((charges - 1)) in one process"
