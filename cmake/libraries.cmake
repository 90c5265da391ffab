# Libraries that a program with libmha.a is linked with. The build and the installed package both include this file.
find_package(Threads REQUIRED)
find_package(PNG REQUIRED)

# mha_library(TARGET LIBRARY HEADER): an imported target for a library that Debian ships without a CMake package.
function(mha_library target library header)
  find_path(${target}_INCLUDE_DIR ${header})
  find_library(${target}_LIBRARY ${library})
  if(NOT ${target}_INCLUDE_DIR OR NOT ${target}_LIBRARY)
    message(FATAL_ERROR "mha: expected ${header} and the library ${library}, found none; scripts/setup installs them")
  endif()
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${${target}_INCLUDE_DIR}"
                                               INTERFACE_LINK_LIBRARIES "${${target}_LIBRARY}")
  endif()
endfunction()

# The same for pkg-config, which asks for everything behind a static library.
set(MHA_PC_REQUIRES "libutf8proc oniguruma minizip libpng")
set(MHA_PC_LIBRARIES "-l:libmd.a -ldl -pthread -lstdc++ -lm")

mha_library(mha_utf8proc utf8proc utf8proc.h)
mha_library(mha_oniguruma onig oniguruma.h)  # regular expressions of tokenizers, in the reference's own dialect
mha_library(mha_minizip minizip minizip/zip.h)
mha_library(mha_md libmd.a sha256.h)  # static: SHA-256 and SHA-1
