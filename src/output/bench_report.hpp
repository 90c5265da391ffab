#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "output/format.hpp"

namespace mha {

/// Inputs of a batch, and tokens of each.
struct BenchShape {
  std::size_t batch;
  std::size_t tokens;
};

/// Forward passes of one shape.
struct BenchPoint {
  BenchShape shape;
  std::size_t runs;
  double min_ms;
  double median_ms;
  double gflops;  ///< of the fastest run
};

/// Files from reading to vectors.
struct EndToEnd {
  std::size_t inputs = 0;
  std::size_t tokens = 0;
  double seconds = 0;
};

/// How good the vectors are, and how near those of float32.
struct VectorQuality {
  std::size_t pairs = 0;
  double spearman = 0;
  double mean_cosine = 1;
  double least_cosine = 1;
};

/// What `bench` measured, and on which machine.
struct BenchReport {
  std::string model;
  std::string cpu;
  std::string cpu_features;
  std::string backend;
  std::string backend_description;
  std::string dtype;
  std::size_t threads = 1;
  double fma_peak_gflops = 0;  ///< of one thread
  double read_gb_s = 0;
  double load_ms = 0;
  double tokenizer_mb_s = 0;
  double peak_rss_mib = 0;
  bool with_attentions = false;
  std::size_t warm_runs = 0;
  std::vector<BenchPoint> points;
  EndToEnd files;
  VectorQuality quality;
};

/// As JSON array, or as tables within `columns`.
std::string bench_text(const BenchReport& report, Format format, std::size_t columns);

}  // namespace mha
