#include "ops/backends/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mha/core/error.hpp"
#include "ops/attention.hpp"
#include "ops/backends/unpacked.hpp"

namespace mha {
namespace {

struct ReferenceLinear final : PackedLinear {
  std::vector<float> weights;  // [out, in]
  std::vector<float> bias;     // [out]
};

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0.0 ? 0.0 : x;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh: {
      const double inner = std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
      return x / (1.0 + std::exp(-2.0 * inner));
    }
    case Activation::quick_gelu:
      return x / (1.0 + std::exp(-1.702 * x));
    case Activation::silu:
      return x / (1.0 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::relu_squared:
      return x < 0.0 ? 0.0 : x * x;
  }
  return x;
}

void normalize(const RowNorm& norm, std::vector<double>& row) {
  const auto width = static_cast<double>(row.size());
  double mean = 0.0;
  if (!norm.rms) {
    for (const double value : row) mean += value;
    mean /= width;
  }
  double squares = 0.0;
  for (const double value : row) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / width + static_cast<double>(norm.eps));
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double beta = norm.beta == nullptr ? 0.0 : static_cast<double>(norm.beta[i]);
    row[i] = (row[i] - mean) / deviation * static_cast<double>(norm.gamma[i]) + beta;
  }
}

/// One head of one input, one query after the other.
void attend(const AttentionCall& call, std::size_t input, std::size_t head) {
  const std::size_t row = call.row_begin[input];
  const std::size_t tokens = call.row_begin[input + 1] - row;
  const std::size_t kv_head = head / (call.n_heads / call.n_kv_heads);
  const bool ablated = !call.ablated.empty() && call.ablated[head] != 0;
  std::vector<float> biased(tokens);
  std::vector<double> probs(tokens);
  for (std::size_t q = 0; q < tokens; ++q) {
    const float* query = call.query.row(row + q) + head * call.d_head;
    std::vector<double> scores(tokens);
    for (std::size_t k = 0; k < tokens; ++k) {
      const float* key = call.key.row(row + k) + kv_head * call.d_head;
      for (std::size_t c = 0; c < call.d_head; ++c)
        scores[k] += static_cast<double>(query[c]) * static_cast<double>(key[c]);
    }
    std::fill(biased.begin(), biased.end(), 0.0F);
    if (call.bias != nullptr) call.bias->add(row, head, q, 1, tokens, biased.data(), tokens);
    const auto sees = [&](std::size_t k) { return call.window == 0 || (k > q ? k - q : q - k) <= call.window; };
    std::vector<double> scaled(tokens, -std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < tokens; ++k) {
      if (sees(k)) scaled[k] = scores[k] * static_cast<double>(call.scale) + static_cast<double>(biased[k]);
    }
    const double top = *std::max_element(scaled.begin(), scaled.end());
    double total = 0.0;
    for (std::size_t k = 0; k < tokens; ++k) total += probs[k] = std::exp(scaled[k] - top);
    for (double& prob : probs) prob /= total;

    for_each_capture(call, head, [&](std::size_t place) {
      for (std::size_t k = 0; k < tokens; ++k) {
        const std::size_t at = (place * tokens + q) * tokens + k;
        if (call.scores != nullptr) call.scores[call.capture_begin[input] + at] = static_cast<float>(scores[k]);
        if (call.scaled != nullptr) call.scaled[call.capture_begin[input] + at] = static_cast<float>(scaled[k]);
        if (call.probs != nullptr) call.probs[call.capture_begin[input] + at] = static_cast<float>(probs[k]);
      }
    });
    float* context = call.context.row(row + q) + head * call.d_head;
    for (std::size_t c = 0; c < call.d_head; ++c) {
      double total_value = 0.0;
      for (std::size_t k = 0; k < tokens && !ablated; ++k) {
        total_value += probs[k] * static_cast<double>(call.value.row(row + k)[kv_head * call.d_head + c]);
      }
      context[c] = static_cast<float>(total_value);
    }
  }
}

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string description() const override { return "reference: plain loops, sums in float64"; }
  bool supports(Precision precision) const override { return precision == Precision::f32; }

  std::unique_ptr<PackedLinear> pack(std::span<const LinearWeights* const> joined, Precision precision,
                                     std::span<const float>) const override {
    if (!supports(precision))
      throw_usage("backend: reference: expected f32, got " + std::string(name_of(precision)) +
                  "; the backend native has others");
    const JoinedWeights source(joined);
    auto packed = std::make_unique<ReferenceLinear>();
    packed->in = source.in();
    packed->out = source.out();
    packed->weights.resize(source.in() * source.out());
    for (std::size_t r = 0; r < source.out(); ++r) source.row(r, packed->weights.data() + r * source.in());
    packed->bias = source.bias();
    return packed;
  }

  void linear(const PackedLinear& weights, ConstMatrix x, Matrix y, const LinearTail& tail, Executor*) const override {
    const auto& packed = static_cast<const ReferenceLinear&>(weights);
    std::vector<double> row(packed.out);
    for (std::size_t r = 0; r < x.rows; ++r) {
      for (std::size_t o = 0; o < packed.out; ++o) {
        const float* w = packed.weights.data() + o * packed.in;
        double total = static_cast<double>(packed.bias[o]);
        for (std::size_t i = 0; i < packed.in; ++i)
          total += static_cast<double>(x.row(r)[i]) * static_cast<double>(w[i]);
        row[o] = activated(tail.activation, total);
        if (tail.residual.data != nullptr) row[o] += static_cast<double>(tail.residual.row(r)[o]);
      }
      if (tail.norm != nullptr) normalize(*tail.norm, row);
      std::transform(row.begin(), row.end(), y.row(r), [](double value) { return static_cast<float>(value); });
    }
  }

  void attention(const AttentionCall& call, Precision, Executor*) const override {
    check_attention(call);
    for_each_head(call, nullptr, [&](std::size_t input, std::size_t head) { attend(call, input, head); });
  }
};

}  // namespace

const Backend& reference_backend() {
  static const ReferenceBackend backend;
  return backend;
}

}  // namespace mha
