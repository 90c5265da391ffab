#include "output/bench_report.hpp"

#include "core/json_writer.hpp"
#include "core/numbers.hpp"
#include "output/text_table.hpp"

namespace mha {
namespace {

std::string rounded(double value, int digits) {
  std::string text;
  append_float(text, static_cast<float>(value), digits);
  return text;
}

double peak_gflops(const BenchReport& report) { return report.fma_peak_gflops * static_cast<double>(report.threads); }
double per_second(std::size_t count, double seconds) { return static_cast<double>(count) / seconds; }

/// One object of the array, with what all of them say.
class Entry {
 public:
  explicit Entry(JsonWriter& json) : json_(json) { json_.begin_object(); }
  ~Entry() { json_.end_object(); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  Entry& count(const char* name, std::size_t value) {
    json_.member(name, value);
    return *this;
  }
  Entry& number(const char* name, double value, int digits) {
    json_.key(name).number(static_cast<float>(value), digits);
    return *this;
  }
  Entry& run(const BenchReport& report) {
    json_.member("threads", report.threads).member("backend", report.backend).member("dtype", report.dtype);
    return *this;
  }
  Entry& text(const char* name, const std::string& value) {
    json_.member(name, value);
    return *this;
  }

 private:
  JsonWriter& json_;
};

std::string json_of(const BenchReport& report) {
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  for (const BenchPoint& point : report.points) {
    Entry(json)
        .count("batch", point.shape.batch)
        .count("tokens", point.shape.tokens)
        .run(report)
        .count("runs", point.runs)
        .number("min_ms", point.min_ms, 4)
        .number("median_ms", point.median_ms, 4)
        .number("gflops", point.gflops, 2)
        .number("peak_share", point.gflops / peak_gflops(report), 4);
  }
  if (report.files.inputs > 0) {
    Entry(json)
        .count("inputs", report.files.inputs)
        .count("input_tokens", report.files.tokens)
        .run(report)
        .number("seconds", report.files.seconds, 4)
        .number("inputs_s", per_second(report.files.inputs, report.files.seconds), 1)
        .number("tokens_s", per_second(report.files.tokens, report.files.seconds), 1);
  }
  if (report.quality.pairs > 0) {
    Entry(json)
        .count("pairs", report.quality.pairs)
        .run(report)
        .number("spearman", report.quality.spearman * 100, 3)
        .number("mean_cosine", report.quality.mean_cosine, 7)
        .number("least_cosine", report.quality.least_cosine, 7);
  }
  Entry(json)
      .number("load_ms", report.load_ms, 2)
      .number("tokenizer_mb_s", report.tokenizer_mb_s, 2)
      .number("peak_rss_mib", report.peak_rss_mib, 1)
      .text("cpu", report.cpu)
      .number("fma_peak_gflops", report.fma_peak_gflops, 1)
      .number("read_gb_s", report.read_gb_s, 1);
  json.end_array();
  return text + "\n";
}

std::string table_of(const BenchReport& report, std::size_t columns) {
  const EndToEnd& files = report.files;
  const VectorQuality& quality = report.quality;
  std::string text;
  TextTable facts({{""}, {""}});
  facts.add({"model", report.model});
  facts.add({"cpu", report.cpu + " (" + report.cpu_features + ")"});
  facts.add({"threads", std::to_string(report.threads)});
  facts.add({"backend", report.backend_description});
  facts.add({"dtype", report.dtype});
  facts.add({"float32 peak", rounded(report.fma_peak_gflops, 0) + " GFLOP/s (multiply-adds in registers)"});
  facts.add({"memory read", rounded(report.read_gb_s, 1) + " GB/s"});
  facts.add({"model load", rounded(report.load_ms, 1) + " ms"});
  facts.add({"tokenizer", rounded(report.tokenizer_mb_s, 1) + " MB/s, one thread"});
  facts.add({"peak memory", rounded(report.peak_rss_mib, 0) + " MiB"});
  facts.append_to(text, columns);
  text += report.with_attentions ? "\nForward pass with all attention maps" : "\nForward pass";
  text += ", random ids of full length, " + std::to_string(report.warm_runs) + " warm-up runs\n";
  TextTable table({{"batch", Align::right},
                   {"tokens", Align::right},
                   {"runs", Align::right},
                   {"min ms", Align::right},
                   {"median ms", Align::right},
                   {"tokens/s", Align::right},
                   {"GFLOP/s", Align::right},
                   {"of peak", Align::right}});
  for (const BenchPoint& point : report.points) {
    const double tokens = static_cast<double>(point.shape.batch * point.shape.tokens);
    table.add({std::to_string(point.shape.batch), std::to_string(point.shape.tokens), std::to_string(point.runs),
               rounded(point.min_ms, 3), rounded(point.median_ms, 3), rounded(tokens / point.min_ms * 1e3, 0),
               rounded(point.gflops, 1), rounded(point.gflops / peak_gflops(report) * 100, 1) + " %"});
  }
  table.append_to(text, columns);
  if (files.inputs > 0) {
    text += "\nFiles end to end: " + std::to_string(files.inputs) + " inputs, " + std::to_string(files.tokens) +
            " tokens in " + rounded(files.seconds, 2) +
            " s: " + rounded(static_cast<double>(files.inputs) / files.seconds, 0) + " inputs/s, " +
            rounded(static_cast<double>(files.tokens) / files.seconds, 0) + " tokens/s\n";
  }
  if (quality.pairs > 0) {
    text += "\nQuality over " + std::to_string(quality.pairs) + " rated pairs: Spearman " +
            rounded(quality.spearman * 100, 2) + ", cosine to float32 " + rounded(quality.mean_cosine, 7) +
            " on average, " + rounded(quality.least_cosine, 7) + " at least\n";
  }
  return text;
}

}  // namespace

std::string bench_text(const BenchReport& report, Format format, std::size_t columns) {
  return format == Format::json ? json_of(report) : table_of(report, columns);
}

}  // namespace mha
