#include "support/source_folder.hpp"

namespace mha::test {

std::filesystem::path source_folder() { return MHA_SOURCE_DIR; }

}  // namespace mha::test
