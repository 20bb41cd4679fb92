#!/usr/bin/env bash
# What the documents and the programs' examples name exists: every `./dev`, `lenslet` and `convbench` command with its
# flags, every preset, every file in backticks, every relative link; and what sources cite as `docs/PAGE.md, "Heading"`,
# and apps/report/glossary.txt without quotes: a heading, or the bold words that begin a paragraph. docs/cli.md lists
# the exit codes of --help. Tables with the heading `flag` write an option with its values as --help does. Each option
# of --help and each of CMake (LENSLET_…) stands on a page, and each -DLENSLET_… of a page is an option. The functions
# of tables with the headings `file` and `function` are declared or defined in their files, and so are those that text
# places: "`NAME` (`FILE`)", "`NAME` in `FILE`", with the others of its list, and in pages with such a table also
# "`FILE`, `NAME`". A call does not count. `Class::member` anywhere is a member of that class.
#   check_docs.sh ROOT [PROGRAM…]
# Commands of a program that is not given are not checked.
set -euo pipefail
cd "$1"
shift
declare -A programs=()
for program in "$@"; do programs[$(basename "$program")]=$program; done

mapfile -t documents < <(find . \( -path ./build -o -path './build-*' -o -path ./data -o -path './.*/*' \) -prune -o \
  -type f -name '*.md' -print | sort)
[ "${#documents[@]}" -gt 0 ] || { echo 'no documents found: wrong folder?' >&2; exit 1; }
found=0
bad() {
  printf '%s: %s\n' "$1" "$2" >&2
  found=1
}

# Files that a tutorial makes its reader write: "<!-- file: PATH -->" before a block.
declare -A written=()
while IFS= read -r path; do written[$path]=1; done < <(sed -nE 's/^<!-- file: (.*) -->$/\1/p' "${documents[@]}")
is_there() { [ -e "$1" ] || [ -n "${written[$1]:-}" ]; }

# "document:line<TAB>kind<TAB>text" of commands (fenced blocks sh and console, and backticks that begin with one), files
# in backticks, links, and functions in backticks as "FILE NAME".
extract() {
  awk '
    function emit(kind, text) { printf "%s:%d\t%s\t%s\n", FILENAME, FNR, kind, text }
    BEGIN {
      file = "^(framework|layers|models|api|apps|python|tests|docs|weights|cmake|packaging|samples|dev\\.d|\\.ci)/" \
        "[A-Za-z0-9_./-]+$"
    }
    FNR == 1 { fence = ""; held = ""; in_flags = in_functions = 0 }
    /^[[:space:]]*```/ {
      if (fence != "") { fence = ""; next }
      fence = $0; sub(/^[[:space:]]*```/, "", fence); if (fence == "") fence = "text"
      next
    }
    fence == "sh" || fence == "console" {
      line = $0
      if (fence == "console" && held == "" && line !~ /^\$ /) next
      sub(/^\$ /, "", line); sub(/(^|[[:space:]])#.*$/, "", line)
      if (line ~ /\\$/) { sub(/\\$/, "", line); held = held line; next }
      line = held line; held = ""
      if (line !~ /^[[:space:]]*$/) emit("command", line)
      next
    }
    fence != "" { next }
    { in_flags = /^\| flag \|/ || (in_flags && /^\|/) }
    in_flags {
      cell = $0; sub(/ \| .*/, "", cell); gsub(/\\\|/, "|", cell)
      while (match(cell, /`--[^`]+`/)) {
        emit("option", substr(cell, RSTART + 1, RLENGTH - 2)); cell = substr(cell, RSTART + RLENGTH)
      }
    }
    { in_functions = /\| file \| function \|/ || (in_functions && /^\|/) }
    in_functions {
      split($0, cells, "|"); place = cells[3]; gsub(/[` ]/, "", place); rest = cells[4]
      while (match(rest, /`[^`]+`/)) {
        emit("function", place " " substr(rest, RSTART + 1, RLENGTH - 2)); rest = substr(rest, RSTART + RLENGTH)
      }
    }
    {
      rest = $0
      while (match(rest, /`[^`]+`/)) {
        code = substr(rest, RSTART + 1, RLENGTH - 2); rest = substr(rest, RSTART + RLENGTH)
        if (code ~ /^(\.\/dev|lenslet|convbench) [a-z-]/) emit("command", code)
        else if (code ~ file) emit("file", code)
      }
      rest = $0
      while (match(rest, /\]\([^)#[:space:]]+/)) {
        link = substr(rest, RSTART + 2, RLENGTH - 2); rest = substr(rest, RSTART + RLENGTH)
        if (link !~ /^[a-z]+:/) emit("link", link)
      }
    }' "${documents[@]}"
}

