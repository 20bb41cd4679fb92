#!/usr/bin/env bash
# The head of every kernel has its five lines: computes, work split, memory, requires, measured. `measured` names a
# result file, and its figures stand in that file, as does a rung's name; or it states why there is none. PTX stands in
# framework/instructions/ and in a few listed files.
#   check_kernels.sh ROOT
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
# shellcheck source=tests/tree/list_sources.sh
. "$here/list_sources.sh"

mapfile -t sources < <(list_sources framework layers models api apps -- cu cuh)
[ "${#sources[@]}" -gt 0 ] || { echo 'no files found: wrong folder?' >&2; exit 1; }

awk '
  FNR == 1 { head = "" }
  /^ *\/\// { head = head "\n" $0; next }
  /^ *template *</ { in_template = 1 }
  /__global__/ {
    kernels++
    for (i = 1; i <= lines; i++) {
      if (head ~ "\n *// " line[i] " +[^ ]") continue
      printf "%s:%d: the head of this kernel has no line \"%s\"\n", FILENAME, FNR, line[i]
      failed = 1
    }
  }
  # Between the head and the kernel stand its template parameters alone.
  in_template { in_template = $0 !~ />/; next }
  { head = "" }
  BEGIN { lines = split("computes,work split,memory,requires,measured", line, ",") }
  END {
    if (failed) exit 1
    if (kernels == 0) { print "no kernel found: is the pattern right?"; exit 1 }
    printf "%d kernels have their heads\n", kernels
  }
' "${sources[@]}"

# Every array of a kernel has its shape: in brackets after the parameter, or after its name in the head.
awk '
  FNR == 1 { head = ""; inside = 0 }
  /^ *\/\// { if (!inside) head = head " " $0; next }
  /^ *template *</ { in_template = 1 }
  /__global__/ { inside = 1; in_template = 0 }
  inside {
    comment = match($0, /\/\/.*/) ? substr($0, RSTART) : ""
    code = substr($0, 1, length($0) - length(comment))
    gsub(/__launch_bounds__\([^()]*(\([^()]*\))?[^()]*\)/, "", code)
    ends = code ~ /\) *[{;]/
    while (match(code, /\*( __restrict__)? *[a-z_][a-z_0-9]* *[,)]/)) {
      name = substr(code, RSTART, RLENGTH - 1)
      code = substr(code, RSTART + RLENGTH)
      sub(/^.*[* ]/, "", name)
      arrays++
      if (comment ~ /\[/ || head ~ "[^a-z_0-9]" name " \\[") continue
      printf "%s:%d: the shape of %s: \"// [N, C, H, W]\" after it, or \"%s [N, C, H, W]\" in the head\n",
             FILENAME, FNR, name, name
      failed = 1
    }
    if (ends) { inside = 0; head = "" }
    next
  }
  in_template { in_template = $0 !~ />/; next }
  { head = "" }
  END {
    if (failed) exit 1
    if (arrays == 0) { print "no array found: is the pattern right?"; exit 1 }
    printf "%d arrays of kernels have shapes\n", arrays
  }
' "${sources[@]}"

