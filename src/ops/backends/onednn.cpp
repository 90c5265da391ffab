#include "ops/backends/onednn.hpp"

#include "mha/core/error.hpp"

#ifdef MHA_HAS_DNNL_HEADER

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>

#include "core/round_up.hpp"
#include "ops/attention.hpp"
#include "ops/backends/onednn_library.hpp"
#include "ops/backends/row_blocks.hpp"
#include "ops/backends/unpacked.hpp"

namespace mha {
namespace {

using onednn::Desc;
using onednn::Library;
using onednn::require;

/// Rows of a product. The library chooses its kernels, and with them the order of sums, by the number of rows, their
/// stride and the CPU: a row has the same bits in every batch only if all products have the same shape, and if the
/// row's place in the block does not count. Kernels take rows in groups of 6, 8 or 16 and the remainder in another way,
/// so whole groups come first. Single rows always do.
constexpr std::size_t kRowBlocks[] = {24, 48, 8, 1};

/// Memory that somebody else owns, as the library sees it.
class Memory {
 public:
  Memory(const Library& dnnl, dnnl_engine_t engine, const Desc& desc, void* data) : dnnl_(dnnl) {
    require(dnnl.memory_create(&handle_, desc.get(), engine, data), "memory");
  }
  ~Memory() { dnnl_.memory_destroy(handle_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  dnnl_memory_t get() const { return handle_; }

 private:
  const Library& dnnl_;
  dnnl_memory_t handle_ = nullptr;
};

/// A primitive made of a description, which it takes over.
class Primitive {
 public:
  Primitive(const Library& dnnl, dnnl_primitive_desc_t desc) : dnnl_(dnnl) {
    const dnnl_status_t status = dnnl.primitive_create(&handle_, desc);
    dnnl.primitive_desc_destroy(desc);
    require(status, "primitive");
  }
  ~Primitive() { dnnl_.primitive_destroy(handle_); }
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  void execute(dnnl_engine_t engine, std::span<const dnnl_exec_arg_t> arguments) const {
    dnnl_stream_t stream = nullptr;
    require(dnnl_.stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    dnnl_status_t status =
        dnnl_.primitive_execute(handle_, stream, static_cast<int>(arguments.size()), arguments.data());
    if (status == dnnl_success) status = dnnl_.stream_wait(stream);
    dnnl_.stream_destroy(stream);
    require(status, "product");
  }

 private:
  const Library& dnnl_;
  dnnl_primitive_t handle_ = nullptr;
};

/// Weights in the library's own layout, and the product of a block of rows with them.
struct OnednnLinear final : PackedLinear {
  std::size_t row_block = 0;
  std::vector<float> bias;
  FloatBuffer packed;
  std::unique_ptr<Memory> weights;
  Desc x, y, scratchpad;
  std::unique_ptr<Primitive> product;
};

class OnednnBackend final : public Backend {
 public:
  OnednnBackend() : dnnl_(onednn::library()) {
    dnnl_.stay_on_this_thread();
    require(dnnl_.engine_create(&engine_, dnnl_cpu, 0), "engine");
    const dnnl_version_t* version = dnnl_.version();
    description_ = "onednn: oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                   std::to_string(version->patch) + ", packed float32 matmul";
  }

  std::string_view name() const override { return "onednn"; }
  std::string description() const override { return description_; }
  bool supports(Precision precision) const override { return precision == Precision::f32; }

  std::unique_ptr<PackedLinear> pack(std::span<const LinearWeights* const> joined, Precision precision,
                                     std::span<const float>) const override {
    if (!supports(precision))
      throw_usage("backend: onednn: expected f32, got " + std::string(name_of(precision)) +
                  "; the backend native has others");
    const JoinedWeights source(joined);
    auto linear = std::make_unique<OnednnLinear>();
    linear->in = source.in();
    linear->out = source.out();
    linear->bias = source.bias();
    FloatBuffer rows(source.in() * source.out());
    for (std::size_t r = 0; r < source.out(); ++r) source.row(r, rows.data() + r * source.in());

    for (const std::size_t row_block : kRowBlocks) {
      arrange(*linear, row_block, rows);
      if (row_block == 1 || has_equal_rows(*linear)) break;
    }
    return linear;
  }

  void linear(const PackedLinear& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
              Executor* executor) const override {
    const auto& packed = static_cast<const OnednnLinear&>(weights);
    linear_in_row_blocks(packed.row_block, packed.bias, x, y, tail, executor,
                         [&](ConstMatrix rows, Matrix sums) { multiply(packed, rows, sums); });
  }

  void attention(const AttentionCall& call, Precision, Executor* executor) const override {
    check_attention(call);
    attention_f32(call, executor);
  }

 private:
  /// The product of `row_block` rows, and the weights `rows` [out, in] in the layout that the library wants for it.
  void arrange(OnednnLinear& linear, std::size_t row_block, FloatBuffer& rows) const {
    dnnl_.stay_on_this_thread();
    linear.row_block = row_block;
    linear.x = Desc(row_block, linear.in, dnnl_ab);
    linear.y = Desc(row_block, linear.out, dnnl_ab);
    const Desc any(linear.in, linear.out, dnnl_format_tag_any);
    linear.product = nullptr;
    linear.weights = nullptr;
    const dnnl_primitive_desc_t product = onednn::matmul_desc(engine_, linear.x, any, linear.y);
    const Desc layout = Desc::of(product, dnnl_query_weights_md);
    linear.scratchpad = Desc::of(product, dnnl_query_scratchpad_md);
    linear.product = std::make_unique<Primitive>(dnnl_, product);
    linear.packed.reserve(divide_up(layout.bytes(), sizeof(float)));
    linear.weights = std::make_unique<Memory>(dnnl_, engine_, layout, linear.packed.data());

    const Desc plain(linear.in, linear.out, dnnl_ba);
    const Memory from(dnnl_, engine_, plain, rows.data());
    dnnl_primitive_desc_t reorder = nullptr;
    require(dnnl_.reorder_primitive_desc_create(&reorder, plain.get(), engine_, layout.get(), engine_, nullptr),
            "packing");
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, linear.weights->get()}};
    Primitive(dnnl_, reorder).execute(engine_, arguments);
  }

  /// Whether a row's results are the same at every place in a block, tried with one row of numbers without a pattern.
  bool has_equal_rows(const OnednnLinear& linear) const {
    std::vector<float> x(linear.row_block * linear.in);
    std::minstd_rand engine;
    std::uniform_real_distribution<float> numbers(-1.0F, 1.0F);
    for (std::size_t c = 0; c < linear.in; ++c) x[c] = numbers(engine);
    for (std::size_t r = 1; r < linear.row_block; ++r) std::copy_n(x.data(), linear.in, x.data() + r * linear.in);
    std::vector<float> y(linear.row_block * linear.out);
    multiply(linear, {x.data(), linear.row_block, linear.in}, {y.data(), linear.row_block, linear.out});
    for (std::size_t r = 1; r < linear.row_block; ++r) {
      if (std::memcmp(y.data(), y.data() + r * linear.out, linear.out * sizeof(float)) != 0) return false;
    }
    return true;
  }

  /// Up to row_block rows, through whole blocks of their own: rows beyond the last are zero.
  void multiply(const OnednnLinear& packed, ConstMatrix x, Matrix y) const {
    thread_local FloatBuffer rows, sums, scratchpad;
    rows.reserve(packed.row_block * packed.in);
    sums.reserve(packed.row_block * packed.out);
    scratchpad.reserve(divide_up(packed.scratchpad.bytes(), sizeof(float)));
    for (std::size_t r = 0; r < x.rows; ++r) std::copy_n(x.row(r), packed.in, rows.data() + r * packed.in);
    std::fill(rows.data() + x.rows * packed.in, rows.data() + packed.row_block * packed.in, 0.0F);
    dnnl_.stay_on_this_thread();
    const Memory from(dnnl_, engine_, packed.x, rows.data());
    const Memory to(dnnl_, engine_, packed.y, sums.data());
    const Memory scratch(dnnl_, engine_, packed.scratchpad, scratchpad.data());
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, from.get()},
                                         {DNNL_ARG_WEIGHTS, packed.weights->get()},
                                         {DNNL_ARG_DST, to.get()},
                                         {DNNL_ARG_SCRATCHPAD, scratch.get()}};
    packed.product->execute(engine_, arguments);
    for (std::size_t r = 0; r < x.rows; ++r) std::copy_n(sums.data() + r * packed.out, packed.out, y.row(r));
  }

  const Library& dnnl_;
  dnnl_engine_t engine_ = nullptr;
  std::string description_;
};

}  // namespace

const Backend& onednn_backend() {
  static const OnednnBackend backend;
  return backend;
}

bool onednn_built() { return true; }

}  // namespace mha

#else

namespace mha {

const Backend& onednn_backend() {
  throw_usage(
      "backend: onednn: this build was made without dnnl.h; install libdnnl-dev and build again, or choose another "
      "backend");
}

bool onednn_built() { return false; }

}  // namespace mha

#endif
