#!/usr/bin/env bash
# Words of code, messages and pages: one dictionary, and rules for names.
#   check_words.sh ROOT
# 1. framework/ serves any layer, any model and any caller: its code names no kind of layer and no model, nothing in it
#    names a classifier's answer, and its texts name no option of a command line. Comments may give examples of layers.
# 2. One dictionary: one word for one thing, in one spelling (British, like the documents'). Names of other projects'
#    interfaces, titles of papers and the Python package's own names keep their spelling.
# 3. Sizes are rounded up by framework/base/integer_math.h. Not in kernels, which call no function of the host.
# 4. A limit is called max or min: no identifier is `most` or `least`, and no constant the Largest or Fewest of its
#    kind. Comments and texts use the words.
# 5. The processor is called a GPU in the texts of the product, on pages, in the comments and identifiers of C++ and
#    CUDA sources, and in ./dev, its planted faults and sanitizers; a card is a model card.
# 6. A function that throws, or ends a script, when what it is given is wrong is a check_: no other verb is for that,
#    and a check_ returns nothing or what it checked. A function that returns the verdict has another name.
# 7. Code is not a person: no test's name has a verb such as says, tells, knows or asks, and outside of tests neither
#    has a comment, a message or a page says, tells, knows, asks or demands.
# 8. Terms of docs/architecture.md: what times, tunes or imports networks reads samples, or images of digits, and never
#    pictures, which are files of any size. A kernel is a function or a prepared backend: a convolution has filters, a
#    pooling windows, and neither has a kernel's size. Attributes of ONNX keep their names.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
# shellcheck source=tests/tree/list_sources.sh
. "$here/list_sources.sh"
inputs_named='apps/lenslet/(bench|candidates|tune)|apps/peers|models/onnx'

# The exceptions are arithmetic that keeps NaN, which host code and kernels share, and PTX's modifier .relu.
mapfile -t sources < <(list_sources framework -- h cpp cu cuh inc | grep -v '/keep_nan\.h$')
[ "${#sources[@]}" -gt 0 ] || { echo 'no files found: wrong folder?' >&2; exit 1; }

awk '
  function refuse(what) {
    printf "%s:%d: framework/ names %s: %s\n", FILENAME, FNR, what, $0
    failed = 1
  }
  {
    code = $0
    sub(/(^|[^:])\/\/.*/, "", code)
    gsub(/\.relu\./, ".", code)
    if (tolower(code) ~ /relu|softmax|conv2d|winograd|lenet|(max|avg)_?pool|pool2d/)
      refuse("a kind of layer or a model")
    for (texts = ""; match(code, /"([^"\\]|\\.)*"/); code = substr(code, 1, RSTART - 1) substr(code, RSTART + RLENGTH))
      texts = texts substr(code, RSTART, RLENGTH)
    if (tolower(code) ~ /predict|logit/ || tolower($0) ~ /prediction|classif/) refuse("the answer of a classifier")
    if (texts ~ /--[a-z]/) refuse("an option of a command line")
  }
  END {
    if (failed) exit 1
    printf "%d files of framework/ name no layer, no model, no answer and no option\n", ARGC - 1
  }
' "${sources[@]}"

