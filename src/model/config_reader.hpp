#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mha/model/decision.hpp"
#include "mha/ops/activation.hpp"

namespace mha {

/// Reads one JSON object of a model's configuration, key by key, and remembers what it read.
///
/// A key may have several spellings (dialects of one family): the first that is there counts, null is the same as
/// absent. Every value that is read becomes a Decision with the key it came from; a value that is not there becomes one
/// that says so. Errors are Error{model}: `FILE: KEY: expected …, got …`.
class ConfigReader {
 public:
  using Keys = std::initializer_list<std::string_view>;

  /// `path` names the object inside the file ("" or "position."). The JSON must outlive the reader.
  ConfigReader(const nlohmann::json& object, std::string file, std::vector<Decision>& decisions, std::string path = "");

  bool has(std::string_view key) const;
  /// A value that is there and not null, marked as read; else nullptr.
  const nlohmann::json* find(std::string_view key);

  /// A whole number from `least` to 2³¹ − 1; `what` is our word for it, in decisions.
  std::size_t size(std::string_view what, Keys keys, std::size_t least = 1);
  std::size_t size_or(std::string_view what, Keys keys, std::size_t fallback, std::size_t least = 1);
  std::optional<std::size_t> optional_size(std::string_view what, Keys keys, std::size_t least = 1);
  /// A whole number of any sign (position_buckets −1).
  std::int64_t integer_or(std::string_view what, Keys keys, std::int64_t fallback);
  std::optional<std::int32_t> token_id(std::string_view what, Keys keys);
  /// A finite number above zero. Null is an error here: an epsilon that is null is a broken file.
  double positive_or(std::string_view what, Keys keys, double fallback);
  /// The same, at most `kLargestEpsilon`.
  double epsilon_or(std::string_view what, Keys keys, double fallback);
  bool flag_or(std::string_view what, Keys keys, bool fallback);
  std::string text_or(std::string_view what, Keys keys, std::string_view fallback);
  /// The forms of GELU and the others by the names that transformers' ACT2FN gives them.
  Activation activation_or(std::string_view what, Keys keys, std::string_view fallback);
  /// n_heads that divide d_model.
  void check_heads(std::size_t d_model, std::string_view d_model_key, std::size_t n_heads,
                   std::string_view heads_key) const;

  /// The value must be this one where the key is there: others would change the computation and are not implemented.
  void only_flag(std::string_view key, bool value);
  void only_text(std::string_view key, std::string_view value);
  void only_number(std::string_view key, double value);
  /// Null or absent.
  void only_null(std::string_view key);

  /// A fact that no key says.
  void note(std::string_view what, std::string value, std::string from);
  /// Keys that are known to change nothing here, besides those that no family computes with (dropout, names, training).
  void harmless(Keys keys);
  /// A key of an object inside this one that nobody reads, such as "rope_parameters.beta".
  void unknown(std::string key) { unknown_.push_back(std::move(key)); }
  /// Keys that nobody read and that are not harmless, in the order of the file.
  std::vector<std::string> unread() const;

  [[noreturn]] void fail(std::string_view key, const std::string& expected, const std::string& got) const;
  const std::string& file() const { return file_; }
  const nlohmann::json& object() const { return object_; }

 private:
  struct Found {
    std::string_view key;
    const nlohmann::json* value = nullptr;
  };
  Found first(Keys keys, bool null_is_absent = true);
  Found required(Keys keys);
  std::size_t checked_size(const Found& found, std::size_t least) const;
  void decide(std::string_view what, std::string value, std::string_view key);
  void assume(std::string_view what, std::string value, Keys keys);

  const nlohmann::json& object_;
  std::string file_;
  std::string path_;
  std::vector<Decision>& decisions_;
  std::set<std::string, std::less<>> read_;
  std::vector<std::string> unknown_;
};

/// By the names of transformers' ACT2FN; nothing for a name that is unknown or not implemented.
std::optional<Activation> activation_named(std::string_view name);
/// Our name of it, as mha-json files spell it.
std::string_view name_of(Activation activation);

}  // namespace mha
