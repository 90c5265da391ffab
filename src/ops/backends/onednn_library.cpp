#include "ops/backends/onednn_library.hpp"

#ifdef MHA_HAS_DNNL_HEADER

#include <dlfcn.h>

#include "mha/core/error.hpp"

namespace mha::onednn {
namespace {

const std::string& stem() {
  static const std::string text = "libdnnl.so." + std::to_string(DNNL_VERSION_MAJOR);
  return text;
}

/// Debian adds the minor release to the name (libdnnl.so.3.6), which is not always that of the header.
void* open() {
  void* handle = ::dlopen(stem().c_str(), RTLD_NOW | RTLD_LOCAL);
  for (int minor = DNNL_VERSION_MINOR + 8; handle == nullptr && minor >= 0; --minor) {
    handle = ::dlopen((stem() + "." + std::to_string(minor)).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    throw_usage("backend: onednn: expected " + stem() + ", got none; install " +
                (DNNL_VERSION_MAJOR >= 3 ? "libdnnl3" : "libdnnl2") + " or choose another backend");
  }
  return handle;
}

template <class Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr) {
    throw_usage("backend: onednn: " + stem() + ": expected oneDNN " + std::to_string(DNNL_VERSION_MAJOR) + " with " +
                name + ", got another library");
  }
}

Library load() {
  void* const handle = open();
  Library library;
#define MHA_DNNL_FIND(name) find(handle, "dnnl_" #name, library.name);
  MHA_DNNL_FUNCTIONS(MHA_DNNL_FIND)
#undef MHA_DNNL_FIND
  library.set_threads = reinterpret_cast<decltype(library.set_threads)>(::dlsym(handle, "omp_set_num_threads"));
  return library;
}

}  // namespace

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

void require(dnnl_status_t status, const char* step) {
  if (status != dnnl_success) {
    throw_internal(std::string("backend: onednn: ") + step + ": the library failed with status " +
                   std::to_string(status));
  }
}

Desc::Desc(std::size_t rows, std::size_t cols, dnnl_format_tag_t layout) {
  const dnnl_dims_t dims = {static_cast<dnnl_dim_t>(rows), static_cast<dnnl_dim_t>(cols)};
#if DNNL_VERSION_MAJOR >= 3
  require(library().memory_desc_create_with_tag(&desc_, 2, dims, dnnl_f32, layout), "matrix");
#else
  require(library().memory_desc_init_by_tag(&desc_, 2, dims, dnnl_f32, layout), "matrix");
#endif
}

Desc::~Desc() {
#if DNNL_VERSION_MAJOR >= 3
  if (desc_ != nullptr) library().memory_desc_destroy(desc_);
#endif
}

Desc Desc::of(const_dnnl_primitive_desc_t product, dnnl_query_t what) {
  Desc desc;
#if DNNL_VERSION_MAJOR >= 3
  require(library().memory_desc_clone(&desc.desc_, library().primitive_desc_query_md(product, what, 0)), "matrix");
#else
  desc.desc_ = *library().primitive_desc_query_md(product, what, 0);
#endif
  return desc;
}

std::size_t Desc::bytes() const { return library().memory_desc_get_size(get()); }

dnnl_primitive_desc_t matmul_desc(dnnl_engine_t engine, const Desc& x, const Desc& weights, const Desc& y) {
  const Library& dnnl = library();
  dnnl_primitive_attr_t attributes = nullptr;
  require(dnnl.primitive_attr_create(&attributes), "product");
  dnnl_primitive_desc_t product = nullptr;
  dnnl_status_t status = dnnl.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
#if DNNL_VERSION_MAJOR >= 3
  if (status == dnnl_success) {
    status = dnnl.matmul_primitive_desc_create(&product, engine, x.get(), weights.get(), nullptr, y.get(), attributes);
  }
#else
  dnnl_matmul_desc_t desc{};
  if (status == dnnl_success) status = dnnl.matmul_desc_init(&desc, x.get(), weights.get(), nullptr, y.get());
  if (status == dnnl_success) status = dnnl.primitive_desc_create(&product, &desc, attributes, engine, nullptr);
#endif
  dnnl.primitive_attr_destroy(attributes);
  require(status, "product");
  return product;
}

}  // namespace mha::onednn

#endif
