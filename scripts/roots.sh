# Bare Debian roots, for test-systems and test-arm64, which read this file. Needs root, debootstrap and the network.
roots=${MHA_ROOTS:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/mha-cli/roots}
mirror=${MHA_MIRROR:-http://deb.debian.org/debian}
place="/srv/Größe und Maß/mha cli"  # a path with blanks and umlauts

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  echo "$(basename -- "$0"): expected root and debootstrap (apt-get install debootstrap)" >&2
  exit 1
fi
mkdir -p "$roots"

# in_root ROOT COMMAND…: runs a command in a root, in a mount namespace of its own.
in_root() {
  root=$1
  shift
  mkdir -p "$root/proc" "$root/dev" "$root/var/cache/ccache"
  unshare --mount --propagation private sh -c '
    root=$1; cache=$2; shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    [ -z "$cache" ] || mount --bind "$cache" "$root/var/cache/ccache"
    exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      ${cache:+CCACHE_DIR=/var/cache/ccache CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1 CMAKE_CXX_COMPILER_LAUNCHER=ccache} "$@"
  ' in_root "$root" "${MHA_CCACHE-}" "$@"
}

# fresh SUITE ROOT: a bare root, a copy of one that debootstrap has made once.
fresh() {
  [ -e "$roots/$1.base/made" ] || {
    rm -rf "$roots/$1.base"
    debootstrap --variant=minbase "$1" "$roots/$1.base" "$mirror" >"$roots/$1.debootstrap.log" 2>&1
    touch "$roots/$1.base/made"
  }
  rm -rf "$2"
  cp -a --reflink=auto "$roots/$1.base" "$2"
  cp -L /etc/resolv.conf "$2/etc/resolv.conf" 2>/dev/null || true
}

# The files of the tree: those that git knows, or all but the build folders.
copy_sources() {
  mkdir -p "$1"
  if [ -e .git ]; then
    git archive HEAD | tar -x -C "$1"
  else
    tar -c --exclude './build*' . | tar -x -C "$1"
  fi
}
