# shellcheck shell=bash
# ./dev bench

# The device that this program chooses for --device, and the name of a GPU: "cpu", "cuda:0 NVIDIA H200".
device_meant_by() {
  local words
  if ! words=$("$1" profile --device "$2" --batch-size 1 --min-time-ms 1 --json - 2>&1); then
    printf '%s\n' "$words" >&2
    return 1
  fi
  # `devices` stands before `ceilings`, whose device is the one that ran.
  awk -F '"' '
    /^      "name": "/ { name = $4 }
    /^      "device": "/ && !($4 in names) { names[$4] = name }
    /^    "device": "/ { print $4 ($4 in names ? " " names[$4] : ""); exit }
  ' <<<"$words"
}

# short_name WORD…: of a GPU's name, for the folder of results: "h100" of NVIDIA H100 80GB HBM3; "cpu" without a word.
short_name() {
  local word
  for word; do
    case $word in
      *[0-9]*)  # the model: "V100-SXM2-16GB" without its variant
        word=${word%%-*}
        printf '%s\n' "${word,,}"
        return
        ;;
    esac
  done
  [ "${1:-}" != NVIDIA ] || shift
  word=${*:-cpu}
  word=${word,,}
  printf '%s\n' "${word//[^a-z0-9]/-}"
}

# Makes this GPU the only one of all later commands, their cuda:0. Some parts take the kind of a device alone.
show_only_gpu() {
  local visible
  IFS=, read -ra visible <<<"${CUDA_VISIBLE_DEVICES:-}"
  export CUDA_VISIBLE_DEVICES=${visible[$1]:-$1}
}

# The parts of ./dev bench; calls, peers and networks require python3 with NumPy, serve requires wrk, counters ncu.
readonly bench_parts=(lenet conv layers calls peers networks serve counters)

# try "LINE" COMMAND…: as show. If the command fails, the others go on, and cmd_bench names it at the end: a peer with
# wrong answers does not cost the other results. After Ctrl-C nothing goes on.
try() {
  local code=0
  tried=yes
  show "$@" || code=$?
  [ "$code" -ne 130 ] || exit 130
  [ "$code" -eq 0 ] || failures+=("$part: $1 (exit code $code)")
}

# measure PROGRAM COMMAND OPTIONS…
measure() {
  try "$1 $2 --device $device ${*:3}" "$built/bin/$1" "$2" --device "$device" "${@:3}"
}

bench_lenet() {
  local batch math
  for batch in 1 10000; do
    measure lenslet profile --plan layered --batch-size "$batch" --json "$out/profile-batch-$batch.json"
  done
  if [ "$device" != cpu ]; then
    for math in tf32 fp16; do
      measure lenslet profile --plan layered --batch-size 10000 --math "$math" \
        --json "$out/profile-batch-10000-$math.json"
    done
  fi
  if [ "${#on_mnist[@]}" -gt 0 ]; then
    measure lenslet eval "${on_mnist[@]}" --json "$out/eval.json"
    measure lenslet eval "${on_mnist[@]}" --backend-matrix --json "$out/matrix.json"
    if [ "$device" != cpu ]; then  # over the bus
      measure lenslet eval "${on_mnist[@]}" --plan fused --math fp16 --input uint8 --batch-size 65536 --streams 3 \
        --repeat 6000 --json "$out/stream-fp16.json"
    fi
  else
    say 'skipped: accuracy and streaming need MNIST, which was not found (./dev mnist downloads it)'
  fi
  # The CPU's batch sizes end before a GPU is fully used.
  batch=1,16,64,256,1024,4096,10000
  [ "$device" = cpu ] || batch=$batch,65536,262144,1048576
  measure lenslet bench "${on_mnist[@]}" --plan fused --batch-sizes "$batch" --json "$out/bench.json"
  if [ "$device" != cpu ]; then  # each math mode layer by layer
    measure lenslet bench "${on_mnist[@]}" --plan layered --math fp32,tf32,fp16 --input fp32 --output logits \
      --batch-sizes 10000 --json "$out/bench-layered.json"
    # Around the batches at which another backend, or another turn of one, takes over.
    measure lenslet bench "${on_mnist[@]}" --plan fused --json "$out/bench-batches.json" \
      --batch-sizes 1,8,64,67,132,256,512,529,768,793,1000,1056,1057,1320,1321,3960,3961,10000,65536,262144,1048576
  fi
  measure lenslet bench "${on_mnist[@]}" --latency --plan fused --batch-sizes 1,64 --json "$out/latency.json"
}

