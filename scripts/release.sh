#!/usr/bin/env bash
# Makes what a release consists of: the sources of the commit that is checked out as an archive, a package for Debian 12 and one for
# Debian 13, checksums, and notes from CHANGELOG.md.
#   scripts/release.sh [DIRECTORY [CODENAMES…]]      by default release/VERSION, bookworm and trixie
# Each package is built from the archive, installed and tried in a Debian of its own (debootstrap; needs root), with the archive
# that this machine's apt is set up for. RLDP_MIRROR names another.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

die() { echo "release: $*" >&2; exit 1; }
((EUID == 0)) || die "needs root, for debootstrap and chroot"
command -v debootstrap >/dev/null || die "debootstrap is not installed: apt-get install debootstrap"
git diff --quiet HEAD || die "there are changes that are not committed"
version=$(sed -n 's/^project(rldp VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[[ -n $version ]] || die "CMakeLists.txt names no version"
out=${1:-$root/release/$version}
codenames=("${@:2}")
((${#codenames[@]} > 0)) || codenames=(bookworm trixie)
[[ ! -e $out ]] || die "$out is there already"
mirror=${RLDP_MIRROR:-$(sed -nE 's,^(URIs:|deb) *(https?://[^ ]*/debian)/?( .*)?$,\2,p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sort -u | head -n 1 || true)}
[[ -n $mirror ]] || die "apt is set up for no archive of Debian: set RLDP_MIRROR"

notes=$(awk -v version="$version" '/^## / { on = $2 == version; next } on' CHANGELOG.md)
[[ -n $notes ]] || die "CHANGELOG.md has no section '## $version'"

work=$(mktemp -d)
trap 'umount "$work"/*/proc "$work"/*/dev 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
made=$work/made
mkdir "$made"
git archive --format tar.gz --prefix "rldp-$version/" -o "$made/rldp-$version.tar.gz" HEAD
{ echo "# RLDP $version"; echo "$notes"; } > "$made/NOTES.md"

build_package() {  # CODENAME: a package in $made
    local system=$work/$1 package
    debootstrap --variant=minbase "$1" "$system" "$mirror" > "$work/$1.log" 2>&1 || { tail "$work/$1.log" >&2; die "debootstrap $1 failed"; }
    mount --bind /dev "$system/dev"
    mount -t proc proc "$system/proc"
    cp /etc/resolv.conf "$system/etc/resolv.conf"
    # How this machine's apt reaches archives: proxies and the like.
    cp /etc/apt/apt.conf.d/*proxy* "$system/etc/apt/apt.conf.d/" 2>/dev/null || true
    tar -C "$system/srv" -xf "$made/rldp-$version.tar.gz"
    chroot "$system" bash -euc "
        cd /srv/rldp-$version
        scripts/setup.sh
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends file dpkg-dev
        RLDP_CMAKE_OPTIONS=-DRLDP_TESTS=OFF scripts/build.sh
        cd build && cpack -G DEB"
    package=$(basename "$system/srv/rldp-$version"/build/rldp_*.deb)
    cp "$system/srv/rldp-$version/build/$package" "$made/${package/_$version/_$version~$1}"
    rm -rf "$system/srv/rldp-$version"
    # As someone who installs it: the demo for a few steps, and its certificate.
    cp "$made/${package/_$version/_$version~$1}" "$system/srv/rldp.deb"
    chroot "$system" bash -euc "
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /srv/rldp.deb
        rldp version
        rldp run /usr/share/rldp/config/demo.json --set train.steps=8 --quiet --out /srv/first
        rldp verify /srv/first"
}
for codename in "${codenames[@]}"; do
    echo "release: $codename"
    build_package "$codename"
done

(cd "$made" && sha256sum ./* | sed 's,\./,,' > SHA256SUMS)
mkdir -p "$(dirname "$out")"
cp -r "$made" "$out"
echo "release: $out"
ls -l "$out"
