# Libraries of which the build needs only headers; they are loaded at run time, on request. libraries.cmake has the
# libraries that a program is linked with.
include(libraries)
find_package(nlohmann_json REQUIRED)

# spdlog and fmt without their libraries, whose names change with every release.
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
add_library(mha_spdlog INTERFACE)
target_compile_definitions(mha_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_include_directories(mha_spdlog SYSTEM INTERFACE
  $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(mha_spdlog INTERFACE fmt::fmt-header-only Threads::Threads)

# mha_headers(TARGET FOLDERS…): an interface target of include folders.
function(mha_headers target)
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${ARGN})
endfunction()

find_package(PkgConfig REQUIRED)
pkg_check_modules(PANGOCAIRO REQUIRED pangocairo)
mha_headers(mha_pango_headers ${PANGOCAIRO_INCLUDE_DIRS})

find_path(HWY_INCLUDE_DIR hwy/highway.h REQUIRED)
mha_headers(mha_hwy ${HWY_INCLUDE_DIR})

find_path(ICU_INCLUDE_DIR unicode/ubrk.h REQUIRED)
mha_headers(mha_icu_headers ${ICU_INCLUDE_DIR})

find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-pthread REQUIRED)
mha_headers(mha_cblas_headers ${CBLAS_INCLUDE_DIR})

# oneDNN is optional. Debian's package config requires OpenCL, so we search for the header ourselves.
find_path(DNNL_INCLUDE_DIR dnnl.h)
if(DNNL_INCLUDE_DIR)
  mha_headers(mha_dnnl_headers ${DNNL_INCLUDE_DIR})
  target_compile_definitions(mha_dnnl_headers INTERFACE MHA_HAS_DNNL_HEADER)
else()
  add_library(mha_dnnl_headers INTERFACE)
endif()

find_path(SQLITE_INCLUDE_DIR sqlite3.h REQUIRED)
mha_headers(mha_sqlite_headers ${SQLITE_INCLUDE_DIR})

find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
mha_headers(mha_flatbuffers_headers ${FLATBUFFERS_INCLUDE_DIR})
find_program(FLATC flatc REQUIRED)