# Measured results keep the words of their time; this file and its test list the wrong words.
mapfile -t texts < <(find README.md CONTRIBUTING.md CHANGELOG.md CMakeLists.txt framework layers models api apps \
  python weights samples docs tests dev dev.d cmake packaging .ci -type f \( -name '*.h' -o -name '*.cpp' \
  -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' -o -name '*.c' -o -name '*.md' -o -name '*.py' -o -name '*.pyi' \
  -o -name '*.sh' -o -name '*.awk' -o -name '*.js' -o -name '*.css' -o -name '*.cmake' -o -name CMakeLists.txt \
  -o -path dev -o -path '.ci/run' \) \
  ! -path 'docs/results/2*' ! -path 'tests/fuzz/corpus/*' \
  ! -path 'tests/tree/check_words.sh' ! -path 'tests/tree/self_test.sh' | sort)

awk '
  # `wrong`: a regular expression for the text in lower case.
  function word(wrong, right) { rights[++count] = right; wrongs[count] = wrong }
  BEGIN {
    word("contender|(^|[^a-z])rival", "candidate")
    word("memory_? ?plan", "memory layout")
    word("normaliz|synchroniz|summariz|initializ|optimiz|minimiz|maximiz|vectoriz|quantiz|recogniz|specializ" \
         "|generaliz|serializ|randomiz|parameteriz", "an s: -ise, -isation")
    word("behavior|favor[^i]|favorite|neighbor|honor", "-our")
    word("analyz(e|ing)", "analyse")
    word("artifact", "artefact")
    word("serves[(_]|_serves|s_serve\\(|\"serves\"", "supports, supported")
    word("(^|[^a-z])fused (plan|variant)", "whole-network (fused is of layers, and the value of --plan)")
    word("whole-network variant|variants? of the whole", "whole-network backend (a variant is one form of a kernel)")
    word("(^|[^a-z])(k(most|least)|(most|least)_)", "max and min in names")
    word("(^|[^a-z])kkernel(size|edge|height|width|[^a-z]|$)", "kFilter… (a kernel is a function or a backend)")
    word("--place[ =]resident|resident`? (row|pass|plac|batch)", "device, the place (of a pass alone)")
    word("persistent (cuda )?kernel", "resident kernel")
    word("gray", "grey")
    word("(wrote|ends?|written|bytes|zeros|characters|number) behind ", "after, or past the end of")
    word("(layers?|batch|data|parameter|weights|image) behind ", "after, or past the end of")
    word("fp64 judge", "fp64 reference (the judge compares an output with it and decides)")
    word("unprofiled|profiled total", "uninstrumented and instrumented, of passes")
    word("labeled|canceled|modeled|signaled", "a double l")
    word("fp32_halves", "pair_values: an output of pairs has int32 keys and fp32 values")
    drawn = count  # names of drawing libraries and of CSS, in Python and on pages
    word("color", "colour")
    word("(^|[^a-z])center", "centre")
  }
  FNR == 1 {
    python = FILENAME ~ /\.pyi?$/ || FILENAME ~ /^(python\/|docs\/python\.md)/
    draws = python || FILENAME ~ /\.(js|css)$/
  }
  {
    text = $0
    gsub(/"rival"|["`](un)?profiled["`]/, "", text)  # in old result files
    gsub(/bench --place=resident"/, "", text)  # is refused
    gsub(/layered fused plan\.json/, "", text)  # completions: values and a file
    gsub(/MOST_/, "most_", text)  # not among the capitals that are left out
    gsub(/LEAST_/, "least_", text)
    if (FILENAME == "CHANGELOG.md") gsub(/`[^`]*`/, "", text)  # names of earlier versions
    gsub(/cu(da|dnn|blas)[A-Z][A-Za-z]*|[A-Z]+_[A-Z_]+|(jpeg|in|out)_color_space|BASE_DIR.* NORMALIZE/, "", text)
    gsub(/initializer(s|_list)?|BatchNormalization|programmaticStreamSerialization|ray\.is_initialized/, "", text)
    gsub(/TmaWarpSpecialized|UndefinedBehaviorSanitizer|artifact_prefix|WIFSIGNALED/, "", text)
    gsub(/"Numerical behavior of|"Optimizing batched|S\. Gray|Lavin and Gray|^[^A-Za-z]*Gray, arXiv/, "", text)
    if (python) {
      gsub(/normaliz|\.synchronize[(.]|disable_synchronize/, "", text)
      gsub(/[Oo]ptimiz(er|ation)|runner\.summarize|SerializeToString/, "", text)
    }
    text = tolower(text)
    for (i = 1; i <= (draws ? drawn : count); ++i)
      if (text ~ wrongs[i]) {
        match(text, wrongs[i])
        printf "%s:%d: \"%s\": the word or spelling of this project is %s\n", FILENAME, FNR,
               substr(text, RSTART, RLENGTH), rights[i]
        failed = 1
      }
  }
  END {
    if (failed) exit 1
    printf "%d files keep to one dictionary\n", ARGC - 1
  }
' "${texts[@]}"

mapfile -t host < <(list_sources framework layers models api apps python -- h cpp |
  grep -vE '^(framework/base/integer_math|layers/pool/pool_backend)\.h$')
name='([A-Za-z_][A-Za-z0-9_.:<>()]*|\([^()]*\))'
if [ "${#host[@]}" -gt 0 ] && grep -nE "\\+ $name - 1\\) / \\1([^A-Za-z0-9_.]|\$)" "${host[@]}" /dev/null; then
  echo '^ ceil_div, round_up or align_up of framework/base/integer_math.h' >&2
  exit 1
fi
if [ "${#host[@]}" -gt 0 ] && grep -nE "ceil_div\\(.*, $name\\) \\* \\1([^A-Za-z0-9_.]|\$)" "${host[@]}" /dev/null; then
  echo '^ round_up of framework/base/integer_math.h' >&2
  exit 1
fi

# A folder's name may have the word.
mapfile -t inputs < <(printf '%s\n' "${texts[@]}" | grep -E "^($inputs_named)/")
if [ "${#inputs[@]}" -gt 0 ] && grep -niE 'picture' "${inputs[@]}" /dev/null | grep -vE '#include|/pictures/'; then
  echo '^ a picture is a file of any size; 28x28 values of a digit are an image, an input of any network a sample' >&2
  exit 1
fi

sizes='kernel_[hw]([^a-z]|$)|kernel (sizes?|height|width|does not fit)([^a-z]|$)|[0-9] ?(x|×) ?[0-9] kernel'
# The changes name what earlier versions had.
if grep -niE "$sizes" "${texts[@]}" /dev/null | grep -v '^CHANGELOG\.md:'; then
  echo '^ a convolution has filters (R x S) and a pooling windows; a kernel is a function or a prepared backend' >&2
  exit 1
fi

# The identifiers of code, without its comments and texts.
mapfile -t code < <(printf '%s\n' "${texts[@]}" |
  grep -E '\.(h|cpp|cuh?|inc|c|pyi?|js|sh|cmake)$|(^|/)CMakeLists\.txt$|^dev$|^\.ci/run$')
[ "${#code[@]}" -eq 0 ] || awk '
  # The rest of `line` after `end`, the end of a comment or text of several lines; "" if it goes on.
  function after(line, end) {
    if ((at = index(line, end)) == 0) return ""
    inside = ""
    return substr(line, at + length(end))
  }
  BEGIN {
    superlative = "(Largest|Longest|Shortest|Fewest|Narrowest|Widest|Lowest|Highest|Smallest)"
    constant = "(^|[^A-Za-z0-9_])(k" superlative "([^a-z]|$)|" toupper(superlative) "([^A-Za-z0-9]|$))"
    product = "^(framework|layers|models|api|apps|python)/"
    refusal = "(demand|require|validate|ensure)"
    # demand(, lenslet_require_gpu(, DEMAND(; demandGpu(
    refusal_name = "(^|[^a-z0-9])" refusal "(_[a-z0-9_]*)?[[:space:]]*\\("
    refusal_in_camel = "(^|[^A-Za-z0-9])" refusal "[A-Z][A-Za-z0-9]*[[:space:]]*\\("
    # function(lenslet_demand_file file)
    refusal_in_cmake = "(^|[^a-z0-9_])(function|macro)[[:space:]]*\\([[:space:]]*([a-z0-9_]*_)?" refusal "([^a-z0-9]|$)"
    # bool check_size(, std::string Plan::check(
    verdict = "(bool|string|string_view|Support|optional<[^;()]*>)[[:space:]&]+([A-Za-z0-9_]+::)*check(_[a-z0-9_]+)?\\("
  }
  FNR == 1 {
    inside = ""
    script = FILENAME ~ /\.(sh|cmake)$|CMakeLists\.txt$|^dev$|^\.ci\/run$/
    python = FILENAME ~ /\.pyi?$/
    hash = python || script
  }
  {
    code = ""
    texts = inside ~ /^\)/ ? $0 : ""  # a raw string literal of several lines
    line = inside == "" ? $0 : after($0, inside)
    while (line != "") {
      if (!match(line, /["'\''`#]|\/[\/*]/)) { code = code line; break }
      mark = substr(line, RSTART, RLENGTH)
      code = code substr(line, 1, RSTART - 1) " "
      line = substr(line, RSTART)
      if ((mark == "//" && !hash) || (mark == "#" && hash && (python || code ~ /(^|[[:space:]]) $/))) break
      if (mark == "/*" && !hash) {
        inside = "*/"
        line = after(substr(line, 3), inside)
      } else if (code ~ /(^|[^A-Za-z0-9_])R $/ && match(line, /^"[^(]*\(/)) {
        texts = texts " " line
        inside = ")" substr(line, 2, RLENGTH - 2) "\""
        line = after(substr(line, RLENGTH + 1), inside)
      } else if (python && substr(line, 1, 3) == "\"\"\"") {
        inside = "\"\"\""
        line = after(substr(line, 4), inside)
      } else if (match(line, /^"([^"\\]|\\.)*"|^'\''([^'\''\\]|\\.)*'\''|^`([^`\\]|\\.)*`/)) {
        texts = texts " " substr(line, 1, RLENGTH)
        line = substr(line, RLENGTH + 1)
      } else {
        code = code mark  # a digit separator, or a text of several lines
        line = substr(line, length(mark) + 1)
      }
    }
    gsub(/[Aa]t[_ ]?([Mm]ost|[Ll]east)/, "", code)
    if (code ~ /(^|[^A-Za-z0-9])(most|least)([^a-z]|$)|[a-z0-9_](Most|Least)([^a-z]|$)/ || code ~ constant) {
      printf "%s:%d: a limit is called max or min: %s\n", FILENAME, FNR, $0
      failed = 1
    }
    gsub(/\.require_subcommand\(/, "", code)  # of CLI11
    if (tolower(code) ~ refusal_name || tolower(code) ~ refusal_in_cmake || code ~ refusal_in_camel) {
      printf "%s:%d: a function that refuses what is wrong is a check_: %s\n", FILENAME, FNR, $0
      failed = 1
    }
    if (code ~ ("(^|[^A-Za-z0-9_])" verdict)) {
      printf "%s:%d: a check_ throws; what returns a verdict has another name: %s\n", FILENAME, FNR, $0
      failed = 1
    }
    gsub(/[Mm]odel cards?|\$\{[^}]*\}/, "", texts)
    if (FILENAME ~ product && texts ~ /(^|[^A-Za-z0-9_-])[Cc]ards?([^A-Za-z0-9_-]|$)/) {
      printf "%s:%d: a card is a GPU, or a model card: %s\n", FILENAME, FNR, $0
      failed = 1
    }
  }
  END {
    if (failed) exit 1
    printf "%d files of code name limits max and min, a GPU a GPU, and what refuses check_\n", ARGC - 1
  }