# A figure has its file, and a line without one a reason: "not yet: ", "not measured: ", "see another_kernel", or the
# values that are in every file.
awk '
  function judge() {
    if (text == "") return
    lines++
    figure = text ~ /[0-9] *([um]s|us|TFLOP\/s|GB\/s|M images\/s)/
    if (text !~ /^ *not / && text ~ /docs\/results\/[^) ]*\.json/ && (!figure || text ~ /\(docs\/results\//)) {
      text = ""
      return
    }
    if (figure)
      printf "%s: a figure without its docs/results/….json\n", place
    else if (text !~ /^ *not (yet|measured): |see [a-z0-9_]+_kernel|of every result file/)
      printf "%s: no docs/results/….json, no \"not yet: \" and no \"not measured: \"\n", place
    else {
      text = ""
      return
    }
    failed = 1
    text = ""
  }
  FNR == 1 || !/^ *\/\/      / { judge() }
  /^ *\/\/ measured +/ {
    judge()
    place = FILENAME ":" FNR
    text = $0
    sub(/^ *\/\/ measured +/, "", text)
    next
  }
  text != "" { text = text " " $0 }
  END {
    judge()
    if (failed) exit 1
    printf "%d lines on measurements name their file or the reason\n", lines
  }
' "${sources[@]}"

# A file that a comment names is there.
missing=$(grep -oE 'docs/results/2[^ ),;"]*\.json' "${sources[@]}" /dev/null | sort -u |
  while IFS=: read -r place file; do
    [ -f "$file" ] || printf '%s: there is no %s\n' "$place" "$file"
  done)
if [ -n "$missing" ]; then
  printf '%s\n' "$missing"
  exit 1
fi

# A rung is in the file that its head cites, by its name or by the older one that the head states: "as direct.05_older".
mapfile -t rungs < <(find layers -path '*/ladder/*/[0-9][0-9]_*.cu' | sort)
for rung in "${rungs[@]}"; do
  measured=$(awk '/^\/\/ measured +/ { on = 1 } on && !/^\/\/ / { exit } on' "$rung")
  file=$(grep -oE 'docs/results/2[^ ),;"]*\.json' <<<"$measured" | head -n 1) || continue
  algorithm=$(basename "$(dirname "$rung")")
  name=$(grep -oE "as $algorithm\.[0-9a-z_]+" <<<"$measured") || name="as $algorithm.$(basename "$rung" .cu)"
  grep -qE "\"backend\": *\"${name#as }\"" "$file" || { echo "$rung: $file has no ${name#as }" && exit 1; }
done
printf '%d rungs are in the files that their heads cite, or not measured\n' "${#rungs[@]}"

# A comment about what was measured, timed or tried on a GPU or CPU names a file, or has one of the same reasons.
mapfile -t commented < <(list_sources framework layers models api apps -- h cpp cu cuh)
awk '
  function judge() {
    if (text ~ /[HAV][12]00|EPYC|Xeon/ && text ~ /[Mm]easured|[Tt]imed|[Tt]ried|[Tt]rial/) {
      trials++
      if (text !~ /\.json|not yet: |not measured: |see [a-z0-9_]+_kernel|of every result file/) {
        printf "%s: measured on a GPU or CPU: name its docs/results/….json, or \"not measured: \" and why\n", place
        failed = 1
      }
    }
    text = ""
  }
  FNR == 1 { judge() }
  match($0, /\/\/.*/) {
    if (text == "") place = FILENAME ":" FNR
    text = text " " substr($0, RSTART)
    next
  }
  { judge() }
  END {
    judge()
    if (failed) exit 1
    printf "%d comments on trials name their file or the reason\n", trials
  }
' "${commented[@]}"

# "236.0 us (docs/results/FOLDER/FILE.json)": a median or a stage of that file, in nanoseconds there.
# "(docs/results/FOLDER/FILE.json at commit …)" is not compared: that file was replaced.
awk '
  function know(file, time,    from) {
    for (from = 0; from < 4; from++) known[file, sprintf("%." from "f", time / 1000)] = 1
  }
  function medians(file,    text) {
    if (file in read) return
    read[file] = 1
    while ((getline text < file) > 0) {
      if (text ~ /"median": *[0-9]/) {
        sub(/.*"median": */, "", text)
        know(file, text)
      } else if (text ~ /"stages_ns": *[{]/) {
        while (match(text, /: *[0-9][0-9.e+]*/)) {
          know(file, substr(text, RSTART + 1, RLENGTH - 1))
          text = substr(text, RSTART + RLENGTH)
        }
      }
    }
  }
  FNR == 1 { figures = "" }
  !/^ *\/\// { figures = ""; next }
  /\/\/ measured/ { figures = "" }
  { figures = figures " " $0 }
  match($0, /\(docs\/results\/[^) ]*\.json\)/) {
    file = substr($0, RSTART + 1, RLENGTH - 2)
    medians(file)
    sub(/.*\.(md|json)[^)]*\).*\(docs/, "(docs", figures)
    while (match(figures, /[0-9.,]+( \/ [0-9.,]+)* us/)) {
      count = split(substr(figures, RSTART, RLENGTH - 3), figure, " / ")
      for (i = 1; i <= count; i++) {
        gsub(/,/, "", figure[i])
        checked++
        if ((file, figure[i]) in known) continue
        printf "%s:%d: no median of %s is %s us\n", FILENAME, FNR, file, figure[i]
        failed = 1
      }
      figures = substr(figures, RSTART + RLENGTH)
    }
    figures = ""
  }
  END {
    if (failed) exit 1
    printf "%d figures of comments stand in their files\n", checked
  }
