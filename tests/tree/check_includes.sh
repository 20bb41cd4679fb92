#!/usr/bin/env bash
# Includes point one way: framework -> layers -> models -> api -> apps or python; tests may include everything. Of apps/
# python includes apps/lenslet/pages/, which stands below the commands.
#   check_includes.sh ROOT
# Rules: a folder includes its own level and those below; quoted paths start at the root; within a folder of `orders` an
# entry includes itself and the entries before it, not those beside it, and framework/io/ stands on base and tensor
# alone; a layer's folder includes another layer's only if `neighbours` lists it, and headers in the root of layers/
# include none; the reference in layers/reference/ includes nothing of the layers except Conv2dProblem; the judge and
# the subjects, which run backends (conv_judge, conv_verify, layer_subject, gemm_subject, subjects, element_subjects),
# may include all layers; a backend is <device>/<name>.{cpp,cu}, and what stands in <device>/<name>/ is included only by
# that folder, by the <name>.* beside it and by the <name>.* beside the device's folder (the CPU side of a kernel).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
# shellcheck source=tests/tree/list_sources.sh
. "$here/list_sources.sh"

neighbours='fusion>activation fusion>pool fusion>relu'
neighbours+=' conv>fusion conv>gemm conv>pool linear>fusion linear>gemm pairwise>fusion'
readonly neighbours

# A folder, and its entries from below. An entry is a folder, a file, or `other files`: those that are not listed. `|`
# stands between entries of one rank.
export orders="
framework: version.h | gpu_side.h | base, device, tensor, instructions, measuring, graph, execution
models: lenet5_sizes.h | logit_deviations.h | mnist.h | prediction.h, digit | fused_lenet5 | onnx, other files
models/onnx: read, shape, import, other files
apps: common, measuring, lenslet | convbench | peers
apps/common: output, fields, system, ranks, ceilings, results, command_line, program
apps/lenslet: session, commands.h, pictures, candidates, pages, \
bench | classify | diff | doctor | eval | inspect | serve | show | tune, other files
apps/lenslet/serve: executor.h | protocol, batches, metrics.h, http, other files
apps/convbench: session, bench, filter | gemm_study | separable | stencil | streams, commands, other files
"

# The header defines the name. In a source without it the name is undefined in every build.
unread=$(grep -rlE '^ *# *(ifn?def|if).*LENSLET_HAS_CUDA' framework layers models weights api apps python tests \
  --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh' --include='*.inc' 2>/dev/null |
  xargs -r grep -L '#include "framework/gpu_side.h"' || true)
if [ -n "$unread" ]; then
  printf '%s: LENSLET_HAS_CUDA needs #include "framework/gpu_side.h"\n' "${unread//$'\n'/, }"
  exit 1
fi

# The folders of backends: cpu/ and gpu/ hold them. A folder without a source of its name is shared.
private=$(for folder in $(list_sources layers models -- h cpp cu cuh inc |
  sed -nE 's|^(.*/[cg]pu/[^/]+)/.*|\1|p' | sort -u); do
  if [ -e "$folder.cpp" ] || [ -e "$folder.cu" ]; then echo "$folder"; fi
done)
export private

