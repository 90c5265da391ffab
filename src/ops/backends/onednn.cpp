#include "ops/backends/onednn.hpp"

#include "mha/core/error.hpp"

#ifdef MHA_HAS_DNNL_HEADER

#include <dlfcn.h>
#include <dnnl.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "ops/attention.hpp"
#include "ops/backends/row_blocks.hpp"
#include "ops/backends/unpacked.hpp"

namespace mha {
namespace {

constexpr const char* kLibrary = "libdnnl.so.2";
constexpr std::size_t kRowBlock = 256;

/// The functions of the library that are used, by their own names.
struct Library {
  decltype(&dnnl_engine_create) engine_create = nullptr;
  decltype(&dnnl_stream_create) stream_create = nullptr;
  decltype(&dnnl_stream_wait) stream_wait = nullptr;
  decltype(&dnnl_stream_destroy) stream_destroy = nullptr;
  decltype(&dnnl_memory_desc_init_by_tag) memory_desc_init_by_tag = nullptr;
  decltype(&dnnl_memory_desc_init_by_strides) memory_desc_init_by_strides = nullptr;
  decltype(&dnnl_memory_desc_get_size) memory_desc_get_size = nullptr;
  decltype(&dnnl_memory_create) memory_create = nullptr;
  decltype(&dnnl_memory_destroy) memory_destroy = nullptr;
  decltype(&dnnl_matmul_desc_init) matmul_desc_init = nullptr;
  decltype(&dnnl_primitive_attr_create) primitive_attr_create = nullptr;
  decltype(&dnnl_primitive_attr_set_scratchpad_mode) primitive_attr_set_scratchpad_mode = nullptr;
  decltype(&dnnl_primitive_attr_destroy) primitive_attr_destroy = nullptr;
  decltype(&dnnl_primitive_desc_create) primitive_desc_create = nullptr;
  decltype(&dnnl_primitive_desc_query_md) primitive_desc_query_md = nullptr;
  decltype(&dnnl_primitive_desc_destroy) primitive_desc_destroy = nullptr;
  decltype(&dnnl_reorder_primitive_desc_create) reorder_primitive_desc_create = nullptr;
  decltype(&dnnl_primitive_create) primitive_create = nullptr;
  decltype(&dnnl_primitive_execute) primitive_execute = nullptr;
  decltype(&dnnl_primitive_destroy) primitive_destroy = nullptr;
  decltype(&dnnl_version) version = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) {
    throw_usage(std::string("backend: onednn: ") + kLibrary + ": expected oneDNN 2.6 with " + name +
                ", got another library");
  }
}

Library load() {
  // One thread a call: the program's own threads call side by side.
  const LoadVariable threads("OMP_NUM_THREADS", "1");
  void* handle = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw_usage(std::string("backend: onednn: expected ") + kLibrary +
                ", got none; install libdnnl2 or choose another backend");
  }
  Library dnnl;
  find(handle, "dnnl_engine_create", dnnl.engine_create);
  find(handle, "dnnl_stream_create", dnnl.stream_create);
  find(handle, "dnnl_stream_wait", dnnl.stream_wait);
  find(handle, "dnnl_stream_destroy", dnnl.stream_destroy);
  find(handle, "dnnl_memory_desc_init_by_tag", dnnl.memory_desc_init_by_tag);
  find(handle, "dnnl_memory_desc_init_by_strides", dnnl.memory_desc_init_by_strides);
  find(handle, "dnnl_memory_desc_get_size", dnnl.memory_desc_get_size);
  find(handle, "dnnl_memory_create", dnnl.memory_create);
  find(handle, "dnnl_memory_destroy", dnnl.memory_destroy);
  find(handle, "dnnl_matmul_desc_init", dnnl.matmul_desc_init);
  find(handle, "dnnl_primitive_attr_create", dnnl.primitive_attr_create);
  find(handle, "dnnl_primitive_attr_set_scratchpad_mode", dnnl.primitive_attr_set_scratchpad_mode);
  find(handle, "dnnl_primitive_attr_destroy", dnnl.primitive_attr_destroy);
  find(handle, "dnnl_primitive_desc_create", dnnl.primitive_desc_create);
  find(handle, "dnnl_primitive_desc_query_md", dnnl.primitive_desc_query_md);
  find(handle, "dnnl_primitive_desc_destroy", dnnl.primitive_desc_destroy);
  find(handle, "dnnl_reorder_primitive_desc_create", dnnl.reorder_primitive_desc_create);
  find(handle, "dnnl_primitive_create", dnnl.primitive_create);
  find(handle, "dnnl_primitive_execute", dnnl.primitive_execute);
  find(handle, "dnnl_primitive_destroy", dnnl.primitive_destroy);
  find(handle, "dnnl_version", dnnl.version);
  return dnnl;
}

