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
