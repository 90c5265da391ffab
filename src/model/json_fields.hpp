#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mha {

/// Checked, typed access to one JSON object of a model's files, which remembers the keys that were asked for: what is
/// left is unknown and must be said. A key that is absent or null is "not set".
/// Keeps references: the object must outlive it.
/// Errors: model, `WHAT: ORIGIN: KEY: expected …, got …`.
class JsonFields {
 public:
  /// `what` is the kind of file for messages ("config", "modules"); `origin` the file, or file and place in it.
  /// Throws where `object` is no object.
  JsonFields(const nlohmann::json& object, std::string what, std::string origin);

  bool has(std::string_view key) const;
  std::vector<std::string> keys() const;

  /// A whole number ≥ 0. Numbers beyond 2^53, which writers use for "no limit", come back as `kUnlimited`.
  static constexpr std::size_t kUnlimited = static_cast<std::size_t>(1) << 53;
  std::optional<std::size_t> size(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;

  /// The value of a key that is set.
  const nlohmann::json& at(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, const std::string& expected) const;
  [[noreturn]] void fail_text(std::string_view key, const std::string& message) const;

  /// Keys that change no number here. The caller says why.
  void harmless(std::initializer_list<std::string_view> keys) const;
  /// The value must be this one if the key is set; others are not implemented.
  void only_flag(std::string_view key, bool value) const;
  void only_text(std::string_view key, std::string_view value) const;
  /// Keys that are set and that nobody asked for.
  std::vector<std::string> unread() const;

  const std::string& origin() const { return origin_; }

 private:
  const nlohmann::json* find(std::string_view key) const;

  const nlohmann::json& object_;
  mutable std::set<std::string, std::less<>> read_;
  std::string what_;
  std::string origin_;
};

/// A JSON value as messages quote it: at most 40 characters of it.
std::string json_excerpt(const nlohmann::json& value);

}  // namespace mha
