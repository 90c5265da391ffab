#include "mha/ops/backend.hpp"

#include <algorithm>

#include "core/round_up.hpp"
#include "mha/core/error.hpp"
#include "ops/backends/onednn.hpp"
#include "ops/backends/openblas.hpp"
#include "ops/backends/reference.hpp"
#include "ops/native/native.hpp"

namespace mha {

void Backend::feed_forward(const PackedLinear& in, const PackedLinear& out, ConstMatrix x, Activation activation,
                           Matrix y, const LinearTail& tail, Executor* executor) const {
  constexpr std::size_t kRowBlock = 64;
  const bool gated = in.out == 2 * out.in;
  if (!gated && in.out != out.in) throw_internal("feed-forward: widths of the two products do not fit together");
  const auto run = [&](std::size_t first, std::size_t rows, Executor* inside) {
    thread_local FloatBuffer scratch;
    scratch.reserve(kRowBlock * in.out);
    const Matrix hidden(scratch.data(), rows, in.out);
    LinearTail inner;
    if (!gated) inner.activation = activation;
    linear(in, x.rows_of(first, rows), hidden, inner, inside);
    if (gated) {
      for (std::size_t r = 0; r < rows; ++r) activate_gated(activation, hidden.row(r), hidden.row(r) + out.in, out.in);
    }
    LinearTail outer = tail;
    if (tail.residual.data != nullptr) outer.residual = tail.residual.rows_of(first, rows);
    linear(out, ConstMatrix(hidden).cols_of(0, out.in), y.rows_of(first, rows), outer, inside);
  };
  // Few rows: the threads share each product. Many: each thread takes blocks of rows through both.
  if (x.rows <= kRowBlock) return run(0, x.rows, executor);
  parallel_for(executor, divide_up(x.rows, kRowBlock), [&](std::size_t block) {
    const std::size_t first = block * kRowBlock;
    run(first, std::min(kRowBlock, x.rows - first), nullptr);
  });
}

std::size_t Backend::rows_in_cache(std::size_t d_model, std::size_t d_ff) const {
  // Input, projections, context and sums of a layer in a second-level cache of 2 MiB; the feed-forward runs in blocks.
  // Fewer rows would read every weight from memory more often than activations are saved from going there.
  constexpr std::size_t kFloats = 600'000;
  const std::size_t row = std::max<std::size_t>(6 * d_model, d_ff / 2);
  return std::clamp<std::size_t>(row == 0 ? 1 : kFloats / row, 64, 1024);
}

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return "f32";
    case Precision::bf16:
      return "bf16";
    case Precision::bf16x3:
      return "bf16x3";
    case Precision::bf16x6:
      return "bf16x6";
    case Precision::w8a16:
      return "w8a16";
    case Precision::int8:
      return "int8";
  }
  return "?";
}

const Backend& backend_named(std::string_view name) {
  if (name == "auto" || name == "native") return native_backend();
  if (name == "onednn") return onednn_backend();
  if (name == "openblas") return openblas_backend();
  if (name == "reference") return reference_backend();
  std::string known;
  for (const std::string& each : backend_names()) known += ", " + each;
  throw_usage("backend: " + std::string(name) + ": expected auto" + known);
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names{"native"};
  if (onednn_built()) names.push_back("onednn");
  names.insert(names.end(), {"openblas", "reference"});
  return names;
}

}  // namespace mha
