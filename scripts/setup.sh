#!/usr/bin/env bash
# Installs what the build needs and the machine lacks: Debian 12, Debian 13, Ubuntu 24.04. A second call installs nothing.
# scripts/setup.sh --developer also installs what formats, lints and fuzzes the sources, --browser what tests the dashboard's page;
# both may be given. --cuda brings PyTorch with CUDA, and CUDA's compiler, from PyPI into .cuda (5.5 GB), where the machine has none
# that fit each other; scripts/build.sh --cuda builds with them. RLDP_PYTORCH names another version.
# A downloaded LibTorch (CUDA, for example) is used instead of the packaged one, which Ubuntu 24.04 does not have:
#   CMAKE_PREFIX_PATH=/path/to/libtorch scripts/setup.sh
set -euo pipefail

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

packages=(
    cmake g++ ninja-build ccache pkg-config git python3 gnuplot-nox
    libcaf-dev libboost-dev libboost-filesystem-dev nlohmann-json3-dev catch2 libcli11-dev libspdlog-dev libfmt-dev
    libsodium-dev libgcrypt20-dev libonig-dev libutf8proc-dev libsentencepiece-dev libfftw3-dev libopenblas0-openmp
    libssl-dev zlib1g-dev libzstd-dev libprotozero-dev libjs-d3
)
cuda=
for option in "$@"; do
    case $option in
        --developer) packages+=(clang clang-format clang-tidy libclang-rt-dev shellcheck) ;;
        --browser)
            for program in node:nodejs npm:npm chromium:chromium prometheus:prometheus; do
                command -v "${program%:*}" >/dev/null || packages+=("${program#*:}")
            done
            ;;
        --cuda) cuda=yes ;;
        *) die "$option is not an option; there are --developer, --browser and --cuda" ;;
    esac
done

# shellcheck source=scripts/cuda.sh
. "$(dirname "${BASH_SOURCE[0]}")/cuda.sh"

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
elif [[ -n $cuda ]]; then
    libtorch=$(cuda_libtorch) || packages+=(python3-venv)
else
    packages+=(libtorch-dev)
fi

install_packages() {
    local missing=() offered=() unavailable=() package
    for package in "${packages[@]}"; do
        installed "$package" || missing+=("$package")
    done
    if ((${#missing[@]} == 0)); then
        say "nothing to install"
        return
    fi
    say "missing: ${missing[*]}"
    say "apt-get update"
    as_root apt-get update -qq
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
}

# The toolkit's packages for Python name libraries by version only, and lay them out as no CMake file expects: links set that right.
link_toolkit() {
    local found library name
    found=$(echo "$cuda_root"/python/lib/python3*/site-packages/nvidia/cu"${version%%.*}")
    [[ -x $found/bin/nvcc ]] || die "cuda-toolkit $version of PyPI brought no $found/bin/nvcc; set CUDA_HOME to a toolkit of CUDA $version"
    rm -rf "$cuda_root/toolkit"
    mkdir -p "$cuda_root"/toolkit/{bin,lib64}
    ln -s "$found"/{include,nvvm} "$cuda_root/toolkit/"
    ln -s "$found"/bin/* "$cuda_root/toolkit/bin/"  # nvcc looks beside the folder it was called from
    ln -s lib64 "$cuda_root/toolkit/lib"
    for library in "$found"/lib/lib*; do
        name=${library##*/}
        ln -s "$library" "$cuda_root/toolkit/lib64/$name"
        [[ $name != *.so.* || -e $found/lib/${name%%.so.*}.so ]] || ln -sf "$library" "$cuda_root/toolkit/lib64/${name%%.so.*}.so"
    done
}

install_cuda() {
    local version toolkit
    install_python() {
        [[ -x $cuda_root/python/bin/pip ]] || python3 -m venv "$cuda_root/python"
        say "pip install $* (into .cuda/python)"
        "$cuda_root/python/bin/pip" install --quiet --disable-pip-version-check "$@"
    }
    if [[ -z ${libtorch:-} ]]; then
        install_python "torch==${RLDP_PYTORCH:-2.11.0}" numpy
        libtorch=$(cuda_libtorch) || die "PyTorch of .cuda/python has no CUDA; remove .cuda, and set RLDP_PYTORCH to a version that has"
    fi
    version=$(cuda_of "$libtorch") || die "$libtorch was built without CUDA; take a LibTorch with it, or PyTorch: pip install torch"
    if ! toolkit=$(cuda_toolkit "$version"); then
        install_python "cuda-toolkit[nvcc,cccl,crt,nvvm]==$version.*"
        link_toolkit
        toolkit=$(cuda_toolkit "$version") || die "$cuda_root/toolkit is not of CUDA $version; remove .cuda, and call again"
    fi
    say "LibTorch with CUDA $version: $libtorch; toolkit: $toolkit"
}

install_packages
[[ -z $cuda ]] || install_cuda
say "done"
