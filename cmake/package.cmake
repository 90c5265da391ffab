# Packages. `cpack -G DEB` makes mha-cli and libmha-dev of the components in install.cmake, `cpack -G TGZ` a folder that
# runs on any Linux with the build's glibc or a newer one (component `portable`). scripts/package does both.

# The program for other systems: C++'s library inside, the other libraries beside it.
add_executable(mha-cli-portable EXCLUDE_FROM_ALL src/cli/main.cpp)
target_link_libraries(mha-cli-portable PRIVATE mha_command mha_warnings)
target_link_options(mha-cli-portable PRIVATE -static-libstdc++ -static-libgcc -s
  -Wl,--disable-new-dtags)  # RPATH holds for the libraries of libraries too, RUNPATH does not
set_target_properties(mha-cli-portable PROPERTIES
  OUTPUT_NAME mha-cli RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib/mha-cli")
install(PROGRAMS $<TARGET_FILE:mha-cli-portable> DESTINATION bin COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION share/doc/mha-cli COMPONENT portable EXCLUDE_FROM_ALL)
install(DIRECTORY docs DESTINATION share/doc/mha-cli COMPONENT portable EXCLUDE_FROM_ALL)
configure_file(cmake/portable_libraries.cmake.in ${PROJECT_BINARY_DIR}/portable_libraries.cmake.in @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/portable_libraries.cmake
     INPUT ${PROJECT_BINARY_DIR}/portable_libraries.cmake.in)
install(SCRIPT ${PROJECT_BINARY_DIR}/portable_libraries.cmake COMPONENT portable EXCLUDE_FROM_ALL)

# What Debian wants beside the files: copyright and changelog, compressed without a time of day.
set(MHA_MAINTAINER "mha-cli maintainers <maintainers@mha-cli.invalid>" CACHE STRING "Maintainer of the Debian packages")
set(MHA_DEBIAN_REVISION 1)
find_program(GZIP_PROGRAM gzip)
string(TIMESTAMP MHA_CHANGELOG_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(packaging/debian/changelog.in ${PROJECT_BINARY_DIR}/debian/changelog.Debian @ONLY)
configure_file(CHANGELOG.md ${PROJECT_BINARY_DIR}/debian/changelog COPYONLY)
foreach(name mha-cli libmha-dev)
  file(WRITE ${PROJECT_BINARY_DIR}/debian/${name}
       "# There is no request for this package that it could close.\n${name}: initial-upload-closes-no-bugs *\n")
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/debian/mha-cli DESTINATION share/lintian/overrides
        COMPONENT debian_program EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_BINARY_DIR}/debian/libmha-dev DESTINATION share/lintian/overrides
        COMPONENT debian_development EXCLUDE_FROM_ALL)
if(GZIP_PROGRAM)
  foreach(name changelog.Debian changelog)
    execute_process(COMMAND ${GZIP_PROGRAM} -9nf ${PROJECT_BINARY_DIR}/debian/${name} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz ${PROJECT_BINARY_DIR}/debian/changelog.gz
                packaging/debian/copyright DESTINATION share/doc/mha-cli COMPONENT debian_program EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_BINARY_DIR}/debian/changelog.Debian.gz ${PROJECT_BINARY_DIR}/debian/changelog.gz
                packaging/debian/copyright DESTINATION share/doc/libmha-dev
          COMPONENT debian_development EXCLUDE_FROM_ALL)
  install(CODE "
    file(GLOB_RECURSE pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/*.1\")
    if(pages)
      execute_process(COMMAND ${GZIP_PROGRAM} -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)
    endif()" COMPONENT debian_program EXCLUDE_FROM_ALL)
endif()

# mha_packages_of(OUT LIBRARIES…): the Debian packages of libraries, in one line with commas.
function(mha_packages_of out)
  set(packages "")
  foreach(library IN LISTS ARGN)
    find_library(MHA_FILE_OF_${library} ${library})
    mark_as_advanced(MHA_FILE_OF_${library})
    file(REAL_PATH "${MHA_FILE_OF_${library}}" file)
    execute_process(COMMAND dpkg-query -S ${file} OUTPUT_VARIABLE line ERROR_QUIET)
    if(line MATCHES "^([^:]+):")
      list(APPEND packages ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(JOIN packages ", " packages)
  set(${out} "${packages}" PARENT_SCOPE)
endfunction()

set(CPACK_PACKAGE_NAME mha-cli)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "transformer encoders and their attention")
set(CPACK_PACKAGE_VENDOR "mha-cli")
set(CPACK_PACKAGE_CONTACT ${MHA_MAINTAINER})
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/cpack_generator.cmake)
configure_file(cmake/cpack_generator.cmake.in ${CPACK_PROJECT_CONFIG_FILE} @ONLY)
set(CPACK_GENERATOR "DEB;TGZ")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${MHA_DEBIAN_REVISION})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${MHA_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_COMPONENT_PROGRAM_GROUP program)
set(CPACK_COMPONENT_DEBIAN_PROGRAM_GROUP program)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP development)
set(CPACK_COMPONENT_DEBIAN_DEVELOPMENT_GROUP development)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME mha-cli)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# The program loads these at run time and does without them. Recommended: search (SQLite), sentence ends (ICU).
# Suggested: pictures (Pango), other backends.
mha_packages_of(recommended sqlite3 icuuc)
mha_packages_of(suggested pangocairo-1.0 openblas dnnl)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS ${recommended})
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS ${suggested})
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "mha-cli turns text into contextual vectors and shows what multi-head
attention does inside a transformer encoder: attention maps, head
statistics, explanations, similarity, search and task heads.

A small model of English is inside the program; others are read from
Hugging Face folders (safetensors and tokenizer.json). It needs no
Python and no network.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmha-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libutf8proc-dev, libonig-dev, libminizip-dev, libpng-dev, libmd-dev, g++")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "The library behind mha-cli: it reads encoder models and their tokenizers,
and gives token vectors, sentence vectors and attention.

This package has the headers, the static library, and what CMake and
pkg-config need.")
include(CPack)
