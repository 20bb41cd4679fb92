# shellcheck shell=bash
# ./dev sanitize

cmd_sanitize() {
  local options=() out=''
  while [ "$#" -gt 0 ]; do
    if take_which "$@"; then
      shift "$taken"
      continue
    fi
    case $1 in
      --tool | --jobs | --gpus | --limit | --filter | --json)
        [ "$#" -ge 2 ] || usage_error "$1 needs a value"
        case $1 in
          --tool)
            [[ " memcheck racecheck initcheck synccheck all " == *" $2 "* ]] ||
              usage_error "sanitize has no tool '$2': there are memcheck racecheck initcheck synccheck all"
            ;;
          --filter | --json) ;;
          *) whole_number "$1" "$2" ;;
        esac
        options+=("$1" "$2")
        shift
        ;;
      --out)
        [ "$#" -ge 2 ] || usage_error '--out needs a value'
        out=$2
        shift
        ;;
      --list) options+=("$1") ;;
      *) usage_error "sanitize: unknown option '$1'" ;;
    esac
    shift
  done
  has_program python3 || die 'sanitize needs python3 (apt-get install python3)'
  setup_if_needed
  build all -DLENSLET_BUILD_TESTS=ON -DLENSLET_CUDA=ON
  python3 tests/sanitize/sanitize.py --tests "build/$preset/tests" --out "${out:-build/$preset/sanitize}" \
    "${options[@]}"
}
