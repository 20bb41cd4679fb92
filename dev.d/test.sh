# shellcheck shell=bash
# ./dev test

# Sets cmd_test's `targets` and `pattern` to what the files changed since `base` affect.
find_affected() {
  local found
  configure -DLENSLET_BUILD_TESTS=ON
  found=$(python3 dev.d/affected.py --build "build/$preset" "${base[@]}" --tests) || exit 1
  mapfile -t found <<<"$found"
  say "${found[0]}"
  targets=${found[1]:-} pattern=${found[2]:-}
}

# Installs what the tests with the label `apps` need: packages of apt, and of PyPI in a virtual environment that sees
# those of apt. Without apt's packages tests are skipped, without PyPI's there is nothing to run.
setup_apps() {
  local names=tests/apps_requirements.txt venv=build/apps/venv python=$apt_python
  install_missing optional "${for_apps[@]}"
  setup_ray
  has_program "$python" || python=python3
  install_from_pypi "$venv" "$names" "$python" --system-site-packages ||
    log_die "pip could not install the packages of $names"
}

# Installs Ray with the package that ./dev python installed, if it did. Ray has no build for some versions of Python.
setup_ray() {
  local venv=build/python/venv names=tests/ray/requirements.txt
  [ -x "$venv/bin/pip" ] || return 0
  ! has_python_module ray "$venv/bin/python" || return 0
  say "installing the packages of $names into $venv"
  logged "$venv/bin/pip" --disable-pip-version-check install --requirement "$names" ||
    say "pip could not install them (the reasons are in $log): the test of Ray is skipped"
}

cmd_test() {
  local selection=() excluded=() targets=all folder affected=no apps=no pattern='' base=() json=''
  while [ "$#" -gt 0 ]; do
    if take_which "$@"; then
      shift "$taken"
      continue
    fi
    case $1 in
      --gpu-only) selection+=(--label-regex '^gpu$') ;;
      --no-gpu) excluded+=(gpu) ;;
      --quick)
        targets=quick_tests
        excluded+=(tree long)
        ;;
      --threads-only)
        targets=thread_tests
        selection+=(--label-regex '^threads$')
        ;;
      --apps)
        apps=yes
        targets=apps_tests
        selection+=(--label-regex '^apps$')
        ;;
      --affected) affected=yes ;;
      --base)
        [ "$#" -ge 2 ] || usage_error '--base needs a commit'
        base=(--base "$2")
        shift
        ;;
      --filter)
        [ "$#" -ge 2 ] || usage_error '--filter needs a regular expression'
        pattern=$2
        shift
        ;;
      --json)
        [ "$#" -ge 2 ] || usage_error '--json needs a file'
        json=$2
        shift
        ;;
      --)
        shift
        selection+=("$@")
        break
        ;;
      *) usage_error "test: unknown option '$1'" ;;
    esac
    shift
  done
  [ "${#base[@]}" -eq 0 ] || [ "$affected" = yes ] || usage_error '--base is for --affected'
  if [ "$affected" = yes ] && [ "$targets$pattern" != all ]; then
    usage_error '--affected chooses the tests itself: leave out --quick, --threads-only, --apps and --filter'
  fi
  [ "$apps" = yes ] || excluded+=(apps)
  if [ "${#excluded[@]}" -gt 0 ]; then
    # One expression: with several, ctest leaves out only tests that match all of them.
    selection+=(--label-exclude "^($(IFS='|' && printf '%s' "${excluded[*]}"))\$")
  fi
  [ -z "$json" ] || rm -f "$json"  # an older one would pass for this run's
  check_mnist_dir
  setup_if_needed --tests
  [ "$apps" = no ] || setup_apps
  if [ "$affected" = yes ]; then
    find_affected
    [ -n "$pattern" ] || return 0
  fi
  [ -z "$targets" ] || build "$targets" -DLENSLET_BUILD_TESTS=ON
  [ -z "$pattern" ] || selection+=(--tests-regex "$pattern")
  if folder=$(mnist_folder); then
    export LENSLET_MNIST_DIR=$folder
    say "MNIST: $folder"
  else
    say 'MNIST was not found (./dev mnist downloads it): tests that read it are skipped'
  fi
  has_gpu || say 'no NVIDIA GPU is visible: tests that need one are skipped'
  say "testing build/$preset"
  local status=0 parallel
  local results=build/$preset/Testing/Temporary
  # Tests of --apps wait most of their time: for a browser, for connections that are idle, for processes that start.
  parallel=$(jobs)
  [ "$apps" = no ] || parallel=$((2 * parallel))
  mkdir -p "$results"
  if [ -n "$json" ]; then
    rm -f "$results/junit.xml"
    selection=(--output-junit "$root/$results/junit.xml" "${selection[@]}")
  fi
  ctest --preset "$preset" --parallel "$parallel" "${selection[@]}" 2>&1 | tee "$results/summary.txt" || status=1
  say 'what was skipped, and why'
  awk -f dev.d/skipped.awk "$results/summary.txt" "$results/LastTest.log"
  if [ -n "$json" ]; then python3 tests/support/test_results.py "$results/junit.xml" --json "$json" || status=1; fi
  return "$status"
}