void require(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) {
    throw_internal(std::string("backend: onednn: ") + what + ": the library failed with status " +
                   std::to_string(status));
  }
}

dnnl_dim_t dim(std::size_t value) { return static_cast<dnnl_dim_t>(value); }

/// Weights in the library's own layout, and the primitives made for them, one for each count and stride of rows.
struct OnednnLinear final : PackedLinear {
  struct Key {
    std::size_t rows, x_stride, y_stride;
    auto operator<=>(const Key&) const = default;
  };

  struct Product {
    dnnl_primitive_t primitive = nullptr;
    dnnl_memory_desc_t scratchpad{};
  };

  explicit OnednnLinear(const Library& library) : dnnl(library) {}
  ~OnednnLinear() override {
    for (const auto& [key, product] : products) dnnl.primitive_destroy(product.primitive);
    if (weights != nullptr) dnnl.memory_destroy(weights);
  }
  OnednnLinear(const OnednnLinear&) = delete;
  OnednnLinear& operator=(const OnednnLinear&) = delete;

  const Library& dnnl;
  std::vector<float> bias;
  dnnl_memory_desc_t weights_desc{};
  FloatBuffer packed;
  dnnl_memory_t weights = nullptr;
  mutable std::mutex mutex;
  mutable std::map<Key, Product> products;
};

