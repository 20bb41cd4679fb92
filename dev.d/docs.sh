# shellcheck shell=bash
# ./dev docs

cmd_docs() {
  [ "$#" -eq 0 ] || usage_error "docs: unknown option '$1'"
  install_missing required 'program doxygen|doxygen'
  docs/api_reference.sh build/docs || die 'the API reference was not written (the reasons are above)'
}
