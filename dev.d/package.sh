# shellcheck shell=bash
# ./dev package

cmd_package() {
  local cuda=AUTO packages
  while [ "$#" -gt 0 ]; do
    case $1 in
      --cpu) cuda=OFF ;;
      --cuda) cuda=ON ;;
      *) usage_error "package: unknown option '$1'" ;;
    esac
    shift
  done
  setup_if_needed
  install_missing required 'program dpkg-shlibdeps|dpkg-dev'
  preset=package
  build all "-DLENSLET_CUDA=$cuda"
  rm -f build/package/*.deb
  say 'packing'
  cpack --config build/package/CPackConfig.cmake -B build/package ||
    die 'CPack could not make the packages (the reasons are above)'
  packages=(build/package/*.deb)
  say "packages: ${packages[*]}"
  say "to install: apt-get install ./build/package/lenslet_*.deb"
}
