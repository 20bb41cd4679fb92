// From a placeholder to completions, and from any help text to scripts and a page with exactly that text.
#include "apps/common/command_line/cli_description.h"

#include <gtest/gtest.h>

#include "apps/common/command_line/option_values.h"

namespace lenslet {
namespace {

using Strings = std::vector<std::string>;

ValueChoices choices_of(const std::string& placeholder, const Suggestions& suggestions = {}) {
  Option option;
  option.placeholder = placeholder;
  std::string target;
  option.value =
      std::make_shared<MemberValue<Text, std::string>>(Text{"", [&] { return suggestions; }}, target);
  return value_choices(option);
}

TEST(ValueChoices, WordsStandForThemselves) {
  const ValueChoices device = choices_of("auto|cpu|cuda[:N]");
  EXPECT_EQ(device.words, (Strings{"auto", "cpu", "cuda"}));
  EXPECT_FALSE(device.files || device.folders || device.list);
}

TEST(ValueChoices, FilesAndFolders) {
  const ValueChoices plan = choices_of("auto|layered|FILE");
  EXPECT_EQ(plan.words, (Strings{"auto", "layered"}));
  EXPECT_TRUE(plan.files);
  EXPECT_EQ(plan.ending, "");
  const ValueChoices compared = choices_of("OLD.json NEW.json");
  EXPECT_TRUE(compared.files);
  EXPECT_EQ(compared.ending, ".json");
  EXPECT_TRUE(compared.words.empty());
  const ValueChoices folder = choices_of("DIR");
  EXPECT_TRUE(folder.folders);
  EXPECT_FALSE(folder.files);
}

TEST(ValueChoices, TextsOfferNothing) {
  for (const char* placeholder : {"", "N", "MS", "STR", "BYTES", "NAME"}) {
    const ValueChoices choices = choices_of(placeholder);
    EXPECT_TRUE(choices.words.empty() && !choices.files && !choices.folders && !choices.list) << placeholder;
  }
}

TEST(ValueChoices, SuggestionsAreAddedOnce) {
  const ValueChoices choices = choices_of("LIST|all", {{"all", "direct"}, {{"conv1", {"winograd"}}}});
  EXPECT_TRUE(choices.list);
  EXPECT_EQ(choices.words, (Strings{"all", "direct"}));
  ASSERT_EQ(choices.keys.size(), 1u);
  EXPECT_EQ(choices.keys[0].name, "conv1");
}

// Characters with a meaning for a shell, zsh's completion or roff.
Program awkward() {
  Program program;
  program.name = "tool";
  program.help = ".a 'quoted' \\fBhelp";
  program.version = "1.2";
  program.date = "2026-01-31";
  Command command;
  command.name = "go";
  command.help = "it's [odd]: \\ and so on";
  Option option;
  option.names = {"--it"};
  option.help = "don't [stop]: \\n";
  command.options = {option};
  command.footer = "Examples:\n  tool go 'a b' \\\n  .hidden\n'tis over";
  program.commands = {command};
  program.environment = {{"TOOL_HOME", "where it lives"}};
  return program;
}

TEST(ManPage, TakesAnyTextForText) {
  const std::string page = man_page(awkward());
  EXPECT_NE(page.find("tool \\- \\&.a 'quoted' \\efBhelp\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\ndon't [stop]: \\en\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n.PP\n.EX\n  tool go 'a b' \\e\n  .hidden\n.EE\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&'tis over\n"), std::string::npos) << page;
  EXPECT_NE(page.find(".TH TOOL 1 2026-01-31 \"tool 1.2\" \"User Commands\"\n"), std::string::npos) << page;
}

TEST(ZshCompletion, TakesAnyTextForText) {
  const std::string script = zsh_completion(awkward());
  EXPECT_NE(script.find("'(--it)--it[don'\\''t \\[stop\\]\\: \\\\n]'"), std::string::npos) << script;
  EXPECT_NE(script.find("'go:it'\\''s \\[odd\\]\\: \\\\ and so on'"), std::string::npos) << script;
}

TEST(BashCompletion, NamesTheProgramEverywhere) {
  const std::string script = bash_completion(awkward());
  for (const char* mark : {"@NAME@", "@COMMANDS@"}) {
    EXPECT_EQ(script.find(mark), std::string::npos) << script;
  }
  EXPECT_NE(script.find("\ncomplete -F _tool tool\n"), std::string::npos) << script;
}

TEST(ClosingWords, NameEveryExitCode) {
  const std::string text = closing_words(awkward(), 16);
  for (const auto& [code, meaning] : exit_codes()) {
    EXPECT_NE(text.find(std::to_string(code) + " " + meaning), std::string::npos) << text;
  }
  EXPECT_NE(text.find("\n  TOOL_HOME     where it lives\n"), std::string::npos) << text;
  EXPECT_NE(closing_words(awkward(), 12).find("\n  TOOL_HOME\n            where it lives\n"),
            std::string::npos);
  EXPECT_EQ(text.back(), '.');
}

}  // namespace
}  // namespace lenslet
