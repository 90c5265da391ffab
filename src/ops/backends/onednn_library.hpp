#pragma once

#ifdef MHA_HAS_DNNL_HEADER

#include <dnnl.h>

#include <string>
#include <utility>

/// The C functions of oneDNN that the backend needs, found at run time, under one interface for releases 2 and 3. The
/// header that this is compiled with decides which release the library must have.
namespace mha::onednn {

#define MHA_DNNL_COMMON(use)                                                                                     \
  use(engine_create) use(memory_create) use(memory_desc_get_size) use(memory_destroy) use(primitive_attr_create) \
      use(primitive_attr_destroy) use(primitive_attr_set_scratchpad_mode) use(primitive_create)                  \
          use(primitive_desc_destroy) use(primitive_desc_query_md) use(primitive_destroy) use(primitive_execute) \
              use(reorder_primitive_desc_create) use(stream_create) use(stream_destroy) use(stream_wait) use(version)
#if DNNL_VERSION_MAJOR >= 3
#define MHA_DNNL_FUNCTIONS(use) \
  MHA_DNNL_COMMON(use)          \
  use(matmul_primitive_desc_create) use(memory_desc_clone) use(memory_desc_create_with_tag) use(memory_desc_destroy)
#else
#define MHA_DNNL_FUNCTIONS(use) \
  MHA_DNNL_COMMON(use)          \
  use(matmul_desc_init) use(memory_desc_init_by_tag) use(primitive_desc_create)
#endif

struct Library {
#define MHA_DNNL_MEMBER(name) decltype(&dnnl_##name) name = nullptr;
  MHA_DNNL_FUNCTIONS(MHA_DNNL_MEMBER)
#undef MHA_DNNL_MEMBER
  void (*set_threads)(int) = nullptr;  // of OpenMP, for the calling thread; nullptr: the library has no OpenMP

  /// Keeps what the library does on this thread on this thread: the program's own threads call side by side.
  void stay_on_this_thread() const {
    if (set_threads != nullptr) set_threads(1);
  }
};

/// The library, loaded at the first call. Throws Error{usage} if there is none, or one of another release.
const Library& library();

/// Throws Error{internal} that names the step, unless the status is success.
void require(dnnl_status_t status, const char* step);

/// The shape and layout of a matrix.
class Desc {
 public:
  Desc() = default;
  /// [rows, cols] of float32 in that layout.
  Desc(std::size_t rows, std::size_t cols, dnnl_format_tag_t layout);
  Desc(Desc&& other) noexcept { swap(other); }
  Desc& operator=(Desc&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Desc();

  /// A matrix of a product: `what` is dnnl_query_weights_md, dnnl_query_scratchpad_md, …
  static Desc of(const_dnnl_primitive_desc_t product, dnnl_query_t what);

  std::size_t bytes() const;
#if DNNL_VERSION_MAJOR >= 3
  const_dnnl_memory_desc_t get() const { return desc_; }
#else
  const dnnl_memory_desc_t* get() const { return &desc_; }
#endif

 private:
  void swap(Desc& other) { std::swap(desc_, other.desc_); }
  dnnl_memory_desc_t desc_{};
};

/// x · weights = y, without a scratchpad of its own: that of the library belongs to the thread that made the product,
/// and others execute it too. To be destroyed by primitive_desc_destroy.
dnnl_primitive_desc_t matmul_desc(dnnl_engine_t engine, const Desc& x, const Desc& weights, const Desc& y);

}  // namespace mha::onednn

#endif
