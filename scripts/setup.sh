#!/usr/bin/env bash
# Installs what the build needs and the machine lacks: Debian 12, Debian 13, Ubuntu 24.04. A second call installs nothing.
# scripts/setup.sh --developer also installs what formats, lints and fuzzes the sources, --browser what tests the dashboard's page;
# both may be given.
# A downloaded LibTorch (CUDA, for example) is used instead of the packaged one, which Ubuntu 24.04 does not have:
#   CMAKE_PREFIX_PATH=/path/to/libtorch scripts/setup.sh
set -euo pipefail

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

packages=(
    cmake g++ ninja-build ccache pkg-config git python3 gnuplot-nox
    libcaf-dev libboost-dev libboost-filesystem-dev nlohmann-json3-dev catch2 libcli11-dev libspdlog-dev libfmt-dev
    libsodium-dev libgcrypt20-dev libpcre2-dev libutf8proc-dev libsentencepiece-dev libfftw3-dev libopenblas0-openmp
    libssl-dev zlib1g-dev libzstd-dev libprotozero-dev libjs-d3
)
for option in "$@"; do
    case $option in
        --developer) packages+=(clang clang-format clang-tidy libclang-rt-dev shellcheck) ;;
        --browser)
            for program in node:nodejs npm:npm chromium:chromium prometheus:prometheus; do
                command -v "${program%:*}" >/dev/null || packages+=("${program#*:}")
            done
            ;;
        *) die "$option is not an option; there are --developer and --browser" ;;
    esac
done

# Whether a directory of CMAKE_PREFIX_PATH (separated by : or ;) holds a LibTorch; prints it.
own_libtorch() {
    local prefixes prefix
    IFS=':;' read -ra prefixes <<< "${CMAKE_PREFIX_PATH:-}"
    for prefix in "${prefixes[@]}"; do
        if [[ -f $prefix/share/cmake/Torch/TorchConfig.cmake ]]; then
            echo "$prefix"
            return 0
        fi
    done
    return 1
}

installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
available() { [[ -n $(apt-cache madison "$1" 2>/dev/null) ]]; }

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "neither root nor sudo: ask your administrator to run: $*"
    fi
}

# shellcheck source=/dev/null
[[ -r /etc/os-release ]] && . /etc/os-release
system="${PRETTY_NAME:-this system}"
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    die "$system has no apt: install the counterparts of these Debian packages by hand: ${packages[*]} libtorch-dev"
fi
case "${ID:-} ${VERSION_ID:-}" in
    "debian 12" | "debian 13" | "ubuntu 24.04") ;;
    *)
        say "$system is not one of Debian 12, Debian 13, Ubuntu 24.04; trying the same packages"
        packages+=(libabsl-dev)  # the headers of sentencepiece 0.2.1 and later include it
        ;;
esac

if libtorch=$(own_libtorch); then
    say "LibTorch from $libtorch (CMAKE_PREFIX_PATH); libtorch-dev is not needed"
else
    packages+=(libtorch-dev)
fi

missing=()
for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
    say "nothing to install"
    exit 0
fi

say "missing: ${missing[*]}"
say "apt-get update"
as_root apt-get update -qq
offered=()
unavailable=()
for package in "${missing[@]}"; do
    if available "$package"; then offered+=("$package"); else unavailable+=("$package"); fi
done
if ((${#offered[@]} > 0)); then
    say "apt-get install ${offered[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${offered[@]}"
fi
if [[ " ${unavailable[*]} " == *" libtorch-dev "* ]]; then
    # Ubuntu 24.04 is such a system.
    die "$system offers no libtorch-dev: download LibTorch (C++, cxx11 ABI) from https://pytorch.org, unpack it," \
        "and call again with CMAKE_PREFIX_PATH=/path/to/libtorch"
fi
if ((${#unavailable[@]} > 0)); then
    die "$system offers no ${unavailable[*]}; on Ubuntu enable the component universe, and call again"
fi
say "done"