# "document:line<TAB>FILE<TAB>NAME" of the functions, types and macros that the text places in a file. A paragraph may
# break a line anywhere between the two. CHANGELOG.md is left out: it names what was.
extract_places() {
  awk -v walks=<(grep -l '| file | function |' "${documents[@]}") '
    function emit(at, file, name) {
      sub(/\(\)$/, "", name)
      printf "%s:%d\t%s\t%s\n", page, line + gsub(/\n/, "&", at), file, name
    }
    function flush(    rest, before, found, file, names, count, i) {
      rest = text; before = ""
      while (match(rest, names_then_file)) {
        found = substr(rest, RSTART, RLENGTH); before = before substr(rest, 1, RSTART - 1)
        count = split(found, names, "`")
        file = names[count - 1]
        for (i = 2; i < count - 1; i += 2) emit(before, file, names[i])
        before = before found; rest = substr(rest, RSTART + RLENGTH)
      }
      rest = text; before = ""
      while (walk && match(rest, file_then_name)) {
        found = substr(rest, RSTART, RLENGTH); before = before substr(rest, 1, RSTART - 1)
        rest = substr(rest, RSTART + RLENGTH)
        split(found, names, "`")
        if (rest !~ /^[ \n](\(|in[ \n])`/) emit(before, names[2], names[4])
        before = before found
      }
      text = ""
    }
    BEGIN {
      name = "`[A-Za-z_][A-Za-z0-9_:]*(\\(\\))?`"
      file = "`[a-z][A-Za-z0-9_.]*/[A-Za-z0-9_./]+\\.(h|c|cpp|cu|cuh|inc)`"
      names_then_file = "(" name "(,|,? and|,? or)[ \n])*" name "[ \n](\\(|in[ \n])" file
      file_then_name = file ",[ \n]" name
      while ((getline path < walks) > 0) is_walk[path] = 1
    }
    FNR == 1 { flush(); fenced = 0; page = FILENAME; walk = page in is_walk }
    /^[[:space:]]*```/ { flush(); fenced = !fenced; next }
    fenced { next }
    /^[[:space:]]*$/ || /^(#|\||<!--|[[:space:]]*- )/ { flush() }
    { if (text == "") line = FNR; text = text (text == "" ? "" : "\n") $0 }
    END { flush() }' "${documents[@]/#.\/CHANGELOG.md//dev/null}"
}

# declares FILE NAME: whether the file declares or defines the function, lambda, type, constant or macro.
# A type precedes the name in a declaration, but not in a call; only a definition may begin its line with the name.
declares() {
  local file=$1 name=${2##*::} class='' scope='([A-Za-z0-9_]+::)*'
  local bounds='__[a-z_]+__\([^()]*\)'
  local type="([A-Za-z_][A-Za-z0-9_:]*(<[^()]*>)?|<[^()]*>|$bounds)[*&]*[[:space:]]+"
  local body='([[:space:]]+final)?[[:space:]]*(:[^:].*)?(\{.*)?$'
  if [ "$name" != "$2" ]; then
    class=${2%::*} class=${class##*::}
    grep -qE "^($type)*$scope$class::$name\(" "$file" && return
    grep -qE "(class|struct) $scope$class$body" "$file" || return 1
  fi
  grep -qE "(^|[[:space:]])((class|struct|union|enum|enum class) $scope$name$body|using $name =|#define $name\b)" \
    "$file" && return
  local lambda="[[:space:]&]$name = \[" constant="constexpr [^()]*[[:space:]]$name = "
  grep -E "^[[:space:]]*(\[\[[a-z_]+\]\] )?($type)+$scope$name\(|^$scope$name\(|$lambda|$constant" "$file" |
    grep -vE '^[[:space:]]*(return|co_return|throw|else|new|delete|case)[[:space:]]' >/dev/null
}

# The loops below use bash's own patterns: a process for every flag of every command would take seconds.
dev_help=$(./dev help)
export COLUMNS=1000  # --help breaks no line at this width
declare -A known_help=()
help='' flags_help=''
# help_of PROGRAM SUBCOMMAND sets help, and flags_help, which lacks the examples; an option instead of a subcommand
# gives the program's own.
help_of() {
  local key="$1 $2"
  if [ -z "${known_help[$key]+set}" ]; then
    # shellcheck disable=SC2086  # empty for the program's own help
    known_help[$key]=$("${programs[$1]}" ${2/#-*/} --help 2>&1) || known_help[$key]=none
    known_help[flags $key]=$(sed "/^  $1 /d" <<<"${known_help[$key]}")
  fi
  help=${known_help[$key]} flags_help=${known_help[flags $key]}
}

# check_flags PLACE PROGRAM HELP WORDS…: each --flag is a word of the help.
check_flags() {
  local place=$1 program=$2 help=$3 word flag
  shift 3
  for word in "$@"; do
    [ "$word" != -- ] || return 0  # what follows is another program's
    case $word in
      --[a-z]*)
        flag=${word%%=*}
        flag=${flag%%[!a-z0-9-]*}
        [[ $help =~ (^|[^a-z0-9-])$flag([^a-z0-9-]|$) ]] || bad "$place" "$program has no $flag"
        ;;
    esac
  done
}

presets=$(<CMakePresets.json)
check_command() {
  local place=$1 i word
  shift
  local words=("$@")
  for ((i = 0; i < ${#words[@]}; ++i)); do
    word=${words[i]}
    case $word in
      ./dev)
        [[ $dev_help =~ $'\n'"  ./dev ${words[i + 1]:-}"([[:space:]]|$) ]] ||
          bad "$place" "there is no ./dev ${words[i + 1]:-}"
        check_flags "$place" ./dev "$dev_help" "${words[@]:i + 2}"
        return
        ;;
      samples/*)
        compgen -G "$word" >/dev/null || bad "$place" "there is no $word"
        ;;
      lenslet | build/*/bin/lenslet | convbench | build/*/bin/convbench)
        check_command "$place" "${words[@]:i + 1}"
        local program=${word##*/}
        [ -n "${programs[$program]:-}" ] || return 0
        local sub=${words[i + 1]:---help}
        [ "$sub" != help ] || sub=${words[i + 2]:---help}  # "help COMMAND" is "COMMAND --help"
        [ "$sub" != version ] || sub=--help
        help_of "$program" "$sub"
        [ "$help" != none ] || { bad "$place" "there is no $program $sub"; return; }
        check_flags "$place" "$program $sub" "$flags_help" "${words[@]:i + 2}"
        return
        ;;
      --preset)
        [[ $presets == *"\"name\": \"${words[i + 1]:-}\""* ]] ||
          bad "$place" "there is no preset ${words[i + 1]:-}"
        ;;
      weights/* | tests/* | .ci/* | ./.ci/* | docs/* | layers/* | apps/*)
        is_there "$word" || bad "$place" "there is no $word"
        ;;
    esac
  done
}

# .ci/run contains the README's two commands exactly as a user types them.
promised=0
while read -r command; do
  promised=$((promised + 1))
  grep -qxF -- "$command" .ci/run ||
    bad README.md "'$command' stands under 'Two commands', and .ci/run does not run it so"
done < <(sed -n '/^## Two commands$/,/^## [^T]/s/^\(\.\/dev [^#]*[^# ]\) *#.*/\1/p' README.md)
[ "$promised" -gt 1 ] || bad README.md "no two commands found under 'Two commands'"

# The examples of the programs' own help, and its options with their values.
options=
declare -A pages_with=([lenslet]='README.md docs/*.md' [convbench]='docs/convbench.md')
for program in "${!programs[@]}"; do
  # shellcheck disable=SC2086  # several pages
  on_pages=$(grep -ohE -- '--[a-z][a-z0-9-]*' ${pages_with[$program]} | sort -u)
  while read -r sub; do
    help_of "$program" "$sub"
    options+=$(grep '^  -' <<<"$help")$'\n'
    while read -r flag; do
      [[ $'\n'$on_pages$'\n' == *$'\n'"$flag"$'\n'* ]] ||
        bad "$program $sub --help" "$flag stands on no page (${pages_with[$program]})"
    done < <(sed -nE 's/^  (-h,)?(--[a-z0-9-]+).*/\2/p' <<<"$help")
    while read -ra words; do
      check_command "$program $sub --help" "${words[@]}"
    done < <(grep -oE "(^  |: )$program [a-z].*" <<<"$help" | sed 's/^[: ]*//')
  done < <(printf -- '--help\n'; "${programs[$program]}" --help |
    sed -nE '/^(Sub)?[Cc]ommands:/,/^$/s/^  ([a-z]+) .*/\1/p')
done

# The options of CMake.
declared=$(find CMakeLists.txt cmake packaging tests python -name CMakeLists.txt -o -name '*.cmake' | sort |
  xargs -r sed -nE 's/^ *option\((LENSLET_[A-Z0-9_]+) .*/\1/p; s/^ *set\((LENSLET_[A-Z0-9_]+) .* CACHE .*/\1/p')
[ -n "$declared" ] || bad CMakeLists.txt 'no option found: is the pattern right?'
while read -r name; do
  grep -qE "\`(-D)?$name(\`|=)" README.md CONTRIBUTING.md docs/*.md || bad CMakeLists.txt "$name stands on no page"
done <<<"$declared"
while IFS= read -r hit; do
  [[ $'\n'$declared$'\n' == *$'\n'"${hit##*-D}"$'\n'* ]] || bad "${hit%:*}" "CMake has no option ${hit##*-D}"
done < <(grep -noE -e '-DLENSLET_[A-Z0-9_]+' "${documents[@]}")

if [ -n "${programs[lenslet]:-}" ]; then
  help_of lenslet --help
  while IFS= read -r row; do
    grep -qF -- "$row" docs/cli.md || bad docs/cli.md "no row begins with '$row', as lenslet --help has it"
  done < <(sed '1,/^Exit codes: /{s/^Exit codes: //;t;d}' <<<"$help" | tr '\n' ' ' |
    sed -E 's/\. *$//; s/, ([0-9])/\n\1/g' | sed -E 's/^ *([0-9]+) (.*)/| \1 | \2/'; echo)
fi

seen=0
while IFS=$'\t' read -r place kind text; do
  seen=$((seen + 1))
  case $kind in
    command)
      text=${text//&&/;}
      IFS='|;' read -ra segments <<<"$text"
      for segment in "${segments[@]}"; do
        read -ra words <<<"$segment"
        [ "${#words[@]}" -eq 0 ] || check_command "$place" "${words[@]}"
      done
      ;;
    option)
      [ "${#programs[@]}" -eq 0 ] || [[ $options == *"  $text "* ]] ||
        bad "$place" "no --help has '$text'"
      ;;
    file) is_there "$text" || bad "$place" "there is no $text" ;;
    function)
      ! [ -e "${text% *}" ] || declares "${text% *}" "${text##* }" ||
        bad "$place" "${text% *} does not declare ${text##* }"
      ;;
    link)
      document=${place%:*}
      [ -e "${document%/*}/$text" ] || bad "$place" "the link leads nowhere: $text"
      ;;
  esac
done < <(extract)
while IFS=$'\t' read -r place file name; do
  seen=$((seen + 1))
  ! [ -e "$file" ] || declares "$file" "$name" || bad "$place" "$file does not declare $name"
done < <(extract_places)
# Members of classes wherever the text names them. CHANGELOG.md is left out again.
declare -A members=()  # of each class, the code that declares it
while IFS= read -r hit; do
  seen=$((seen + 1))
  name=${hit##*\`}
  place=${hit%%:\`*} member=${name##*::} class=${name%::*}
  class=${class##*::}
  if [ -z "${members[$class]+set}" ]; then
    members[$class]=$(grep -rlE --include='*.h' --include='*.c' --include='*.cpp' --include='*.cu' --include='*.cuh' \
      "(class|struct|enum class|union) (LENSLET_[A-Z_]+ )?([A-Za-z0-9_]+::)*$class\b" \
      framework layers models api apps python tests | xargs -r sed 's,//.*,,') || members[$class]=
  fi
  [[ ${members[$class]} =~ (^|[^A-Za-z0-9_])${member}[[:space:]]*[\(\;,=\{\}] ]] ||
    bad "$place" "$class has no member $member"
done < <(grep -noE '`([a-z]+::)?([A-Z][A-Za-z0-9]*::)+[A-Za-z_][A-Za-z0-9_]*' \
  "${documents[@]/#.\/CHANGELOG.md//dev/null}")
declare -A headings=()  # of each page, a line each
while IFS= read -r hit; do
  seen=$((seen + 1))
  place=${hit%%:docs/*}
  page=${hit#"$place":} heading=${hit#*, \"}
  page=${page%%,*} heading=${heading%\"}
  if ! [ -e "$page" ]; then
    bad "$place" "there is no $page"
    continue
  fi
  [ -n "${headings[$page]+set}" ] || headings[$page]=$'\n'$(
    sed -nE 's/^#+ +(.*)$/\1/p; s/^\*\*([^*]+)\*\*.*/\1/p' "$page" | sed 's/[.:]$//')$'\n'
  if [[ ${headings[$page]} != *$'\n'"$heading"$'\n'* ]]; then
    bad "$place" "$page has no heading \"$heading\""
  fi
done < <(grep -rnoE --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh' --include='*.inc' \
  'docs/[a-z_/]+\.md, "[^"]+"' framework layers models api apps python tests
  sed -nE '/ \| (docs\/[a-z_/]+\.md), (.+)$/{=;s//\n\1, "\2"/;s/.*\n//;p}' apps/report/glossary.txt |
    sed 'N;s/\n/:/;s/^/apps\/report\/glossary.txt:/')

[ "$found" -eq 0 ] || exit 1
printf '%d commands, files and links in %d documents are there\n' "$seen" "${#documents[@]}"
