#!/usr/bin/env bash
# Builds the Debian packages and checks them without installing: fields, files, permissions, checksums, links,
# dependencies. Then runs the programs from the unpacked package.
#   check_deb.sh BUILD
# check_deb_chroot.sh checks what only an installation shows.
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$(dirname "$0")/../..")
. "$source/tests/support/paths.sh"
for tool in cpack dpkg-deb dpkg-shlibdeps readelf; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: $tool is not installed (./dev setup --tests)"
    exit 77
  fi
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
bad() {
  printf '%s\n' "$*" >&2
  failures=$((failures + 1))
}

# With a umask that would make folders private, as some users have; and without compression, which takes most of the
# time.
(umask 077 && cpack --config "$build/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=none -B "$folder" \
  >"$folder/log" 2>&1) || { cat "$folder/log" >&2; exit 1; }
version=$("$build/bin/lenslet" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
runtime=$folder/lenslet_${version}_$architecture.deb development=$folder/liblenslet-dev_${version}_$architecture.deb
if [ ! -f "$runtime" ] || [ ! -f "$development" ]; then
  printf 'expected %s and %s, found %s\n' "${runtime##*/}" "${development##*/}" "$(cd "$folder" && echo ./*.deb)" >&2
  exit 1
fi

# ---- fields
field() { dpkg-deb -f "$1" "$2"; }
[ "$(field "$runtime" Version)" = "$version" ] || bad "version: $(field "$runtime" Version), expected $version"
for package in "$runtime" "$development"; do
  name=$(field "$package" Package)
  [[ $(field "$package" Maintainer) =~ ^[^\<]+\ \<[^@\ ]+@[^@\ ]+\>$ ]] ||
    bad "$name: maintainer: $(field "$package" Maintainer)"
  [ -n "$(field "$package" Section)" ] || bad "$name: no section"
  [ "$(field "$package" Priority)" = optional ] || bad "$name: priority: $(field "$package" Priority)"
  description=$(field "$package" Description)
  [ "$(head -n 1 <<<"$description" | wc -c)" -le 81 ] ||
    bad "$name: the synopsis is longer than 80: $(head -n 1 <<<"$description")"
  [ "$(sed 1d <<<"$description" | wc -l)" -ge 2 ] || bad "$name: no extended description"
  ! grep -Eq '^ .{80}' <<<"$description" || bad "$name: a line of the description is longer than 79"
done
[[ $(field "$development" Depends) == *"lenslet (= $version)"* ]] ||
  bad "liblenslet-dev depends on: $(field "$development" Depends)"
depends=$(field "$runtime" Depends)
for wanted in libc6 libstdc++6 zlib1g libjpeg; do
  [[ $depends == *"$wanted"* ]] || bad "lenslet does not depend on $wanted: $depends"
done
for unwanted in dnnl onednn cudnn cublas cuda nvidia; do
  [[ $depends != *"$unwanted"* ]] || bad "lenslet depends on $unwanted, which it can do without: $depends"
done
dpkg-deb --ctrl-tarfile "$runtime" | tar -xO ./triggers | grep -Fx 'activate-noawait ldconfig' >/dev/null ||
  bad 'no trigger for ldconfig'

# ---- files
root=$folder/root
for package in "$runtime" "$development"; do
  name=$(field "$package" Package)
  dpkg-deb -x "$package" "$folder/$name"
  dpkg-deb -x "$package" "$root"
  mkdir "$folder/$name.control"
  dpkg-deb -e "$package" "$folder/$name.control"
  (cd "$folder/$name" && md5sum --quiet -c "../$name.control/md5sums") || bad "$name: checksums are wrong"
  listed=$(sed -E 's/^[0-9a-f]+ +//' "$folder/$name.control/md5sums" | sort)
  [ "$listed" = "$(cd "$folder/$name" && find . -type f -printf '%P\n' | sort)" ] ||
    bad "$name: not every file has a checksum"
  while read -r mode owner _ _ _ path rest; do
    [ "$owner" = root/root ] || bad "$name: $path belongs to $owner"
    case $mode-$path in
      drwxr-xr-x-./*/ | lrwxrwxrwx-./usr/* | -rwxr-xr-x-./usr/bin/* | -rw-r--r---./usr/*) ;;
      *) bad "$name: unexpected permissions: $mode $path" ;;
    esac
    case $path in
      ./usr/local/* | ./usr/src/* | ./home/* | ./root/* | ./tmp/*) bad "$name: $path has no place in a package" ;;
      ./usr/ | ./usr/bin/* | ./usr/lib/* | ./usr/share/* | ./usr/include/*) ;;
      *) bad "$name: unexpected file $path" ;;
    esac
    [[ $rest != '-> /'* ]] || bad "$name: $path is a link to an absolute path, $rest"
  done < <(dpkg-deb -c "$package")
  doc=$folder/$name/usr/share/doc/$name
  grep -q '^License: Apache-2.0' "$doc/copyright" || bad "$name: no copyright file"
  gzip -dc "$doc/changelog.gz" | grep "^lenslet ($version) " >/dev/null || bad "$name: no changelog"
done
for path in usr/bin/lenslet usr/bin/convbench usr/share/man/man1/lenslet.1.gz usr/share/man/man1/convbench.1.gz \
  usr/share/bash-completion/completions/lenslet usr/share/bash-completion/completions/convbench \
  usr/share/zsh/vendor-completions/_lenslet usr/share/zsh/vendor-completions/_convbench; do
  [ -s "$folder/lenslet/$path" ] || bad "lenslet has no $path"
done
for pattern in 'include/*lenslet*' 'lib/*lenslet.pc' 'lib/*lensletConfig.cmake' 'lib/*liblenslet_framework.a' \
  'lib/*liblenslet.so'; do
  [ -n "$(find "$folder/liblenslet-dev/usr" -path "*/$pattern" -print -quit)" ] || bad "liblenslet-dev has no $pattern"
done
text=$(grep -rIlE "$(as_paths "$build" "$source")" "$root" || true)
[ -z "$text" ] || bad "these name the folder that they were built in: ${text//$root\//}"

# ---- shared libraries
library=$(find "$folder/lenslet/usr/lib" -name 'liblenslet.so.*' -type f)
soname=$(readelf -d "$library" | sed -nE 's/.*SONAME.*\[(.*)\].*/\1/p')
[ "$(readlink -f "$(dirname "$library")/$soname")" = "$library" ] || bad "no link $soname to ${library##*/}"
dpkg-deb --ctrl-tarfile "$runtime" | tar -xO ./shlibs | grep "^liblenslet ${soname#liblenslet.so.} lenslet " \
  >/dev/null || bad "the shlibs file does not say that $soname is in lenslet"
while IFS= read -r file; do
  path=${file#"$folder/lenslet/"}
  ! readelf -S "$file" | grep -E ' \.(symtab|debug_info) ' >/dev/null || bad "$path is not stripped"
  runpath=$(readelf -d "$file" | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\].*/\2/p')
  case $path in
    */lenslet_*.so) # a module's vendor library may be outside the loader's search path
      [[ $runpath != *"$build"* ]] || bad "$path: its runpath leads to the build: $runpath"
      ;;
    *) [ -z "$runpath" ] || bad "$path has a runpath: $runpath" ;;
  esac
