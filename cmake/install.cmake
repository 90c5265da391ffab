# cmake --install: the program, the models that ship (a program in PREFIX/bin looks for them in PREFIX/share), and the
# library as a CMake package.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/mha)

install(TARGETS mha EXPORT mha-targets)
install(DIRECTORY include/mha DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT mha-targets NAMESPACE mha:: DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mha-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/mha-config.cmake cmake/libraries.cmake ${PROJECT_BINARY_DIR}/mha-config-version.cmake
        DESTINATION ${package})

install(TARGETS mha-cli)
install(DIRECTORY models/ DESTINATION share/mha/models)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
