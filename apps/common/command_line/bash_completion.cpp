// The script consists of a table, one row per option of a command, and of code that is the same for every program.
#include <utility>

#include "apps/common/command_line/cli_description.h"
#include "framework/base/shell_word.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

// @NAME@ is the program. Bash splits words at the characters of COMP_WORDBREAKS, among them '=' and ':', and replaces
// only the last piece. The script therefore joins the pieces to the words as typed, and cuts from each reply the part
// that precedes the last piece.
constexpr const char* kReader = R"script(
_@NAME@() {
  local line=${COMP_LINE:0:COMP_POINT} typed=() rest word i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    rest=${line#"${line%%[![:space:]]*}"}
    word=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || word=$rest
    if ((i == 0)) || [[ $rest != "$line" ]]; then typed+=(''); fi
    typed[${#typed[@]} - 1]+=$word
    line=${rest#"$word"}
  done

  local current=${typed[${#typed[@]} - 1]} command=${typed[1]} found=()
  local option='' value=$current before='' words='' keys='' list='' files='' folders=''
  if ((${#typed[@]} <= 2)); then
    if [[ $current == -* ]]; then words=$(_@NAME@_options ''); else words='@COMMANDS@'; fi
  else
    local ended=''
    for word in "${typed[@]:2:${#typed[@]}-3}"; do [[ $word != -- ]] || ended=yes; done
    word=${typed[${#typed[@]} - 2]}
    if [[ $ended ]]; then
      _@NAME@_value "$command" ''
    elif [[ $current == --*=* ]] && _@NAME@_value "$command" "${current%%=*}"; then
      option=${current%%=*} before=${current%%=*}= value=${current#*=}
    elif ((${#typed[@]} > 3)) && [[ $word == -* ]] && _@NAME@_value "$command" "$word"; then
      option=$word
    elif [[ $current == -* ]]; then
      words=$(_@NAME@_options "$command")
    else
      _@NAME@_value "$command" ''
    fi
  fi

  local last=$value offered
  if [[ $list ]]; then
    before+=${value%"${value##*,}"} last=${value##*,}
    if [[ $keys && $last == *=* ]]; then
      words=''
      _@NAME@_value "$command" "$option ${last%%=*}="
      before+=${last%%=*}= last=${last#*=}
    elif [[ $keys ]]; then
      words+=" ${keys// /= }="
    fi
  fi
  read -ra offered <<<"$words"  # unlike a loop over $words it leaves '*' alone
  for word in "${offered[@]}"; do
    if [[ $word == "$last"* && ! ($list && ,$value, == *,"$word",*) ]]; then found+=("$before$word"); fi
  done
  if [[ ${#found[@]} -eq 1 && ${found[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  if [[ $files || $folders ]]; then
    compopt -o filenames 2>/dev/null
    last=${last#[\"\']}
    while IFS= read -r word; do found+=("$before$word"); done < <(
      if [[ ${files:-*} != '*' ]]; then compgen -f -X "!*$files" -- "$last"; fi
      if [[ $files == '*' ]]; then compgen -f -- "$last"; else compgen -d -- "$last"; fi
    )
  fi

  local breaks=''
  [[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
  [[ $COMP_WORDBREAKS != *:* ]] || breaks+=':'
  COMPREPLY=("${found[@]}")
  if [[ $breaks ]]; then COMPREPLY=("${found[@]#"${current%"${current##*[$breaks]}"}"}"); fi
}
complete -F _@NAME@ @NAME@
)script";

std::string option_names(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return joined(names, " ");
}

// Rows of a case statement; patterns with the same body share a row.
class Cases {
 public:
  void add(const std::string& pattern, const std::string& body) {
    for (auto& [patterns, known] : rows_) {
      if (known != body) continue;
      patterns += " | " + shell_word(pattern);
      return;
    }
    rows_.emplace_back(shell_word(pattern), body);
  }
  std::string text() const {
    std::string text;
    for (const auto& [patterns, body] : rows_) text += concat("    ", patterns, ")", body, " ;;\n");
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

// Rows like "words='fp32 tf32 fp16'", one for the option and one for each of its keys; _NAME_value evaluates them.
void add_values(const std::string& command, const std::string& name, const Option& option, Cases& cases) {
  const ValueChoices choices = value_choices(option);
  std::string body;
  if (!choices.words.empty()) body += " words=" + shell_word(joined(choices.words, " "));
  std::vector<std::string> keys;
  for (const Suggestions::Key& key : choices.keys) keys.push_back(key.name);
  if (!keys.empty()) body += " keys=" + shell_word(joined(keys, " "));
  if (choices.list) body += " list=yes";
  if (choices.files) body += " files=" + shell_word(choices.ending.empty() ? "*" : choices.ending);
  if (choices.folders) body += " folders=yes";
  cases.add(concat(command, " ", name), body);
  for (const Suggestions::Key& key : choices.keys) {
    cases.add(concat(command, " ", name, " ", key.name, "="), " words=" + shell_word(joined(key.words, " ")));
  }
}

}  // namespace

std::string bash_completion(const Program& program) {
  const std::string& name = program.name;
  std::string script = concat("# bash completion of ", name, " ", program.version, ", as '", name,
                              " completion bash' prints it.\n\n", "# The options of a command.\n_", name,
                              "_options() {\n  case $1 in\n");
  script += concat("    '') echo ", shell_word(option_names(program.options)), " ;;\n");
  std::vector<std::string> commands;
  for (const Command& command : program.commands) {
    commands.push_back(command.name);
    script += concat("    ", command.name, ") echo ", shell_word(option_names(command.options)), " ;;\n");
  }
  Cases values;
  for (const Command& command : program.commands) {
    for (const Option& option : command.options) {
      if (option.placeholder.empty()) continue;
      for (const std::string& spelled : option.names) add_values(command.name, spelled, option, values);
    }
    for (const Option& argument : command.arguments) {
      add_values(command.name, "", argument, values);
    }
  }
  script +=
      concat("  esac\n}\n\n",
             "# What a value may be: of COMMAND and OPTION ('' for the arguments), maybe followed by KEY=.\n",
             "# Fails where there is no value.\n_", name, "_value() {\n  case \"$1 $2\" in\n", values.text(),
             "    *) return 1 ;;\n  esac\n}\n");
  return script + replace_all(replace_all(kReader, "@NAME@", name), "@COMMANDS@", joined(commands, " "));
}

}  // namespace lenslet
