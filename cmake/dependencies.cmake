find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)

find_path(HWY_INCLUDE_DIR hwy/highway.h REQUIRED)
find_library(HWY_LIBRARY hwy REQUIRED)
add_library(mha_hwy INTERFACE)
target_include_directories(mha_hwy SYSTEM INTERFACE ${HWY_INCLUDE_DIR})
target_link_libraries(mha_hwy INTERFACE ${HWY_LIBRARY})

# Prototypes only: the library is loaded at run time, when it is asked for.
find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-pthread REQUIRED)
add_library(mha_cblas_headers INTERFACE)
target_include_directories(mha_cblas_headers SYSTEM INTERFACE ${CBLAS_INCLUDE_DIR})

# The same for oneDNN, which may be absent. Debian's package config asks for OpenCL, so the header is looked for by hand.
find_path(DNNL_INCLUDE_DIR dnnl.h)
add_library(mha_dnnl_headers INTERFACE)
if(DNNL_INCLUDE_DIR)
  target_include_directories(mha_dnnl_headers SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
  target_compile_definitions(mha_dnnl_headers INTERFACE MHA_HAS_DNNL_HEADER)
endif()
