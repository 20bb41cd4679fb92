#!/usr/bin/env bash
# Installs the Debian packages on a system without Lenslet: a fresh chroot of the same release that takes dependencies
# only from the package archive. Checks programs, manual page, completion, an ordinary user, the development package,
# and that removal leaves nothing.
#   check_deb_chroot.sh FOLDER-WITH-THE-DEBS [BASE]
# BASE is a chroot made by debootstrap, which is copied and not changed; if it does not exist, it is created. Needs
# root, debootstrap, the package archive, and some minutes; so CI does not run it (it runs check_deb.sh).
set -euo pipefail
skip() {
  echo "skipped: $*"
  exit 77
}
[ "$#" -ge 1 ] || { echo 'usage: check_deb_chroot.sh FOLDER-WITH-THE-DEBS [BASE]' >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || skip 'a chroot needs root'
command -v debootstrap >/dev/null || skip 'no debootstrap here'
source_dir=$(realpath "$(dirname "$0")/../..")
debs=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base=${2:-$work/base}
if [ ! -e "$base/etc/debian_version" ]; then
  # shellcheck source=/dev/null
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  echo "== bootstrapping $suite"
  debootstrap --variant=minbase "$suite" "$base" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
fi
root=$work/root
cp -a "$base" "$root"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs"
cp -r "$source_dir/tests/embedding/consumers" "$root/consumers"
cp /etc/resolv.conf "$root/etc/resolv.conf"

# A private mount, if the kernel permits one: doctor reads /proc.
enter=(chroot "$root")
if unshare --mount true 2>/dev/null; then
  # shellcheck disable=SC2016  # expanded by the inner shell
  enter=(unshare --mount sh -c 'mount -t proc proc "$0/proc" 2>/dev/null; exec chroot "$0" "$@"' "$root")
fi
"${enter[@]}" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive \
  /bin/bash -euo pipefail -s <<'INSIDE'
step() { printf '== %s\n' "$*"; }
quietly() { "$@" >/tmp/log 2>&1 || { tail -n 30 /tmp/log >&2; return 1; }; }
samples=/usr/share/lenslet/samples
# The name of a sample contains its digit.
classify_samples() {
  local correctly=0 picture digit rest
  while read -r picture digit rest; do
    picture=${picture##*/digit_}
    [ "${picture%%_*}" = "$digit" ] && correctly=$((correctly + 1)) || echo "digit_$picture $digit $rest" >&2
  done < <("$@" lenslet classify "$samples"/*.png)
  [ "$correctly" -eq 20 ] && echo "$correctly of 20 samples read correctly"
}
quietly apt-get update
find / -xdev -path /proc -prune -o -print 2>/dev/null | grep -v '^/\(var\|tmp\|debs\)' | sort >/tmp/before

step 'install, without what is recommended'
quietly apt-get install -y --no-install-recommends /debs/lenslet_*.deb
ldd /usr/bin/lenslet /usr/bin/convbench | grep 'not found' && exit 1
lenslet --version
with_cuda=$(lenslet --version | grep -o ' CUDA [0-9.]*$' || true)
classify_samples env
step 'oneDNN is not there: its backend is refused by name, with the reason, and nothing else is touched'
status=0
lenslet classify --backend conv1=onednn "$samples/digit_3_a.png" 2>/tmp/refused || status=$?
cat /tmp/refused
[ "$status" -eq 4 ] && grep -q 'libdnnl' /tmp/refused
lenslet doctor --device cpu >/tmp/doctor && tail -n 3 /tmp/doctor
convbench run --device cpu --problem mb1ic3ih32oc3kh3ph1 --backend direct --min-time-ms 1 --warmup-ms 1 >/tmp/run &&
  tail -n 1 /tmp/run

step 'with what is recommended'
quietly apt-get install -y --no-install-recommends "$(dpkg-query -W -f '${Recommends}' lenslet | sed 's/ .*//')"
lenslet classify --backend conv1=onednn "$samples/digit_3_a.png"
lenslet doctor --device cpu >/tmp/doctor && grep -i -m 3 onednn /tmp/doctor

step 'an ordinary user'
classify_samples setpriv --reuid=nobody --regid=nogroup --clear-groups

step 'manual pages'
quietly apt-get install -y --no-install-recommends man-db groff-base
for program in lenslet convbench; do
  man --warnings "$program" 2>/tmp/warnings | col -b >/tmp/page 2>/dev/null || man "$program" >/tmp/page
  grep -q '^EXIT STATUS' /tmp/page
  [ ! -s /tmp/warnings ] || { cat /tmp/warnings >&2; exit 1; }
  echo "man $program: $(wc -l </tmp/page) lines"
done
man -k . | grep -E '^(lenslet|convbench) '

step 'completion, loaded by bash-completion when it is first asked for'
quietly apt-get install -y --no-install-recommends bash-completion
bash --norc -i 2>/dev/null <<'SHELL' | tee /tmp/completed
. /usr/share/bash-completion/bash_completion
_completion_loader lenslet
COMP_LINE='lenslet classify --math tf' COMP_POINT=26 COMP_WORDS=(lenslet classify --math tf) COMP_CWORD=3
_lenslet
printf 'completed: %s\n' "${COMPREPLY[*]}"
SHELL
grep -q '^completed: tf32$' /tmp/completed

step 'the development package: the consumers that the tests of the installation build, with nothing told but the name'
quietly apt-get install -y --no-install-recommends /debs/liblenslet-dev_*.deb g++ cmake ninja-build pkg-config
for consumer in c cxx; do
  if [ "$consumer" = cxx ] && [[ $with_cuda ]] && ! command -v nvcc >/dev/null; then
    echo 'by find_package, cxx: not built, the static libraries of a build with CUDA need its toolkit'
    continue
  fi
  quietly cmake -G Ninja -S "/consumers/$consumer" -B "/tmp/$consumer"
  quietly cmake --build "/tmp/$consumer"
  answer=$("/tmp/$consumer/consumer" "$samples/digit_7_a.png")
  echo "by find_package, $consumer: $answer"
  [[ $answer == '7 '* ]]
done
read -ra flags <<<"$(pkg-config --cflags --libs lenslet)"
cc /consumers/c/main.c -o /tmp/plain "${flags[@]}"
answer=$(/tmp/plain "$samples/digit_7_a.png")
echo "by pkg-config, c: $answer"
[[ $answer == '7 '* ]]
quietly apt-get purge -y liblenslet-dev

step 'remove, and purge'
quietly apt-get remove -y lenslet
[ ! -e /usr/bin/lenslet ]
quietly apt-get install -y --no-install-recommends /debs/lenslet_*.deb
quietly apt-get purge -y lenslet
left=$(find / -xdev \( -path /proc -o -path /debs -o -path /consumers -o -path /tmp -o -path '/var/cache/*' -o \
  -path '/var/log/*' \) -prune -o \
  \( -name '*lenslet*' -o -name '*convbench*' \) -print)
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
if ldconfig -p | grep lenslet; then exit 1; fi
echo 'nothing is left'
INSIDE
echo 'the packages install, run and go'