' "${code[@]}"

mapfile -t sources < <(printf '%s\n' "${code[@]}" |
  grep -E '^(framework|layers|models|api|apps|python|tests)/.*\.(h|cpp|cuh?|inc|c)$' |
  grep -v '^tests/models/')  # whose pictures show cards of paper
[ "${#sources[@]}" -eq 0 ] || awk '
  {
    text = $0
    gsub(/[Mm]odel cards?/, "", text)
    if (text ~ /(^|[^A-Za-z])[Cc]ards?([^a-z]|$)|[A-Za-z]Cards?([^a-z]|$)/) {
      printf "%s:%d: in sources a card is a GPU, or a model card: %s\n", FILENAME, FNR, $0
      failed = 1
    }
  }
  END { exit failed }
' "${sources[@]}"

mapfile -t scripts < <(printf '%s\n' "${texts[@]}" |
  grep -E '^dev$|^dev\.d/|^(tests/(mutate|sanitize)|docs/results)/.*\.py$')
if [ "${#scripts[@]}" -gt 0 ] &&
  grep -nE '(^|[^A-Za-z0-9_-])([Cc]ards?|CARDS?)([^A-Za-z0-9_-]|$)' "${scripts[@]}" /dev/null; then
  echo '^ in scripts and their help a card is a GPU' >&2
  exit 1
