# shellcheck shell=bash
# ./dev python

# Packages that ./dev python needs in addition to those of a build; pip installs the rest.
readonly for_python=(
  'program python3|python3'
  'python_module ensurepip|python3-venv'
  'python_header Python.h|python3-dev'
)

has_python_header() {
  has_program python3 &&
    python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), sys.argv[1])))' "$1"
}

cmd_python() {
  local options=() selection=() option folder launcher
  while [ "$#" -gt 0 ]; do
    case $1 in
      --cpu) options+=(--config-settings cmake.define.LENSLET_CUDA=OFF) ;;
      --cuda) options+=(--config-settings cmake.define.LENSLET_CUDA=ON) ;;
      --filter)
        [ "$#" -ge 2 ] || usage_error '--filter needs an expression'
        selection=(-k "$2")
        shift
        ;;
      --)
        shift
        for option in "$@"; do
          [[ $option == -D?*=* ]] || usage_error "python takes CMake options as -DNAME=VALUE, found '$option'"
          options+=(--config-settings "cmake.define.${option#-D}")
        done
        break
        ;;
      *) usage_error "python: unknown option '$1'" ;;
    esac
    shift
  done
  check_mnist_dir
  setup_if_needed
  install_missing required "${for_python[@]}"
  local venv=build/python/venv
  say "a fresh virtual environment: $venv"
  python3 -m venv --clear "$venv" || die "python3 could not create a virtual environment (the reasons are above)"
  if has_program ccache; then
    for launcher in CXX CUDA; do export "CMAKE_${launcher}_COMPILER_LAUNCHER=ccache"; done
    share_compiler_cache
    export CXX=${CXX:-c++}  # the name that CMake uses in other build folders: the cache distinguishes compilers by name
  fi
  say "pip install '.[test]' ${options[*]}"
  CMAKE_BUILD_PARALLEL_LEVEL=$(jobs) "$venv/bin/pip" --disable-pip-version-check install '.[test]' "${options[@]}" ||
    die 'pip could not build and install the package (the reasons are above)'
  if folder=$(mnist_folder); then
    export LENSLET_MNIST_DIR=$folder
  fi
  say 'testing the installed package'
  "$venv/bin/python" -m pytest --quiet "${selection[@]}"
}
