#include "ops/backends/openblas.hpp"

#include <cblas.h>
#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "mha/core/error.hpp"
#include "ops/attention.hpp"
#include "ops/backends/row_blocks.hpp"
#include "ops/backends/unpacked.hpp"
#include "ops/cpu.hpp"

namespace mha {
namespace {

constexpr const char* kLibrary = "libopenblas.so.0";
constexpr std::size_t kRowBlock = 64;

struct OpenblasLinear final : PackedLinear {
  std::vector<float> copy;
  const float* weights = nullptr;  // [out, in]: the copy, or the file itself
  std::vector<float> bias;
};

class OpenblasBackend final : public Backend {
 public:
  OpenblasBackend() {
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw_usage(std::string("backend: openblas: expected ") + kLibrary +
                  ", got none; install libopenblas0 or choose another backend");
    }
    gemm_ = reinterpret_cast<decltype(&cblas_sgemm)>(::dlsym(library, "cblas_sgemm"));
    const auto set_threads =
        reinterpret_cast<decltype(&openblas_set_num_threads)>(::dlsym(library, "openblas_set_num_threads"));
    const auto config = reinterpret_cast<decltype(&openblas_get_config)>(::dlsym(library, "openblas_get_config"));
    const auto core_name =
        reinterpret_cast<decltype(&openblas_get_corename)>(::dlsym(library, "openblas_get_corename"));
    if (gemm_ == nullptr || set_threads == nullptr || config == nullptr || core_name == nullptr) {
      throw_usage(std::string("backend: openblas: ") + kLibrary +
                  ": expected an OpenBLAS with cblas, got another library");
    }
    set_threads(1);
    // "OpenBLAS 0.3.21 …": name and version are the first two words.
    const std::string text = config();
    const std::size_t version_end = text.find(' ', text.find(' ') + 1);
    description_ = "openblas: " + text.substr(0, version_end) + ", core " + core_name();
  }

  std::string_view name() const override { return "openblas"; }
  std::string description() const override { return description_; }
  bool supports(Precision precision) const override { return precision == Precision::f32; }

  std::unique_ptr<PackedLinear> pack(std::span<const LinearWeights* const> joined, Precision precision,
                                     std::span<const float>) const override {
    if (!supports(precision))
      throw_usage("backend: openblas: expected f32, got " + std::string(name_of(precision)) +
                  "; the backend native has others");
    const JoinedWeights source(joined);
    if (std::max(source.in(), source.out()) > static_cast<std::size_t>(std::numeric_limits<blasint>::max())) {
      throw_model("weights: openblas: a dimension is beyond what it can count");
    }
    auto packed = std::make_unique<OpenblasLinear>();
    packed->in = source.in();
    packed->out = source.out();
    packed->bias = source.bias();
    packed->weights = source.in_place();
    if (packed->weights == nullptr) {
      packed->copy.resize(source.in() * source.out());
      for (std::size_t r = 0; r < source.out(); ++r) source.row(r, packed->copy.data() + r * source.in());
      packed->weights = packed->copy.data();
    }
    return packed;
  }

  void linear(const PackedLinear& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
              Executor* executor) const override {
    const auto& packed = static_cast<const OpenblasLinear&>(weights);
    linear_in_row_blocks(kRowBlock, packed.bias, x, y, tail, executor, [&](ConstMatrix rows, Matrix sums) {
      gemm_(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(rows.rows), static_cast<blasint>(packed.out),
            static_cast<blasint>(packed.in), 1.0F, rows.data, static_cast<blasint>(rows.stride), packed.weights,
            static_cast<blasint>(packed.in), 0.0F, sums.data, static_cast<blasint>(sums.stride));
    });
  }

  void attention(const AttentionCall& call, Precision, Executor* executor) const override {
    check_attention(call);
    attention_f32(call, executor);
  }

 private:
  decltype(&cblas_sgemm) gemm_ = nullptr;
  std::string description_;
};

}  // namespace

std::vector<std::pair<const char*, const char*>> openblas_variables() {
  std::vector<std::pair<const char*, const char*>> variables{{"OPENBLAS_NUM_THREADS", "1"}};
  // OpenBLAS 0.3.21 does not know newer models and falls back to kernels without AVX-512, or without AVX: the core type
  // is chosen from the features instead.
  const CpuFeatures& cpu = cpu_features();
  if (cpu.avx2) variables.emplace_back("OPENBLAS_CORETYPE", cpu.avx512 ? "SkylakeX" : "Haswell");
  return variables;
}

const Backend& openblas_backend() {
  static const OpenblasBackend backend;
  return backend;
}

}  // namespace mha
