# shellcheck shell=bash
# ./dev mnist, and the search for MNIST

has_mnist() {
  local file
  for file in t10k-images-idx3-ubyte t10k-images.idx3-ubyte; do
    [ -e "$1/$file" ] || [ -e "$1/$file.gz" ] && return 0
  done
  return 1
}

# Ends ./dev if LENSLET_MNIST_DIR names a folder without MNIST. mnist_folder cannot do so: it runs in a subshell, and
# `die` would end only that.
check_mnist_dir() {
  [ -z "${LENSLET_MNIST_DIR:-}" ] || has_mnist "$LENSLET_MNIST_DIR" ||
    die "LENSLET_MNIST_DIR=$LENSLET_MNIST_DIR has no t10k-images-idx3-ubyte[.gz]"
}

# Prints the folder with MNIST's test images; fails if there is none. Call check_mnist_dir first.
mnist_folder() {
  if [ -n "${LENSLET_MNIST_DIR:-}" ]; then
    printf '%s\n' "$LENSLET_MNIST_DIR"
  elif has_mnist data; then
    printf '%s\n' "$root/data"
  else
    return 1
  fi
}

readonly mnist_mirrors='https://ossci-datasets.s3.amazonaws.com/mnist '\
'https://storage.googleapis.com/cvdf-datasets/mnist'
# File and MD5 of its decompressed bytes; the compressed bytes differ between mirrors.
readonly mnist_files=(
  'train-images-idx3-ubyte 6bbc9ace898e44ae57da46a324031adb'
  'train-labels-idx1-ubyte a25bea736e30d166cdddb491f175f624'
  't10k-images-idx3-ubyte 2646ac647ad5339dbf082846283269ea'
  't10k-labels-idx1-ubyte 27ae3e4e09519cfbb04c329615203637'
)

md5_of_decompressed() {
  { gzip -dc "$1" 2>/dev/null || true; } | md5sum | cut -d ' ' -f 1
}

# Whether the file is the beginning of a gzip file, so that a download can resume at its end.
is_cut_gzip() {
  { LC_ALL=C gzip -t <"$1" 2>&1 || true; } | grep "unexpected end of file" >/dev/null
}

# fetch URL FILE: resumes where FILE ends.
fetch() {
  if has_program curl; then
    local quiet=(--silent --show-error)
    [ ! -t 2 ] || quiet=(--progress-bar)
    curl --fail --location "${quiet[@]}" --connect-timeout 20 --continue-at - --output "$2" "$1"
  else
    wget --no-verbose --timeout=20 --tries=1 --continue --output-document="$2" "$1"
  fi
}

# fetch_checked URL FILE MD5: downloads FILE.part and renames it to FILE if its decompressed bytes have that MD5.
fetch_checked() {
  local part=$2.part from status
  while true; do
    if [ -e "$part" ] && ! is_cut_gzip "$part"; then rm -f "$part"; fi
    from=$(stat -c %s "$part" 2>/dev/null || echo 0)
    printf '   %s%s\n' "$1" "$([ "$from" -eq 0 ] || printf ', resuming after %s bytes' "$from")"
    status=0
    fetch "$1" "$part" || status=$?
    [ -e "$part" ] || return 1
    if [ "$(md5_of_decompressed "$part")" = "$3" ]; then
      mv "$part" "$2"
      return 0
    fi
    if is_cut_gzip "$part"; then
      # curl's exit codes 33 and 36: the server cannot resume.
      if [ "$from" -gt 0 ] && { [ "$status" -eq 33 ] || [ "$status" -eq 36 ]; }; then
        rm -f "$part"
        continue
      fi
      printf '   cut off after %s bytes: kept, the next download resumes there\n' "$(stat -c %s "$part")" >&2
      return 1
    fi
    if [ -s "$part" ]; then
      printf '   not the expected data (MD5 of the decompressed bytes is not %s): deleted\n' "$3" >&2
    fi
    rm -f "$part"
    [ "$from" -gt 0 ] || return 1  # the old part may have been wrong: try once more from the start
  done
}

cmd_mnist() {
  local folder=data row file md5 mirror got
  while [ "$#" -gt 0 ]; do
    case $1 in
      --dir)
        [ "$#" -ge 2 ] || usage_error '--dir needs a folder'
        folder=$2
        shift
        ;;
      --dir=*) folder=${1#*=} ;;
      *) usage_error "mnist: unknown option '$1'" ;;
    esac
    shift
  done
  [ -n "$folder" ] || usage_error '--dir needs a folder'
  if ! has_program curl && ! has_program wget; then
    install_missing required 'program curl|curl' 'program update-ca-certificates|ca-certificates'
  fi
  mkdir -p "$folder"
  for row in "${mnist_files[@]}"; do
    read -r file md5 <<<"$row"
    if [ -e "$folder/$file.gz" ] && [ "$(md5_of_decompressed "$folder/$file.gz")" = "$md5" ]; then
      say "$folder/$file.gz is already there, checksum right"
      continue
    fi
    say "downloading $folder/$file.gz"
    got=no
    for mirror in ${LENSLET_MNIST_MIRRORS:-$mnist_mirrors}; do
      if fetch_checked "${mirror%/}/$file.gz" "$folder/$file.gz" "$md5"; then
        got=yes
        break
      fi
    done
    [ "$got" = yes ] ||
      die "$file.gz could not be downloaded from any of: ${LENSLET_MNIST_MIRRORS:-$mnist_mirrors}" \
        "(the reasons are above). Check the network, or copy the four .gz files of MNIST into $folder"
  done
  say "MNIST is in $folder, checksums right; ./dev demo and 'lenslet eval --data $folder' use it"
}
