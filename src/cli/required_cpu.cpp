// Compiled with the flags of the whole program: what the compiler was allowed to use.
#include "cli/required_cpu.hpp"

namespace mha::cli {

const RequiredCpu kRequiredCpu = {
#ifdef __AVX2__
    true,
#else
    false,
#endif
#ifdef __AVX512F__
    true,
#else
    false,
#endif
#ifdef __ARM_FEATURE_SVE
    true,
#else
    false,
#endif
#ifdef __ARM_FEATURE_DOTPROD
    true,
#else
    false,
#endif
#ifdef __ARM_FEATURE_ATOMICS
    true,
#else
    false,
#endif
};

}  // namespace mha::cli
