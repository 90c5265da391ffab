#include "cli/options/windows.hpp"

#include "cli/options.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

void declare(OptionList& list, Options& options) {
  WindowOptions& windows = options.windows;
  list.group("Long texts");
  list.count("--chunk", "TOKENS",
             "cut each text into windows of at most TOKENS tokens, special tokens and prompt included; one record per "
             "window",
             windows.tokens, 1);
  list.count("--stride", "N", "tokens that neighbouring windows share", windows.overlap, 0)
      .by_default("0; with --late-chunk a quarter of a pass")
      .explain("With --late-chunk: the tokens that a further pass over a long text repeats of the pass before it.");
  list.flag("--late-chunk",
            "windows are sentences, joined up to --chunk tokens, each pooled from one pass over the whole text, or as "
            "much as the model reads at once",
            windows.late);
  list.choice("--chunk-pooling", "HOW",
              "one record per window, or the mean of the windows, weighted by their tokens, as one vector per input",
              windows.joined, {{"none", false}, {"mean", true}});
}

void check(const Options& options) {
  const WindowOptions& windows = options.windows;
  if (!windows.asked()) {
    if (windows.overlap) throw_usage("--stride: expected --chunk or --late-chunk with it, got none");
    if (windows.joined) throw_usage("--chunk-pooling: expected --chunk or --late-chunk with it, got none");
    return;
  }
  if (options.input.pair) throw_usage("--pair: expected a single text to cut into windows, got a pair");
  if (options.tokens.truncation == Truncation::error) {
    throw_usage("--truncation error: expected texts that may be cut, got --chunk or --late-chunk, which cut them");
  }
  if (!windows.late && windows.overlap && *windows.overlap >= windows.tokens) {
    throw_usage("--stride: expected less than the " + std::to_string(windows.tokens) + " tokens of --chunk, got " +
                std::to_string(*windows.overlap));
  }
  if (const std::optional<Parts>& parts = options.output.parts;
      parts && (parts->tokens || parts->last_hidden_state || parts->hidden_states || parts->attentions)) {
    throw_usage("--with: expected text or embedding of windows, got another part; leave --chunk and --late-chunk out");
  }
}

}  // namespace

const OptionGroup kWindows{declare, check};

}  // namespace mha::cli
