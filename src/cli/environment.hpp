#pragma once

namespace mha::cli {

/// What the environment says about the CPU, and to libraries that are loaded later: MHA_CPU takes CPU features away,
/// and variables that OpenBLAS reads get values unless the user has set them. Call it before there are threads. Throws
/// Error{usage} for a word in MHA_CPU that is no feature.
void apply_environment();

}  // namespace mha::cli