list_sources framework layers models weights api apps python tests -- h cpp cu cuh inc |
  xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' /dev/null |
  awk -v neighbours="$neighbours" '
    function level(path) {
      if (path ~ /^framework\/io\//) return 1
      if (path ~ /^framework\//) return 0
      if (path ~ /^layers\//) return 2
      if (path ~ /^weights\//) return 3
      if (path ~ /^models\//) return 3
      if (path ~ /^api\//) return 4
      if (path ~ /^(apps|python)\//) return 5
      if (path ~ /^tests\//) return 6
      return -1
    }
    function layer(path, parts) {
      split(path, parts, "/")
      return parts[1] == "layers" && parts[3] != "" ? parts[2] : ""
    }
    # Reads "folder: entry, entry | entry, …" into rank[folder, entry], from 1 at the bottom.
    function read_order(line, parts, ranks, entries, n, m, i, k) {
      split(line, parts, /: /)
      folders[++folder_count] = parts[1]
      order[parts[1]] = parts[2]
      n = split(parts[2], ranks, /, /)
      for (i = 1; i <= n; ++i) {
        m = split(ranks[i], entries, / \| /)
        for (k = 1; k <= m; ++k) rank[parts[1], entries[k]] = i
      }
    }
    function entry(path, folder, rest) {
      rest = substr(path, length(folder) + 2)
      if ((folder, rest) in rank) return rest
      return rest ~ /\// ? substr(rest, 1, index(rest, "/") - 1) : "other files"
    }
    function check_order(folder, from, to) {
      if (index(file, folder "/") != 1 || index(target, folder "/") != 1) return
      from = entry(file, folder)
      to = entry(target, folder)
      if (from == to || folder == "framework" && (from == "io" || to == "io")) return
      if (!((folder, from) in rank)) bad(folder "/ has no entry " from " (tests/tree/check_includes.sh lists them)")
      else if (!((folder, to) in rank)) bad(folder "/ has no entry " to " (tests/tree/check_includes.sh lists them)")
      else if (rank[folder, to] >= rank[folder, from]) bad(folder "/ stands as " order[folder])
    }
    # The folder of a backend that `path` is in, or nothing.
    function backend_of(path, folder) {
      if (!match(path, /^.*\/[cg]pu\/[^\/]+\//)) return ""
      folder = substr(path, 1, RLENGTH - 1)
      return folder in owned ? folder : ""
    }
    # Whether `path` is in that folder or a file of the name beside it.
    function belongs(path, folder, beside) {
      beside = folder
      sub(/[cg]pu\/[^\/]+$/, "", beside)
      beside = beside substr(folder, match(folder, /[^\/]+$/))
      return index(path, folder "/") == 1 || index(path, folder ".") == 1 || index(path, beside ".") == 1
    }
    function bad(why) { printf "%s includes \"%s\": %s\n", place, target, why; found = 1 }
    BEGIN {
      n = split(neighbours, pairs, " "); for (i = 1; i <= n; ++i) legal[pairs[i]] = 1
      n = split(ENVIRON["orders"], lines, "\n"); for (i = 1; i <= n; ++i) if (lines[i] != "") read_order(lines[i])
      n = split(ENVIRON["private"], lines, "\n"); for (i = 1; i <= n; ++i) owned[lines[i]] = 1
    }
    {
      split($0, field, ":")
      file = field[1]; place = file ":" field[2]
      target = $0; sub(/^[^"]*"/, "", target); sub(/".*$/, "", target)
      seen++
      if (level(target) < 0) {
        bad("quoted paths start at the root (framework/, layers/, models/, api/, apps/, python/, tests/)")
        next
      }
      if (level(target) > level(file)) {
        bad("framework -> layers -> models -> api -> apps point one way, and this points up")
        next
      }
      if (file ~ /^apps\// && target ~ /^python\// ||
          file ~ /^python\// && target ~ /^apps\// && target !~ /^apps\/lenslet\/pages\//) {
        bad("python stands on api and apps/lenslet/pages, beside the programs")
        next
      }
      for (i = 1; i <= folder_count; ++i) check_order(folders[i])
      home = backend_of(target)
      if (home != "" && level(file) != 6 && !belongs(file, home))
        bad(home "/ belongs to one backend: move what others need beside it, or to a folder named after no backend")
      if (file ~ /^framework\/io\// && target ~ /^framework\// && target !~ /^framework\/(io|base|tensor)\//)
        bad("framework/io stands on base and tensor alone")
      from = layer(file); to = layer(target)
      if (from == "reference") {
        if (file !~ /\/(conv_(verify|judge)|(layer_|gemm_|element_)?subjects?)\./ && to != "" && to != "reference" &&
            target != "layers/conv/conv_problem.h")
          bad("the reference shares nothing with the layers but Conv2dProblem")
        next
      }
      if (level(file) == 2 && from == "" && to != "")
        bad("headers in the root of layers/ stand below every layer")
      if (from != "" && to != "" && from != to && !((from ">" to) in legal))
        bad("layers/" from " has no such neighbour (tests/tree/check_includes.sh lists the legal ones)")
    }
    END {
      if (!seen) { print "no include found at all: wrong folder?"; exit 1 }
      if (found) exit 1
      printf "%d includes point the right way\n", seen
    }'
