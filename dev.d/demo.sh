# shellcheck shell=bash
# ./dev demo

cmd_demo() {
  while [ "$#" -gt 0 ]; do
    take_which "$@" || usage_error "demo: unknown option '$1'"
    shift "$taken"
  done
  check_mnist_dir
  setup_if_needed
  build lenslet_demo
  local lenslet=build/$preset/bin/lenslet folder
  show 'lenslet classify samples/*.png' "$lenslet" classify samples/*.png
  show 'lenslet profile --plan layered' "$lenslet" profile --plan layered --min-time-ms 100
  if folder=$(mnist_folder); then
    show "lenslet eval --data $folder" "$lenslet" eval --data "$folder"
  else
    say 'MNIST was not found: ./dev mnist downloads it (11 MB), then ./dev demo also measures the accuracy'
  fi
  say "the program is $lenslet; '$lenslet --help' lists its commands"
}
