#!/usr/bin/env bash
# Completion in bash, as bash asks for it: sources what the programs print and looks at COMPREPLY.
#   bash_completion_test.sh LENSLET CONVBENCH
set -o pipefail  # an interactive shell has neither -e nor -u
lenslet=$(realpath "$1") convbench=$(realpath "$2")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/scripts" "$folder/work"
"$lenslet" completion bash >"$folder/scripts/lenslet.bash"
"$convbench" completion bash >"$folder/scripts/convbench.bash"
bash -n "$folder/scripts/lenslet.bash"
bash -n "$folder/scripts/convbench.bash"
# shellcheck source=/dev/null
. "$folder/scripts/lenslet.bash"
# shellcheck source=/dev/null
. "$folder/scripts/convbench.bash"

# Completes LINE with the cursor at its end, splitting it as bash does: at blanks, and around '=' and ':'.
complete_line() {
  local split
  COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=()
  split=$1
  if [ "${COMP_WORDBREAKS//=/}" != "$COMP_WORDBREAKS" ]; then split=${split//=/ = } split=${split//:/ : }; fi
  read -ra COMP_WORDS <<<"$split"
  if [[ $1 == *' ' ]]; then COMP_WORDS+=(''); fi
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  "_${COMP_WORDS[0]}"
}

# expect LINE WORDS…: exactly these, in any order.
expect() {
  local line=$1 got wanted
  shift
  complete_line "$line"
  got=$(printf '%s\n' "${COMPREPLY[@]}" | sort)
  wanted=$(printf '%s\n' "$@" | sort)
  if [ "$got" != "$wanted" ]; then
    printf "after '%s' expected\n%s\ngot\n%s\n" "$line" "${wanted//$'\n'/ }" "${got//$'\n'/ }" >&2
    failures=$((failures + 1))
  fi
}
# expect_some LINE WORDS…: these among others.
expect_some() {
  local line=$1 word
  shift
  complete_line "$line"
  for word in "$@"; do
    if ! printf '%s\n' "${COMPREPLY[@]}" | grep -Fxq -- "$word"; then
      printf "after '%s' expected %s among: %s\n" "$line" "$word" "${COMPREPLY[*]}" >&2
      failures=$((failures + 1))
    fi
  done
}

cd "$folder/work" || exit 1
mkdir pictures 'two words'
touch plan.json other.json digit.png 'a picture.png' pictures/one.png

expect 'lenslet ' classify eval profile tune bench backends doctor completion man
expect 'lenslet cl' classify
expect 'lenslet --' --help --version
expect 'convbench s' sweep streams separable stencil
expect 'lenslet nonsense ' ''
# Flags of the command, and of no other.
expect 'lenslet doctor --s' --seed
expect 'lenslet classify --e' --explain
expect 'lenslet eval --ex' ''
expect_some 'convbench run -' -h --problem --layout --resume
# Values: after a blank and after '='.
expect 'lenslet classify --math ' fp32 tf32 fp16
expect 'lenslet classify --math=' fp32 tf32 fp16
expect 'lenslet classify --math=f' fp32 fp16
expect 'lenslet eval --device ' auto cpu cuda
expect 'lenslet eval --device=cu' cuda
expect 'convbench run --layout n' nchw nhwc
expect 'convbench run --layout=' nchw nhwc both
expect 'convbench reproduce ' a b c d e all
expect 'convbench reproduce a --cache ' cold hot both
expect 'lenslet completion ' bash zsh
# A free value offers nothing, and what stands for one is no flag.
expect 'lenslet classify --limit ' ''
expect 'lenslet classify --explain --limit=' ''
# Words or a file.
expect 'lenslet classify --plan ' auto layered fused plan.json other.json digit.png 'a picture.png' pictures 'two words'
expect 'lenslet classify --plan=pl' plan.json
expect 'lenslet tune --plan ' auto layered fused
expect 'convbench filter --output ' digit.png 'a picture.png' pictures 'two words'
expect 'convbench compare ot' other.json
expect 'convbench compare ' plan.json other.json pictures 'two words'
expect 'lenslet eval --data ' pictures 'two words'
expect 'lenslet classify pictures/' pictures/one.png
expect 'lenslet classify digit.png p' plan.json pictures
expect 'lenslet classify --json=pictures/' pictures/one.png
expect 'lenslet classify -- --p' ''
# Lists between commas; what is in one already is not offered again.
expect 'lenslet bench --math ' fp32 tf32 fp16
expect 'lenslet bench --math fp32,' fp32,tf32 fp32,fp16
expect 'lenslet bench --math=fp32,t' fp32,tf32
expect_some 'convbench run --backend ' all direct winograd implicit_gemm onednn
expect 'convbench run --backend direct,im2' direct,im2col_gemm
# By layer: the part after the last '=' is what bash replaces.
expect_some 'lenslet eval --backend ' auto direct conv1= fc3= '*='
expect_some 'lenslet eval --backend conv1=' direct winograd auto
expect 'lenslet eval --backend conv1=dir' direct
expect 'lenslet eval --backend=conv1=direct,conv2=im2' im2col_gemm
expect 'lenslet eval --backend conv1=direct,po' direct,pool1= direct,pool2=
# The same where '=' does not split words.
COMP_WORDBREAKS=$' \t\n'
expect 'lenslet classify --math=f' --math=fp32 --math=fp16
expect 'lenslet eval --backend conv1=dir' conv1=direct
expect 'lenslet classify --plan=pl' --plan=plan.json

[ "$failures" -eq 0 ] || { printf '%d completions are wrong\n' "$failures" >&2; exit 1; }
echo 'bash completes commands, flags, values, lists and files'
