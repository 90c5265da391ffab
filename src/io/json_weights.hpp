#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mha/core/tensor.hpp"

namespace mha {

/// A whole model in one JSON text: `{"format": "mha-json", "version": 1, "config": {…}, "tokenizer": {…},
/// "weights": {NAME: nested arrays of numbers, …}}`.
///
/// Numbers are stored as float32 while they are read. The model loader checks them against the config.
/// Owns the arrays; views live as long as the object and survive its move.
/// Errors: model, with the JSON path, expected and found (`weights["pooler.weight"][3]: …`): not JSON; an unknown,
/// missing or repeated key; a ragged array; a value that is not a number;
/// a number too large for float32.
/// Threads: const functions may be called from any thread.
class JsonModel {
 public:
  /// Reads a file.
  static JsonModel read(const std::filesystem::path& path);
  /// Reads a text; `subject` names it in errors.
  static JsonModel parse(std::string_view text, const std::string& subject);

  /// The config object's JSON text, as written.
  const std::string& config_json() const { return config_json_; }
  /// The tokenizer object's JSON text, as written; empty if the model has no tokenizer.
  const std::string& tokenizer_json() const { return tokenizer_json_; }
  /// The tensor (F32), or nullptr.
  const TensorView* find(std::string_view name) const;
  /// All names, in byte order.
  std::vector<std::string> names() const;

 private:
  friend class JsonModelReader;

  struct Entry {
    std::string name;
    std::vector<float> values;
    TensorView view;
  };

  std::string config_json_;
  std::string tokenizer_json_;
  std::vector<Entry> entries_;  // sorted by name
};

class OutputStream;

/// Writes a model in this format, tensor by tensor, one matrix row per line. Each float is the shortest text that reads
/// back to it. Errors: those of the stream; model for a value that is not finite, naming the tensor.
class JsonModelWriter {
 public:
  /// `config_json` and `tokenizer_json` are JSON objects; an empty tokenizer is left out. The stream outlives this.
  JsonModelWriter(OutputStream& out, std::string_view config_json, std::string_view tokenizer_json);
  /// Row-major values of `shape` (1 extent or more); the order of calls is the order in the file.
  void add(std::string_view name, std::span<const std::size_t> shape, std::span<const float> values);
  /// Closes the JSON text; the caller commits the stream.
  void finish();

 private:
  OutputStream& out_;
  bool first_ = true;
};

}  // namespace mha
