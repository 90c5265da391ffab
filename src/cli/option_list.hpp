#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mha::cli {

/// One option as help prints it and as the parser reads it.
struct OptionSpec {
  std::string names;  ///< "-m,--model"
  std::string value;  ///< what stands for its value in help; empty: a flag
  std::string help;
  std::string group;                            ///< heading in help
  std::function<void(const std::string&)> set;  ///< throws Error{usage}; a flag gets ""
};

/// The options of one command, in the order that help lists them.
class OptionList {
 public:
  void group(std::string title) { group_ = std::move(title); }
  void flag(std::string names, std::string help, std::function<void()> set) {
    specs_.push_back(
        {std::move(names), "", std::move(help), group_, [set = std::move(set)](const std::string&) { set(); }});
  }
  void value(std::string names, std::string value, std::string help, std::function<void(const std::string&)> set) {
    specs_.push_back({std::move(names), std::move(value), std::move(help), group_, std::move(set)});
  }
  const std::vector<OptionSpec>& specs() const { return specs_; }

 private:
  std::string group_;
  std::vector<OptionSpec> specs_;
};

}  // namespace mha::cli
