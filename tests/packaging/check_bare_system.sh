#!/usr/bin/env bash
# Runs the two commands on a bare system: copies the tree into a fresh chroot, runs ./dev demo and ./dev test as in the
# README, and prints how long each took and what was skipped.
#   check_bare_system.sh [--demo] [--json FILE] [SUITE [BASE [MIRROR]]]
# SUITE is a release that debootstrap supports: bookworm (the default), jammy, noble. BASE is a chroot made by
# debootstrap, which is copied and not changed; if it does not exist, it is created from MIRROR, which an Ubuntu needs
# on Debian. --demo leaves out ./dev test; --json adds a row for each command to FILE (docs/result_files.md,
# lenslet.commands/1). MNIST is copied too if LENSLET_MNIST_DIR names it. Needs root, debootstrap, the package archive
# and a quarter of an hour, so CI does not run it.
set -euo pipefail
skip() {
  echo "skipped: $*"
  exit 77
}
commands=(demo test) json=''
while :; do
  case ${1:-} in
    --demo) commands=(demo) ;;
    --json) json=$(realpath "${2:?--json needs a value}") && shift ;;
    *) break ;;
  esac
  shift
done
[ "$#" -le 3 ] || { echo 'usage: check_bare_system.sh [--demo] [--json FILE] [SUITE [BASE [MIRROR]]]' >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || skip 'a chroot needs root'
command -v debootstrap >/dev/null || skip 'debootstrap is not installed'
source_dir=$(realpath "$(dirname "$0")/../..")
suite=${1:-bookworm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base=${2:-$work/base}
if [ ! -e "$base/etc/debian_version" ]; then
  echo "== bootstrapping $suite"
  components=main
  case $suite in jammy | noble) components=main,universe ;; esac
  debootstrap --variant=minbase "--components=$components" "$suite" "$base" ${3:+"$3"} >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 1; }
fi
root=$work/root
cp -a "$base" "$root"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir "$root/lenslet"
(cd "$source_dir" && git ls-files -z | tar -cf - --null -T -) | tar -xf - -C "$root/lenslet"
settings=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root)
if [ -n "${LENSLET_MNIST_DIR:-}" ]; then
  mkdir "$root/mnist"
  cp "$LENSLET_MNIST_DIR"/*ubyte* "$root/mnist"
  settings+=(LENSLET_MNIST_DIR=/mnist)
fi
# Tests read /proc, so it is mounted. /dev/pts is not, so tests with a pseudo-terminal skip.
# shellcheck disable=SC2016  # expanded by the inner shell
enter=(unshare --mount sh -c 'mount -t proc proc "$0/proc"; exec chroot "$0" "$@"' "$root")
for command in "${commands[@]}"; do
  printf '== %s, ./dev %s\n' "$suite" "$command"
  began=$SECONDS written=()
  [ -z "$json" ] || [ "$command" != test ] || written=(--json build/tests.json)
  # shellcheck disable=SC2016  # likewise
  "${enter[@]}" /usr/bin/env -i "${settings[@]}" /bin/sh -c 'cd /lenslet && exec ./dev "$@"' sh "$command" \
    "${written[@]}" </dev/null && failed='' || failed=yes
  took=$((SECONDS - began))
  if [ -n "$json" ] && { [ -z "$failed" ] || [ -e "$root/lenslet/build/tests.json" ]; }; then
    note="Bare $suite (debootstrap --variant=minbase) in a chroot without /dev/pts. Packages and building included."
    [ "${#written[@]}" -eq 0 ] || written=("$root/lenslet/build/tests.json")
    "$source_dir/tests/packaging/command_results.py" "$json" "./dev $command" "$took" "$note" "${written[@]}"
  fi
  [ -z "$failed" ] || { echo "./dev $command failed after $took s" >&2; exit 1; }
  printf '== %s: ./dev %s took %d s\n' "$suite" "$command" "$took"
done
