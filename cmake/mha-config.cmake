# find_package(mha) gives mha::mha, the library behind mha-cli.
include(${CMAKE_CURRENT_LIST_DIR}/libraries.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/mha-targets.cmake)
