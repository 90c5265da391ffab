#pragma once

namespace mha::cli {

struct Options;
class OptionList;

/// Options that several commands share. A command names the groups that it takes.
struct OptionGroup {
  /// Adds the options; their setters write to `options`.
  void (*declare)(OptionList& list, Options& options);
  /// Checks combinations of options; needs no model. Throws Error{usage}. May be null.
  void (*check)(const Options& options) = nullptr;
};

}  // namespace mha::cli
