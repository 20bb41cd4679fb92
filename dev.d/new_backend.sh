# shellcheck shell=bash
# ./dev new-backend

# Writes a backend that computes the definition, its row and its first test, all of which build and pass.
cmd_new_backend() {
  local name='' device='' side='' layer=conv
  while [ "$#" -gt 0 ]; do
    case $1 in
      --cpu | --cuda | --gpu)
        [ -z "$device" ] || usage_error "new-backend: one device expected, found $device and $1"
        device=$1 side=${1#--}
        [ "$side" = cpu ] || side=gpu
        ;;
      --layer)
        [ "$#" -ge 2 ] || usage_error '--layer needs a value'
        layer=$2
        shift
        ;;
      --layer=*) layer=${1#*=} ;;
      -*) usage_error "new-backend: unknown option '$1'" ;;
      *)
        [ -z "$name" ] || usage_error "new-backend: one name expected, found '$name' and '$1'"
        name=$1
        ;;
    esac
    shift
  done
  [ -n "$name" ] || usage_error 'new-backend needs a name: ./dev new-backend NAME --cpu|--cuda'
  [ -n "$side" ] || usage_error 'new-backend needs a device: --cpu or --cuda'
  [ "$layer" = conv ] ||
    usage_error "new-backend writes backends of conv, not of '$layer' (docs/add_a_backend.md explains them)"
  [[ $name =~ ^[a-z][a-z0-9_]*$ ]] ||
    usage_error "new-backend: a name has lower-case letters, digits and _, and begins with a letter, found '$name'"
  [[ $name != auto && $name != all ]] ||
    usage_error "new-backend: '$name' has a meaning for --backend; choose another name"
  [ "${#name}" -le 60 ] || usage_error 'new-backend: a name has at most 60 characters'

  local rows=layers/conv/CMakeLists.txt tests=tests/conv/tests.cmake source=layers/conv/$side/$name.cpp
  [ "$side" = cpu ] || source=layers/conv/gpu/$name.cu
  local test=tests/conv/${name}_${side}_test.cpp row="lenslet_backend(conv $side $name)"
  ! grep -qE "^lenslet_backend\(conv $side ${name}[ )]" "$rows" ||
    die "$rows has a row for $name on the ${side^^} already"
  local file
  for file in "$source" "$test"; do
    [ ! -e "$file" ] || die "$file is there already"
  done

  new_backend_file "dev.d/new_backend/conv_$side.${source##*.}.in" "$source"
  new_backend_file dev.d/new_backend/conv_test.cpp.in "$test"
  # Last of its device, so that `auto` takes the others first.
  local line
  line=$(grep -nE "^lenslet_backend\(conv $side " "$rows" | tail -n 1 | cut -d: -f1)
  sed -i "${line}a $row" "$rows"
  local marks=''
  [ "$side" = cpu ] || marks=' GPU'
  printf '\nlenslet_test(conv_%s_%s SOURCES conv/%s_%s_test.cpp DEPENDS lenslet_conv_verify%s)\n' \
    "$name" "$side" "$name" "$side" "$marks" >>"$tests"
  say "wrote $source and $test, one row in $rows and one in $tests"
  printf 'Next: ./dev test --filter %s, then convbench run --backend %s,direct --problem mb8ic32ih28oc32kh3ph1\n' \
    "'conv_${name}_$side'" "$name"
}

# new_backend_file TEMPLATE FILE, with the variables of cmd_new_backend.
new_backend_file() {
  local class program=test_conv_cpu kind=kCpu include='' skip=''
  class=$(sed -E 's/(^|_)([a-z0-9])/\U\2/g' <<<"$name")
  if [ "$side" = gpu ]; then
    program=test_conv_gpu kind=kCuda
    include='#include "tests/support/gpu.h"\n'
    skip='  LENSLET_SKIP_WITHOUT_GPU();\n'
  fi
  sed -e "s/@NAME@/$name/g; s/@CLASS@/$class/g; s/@DEVICE@/${side^^}/g; s/@PROGRAM@/$program/g; s/@KIND@/$kind/g" \
    -e "s|@INCLUDE@|$include|; s|@SKIP@|$skip|" "$1" >"$2"
  # The length of the name decides where lines break.
  local tool
  if tool=$(find_clang format); then "$tool" -i --style=file "$2"; fi
}
