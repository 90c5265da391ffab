#pragma once

#include <string>

namespace mha {

/// One decision that loading made, with the file and key it came from, or why it holds ("assumed", "fixed by …").
struct Decision {
  std::string what;
  std::string value;
  std::string from;
};

}  // namespace mha
