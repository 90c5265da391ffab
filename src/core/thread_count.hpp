#pragma once

#include <cstddef>

namespace mha {

/// CPUs that this process may use: the affinity mask, narrowed by the cgroup's CPU quota (v2 `cpu.max`, v1
/// `cpu.cfs_quota_us`, of the process's own group and those above it), rounded up; at least 1.
std::size_t usable_cpus();

}  // namespace mha
