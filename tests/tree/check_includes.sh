#!/usr/bin/env bash
# Includes point one way: framework -> layers -> models -> api -> apps or python; tests may include everything.
#   check_includes.sh ROOT
# Rules: a folder includes its own level and those below; within framework/, base <- device <- tensor <- instructions
# <- measuring <- graph <- execution, and io/ stands on base and tensor alone; a layer's folder includes another
# layer's only if `neighbours` lists it, and headers in the root of layers/ include none; layers/reference/ (the judge)
# includes nothing of the layers except Conv2dProblem; conv_verify, conv_judge and the subjects, which run backends, may
# include all layers; quoted paths start at the root.
set -euo pipefail
cd "$1"

neighbours='fusion>activation fusion>pool fusion>relu'
neighbours+=' conv>fusion conv>gemm conv>pool linear>fusion linear>gemm pairwise>fusion'
readonly neighbours

find framework layers models weights api apps python tests -type f \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) -print0 2>/dev/null |
  xargs -0 grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' /dev/null |
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
    function room(path, parts) {
      split(path, parts, "/")
      return parts[1] == "framework" && parts[3] != "" ? parts[2] : ""
    }
    function layer(path, parts) {
      split(path, parts, "/")
      return parts[1] == "layers" && parts[3] != "" ? parts[2] : ""
    }
    function bad(why) { printf "%s includes \"%s\": %s\n", place, target, why; found = 1 }
    BEGIN {
      shared = "apps/lenslet/show/model_page.h"
      n = split(neighbours, pairs, " "); for (i = 1; i <= n; ++i) legal[pairs[i]] = 1
      n = split("base device tensor instructions measuring graph execution", rooms, " ")
      for (i = 1; i <= n; ++i) floor[rooms[i]] = i
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
      if (level(file) == 5 && level(target) == 5 && substr(target, 1, 4) != substr(file, 1, 4) && target != shared) {
        bad("apps and python stand side by side on api; python takes " shared " alone")
        next
      }
      from = room(file); to = room(target)
      if (from != "" && to != "" && from != to &&
          (from == "io" ? to !~ /^(base|tensor)$/ : !(floor[to] < floor[from])))
        bad("framework/ stands as base, device, tensor, instructions, measuring, graph, execution; " \
            "io on base and tensor alone")
      from = layer(file); to = layer(target)
      if (from == "reference") {
        if (file !~ /\/(conv_(verify|judge)|(layer_|gemm_|element_)?subjects?)\./ && to != "" && to != "reference" &&
            target != "layers/conv/conv_problem.h")
          bad("the judge shares nothing with the layers but Conv2dProblem")
        next
      }
      if (level(file) == 2 && from == "" && to != "")
        bad("headers in the root of layers/ stand below every layer; layers/fusion is a folder that has neighbours")
      if (from != "" && to != "" && from != to && !((from ">" to) in legal))
        bad("layers/" from " has no such neighbour (tests/tree/check_includes.sh lists the legal ones)")
    }
    END {
      if (!seen) { print "no include found at all: wrong folder?"; exit 1 }
      if (found) exit 1
      printf "%d includes point the right way\n", seen
    }'
