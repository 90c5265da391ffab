find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)

# Debian's libutf8proc-dev ships no CMake package.
find_path(MHA_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
find_library(MHA_UTF8PROC_LIBRARY utf8proc REQUIRED)
add_library(mha_utf8proc INTERFACE)
target_include_directories(mha_utf8proc SYSTEM INTERFACE ${MHA_UTF8PROC_INCLUDE})
target_link_libraries(mha_utf8proc INTERFACE ${MHA_UTF8PROC_LIBRARY})

find_package(PNG REQUIRED)

# Headers alone: the library is loaded when a PNG is drawn.
find_package(PkgConfig REQUIRED)
pkg_check_modules(PANGOCAIRO REQUIRED pangocairo)
add_library(mha_pango_headers INTERFACE)
target_include_directories(mha_pango_headers SYSTEM INTERFACE ${PANGOCAIRO_INCLUDE_DIRS})
find_path(HWY_INCLUDE_DIR hwy/highway.h REQUIRED)
add_library(mha_hwy INTERFACE)
target_include_directories(mha_hwy SYSTEM INTERFACE ${HWY_INCLUDE_DIR})

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
# Regular expressions of tokenizers, in the reference's own dialect. Debian's libonig-dev ships no CMake package.
find_path(ONIGURUMA_INCLUDE_DIR oniguruma.h REQUIRED)
find_library(ONIGURUMA_LIBRARY onig REQUIRED)
add_library(mha_oniguruma INTERFACE)
target_include_directories(mha_oniguruma SYSTEM INTERFACE ${ONIGURUMA_INCLUDE_DIR})
target_link_libraries(mha_oniguruma INTERFACE ${ONIGURUMA_LIBRARY})
# Debian's libminizip-dev ships no CMake package.
find_path(MINIZIP_INCLUDE_DIR minizip/zip.h REQUIRED)
find_library(MINIZIP_LIBRARY minizip REQUIRED)
add_library(mha_minizip INTERFACE)
target_include_directories(mha_minizip SYSTEM INTERFACE ${MINIZIP_INCLUDE_DIR})
target_link_libraries(mha_minizip INTERFACE ${MINIZIP_LIBRARY})

# Headers alone: the library is loaded when sentences are looked for.
find_path(MHA_ICU_INCLUDE unicode/ubrk.h REQUIRED)
add_library(mha_icu_headers INTERFACE)
target_include_directories(mha_icu_headers SYSTEM INTERFACE ${MHA_ICU_INCLUDE})
