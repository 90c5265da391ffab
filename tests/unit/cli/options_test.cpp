#include "cli/options.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "mha/core/error.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::cli::Command;
using mha::cli::completions;
using mha::cli::OptionList;
using mha::cli::Options;
using mha::cli::OptionSpec;
using mha::test::error_of;
using Lines = std::vector<std::string>;

namespace {

Options parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "mha-cli");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return mha::cli::parse_options(static_cast<int>(arguments.size()), arguments.data()).value();
}

std::string refused(const std::vector<std::string>& words) {
  return error_of(ErrorKind::usage, [&] { parsed(words); });
}

bool has_line(const std::string& text, const std::string& line) {
  return ('\n' + text).find('\n' + line + '\n') != std::string::npos ||
         ('\n' + text).find('\n' + line + '\t') != std::string::npos;
}

}  // namespace

TEST_CASE("options before the command are taken if they are global, else refused by name") {
  CHECK(parsed({"-q", "--threads", "3", "embed", "hi"}).global.threads == 3);
  CHECK(parsed({"model", "-q", "list"}).global.quiet);
  CHECK_THAT(refused({"--dims", "4", "embed", "hi"}), Contains("--dims") && Contains("behind the command"));
  CHECK_THAT(refused({"-o", "f", "embed", "hi"}), Contains("-o") && Contains("behind the command"));
  CHECK_THAT(refused({"--bogus", "embed", "hi"}), Contains("unknown option --bogus"));
  CHECK_THAT(refused({"model", "--bogus", "info"}), Contains("unknown option --bogus"));
  CHECK_THAT(refused({"embd", "hi"}), Contains("did you mean \"embed\""));
  CHECK_THAT(refused({"embed", "--dmis", "3", "hi"}), Contains("did you mean \"--dims\""));
}

TEST_CASE("a value is read by the command that has the option") {
  CHECK_THAT(refused({"--dtype", "f16", "embed", "hi"}), Contains("--dtype"));
  CHECK_NOTHROW(parsed({"--dtype", "f16", "model", "convert", "-o", "x"}));
  CHECK_THAT(refused({"embed", "--prompt=", "--dims", "0", "hi"}), Contains("--dims"));
  CHECK(parsed({"embed", "--prompt=", "hi"}).tokens.prompt.text == "");
}

TEST_CASE("the format follows the ending of the output, and --format wins with a notice") {
  CHECK(parsed({"attention", "-o", "x.png", "hi"}).format() == mha::Format::png);
  CHECK(parsed({"embed", "-o", "x.csv", "hi"}).format() == mha::Format::csv);
  CHECK(parsed({"embed", "-o", "x.png", "hi"}).format() == mha::Format::jsonl);
  CHECK_THAT(mha::cli::ending_notice(parsed({"embed", "-o", "x.png", "hi"})), Contains("jsonl"));
  const Options both = parsed({"embed", "--format", "csv", "-o", "x.npy", "hi"});
  CHECK(both.format() == mha::Format::csv);
  CHECK_THAT(mha::cli::ending_notice(both), Contains("csv"));
  CHECK(mha::cli::ending_notice(parsed({"embed", "-o", "x.jsonl", "hi"})).empty());
}

TEST_CASE("a single - is standard input, and behind -- it is a text") {
  CHECK(parsed({"embed", "-"}).input.files == Lines{"-"});
  CHECK(parsed({"embed", "--", "-"}).input.texts == Lines{"-"});
  CHECK(parsed({"similarity", "-", "b"}).input.texts == Lines{"-", "b"});
}

TEST_CASE("lists keep their blanks, and a backslash makes a comma part of an item") {
  using mha::cli::parse_list;
  CHECK(parse_list("--targets", " the,a b") == Lines{" the", "a b"});
  CHECK(parse_list("--targets", R"(a\,b,c\\,\d)") == Lines{"a,b", R"(c\)", R"(\d)"});
  CHECK_THAT(error_of(ErrorKind::usage, [] { parse_list("--targets", "a,,b"); }), Contains("--targets"));
}

TEST_CASE("a parameter of the library is shown as the option that sets it") {
  const mha::Error error(ErrorKind::usage, mha::Parameter{"max_length"}, "expected more");
  CHECK(std::string(error.what()) == "max_length: expected more");
  CHECK(mha::cli::message_of(error) == "--max-length: expected more");
}

TEST_CASE("every option has one line of help, a unique name, and is completed and in the manual") {
  for (const Command* command : mha::cli::commands()) {
    if (command->hidden) continue;
    Options options;
    options.command = command;
    const OptionList list = mha::cli::all_options(options);
    const std::string page = mha::cli::manual_page(command);
    Lines words;
    for (std::size_t begin = 0; begin < command->name.size();) {
      const std::size_t end = std::min(command->name.find(' ', begin), command->name.size());
      words.emplace_back(command->name.substr(begin, end - begin));
      begin = end + 1;
    }
    words.emplace_back("--");
    const std::string completed = completions(words);
    for (const OptionSpec& spec : list.specs()) {
      INFO(command->name << " " << spec.names);
      CHECK_FALSE(spec.help.empty());
      CHECK(spec.help.find('\n') == std::string::npos);
      CHECK(list.find(spec.long_name()) == &spec);
      CHECK(has_line(completed, std::string(spec.long_name())));
      std::string in_page = "\\-\\-";
      for (const char c : spec.long_name().substr(2)) in_page += c == '-' ? std::string("\\-") : std::string(1, c);
      CHECK_THAT(page, Contains(in_page));
    }
  }
}

TEST_CASE("completion knows commands, words, lists, models, and the heads of the model on the line") {
  CHECK(has_line(completions({"em"}), "embed"));
  CHECK_FALSE(has_line(completions({""}), "complete"));
  CHECK(has_line(completions({"model", ""}), "info"));
  CHECK(has_line(completions({"embed", "--format", "np"}), "npy"));
  CHECK_FALSE(has_line(completions({"embed", "--format", "np"}), "jsonl"));
  CHECK(has_line(completions({"embed", "--format=np"}), "--format=npy"));
  CHECK(has_line(completions({"embed", "--with", "text,emb"}), "text,embedding"));
  CHECK(completions({"embed", "-i", ""}).starts_with(":files .txt"));
  CHECK(has_line(completions({"embed", "-m", "two"}), "two-heads"));
  CHECK(completions({"-m", "two-heads", "attention", "--head", ""}) == "0\n1\n");
  CHECK(completions({"attention", "-m", "two-heads", "--ablate", "0."}) == "0.0\n0.1\n0.*\n");
  CHECK(completions({"attention", "-m", "no such model", "--head", ""}).empty());
  CHECK(completions({"embed", "--", "--fo"}).empty());
  CHECK(completions({}).empty());
  CHECK(has_line(completions({"model", "info", ""}), "two-heads"));
}
