// One side of scripts/tokenizer_speed.py: reads a tokenizer and the lines of a text, then does what each line of stdin
// says and prints one JSON object for it.
//
//   mha_tokenizer_speed FOLDER TEXT [MEGABYTES]        cold: a pass with an empty word cache · warm: the same cache
//   again ·
//                                                      load: the least time of some loads
#include <zlib.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "mha/core/error.hpp"
#include "mha/tokenizer/tokenizer.hpp"

namespace {

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

void encode_all(const mha::Tokenizer& tokenizer, std::string_view text, const std::vector<std::string_view>& lines,
                mha::TokenizerScratch& scratch) {
  mha::Encoding encoding;
  std::size_t tokens = 0;
  uLong sum = ::crc32(0, nullptr, 0);
  double cpu = 0;
  double wall = 0;
  // The time to sum up the ids of some lines does not count.
  constexpr std::size_t kAtOnce = 512;
  std::vector<std::int32_t> ids;
  for (std::size_t first = 0; first < lines.size(); first += kAtOnce) {
    ids.clear();
    const double cpu_start = cpu_seconds();
    const double wall_start = wall_seconds();
    for (std::size_t i = first; i < std::min(lines.size(), first + kAtOnce); ++i) {
      tokenizer.encode(lines[i], std::nullopt, {}, scratch, encoding);
      ids.insert(ids.end(), encoding.input_ids.begin(), encoding.input_ids.end());
    }
    wall += wall_seconds() - wall_start;
    cpu += cpu_seconds() - cpu_start;
    tokens += ids.size();
    sum = ::crc32(sum, reinterpret_cast<const Bytef*>(ids.data()), static_cast<uInt>(ids.size() * sizeof ids[0]));
  }
  std::printf("{\"cpu\": %.6f, \"wall\": %.6f, \"bytes\": %zu, \"tokens\": %zu, \"crc\": %lu}\n", cpu, wall,
              text.size(), tokens, sum);
}

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s FOLDER TEXT [MEGABYTES]\n", argv[0]);
    return 2;
  }
  std::ifstream stream(argv[2], std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (argc > 3) {
    const std::size_t most = std::strtoull(argv[3], nullptr, 10) * 1'000'000;
    if (text.size() > most) text.resize(text.rfind('\n', most) + 1);
  }
  const std::vector<std::string_view> lines = lines_of(text);
  const auto tokenizer = mha::Tokenizer::from_folder(argv[1]);
  mha::TokenizerScratch scratch;
  for (std::string command; std::getline(std::cin, command);) {
    if (command == "cold") scratch = mha::TokenizerScratch();
    if (command == "cold" || command == "warm") {
      encode_all(*tokenizer, text, lines, scratch);
    } else if (command == "load") {
      double least = 1e9;
      for (int i = 0; i < 9; ++i) {
        const double start = cpu_seconds();
        mha::Tokenizer::from_folder(argv[1]);
        least = std::min(least, cpu_seconds() - start);
      }
      std::printf("{\"load\": %.6f}\n", least);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const mha::Error& error) {
    std::fprintf(stderr, "mha_tokenizer_speed: %s\n", error.what());
    return 1;
  }
}