done < <(find "$folder/lenslet/usr" -type f \( -path '*/bin/*' -o -name '*.so*' \))
modules=$(find "$folder/lenslet/usr/lib" -name 'lenslet_*.so')
built=$(find "$build/lib/" -name 'lenslet_*.so' -printf '%f\n')
[ "$(for module in $modules; do basename "$module"; done | sort)" = "$(sort <<<"$built")" ] ||
  bad "modules: packed are $modules, built are $built"
if grep -q onednn <<<"$modules"; then
  [[ $(field "$runtime" Recommends) =~ dnnl|onednn ]] ||
    bad "the oneDNN modules are there, and oneDNN is not recommended: $(field "$runtime" Recommends)"
fi

# ---- programs of the unpacked package
unset LENSLET_MODULE_PATH
lenslet=$root/usr/bin/lenslet
[ "$("$lenslet" --version)" = "$("$build/bin/lenslet" --version)" ] || bad 'the packed lenslet is another version'
"$lenslet" man | cmp -s - <(gzip -dc "$root/usr/share/man/man1/lenslet.1.gz") ||
  bad 'the packed page is not what the program prints'
read_correctly=0
while read -r picture digit _; do
  picture=${picture##*/digit_}
  if [ "${picture%%_*}" = "$digit" ]; then read_correctly=$((read_correctly + 1)); else bad "digit_$picture $digit"; fi
done < <("$lenslet" classify --device cpu "$root"/usr/share/lenslet/samples/*.png)
[ "$read_correctly" -eq 20 ] || bad "$read_correctly of the 20 samples were read correctly"
if grep -q conv_cpu_onednn <<<"$modules" && ldconfig -p | grep libdnnl >/dev/null; then
  "$lenslet" classify --device cpu --backend conv1=onednn "$root"/usr/share/lenslet/samples/digit_3_a.png |
    grep ': 3 ' >/dev/null ||
    bad 'the packed program does not find its modules'
fi
[ "$failures" -eq 0 ] || exit 1
files=$(find "$root" -type f | wc -l)
echo "packages $version: fields, $files files and links are in order; the programs run from where they are unpacked"
