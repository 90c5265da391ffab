# cmake --install, in two components: `program` (the program with its models inside, and what a person reads) and
# `development` (the library as a CMake package and for pkg-config).
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/mha)

install(TARGETS mha EXPORT mha-targets ARCHIVE COMPONENT development)
install(DIRECTORY include/mha DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT mha-targets NAMESPACE mha:: DESTINATION ${package} COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mha-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/mha-config.cmake cmake/libraries.cmake ${PROJECT_BINARY_DIR}/mha-config-version.cmake
        DESTINATION ${package} COMPONENT development)
# A prefix that is found from the file's own place, so that the installed folder can be moved.
file(RELATIVE_PATH MHA_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/mha.pc.in ${PROJECT_BINARY_DIR}/mha.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mha.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(TARGETS mha-cli RUNTIME COMPONENT program)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)
install(FILES packaging/systemd/mha-cli.service packaging/systemd/mha-cli.socket DESTINATION lib/systemd/system
        COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# The models are in the program; their cards are beside it.
file(GLOB cards RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS models/*/MODEL.md)
foreach(card IN LISTS cards)
  cmake_path(GET card PARENT_PATH folder)
  install(FILES ${card} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT program)
endforeach()
# Manual pages and completions, of the target mha_manual.
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program OPTIONAL)
