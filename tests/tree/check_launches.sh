#!/usr/bin/env bash
# Every call of CUDA, cuBLAS, cuDNN and MPI is checked: its status is an argument of a check, returned, kept or
# compared. A call that is a statement of its own discards it, and must have (void) before it, as in destructors. A
# check reports the text of its argument, so that is a call, not a status that was kept: throw_cuda_error() names the
# call of one.
# Hosts launch by launch(), launch_early() or a KernelLaunch of framework/device/kernel_launch.cuh, with the name before
# the kernel. Any other launch is followed within a few lines by a check that names the kernel, before the next launch:
# LENSLET_CUDA_CHECK_LAUNCH("its_name") or LENSLET_CUDA_CHECK_LAUNCH_OF(its_name). The branches of an if may share a
# check after them. And every "…_kernel" in quotes, wherever a name is reported, is a __global__ function of the tree,
# and the kernel that follows it, if any, has that name.
#   check_launches.sh ROOT
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
# shellcheck source=tests/tree/list_sources.sh
. "$here/list_sources.sh"

mapfile -t sources < <(list_sources framework layers models api apps -- cu cuh)
[ "${#sources[@]}" -gt 0 ] || { echo 'no files found: wrong folder?' >&2; exit 1; }

awk '
  function complain(place, why) { printf "%s: %s\n", place, why; failed = 1 }
  function unchecked() {
    if (line) complain(place, "no LENSLET_CUDA_CHECK_LAUNCH follows this launch")
    line = branches = 0
  }
  FNR == 1 { unchecked() }
  {
    code = $0
    sub(/\/\/.*/, "", code)
    match(code, /^ */)
    indent = RLENGTH
  }
  line && code ~ /LENSLET_CUDA_CHECK_LAUNCH(_OF)?\(/ {
    checked = code
    sub(/.*CHECK_LAUNCH(_OF)?\(/, "", checked)
    literal = sub(/^"/, "", checked)
    sub(/[^A-Za-z0-9_].*/, "", checked)
    if (checked == "") complain(FILENAME ":" FNR, "this check of a launch names no kernel")
    if (literal && name != "" && checked != name)
      complain(FILENAME ":" FNR, "this check names " checked ", launched was " name)
    if (branches && indent > else_indent)
      complain(place, "no LENSLET_CUDA_CHECK_LAUNCH follows every branch with a launch")
    line = branches = 0
  }
  line && code ~ /(^|[^A-Za-z_])else([^A-Za-z_]|$)/ { other_branch = 1; else_indent = indent }
  code ~ /<<<|cudaLaunch(Cooperative)?Kernel/ {
    if (code ~ /LENSLET_CUDA_CHECK\(/)
      complain(FILENAME ":" FNR,
               "the error of this launch would name the call: LENSLET_CUDA_CHECK_LAUNCH names the kernel")
    if (line && !other_branch) unchecked()
    if (line) branches++
    line = FNR; place = FILENAME ":" FNR; other_branch = 0; launches++
    name = code
    if (!sub(/(<[^<>]*(<[^<>]*>)?[^<>]*>)?<<<.*/, "", name) || name !~ /[a-z0-9]_kernel$/) name = ""
    sub(/.*[^A-Za-z0-9_]/, "", name)
  }
  line && FNR - line > 9 { unchecked() }
  END {
    unchecked()
    if (failed) exit 1
    if (launches == 0) { print "no launch found: is the pattern right?"; exit 1 }
    printf "%d launches are checked and named\n", launches
  }
' "${sources[@]}"

mapfile -t naming < <(list_sources framework layers models api apps -- h cpp cu cuh)
awk '
  # `before` is the code before a call, without comments: its end tells whether a statement begins there.
  BEGIN { call = "(^|[^A-Za-z0-9_])((cuda|cublas|cudnn|cu|MPI_)[A-Z][A-Za-z0-9_]*|Create|Destroy)(<[^<>]*>)? *[(]" }
  FNR == 1 { before = ";" }
  {
    code = $0
    sub(/\/\/.*/, "", code)
    rest = code
    if (match(code, /LENSLET_(CUDA|CUBLAS|CUDNN)_CHECK\([A-Za-z0-9_]+\)/) && code !~ /#define/) {
      name = substr(code, RSTART, RLENGTH)
      sub(/.*\(/, "", name); sub(/\)$/, "", name)
      printf "%s:%d: the message of this check would name %s, not the call: use throw_cuda_error()\n",
             FILENAME, FNR, name
      failed = 1
    }
    # Create and Destroy are parameters of templates.
    while (match(rest, call)) {
      name = substr(rest, RSTART, RLENGTH)
      start = RSTART + (name !~ /^[A-Za-z]/)
      before = before substr(rest, 1, start - 1)
      sub(/^[^A-Za-z]/, "", name); sub(/ *\($/, "", name)
      rest = substr(rest, start + length(name))
      calls++
      sub(/(::)?[ \t]*$/, "", before)
      if (before !~ /([;{})]|(^|[^A-Za-z0-9_])(else|do))$/ || before ~ /\(void\)$/) continue
      printf "%s:%d: the status of %s is discarded: pass it to a check such as LENSLET_CUDA_CHECK, or write (void)\n",
             FILENAME, FNR, name
      failed = 1
    }
    before = before rest
    sub(/[ \t\\]+$/, "", before)
    before = substr(before, length(before) - 20)
  }
  END {
    if (failed) exit 1
    if (calls == 0) { print "no call found: is the pattern right?"; exit 1 }
    printf "%d calls of CUDA, cuBLAS, cuDNN and MPI are checked\n", calls
  }
' "${naming[@]}"

awk '
  FNR == 1 { in_head = 0 }
  {
    code = $0
    sub(/\/\/.*/, "", code)
    rest = code
    while (match(rest, /"[A-Za-z0-9_]*_kernel"/)) {
      name = substr(rest, RSTART + 1, RLENGTH - 2)
      named[name] = FILENAME ":" FNR
      rest = substr(rest, RSTART + RLENGTH)
      if (match(rest, /^, *&?[A-Za-z0-9_:]*_kernel/)) {
        kernel = substr(rest, 1, RLENGTH)
        sub(/.*[^A-Za-z0-9_]/, "", kernel)
        if (kernel != name) {
          printf "%s:%d: this names %s, and the kernel is %s\n", FILENAME, FNR, name, kernel
          failed = 1
        }
      }
    }
  }
  # In the head of a kernel its name may be on a later line, after attributes.
  sub(/.*__global__/, "", code) { in_head = 1 }
  in_head && match(code, /[A-Za-z0-9_]+_kernel *\(/) {
    name = substr(code, RSTART, RLENGTH)
    sub(/ *\($/, "", name)
    kernels[name] = 1
    in_head = 0
  }
  code ~ /[{;]/ { in_head = 0 }
  END {
    for (name in named) {
      names++
      if (name in kernels) continue
      printf "%s: \"%s\" is no __global__ function of the tree\n", named[name], name
      failed = 1
    }
    if (failed) exit 1
    if (names == 0) { print "no name of a kernel found in quotes: is the pattern right?"; exit 1 }
    printf "%d names in quotes are kernels\n", names
  }
' "${naming[@]}"
