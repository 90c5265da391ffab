#pragma once

namespace mha::cli {

struct Options;
class OptionList;

/// Options that several commands share. A command names the groups that it takes.
struct OptionGroup {
  /// Adds the options; their setters write to `options`.
  void (*declare)(OptionList& list, Options& options);
  /// What can be wrong with options that are right one by one; needs no model. Throws Error{usage}. May be null.
  void (*check)(const Options& options) = nullptr;
};

}  // namespace mha::cli