class OnednnBackend final : public Backend {
 public:
  OnednnBackend() : dnnl_(load()) {
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
      throw_usage("backend: onednn: it computes in f32 only; use --dtype f32 or --backend native");
    const JoinedWeights source(joined);
    auto linear = std::make_unique<OnednnLinear>(dnnl_);
    linear->in = source.in();
    linear->out = source.out();
    linear->bias = source.bias();
    std::vector<float> rows(source.in() * source.out());
    for (std::size_t r = 0; r < source.out(); ++r) source.row(r, rows.data() + r * source.in());

    // The layout the library would choose for a block of rows.
    const dnnl_dims_t dims = {dim(source.in()), dim(source.out())};
    dnnl_memory_desc_t any{};
    dnnl_memory_desc_t plain{};
    require(dnnl_.memory_desc_init_by_tag(&any, 2, dims, dnnl_f32, dnnl_format_tag_any), "weights");
    require(dnnl_.memory_desc_init_by_tag(&plain, 2, dims, dnnl_f32, dnnl_ba), "weights");
    const dnnl_primitive_desc_t matmul =
        matmul_desc(kRowBlock, source.in(), source.out(), source.in(), source.out(), any);
    linear->weights_desc = *dnnl_.primitive_desc_query_md(matmul, dnnl_query_weights_md, 0);
    dnnl_.primitive_desc_destroy(matmul);
    linear->packed.reserve(dnnl_.memory_desc_get_size(&linear->weights_desc) / sizeof(float) + 1);
    require(dnnl_.memory_create(&linear->weights, &linear->weights_desc, engine_, linear->packed.data()), "weights");

    dnnl_memory_t from = nullptr;
    require(dnnl_.memory_create(&from, &plain, engine_, rows.data()), "weights");
    dnnl_primitive_desc_t reorder_desc = nullptr;
    require(
        dnnl_.reorder_primitive_desc_create(&reorder_desc, &plain, engine_, &linear->weights_desc, engine_, nullptr),
        "packing");
    dnnl_primitive_t reorder = nullptr;
    require(dnnl_.primitive_create(&reorder, reorder_desc), "packing");
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, linear->weights}};
    execute(reorder, 2, arguments);
    dnnl_.primitive_destroy(reorder);
    dnnl_.primitive_desc_destroy(reorder_desc);
    dnnl_.memory_destroy(from);
    return linear;
  }

  void linear(const PackedLinear& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
              Executor* executor) const override {
    const auto& packed = static_cast<const OnednnLinear&>(weights);
    linear_in_row_blocks(kRowBlock, packed.bias, x, y, tail, executor,
                         [&](ConstMatrix rows, Matrix sums) { multiply(packed, rows, sums); });
  }

  void attention(const AttentionCall& call, Precision, Executor* executor) const override {
    check_attention(call);
    attention_f32(call, executor);
  }

 private:
  dnnl_memory_desc_t rows_desc(std::size_t rows, std::size_t cols, std::size_t stride) const {
    const dnnl_dims_t dims = {dim(rows), dim(cols)};
    const dnnl_dims_t strides = {dim(stride), 1};
    dnnl_memory_desc_t desc{};
    require(dnnl_.memory_desc_init_by_strides(&desc, 2, dims, dnnl_f32, strides), "rows");
    return desc;
  }

  dnnl_primitive_desc_t matmul_desc(std::size_t rows, std::size_t in, std::size_t out, std::size_t x_stride,
                                    std::size_t y_stride, const dnnl_memory_desc_t& weights) const {
    const dnnl_memory_desc_t x = rows_desc(rows, in, x_stride);
    const dnnl_memory_desc_t y = rows_desc(rows, out, y_stride);
    dnnl_matmul_desc_t desc{};
    require(dnnl_.matmul_desc_init(&desc, &x, &weights, nullptr, &y), "matmul");
    // The library's own scratchpad belongs to the thread that made the primitive; ours is executed by others too.
    dnnl_primitive_attr_t attributes = nullptr;
    require(dnnl_.primitive_attr_create(&attributes), "matmul");
    require(dnnl_.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user), "matmul");
    dnnl_primitive_desc_t primitive = nullptr;
    const dnnl_status_t status = dnnl_.primitive_desc_create(&primitive, &desc, attributes, engine_, nullptr);
    dnnl_.primitive_attr_destroy(attributes);
    require(status, "matmul");
    return primitive;
  }

  void execute(dnnl_primitive_t primitive, int count, const dnnl_exec_arg_t* arguments) const {
    struct Stream {
      dnnl_stream_t handle = nullptr;
      decltype(&dnnl_stream_destroy) destroy = nullptr;
      ~Stream() {
        if (handle != nullptr) destroy(handle);
      }
    };
    thread_local Stream stream;
    if (stream.handle == nullptr) {
      require(dnnl_.stream_create(&stream.handle, engine_, dnnl_stream_default_flags), "stream");
      stream.destroy = dnnl_.stream_destroy;
    }
    require(dnnl_.primitive_execute(primitive, stream.handle, count, arguments), "product");
    require(dnnl_.stream_wait(stream.handle), "product");
  }

  OnednnLinear::Product product_of(const OnednnLinear& packed, const OnednnLinear::Key& key) const {
    const std::lock_guard lock(packed.mutex);
    OnednnLinear::Product& product = packed.products[key];
    if (product.primitive == nullptr) {
      const dnnl_primitive_desc_t desc =
          matmul_desc(key.rows, packed.in, packed.out, key.x_stride, key.y_stride, packed.weights_desc);
      product.scratchpad = *dnnl_.primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
      const dnnl_status_t status = dnnl_.primitive_create(&product.primitive, desc);
      dnnl_.primitive_desc_destroy(desc);
      require(status, "matmul");
    }
    return product;
  }

  void multiply(const OnednnLinear& packed, ConstMatrix x, Matrix y) const {
    const OnednnLinear::Product product = product_of(packed, {x.rows, x.stride, y.stride});
    thread_local FloatBuffer scratch;
    scratch.reserve(dnnl_.memory_desc_get_size(&product.scratchpad) / sizeof(float) + 1);
    const dnnl_memory_desc_t x_desc = rows_desc(x.rows, packed.in, x.stride);
    const dnnl_memory_desc_t y_desc = rows_desc(y.rows, packed.out, y.stride);
    dnnl_memory_t from = nullptr;
    dnnl_memory_t to = nullptr;
    dnnl_memory_t scratchpad = nullptr;
    // The library's interface has no const; it reads the source only.
    require(dnnl_.memory_create(&from, &x_desc, engine_, const_cast<float*>(x.data)), "rows");
    require(dnnl_.memory_create(&to, &y_desc, engine_, y.data), "rows");
    require(dnnl_.memory_create(&scratchpad, &product.scratchpad, engine_, scratch.data()), "scratchpad");
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, from},
                                         {DNNL_ARG_WEIGHTS, packed.weights},
                                         {DNNL_ARG_DST, to},
                                         {DNNL_ARG_SCRATCHPAD, scratchpad}};
    execute(product.primitive, 4, arguments);
    dnnl_.memory_destroy(scratchpad);
    dnnl_.memory_destroy(from);
    dnnl_.memory_destroy(to);
  }

  Library dnnl_;
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
      "backend: onednn: this build was made without dnnl.h; install libdnnl-dev and build again, or use --backend "
      "native");
}

bool onednn_built() { return false; }

}  // namespace mha

#endif