fi

# Pages, without what stands in backticks: options, and names of files and folders. A line may end between the words.
mapfile -t pages < <(printf '%s\n' "${texts[@]}" | grep '\.md$')
[ "${#pages[@]}" -eq 0 ] || awk '
  FNR == 1 { model = 0 }
  {
    text = $0
    gsub(/`[^`]*`/, "", text)
    if (model) sub(/^[[:space:]]*cards?/, "", text)
    model = text ~ /[Mm]odel[[:space:]]*$/
    gsub(/[Mm]odel cards?/, "", text)
    if (text ~ /(^|[^A-Za-z0-9_-])[Cc]ards?([^A-Za-z0-9_-]|$)/) {
      printf "%s:%d: on a page a card is a GPU, or a model card: %s\n", FILENAME, FNR, $0
      failed = 1
    }
  }
  END {
    if (failed) exit 1
    printf "%d pages call a GPU a GPU\n", ARGC - 1
  }
' "${pages[@]}"

# CONTRIBUTING.md lists the verbs.
mapfile -t product < <(printf '%s\n' "${texts[@]}" | grep -vE '^tests/|^CONTRIBUTING\.md$')
verbs='says|tells|knows|do(es)? not know|asks|asked for|demand(s|ed)?'
if [ "${#product[@]}" -gt 0 ] && grep -niE "(^|[^a-z0-9_])($verbs)([^a-z0-9_]|\$)" "${product[@]}" /dev/null; then
  echo '^ code is not a person: it states, names, has, distinguishes or requires' >&2
  exit 1
fi

mapfile -t tests < <(printf '%s\n' "${texts[@]}" | grep -E '^(tests|python)/.*\.(cpp|cu|py)$')
verbs='Says?|Said|Tells?|Told|Knows?|Asks?|Asked|Wants?|No''body|Who''ever'
in_cpp="^TEST(_F|_P)?\\(.*, [A-Za-z0-9]*($verbs)([A-Z0-9]|\\))"
in_python="^ *def test_([a-z0-9_]*_)?(${verbs,,})[_(]"
if [ "${#tests[@]}" -gt 0 ] && grep -nE "$in_cpp|$in_python" "${tests[@]}" /dev/null; then
  echo '^ code is not a person: the name of a test states what happens' >&2
  exit 1
fi