# compare_convolutions LIST OPTIONS FILE: a list of problems, hot.
compare_convolutions() {
  local options
  read -ra options <<<"$2"
  measure convbench run --problems "layers/conv/problems/$1.txt" "${options[@]}" --cache hot --warmup-ms 5 \
    --min-time-ms 30 --json "$3"
}

bench_conv() {
  local kind report=()
  if [ "$built" != "build/$preset" ]; then
    say 'no report with --built: docs/results/update_readme.py --report draws it'
  elif python3 -c 'import matplotlib' >/dev/null 2>&1; then
    report=(--report "$out/report.html")
  else
    say 'skipped: the report needs matplotlib (apt-get install python3-matplotlib)'
  fi
  if [ "$device" = cpu ]; then
    measure convbench sweep --sizes 256:1024:x2 --json "$out/sweep.json" "${report[@]}"
  else
    measure convbench reproduce all --json "$out/reproduce.json" --csv "$out/reproduce.csv" "${report[@]}"
    measure convbench ladder direct --json "$out/ladder.json"
    measure convbench ladder implicit_gemm --cache hot --json "$out/ladder-implicit_gemm.json"
    if [[ ${words[*]} =~ H(100|200|800) ]]; then  # the only GPUs that its rungs have code for
      measure convbench ladder tensor_core --json "$out/ladder-tensor_core.json"
      for kind in fp16 bf16; do
        compare_convolutions deep3x3 "--dt $kind --layout both --backend tensor_core,cudnn" "$out/deep3x3-$kind.json"
      done
      compare_convolutions resnet50 '--dt fp16 --layout nhwc --backend tensor_core,cudnn' "$out/resnet50-fp16.json"
    fi
    compare_convolutions deep3x3 '--math tf32 --layout both --backend tensor_core,cudnn' "$out/deep3x3-tf32.json"
    measure convbench run --problems layers/conv/problems/batch1.txt --math fp32 --cache hot --json "$out/batch1.json"
    for kind in fp32 tf32; do
      compare_convolutions resnet50 "--math $kind --layout both --backend auto,cudnn" "$out/resnet50-$kind.json"
    done
  fi
}

# The kernels that no other part times by themselves.
bench_layers() {
  local unrolled=conv1=im2col_gemm,conv2=im2col_gemm
  measure lenslet profile --model tests/models/onnx/kernels.onnx --batch-size 256 --json "$out/layers.json"
  # Only tune times a fusion that the backend advises against.
  measure lenslet tune --model tests/models/onnx/kernels.onnx --backend conv_direct_any_pool=direct --batch-size 256 \
    --json "$out/layers-tune.json"
  measure lenslet profile --plan layered --backend "$unrolled" --batch-size 10000 --json "$out/layers-im2col.json"
  if [ "$device" != cpu ]; then  # a stride of 2: Hopper's own kernel does not support it
    measure convbench run --problem mb8ic64ih128oc256oh63kh3sh2 --backend tensor_core --math tf32 \
      --json "$out/layers-tensor_core.json"
  fi
}

# compare SCRIPT OPTIONS…: a script of apps/peers.
compare() {
  if ! python3 -c 'import numpy' >/dev/null 2>&1; then
    say "skipped: apps/peers/$1 needs a python3 with NumPy (python3-numpy)"
    return
  fi
  try "python3 apps/peers/$1 ${*:2}" python3 "apps/peers/$1" "${@:2}"
}

# compare_on_mnist SCRIPT OPTIONS…
compare_on_mnist() {
  if [ "${#on_mnist[@]}" -eq 0 ]; then
    say "skipped: apps/peers/$1 needs MNIST (./dev mnist)"
    return
  fi
  compare "$1" "${on_mnist[@]}" "${@:2}"
}

