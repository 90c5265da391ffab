#include "core/thread_count.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#include "core/numbers.hpp"

namespace mha {
namespace {

std::size_t cpus_of_affinity() {
  // The kernel refuses a mask smaller than its own: grow until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* const mask = CPU_ALLOC(cpus);
    if (mask == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool known = sched_getaffinity(0, bytes, mask) == 0;
    const int count = known ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (known) return static_cast<std::size_t>(std::max(count, 1));
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

// CPUs that `quota` microseconds per `period` allow; 0 for no limit.
double quota_of(const std::string& quota, const std::string& period) {
  double time = 0;
  double every = 0;
  if (!parse_double(quota, time) || !parse_double(period, every)) return 0;
  return time > 0 && every > 0 ? time / every : 0;
}

std::string word_of(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

double quota_of_folder(const std::string& folder, bool unified) {
  if (!unified) return quota_of(word_of(folder + "/cpu.cfs_quota_us"), word_of(folder + "/cpu.cfs_period_us"));
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  std::string period;
  file >> quota >> period;
  return quota_of(quota, period);
}

// The smallest quota of `group` and of all groups above it, up to the mount point.
double tightest(const std::string& mount, std::string group, bool unified) {
  double least = 0;
  while (true) {
    const double quota = quota_of_folder(mount + group, unified);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    if (group.empty()) return least;
    const std::size_t slash = group.find_last_of('/');
    group.resize(slash == std::string::npos ? 0 : slash);
  }
}

double cpus_of_quota() {
  std::ifstream groups("/proc/self/cgroup");
  double least = 0;
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    double quota = 0;
    if (controllers == ",,") {
      quota = tightest("/sys/fs/cgroup", group, true);
    } else if (controllers.find(",cpu,") != std::string::npos) {
      quota = tightest("/sys/fs/cgroup/cpu", group, false);
    }
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
  return least;
}

}  // namespace

std::size_t usable_cpus() {
  const std::size_t cpus = cpus_of_affinity();
  const double quota = cpus_of_quota();
  if (quota <= 0) return cpus;
  return std::clamp(static_cast<std::size_t>(std::ceil(quota)), std::size_t{1}, cpus);
}

}  // namespace mha
