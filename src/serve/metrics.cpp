#include "serve/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace mha::serve {
namespace {

using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

// The buckets of text-embeddings-inference: router/src/prometheus.rs.
Buckets growing(double first, double factor, int count) {
  Buckets buckets;
  double bound = first;
  for (int i = 0; i < count; ++i, bound *= factor) buckets.push_back(bound);
  return buckets;
}
Buckets seconds() { return growing(1e-5 * 1.5, 1.5, 35); }
Buckets powers_of_two(int count) { return growing(1, 2, count); }

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;

  prometheus::Family<prometheus::Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Histogram& histogram(const std::string& name, const char* help, const Buckets& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
  }
  prometheus::Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }

  /// A counter for single and one for batch requests.
  struct ByMethod {
    explicit ByMethod(prometheus::Family<prometheus::Counter>& family)
        : single(family.Add({{"method", "single"}})), batch(family.Add({{"method", "batch"}})) {}
    prometheus::Counter& of(bool is_batch) { return is_batch ? batch : single; }
    prometheus::Counter& single;
    prometheus::Counter& batch;
  };
  /// The times of all requests, of those for vectors, or of those for labels and scores.
  struct Times {
    /// `stem` is the start of the names: "te_embed".
    Times(Impl& impl, const std::string& stem)
        : total(impl.histogram(stem + "_duration", "Seconds from a request to its answer", seconds())),
          tokenization(
              impl.histogram(stem + "_tokenization_duration", "Seconds of tokenising a request's inputs", seconds())),
          queue(impl.histogram(stem + "_queue_duration", "Seconds until a request's first input left the queue",
                               seconds())),
          inference(impl.histogram(stem + "_inference_duration", "Seconds from there to the request's last result",
                                   seconds())) {}
    void observe(const RequestTimes& times) {
      total.Observe(times.total);
      tokenization.Observe(times.tokenization);
      queue.Observe(times.queue);
      inference.Observe(times.inference);
    }
    Histogram& total;
    Histogram& tokenization;
    Histogram& queue;
    Histogram& inference;
  };

  ByMethod requests{counter("te_request_count", "Requests for the model, by method")};
  ByMethod successes{counter("te_request_success", "Requests that were answered, by method")};
  prometheus::Family<prometheus::Counter>& failures =
      counter("te_request_failure", "Requests that were refused or failed, by reason");
  Times all{*this, "te_request"};
  ByMethod embeds{counter("te_embed_count", "Requests for vectors, by method")};
  ByMethod embedded{counter("te_embed_success", "Requests for vectors that were answered, by method")};
  Times embed{*this, "te_embed"};
  ByMethod predicts{counter("te_predict_count", "Requests for labels and scores that were answered, by method")};
  ByMethod predicted{counter("te_predict_success", "Requests for labels and scores that were answered, by method")};
  Times predict{*this, "te_predict"};
  Histogram& lengths = histogram("te_request_input_length", "Tokens of an input", powers_of_two(20));
  Histogram& batch_sizes = histogram("te_batch_next_size", "Inputs of a round of the model", powers_of_two(13));
  Histogram& batch_tokens = histogram("te_batch_next_tokens", "Tokens of a round of the model", powers_of_two(21));
  prometheus::Gauge& queue_size = gauge("te_queue_size", "Inputs that wait for the model");
  prometheus::Counter& truncated = counter("mha_truncated_total", "Inputs that were cut to the maximum length").Add({});
  prometheus::Family<Histogram>& waits = prometheus::BuildHistogram()
                                             .Name("mha_queue_wait_seconds")
                                             .Help("Seconds that an input waited; urgent: the first of its request")
                                             .Register(registry);
  Histogram& urgent_waits = waits.Add({{"priority", "urgent"}}, seconds());
  Histogram& bulk_waits = waits.Add({{"priority", "bulk"}}, seconds());
  prometheus::Gauge& resident = gauge("mha_resident_bytes", "Memory of the process");
  prometheus::Gauge& held = gauge("mha_request_bytes", "Memory that requests and their answers are counted with");
  prometheus::Gauge& connections = gauge("mha_connections", "Open connections");
};

Metrics::Metrics(const std::string& version, const std::string& model) : impl_(std::make_unique<Impl>()) {
  prometheus::BuildGauge()
      .Name("mha_build_info")
      .Help("Always 1; the labels say what runs")
      .Register(impl_->registry)
      .Add({{"version", version}, {"model", model}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::request(bool batch) { impl_->requests.of(batch).Increment(); }

void Metrics::success(bool batch, bool predicts, const RequestTimes& times) {
  impl_->successes.of(batch).Increment();
  impl_->all.observe(times);
  (predicts ? impl_->predicts : impl_->embeds).of(batch).Increment();
  (predicts ? impl_->predicted : impl_->embedded).of(batch).Increment();
  (predicts ? impl_->predict : impl_->embed).observe(times);
}

void Metrics::failure(std::string_view reason) { impl_->failures.Add({{"err", std::string(reason)}}).Increment(); }

void Metrics::input_length(std::size_t tokens, bool truncated) {
  impl_->lengths.Observe(static_cast<double>(tokens));
  if (truncated) impl_->truncated.Increment();
}

void Metrics::queue_wait(bool urgent, double seconds) {
  (urgent ? impl_->urgent_waits : impl_->bulk_waits).Observe(seconds);
}

void Metrics::batch(std::size_t inputs, std::size_t tokens) {
  impl_->batch_sizes.Observe(static_cast<double>(inputs));
  impl_->batch_tokens.Observe(static_cast<double>(tokens));
}

std::string Metrics::text(const Levels& levels) {
  impl_->queue_size.Set(static_cast<double>(levels.queued_inputs));
  impl_->connections.Set(static_cast<double>(levels.connections));
  impl_->held.Set(static_cast<double>(levels.held_bytes));
  impl_->resident.Set(static_cast<double>(levels.resident_bytes));
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace mha::serve