' "${commented[@]}"

# A head that has "see X_kernel" for its figure borrows that of a row whose launches have both kernels.
awk '
  FNR == 1 { head = ""; wanted = 0 }
  /^ *\/\// {
    head = /\/\/ measured/ ? $0 : head " " $0
    next
  }
  /__global__/ { wanted = 1 }
  wanted && match($0, /[a-z][a-z0-9_]*_kernel *\(/) {
    name = substr($0, RSTART, RLENGTH)
    sub(/ *\($/, "", name)
    wanted = 0
    if (match(head, /docs\/results\/2[^ ),;"]*\.json/)) cited[name] = substr(head, RSTART, RLENGTH)
    if (match(head, /see [a-z0-9_]+_kernel/)) {
      borrowed[name] = substr(head, RSTART + 4, RLENGTH - 4)
      place[name] = FILENAME ":" FNR
    }
    head = ""
  }
  END {
    for (name in borrowed) {
      file = cited[borrowed[name]]
      there = launched = other = 0
      while (file != "" && (getline line < file) > 0) {
        if (line ~ /"launches":/) launched = other = 0
        if (index(line, "\"" name "\"")) launched = 1
        if (index(line, "\"" borrowed[name] "\"")) other = 1
        if (launched && other) there = 1
      }
      close(file)
      borrowers++
      if (there) continue
      printf "%s: in the file of %s, \"%s\", no row launches %s too: cite a file, or \"not measured: \"\n",
             place[name], borrowed[name], file, name
      failed = 1
    }
    if (failed) exit 1
    printf "%d heads borrow figures of rows that launch both kernels\n", borrowers
  }
' "${sources[@]}"

# PTX stands in framework/instructions/, and so do CUDA's primitives for cp.async. The exceptions, and why:
asm_files='
layers/conv/gpu/direct/tile.cuh           the primitives of CUDA for cp.async, which also work before 8.0
layers/conv/gpu/winograd/fused.cuh        the barrier of two warps
models/fused_lenet5/gpu/cluster/stores.cuh  mbarrier in a form that keeps the code of the medium kernel
models/fused_lenet5/gpu/cluster/thread.cuh  weights past L1
models/fused_lenet5/gpu/lanes.cuh         values that must not be computed later, and a prediction for a host that polls
models/fused_lenet5/gpu/resident/kernel.cuh  loads and stores for a host that polls, and the clock
models/fused_lenet5/winograd.h            dp4a of unsigned by signed bytes, which CUDA has no function for
tests/faults/faulty_gpu_backend.cu        the clock
tests/faults/hanging_kernel.cu            the clock
apps/common/ceilings/memory_ceilings.cpp  keeps the compiler from merging repetitions
layers/conv/cpu/rows.h                    keeps a loop from becoming a call of memcpy
layers/gemm/cpu/tile_kernel.cpp           keeps the order of additions
models/fused_lenet5/cpu/simd/stages.inc   keeps weights out of the registers before a loop
models/fused_lenet5/spin_wait.h           the yield of an Arm processor, which has no built-in function
tests/support/simulated_gemm.cpp          the name of a symbol
'
list_sources framework layers models api apps python tests -- h cpp cu cuh inc | xargs awk -v asm_files="$asm_files" '
  BEGIN {
    count = split(asm_files, line, "\n")
    for (i = 1; i <= count; i++) {
      split(line[i], word, " ")
      if (word[1] != "") allowed[word[1]] = 1
    }
  }
  { sub(/\/\/.*/, "") }
  /(^|[^A-Za-z0-9_])(asm|__asm|__asm__)([^A-Za-z0-9_]|$)|__pipeline_/ {
    if (FILENAME ~ /^framework\/instructions\//) {
      wrappers++
    } else if (FILENAME in allowed) {
      used[FILENAME] = 1
    } else {
      printf "%s:%d: asm outside framework/instructions/: call its wrapper there, or add one\n", FILENAME, FNR
      failed = 1
    }
  }
  END {
    for (file in allowed) {
      if (file in used) continue
      printf "%s is listed for its asm and has none\n", file
      failed = 1
    }
    if (wrappers == 0) print "no asm in framework/instructions/: is the pattern right?"
    if (failed || wrappers == 0) exit 1
    printf "%d asm statements stand in framework/instructions/\n", wrappers
  }
'
