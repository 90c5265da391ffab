#include "cli/options/tokens.hpp"

#include "cli/options.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

void declare(OptionList& list, Options& options) {
  TokenOptions& tokens = options.tokens;
  list.group("Tokens");
  list.choice("--truncation", "SIDE", "what is kept of an input that is too long, or an error", tokens.truncation,
              {{"head", Truncation::head}, {"tail", Truncation::tail}, {"error", Truncation::error}})
      .by_default("head, or what the model says");
  list.count("--max-length", "N", "most tokens of an input, special tokens included", tokens.max_length, 1)
      .by_default("what the model says");
  list.flag("--no-special-tokens", "add no special tokens", tokens.no_special_tokens);
  list.flag("--plain-specials", "special tokens inside the text are ordinary text (for untrusted input)",
            tokens.plain_specials);
  list.text("--prompt", "TEXT", "put TEXT before each input, '' for none",
            [&tokens](const std::string& text) { tokens.prompt.text = text; });
  list.value("--prompt-name", "NAME", "put the model's prompt of that name before each input", ValueKind::prompt,
             [&tokens](const std::string& name) { tokens.prompt.name = name; });
  list.choice("--role", "ROLE", "put the model's prompt for that role before each input", tokens.prompt.role,
              {{"query", "query"}, {"document", "document"}});
}

void check(const Options& options) {
  if (options.tokens.prompt.text && options.tokens.prompt.name) {
    throw_usage("--prompt and --prompt-name: expected one of them, got both; leave one out");
  }
}

}  // namespace

const OptionGroup kTokens{declare, check};

}  // namespace mha::cli
