# shellcheck shell=bash
# ./dev bench

# What --device stands for with this program: "cpu", "cuda:0".
device_meant_by() {
  local words
  if ! words=$("$1" profile --device "$2" --batch-size 1 --min-time-ms 1 --json - 2>&1); then
    printf '%s\n' "$words" >&2
    return 1
  fi
  printf '%s\n' "$words" | sed -n 's/^    "device": "\(.*\)",$/\1/p' | head -n 1
}

# A short name of the card that will be measured: "h200", or "cpu".
card_name() {
  local name
  case $1 in
    cuda:*)
      name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) || true
      printf '%s\n' "${name:-gpu}" | sed 's/^NVIDIA //' | tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]\n' '-'
      ;;
    *) printf 'cpu\n' ;;
  esac
}

cmd_bench() {
  local device=auto name='' out='' batch folder card on_mnist=() report=()
  while [ "$#" -gt 0 ]; do
    if take_which "$@"; then
      shift "$taken"
      continue
    fi
    case $1 in
      --device | --name | --out)
        [ "$#" -ge 2 ] || usage_error "$1 needs a value"
        case $1 in
          --device) device=$2 ;;
          --name) name=$2 ;;
          --out) out=$2 ;;
        esac
        shift
        ;;
      *) usage_error "bench does not know '$1'" ;;
    esac
    shift
  done
  check_mnist_dir
  setup_if_needed
  build lenslet_programs
  device=$(device_meant_by "build/$preset/bin/lenslet" "$device")
  card=$(card_name "$device")
  out=${out:-docs/results/$(date -u +%Y-%m-%d)-${name:-$card}}
  mkdir -p "$out"
  # measure PROGRAM COMMAND OPTIONS…
  measure() {
    show "$1 $2 --device $device ${*:3}" "build/$preset/bin/$1" "$2" --device "$device" "${@:3}"
  }
  for batch in 1 64 1024 10000; do
    measure lenslet profile --plan layered --batch-size "$batch" --json "$out/profile-batch-$batch.json"
  done
  if folder=$(mnist_folder); then
    on_mnist=(--data "$folder")
    measure lenslet eval "${on_mnist[@]}" --json "$out/eval.json"
    measure lenslet eval "${on_mnist[@]}" --backend-matrix --json "$out/matrix.json"
    if [ "$device" != cpu ]; then  # over the bus
      measure lenslet eval "${on_mnist[@]}" --plan fused --math fp16 --input uint8 --batch-size 65536 --streams 3 --repeat 6000 \
        --json "$out/stream-fp16.json"
    fi
  else
    say 'MNIST is not here (./dev mnist gets it): no accuracy and no stream of its images measured'
  fi
  # The CPU's own batch sizes stop where a GPU is not yet full.
  batch=1,16,64,256,1024,4096,10000
  [ "$device" = cpu ] || batch=$batch,65536,262144,1048576
  measure lenslet bench "${on_mnist[@]}" --plan fused --input uint8 --output prediction --batch-sizes "$batch" \
    --json "$out/bench.json"
  measure lenslet bench "${on_mnist[@]}" --latency --plan fused --batch-sizes 1,64 --json "$out/latency.json"
  if python3 -c 'import matplotlib' >/dev/null 2>&1; then
    report=(--report "$out/report.html")
  else
    say 'python3 has no matplotlib (apt-get install python3-matplotlib): no report is drawn'
  fi
  if [ "$device" = cpu ]; then
    measure convbench sweep --sizes 256:1024:x2 --json "$out/sweep.json" "${report[@]}"
  else
    measure convbench reproduce all --json "$out/reproduce.json" --csv "$out/reproduce.csv" "${report[@]}"
    measure convbench ladder direct --json "$out/ladder.json"
  fi
  say "results: $out (against other frameworks: apps/peers/lenet5_peers.py)"
}
