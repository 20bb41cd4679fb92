# shellcheck shell=bash
# ./dev bench

# A short name of the card that will be measured: "h200", or "cpu".
card_name() {
  local name
  case $1 in
    cuda | cuda:* | auto)
      name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) || true
      if [ -n "$name" ]; then
        printf '%s\n' "$name" | sed 's/^NVIDIA //' | tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]\n' '-'
        return 0
      fi
      ;;
  esac
  printf 'cpu\n'
}

cmd_bench() {
  local device=auto name='' out='' batch folder card report=()
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
  setup_if_needed
  build lenslet_programs
  card=$(card_name "$device")
  out=${out:-docs/results/$(date -u +%Y-%m-%d)-${name:-$card}}
  mkdir -p "$out"
  # measure PROGRAM COMMAND OPTIONS…
  measure() {
    show "$1 $2 --device $device ${*:3}" "build/$preset/bin/$1" "$2" --device "$device" "${@:3}"
  }
  for batch in 1 64 1024 10000; do
    measure lenslet profile --batch-size "$batch" --json "$out/profile-batch-$batch.json"
  done
  if folder=$(mnist_folder); then
    measure lenslet eval --data "$folder" --json "$out/eval.json"
  else
    say 'MNIST is not here (./dev mnist gets it): no accuracy measured'
  fi
  if python3 -c 'import matplotlib' >/dev/null 2>&1; then
    report=(--report "$out/report.html")
  else
    say 'python3 has no matplotlib (apt-get install python3-matplotlib): no report is drawn'
  fi
  if [ "$card" = cpu ]; then
    measure convbench sweep --sizes 256:1024:x2 --json "$out/sweep.json" "${report[@]}"
  else
    measure convbench reproduce all --json "$out/reproduce.json" --csv "$out/reproduce.csv" "${report[@]}"
  fi
  say "results: $out"
}
