find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
