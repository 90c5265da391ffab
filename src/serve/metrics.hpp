#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace mha::serve {

/// How long the parts of one request took, in seconds.
struct RequestTimes {
  double total = 0;
  double tokenization = 0;
  double queue = 0;
  double inference = 0;
};

/// What happens in the server, as Prometheus reads it. Names and buckets are those of text-embeddings-inference, so
/// that its dashboards work; what it does not have begins with `mha_`. Threads: any.
class Metrics {
 public:
  /// `model` and `version` are labels of `mha_build_info`.
  Metrics(const std::string& version, const std::string& model);
  ~Metrics();

  void request(bool batch);
  void success(bool batch, bool predicts, const RequestTimes& times);
  /// `reason`: batch_size, validation, tokenization, overloaded, model_type, inference or dropped.
  void failure(std::string_view reason);
  void input_length(std::size_t tokens, bool truncated);
  void queue_wait(bool urgent, double seconds);
  void batch(std::size_t inputs, std::size_t tokens);

  /// Gauges, read when the text is made.
  struct Levels {
    std::size_t queued_inputs = 0;
    std::size_t connections = 0;
    std::size_t held_bytes = 0;
    std::size_t resident_bytes = 0;
  };
  /// The text format 0.0.4.
  std::string text(const Levels& levels);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha::serve
