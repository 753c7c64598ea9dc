#!/usr/bin/env bash
# Packs what scripts/gpu_check.py runs into build-cuda/bundle.tar.xz (40 MiB at most): programs, the libraries they need beside the C
# library's and LibTorch's, the tests' golden files where they are at hand, Opacus. For a machine with a card that has python3 with the same
# PyTorch, and no network: nothing is built there.
# Needs scripts/setup.sh --cuda.
set -euo pipefail
shopt -s extglob
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build-cuda
most=40  # MiB
programs=(rldp rldp-torch tests/cuda/test_cuda bench/bench_step bench/bench_pipeline bench/bench_rounding)

"$root/scripts/build.sh" --cuda rldp test_cuda bench_step bench_pipeline bench_rounding
# shellcheck source=scripts/cuda.sh
. "$root/scripts/cuda.sh"
libtorch=$(cuda_libtorch)

bundle=$(mktemp -d)
trap 'rm -rf "$bundle"' EXIT
mkdir -p "$bundle"/{bin,lib,golden,python}
for program in "${programs[@]}"; do
    strip -o "$bundle/bin/${program##*/}" "$build/$program"
    ldd "$build/$program" | awk '$2 == "=>" {print $1, $3}'
done | sort -u | while read -r name path; do
    case $path in
        not) echo "bundle: $name is nowhere" >&2; exit 1 ;;
        "$libtorch"/* | "$cuda_root"/* | */nvidia/*) continue ;;
    esac
    case $name in
        # of every system, and newer where PyTorch is
        lib@(c|m|dl|pthread|rt|util|resolv|gcc_s|stdc++|cuda|cudart).so*) continue ;;
    esac
    strip --strip-unneeded -o "$bundle/lib/$name" "$path"
done
for place in "$root"/../shared/golden/{models,models_next}/* "$root/../shared/data/stories260K"; do
    [[ ! -e $place/case.json ]] || cp -r "$place" "$bundle/golden/"
done
sed -n "s/^__version__ = '\(.*\)'$/\1/p" "$libtorch/version.py" > "$bundle/pytorch"
python=$cuda_root/python/bin/python
[[ -x $python ]] || python=python3
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$bundle/python" opacus==1.6.0

tar -C "$bundle" --owner=0 --group=0 --numeric-owner --sort=name -c . | xz -T0 > "$build/bundle.tar.xz"
size=$(($(stat -c %s "$build/bundle.tar.xz") / 1048576 + 1))
echo "bundle: $build/bundle.tar.xz, $size MiB; unpacked $(du -sm "$bundle" | cut -f 1) MiB, of which golden files $(du -sm "$bundle/golden" | cut -f 1)"
((size <= most)) || { echo "bundle: more than $most MiB" >&2; exit 1; }