# compare_frameworks COMPARE SCRIPT OPTIONS…: one that times Lenslet's program and its peers.
compare_frameworks() {
  local kind=cuda limit=()
  [ "$device" != cpu ] || kind=cpu
  [ -z "$seconds" ] || limit=(--seconds "$seconds")
  "$1" "$2" --lenslet "$built/bin/lenslet" --device "$kind" "${limit[@]}" "${@:3}"
}

bench_calls() {
  local interpreter=()
  [ -z "$python" ] || interpreter=(--python "$python")
  compare_on_mnist user_calls.py --build "$built" --device "$device" "${interpreter[@]}" --json "$out/calls.json"
}

bench_peers() {
  compare_frameworks compare_on_mnist lenet5_peers.py --json "$out/peers.json"
}

bench_networks() {
  compare_frameworks compare networks_peers.py --json "$out/networks.json"
}

bench_serve() {
  local kind=cuda
  [ "$device" != cpu ] || kind=cpu
  if ! has_program wrk; then
    say 'skipped: apps/peers/serve_load.py needs wrk (apt-get install wrk)'
    return
  fi
  [ "$built" != "build/$preset" ] || build beast_echo
  try "python3 apps/peers/serve_load.py" \
    python3 apps/peers/serve_load.py --build "$built" --device "$kind" --json "$out/serve.json"
}

bench_counters() {
  if [ "$device" = cpu ]; then
    say 'skipped: counters are of kernels on a GPU'
  elif ! has_program ncu; then
    say 'skipped: apps/counters/counters.py needs ncu of Nsight Compute'
  else
    try "python3 apps/counters/counters.py" \
      python3 apps/counters/counters.py --build "$built" --device "$device" --json "$out/counters.json"
  fi
}

cmd_bench() {
  local device=auto name='' out='' built='' parts='' python='' seconds='' folder part chosen words line
  local on_mnist=() failures=() tried=no
  while [ "$#" -gt 0 ]; do
    if take_which "$@"; then
      shift "$taken"
      continue
    fi
    case $1 in
      --device | --name | --out | --built | --part | --python | --seconds)
        [ "$#" -ge 2 ] || usage_error "$1 needs a value"
        case $1 in
          --device) device=$2 ;;
          --name) name=$2 ;;
          --out) out=$2 ;;
          --built) built=$2 ;;
          --part)
            parts=${2//,/ }
            [ -n "${parts// /}" ] || usage_error "bench has no part '$2': there are ${bench_parts[*]}"
            ;;
          --python) python=$2 ;;
          --seconds)
            whole_number "$1" "$2"
            seconds=$2
            ;;
        esac
        shift
        ;;
      *) usage_error "bench: unknown option '$1'" ;;
    esac
    shift
  done
  for part in $parts; do
    [[ " ${bench_parts[*]} " == *" $part "* ]] || usage_error "bench has no part '$part': there are ${bench_parts[*]}"
  done
  if [ -n "$built" ] && [ ! -x "$built/bin/lenslet" ]; then
    usage_error "--built $built has no bin/lenslet"
  fi
  check_mnist_dir
  if [ -z "$built" ]; then
    setup_if_needed
    build 'lenslet_programs lenslet_shared'
    built=build/$preset
  fi
  chosen=$(device_meant_by "$built/bin/lenslet" "$device")
  device=${chosen%% *}
  read -ra words <<<"${chosen#"$device"}"
  [ -n "$name" ] || name=$(short_name "${words[@]}")
  if [[ $device == cuda:* ]]; then
    show_only_gpu "${device#cuda:}"
    device=cuda:0
  fi
  out=${out:-docs/results/$(date -u +%Y-%m-%d)-$name}
  mkdir -p "$out"
  if folder=$(mnist_folder); then
    on_mnist=(--data "$folder")
  fi
  for part in ${parts:-lenet conv calls}; do
    "bench_$part"
  done
  if [ "$tried" = no ]; then
    rmdir "$out" 2>/dev/null || true
    die 'nothing was measured: each part was skipped for the reason above'
  fi
  say "results: $out"
  for line in "${failures[@]}"; do say "failed in $line"; done
  [ "${#failures[@]}" -eq 0 ] || die "${#failures[@]} of the commands above failed"
}
