#include "search/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_set>
#include <utility>

#include "ops/row_scores.hpp"
#include "ops/vector.hpp"

namespace mha {
namespace {

constexpr double kReciprocalRank = 60.0;
constexpr std::size_t kRowsAtOnce = 4096;  // scores of one block that are held at once

bool better(const Hit& a, const Hit& b) { return a.score > b.score || (a.score == b.score && a.slot < b.slot); }

void keep_best(std::vector<Hit>& hits, std::size_t k) {
  const std::size_t kept = std::min(k, hits.size());
  std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(kept), hits.end(), better);
  hits.resize(kept);
}

// The best `keep` of what it is offered, and all that score less than `slack` below the last of them.
class Candidates {
 public:
  Candidates(std::size_t keep, double slack) : keep_(keep), slack_(slack) {}

  void offer(std::size_t slot, double score) {
    if (score < least_) return;
    hits_.push_back({slot, score, {}, {}});
    if (hits_.size() >= 2 * keep_ + kSpare && hits_.size() >= 2 * after_prune_) prune();
  }
  void merge(const Candidates& other) {
    for (const Hit& hit : other.hits_) offer(hit.slot, hit.score);
  }
  std::vector<Hit> take() {
    prune();
    return std::move(hits_);
  }

 private:
  static constexpr std::size_t kSpare = 1024;

  void prune() {
    if (hits_.size() > keep_) {
      const auto last = hits_.begin() + static_cast<std::ptrdiff_t>(keep_ - 1);
      std::nth_element(hits_.begin(), last, hits_.end(), better);
      least_ = last->score - slack_;
      std::erase_if(hits_, [&](const Hit& hit) { return hit.score < least_; });
    }
    after_prune_ = hits_.size();
  }

  std::size_t keep_;
  double slack_;
  double least_ = -std::numeric_limits<double>::infinity();
  std::size_t after_prune_ = 0;
  std::vector<Hit> hits_;
};

// One query in the form of the stored rows.
struct FormedQuery {
  std::span<const float> f32;
  CodedVector int8;
  std::vector<std::byte> binary;
};

FormedQuery formed(std::span<const float> query, VectorForm form) {
  FormedQuery result;
  result.f32 = query;
  if (form == VectorForm::int8) result.int8 = code_int8(query);
  if (form == VectorForm::binary) {
    result.binary.resize(binary_row_bytes(query.size()));
    write_binary_row(query, result.binary.data());
  }
  return result;
}

void score_rows(const FormedQuery& query, VectorForm form, const std::byte* rows, std::size_t count, float* scores) {
  switch (form) {
    case VectorForm::f32:
      return score_f32(query.f32, rows, count, scores);
    case VectorForm::int8:
      return score_int8(query.int8, rows, count, scores);
    case VectorForm::binary:
      return score_binary(query.binary, query.f32.size(), rows, count, scores);
  }
}

double exact_dot(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += double{x[i]} * double{y[i]};
  return sum;
}

// Twice the bound of the float32 scan's error (score_f32).
double scan_slack(double longest, std::span<const float> query) {
  constexpr double kUnitRoundoff = 0x1p-24;
  const double length = std::sqrt(exact_dot(query, query));
  return 2.0 * (static_cast<double>(query.size()) / 8.0 + 8.0) * kUnitRoundoff * length * longest;
}

// Whether slots may be found: neither free nor left out by a filter. Asked in ascending order.
class SlotFilter {
 public:
  SlotFilter(std::span<const std::size_t> free, const std::vector<std::size_t>* allowed, std::size_t first)
      : free_(free), allowed_(allowed) {
    free_at_ = static_cast<std::size_t>(std::lower_bound(free.begin(), free.end(), first) - free.begin());
    if (allowed != nullptr) {
      allowed_at_ =
          static_cast<std::size_t>(std::lower_bound(allowed->begin(), allowed->end(), first) - allowed->begin());
    }
  }
  bool passes_all() const { return free_at_ == free_.size() && allowed_ == nullptr; }
  bool passes(std::size_t slot) {
    while (free_at_ < free_.size() && free_[free_at_] < slot) ++free_at_;
    if (free_at_ < free_.size() && free_[free_at_] == slot) return false;
    if (allowed_ == nullptr) return true;
    while (allowed_at_ < allowed_->size() && (*allowed_)[allowed_at_] < slot) ++allowed_at_;
    return allowed_at_ < allowed_->size() && (*allowed_)[allowed_at_] == slot;
  }

 private:
  std::span<const std::size_t> free_;
  const std::vector<std::size_t>* allowed_;
  std::size_t free_at_ = 0;
  std::size_t allowed_at_ = 0;
};

}  // namespace

std::vector<std::vector<Hit>> rank_vectors(Index& index, std::span<Index* const> readers, Executor* executor,
                                           const std::vector<std::vector<float>>& queries,
                                           const RankingOptions& options) {
  const std::size_t slots = index.slots();
  const std::vector<std::size_t> free = index.free_slots();
  const bool exact = options.form == VectorForm::f32;
  const bool rescores = exact || (options.rescore > 0 && options.form != index.header().forms[0]);
  const std::size_t keep = exact ? options.k : options.k * std::max<std::size_t>(options.rescore, 1);

  const double longest = index.longest() * 1.01;
  std::vector<FormedQuery> forms;
  std::vector<Candidates> empty;
  for (const std::vector<float>& query : queries) {
    forms.push_back(formed(query, options.form));
    empty.emplace_back(keep, exact ? scan_slack(longest, query) : 0.0);
  }
  const std::size_t parts = std::max<std::size_t>(1, readers.size());
  std::vector<std::vector<Candidates>> found(parts, empty);
  parallel_for(executor, parts, [&](std::size_t part) {
    Index& reader = readers.empty() ? index : *readers[part];
    const std::size_t first = slots * part / parts;
    const std::size_t last = slots * (part + 1) / parts;
    SlotFilter filter(free, options.allowed.get(), first);
    std::vector<float> scores(kRowsAtOnce);
    std::vector<bool> passes;
    reader.visit_rows(options.form, first, last, [&](std::size_t slot, const std::byte* rows, std::size_t count) {
      if (scores.size() < count) scores.resize(count);
      const bool all = filter.passes_all();
      if (!all) {
        passes.resize(count);
        for (std::size_t i = 0; i < count; ++i) passes[i] = filter.passes(slot + i);
      }
      for (std::size_t q = 0; q < forms.size(); ++q) {
        score_rows(forms[q], options.form, rows, count, scores.data());
        for (std::size_t i = 0; i < count; ++i) {
          if (all || passes[i]) found[part][q].offer(slot + i, double{scores[i]});
        }
      }
    });
  });

  std::vector<std::vector<Hit>> results;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::size_t part = 1; part < parts; ++part) found[0][q].merge(found[part][q]);
    std::vector<Hit> hits = found[0][q].take();
    if (rescores) {
      for (Hit& hit : hits) hit.score = exact_dot(queries[q], index.vector(hit.slot));
    }
    if (options.threshold) std::erase_if(hits, [&](const Hit& hit) { return hit.score < *options.threshold; });
    keep_best(hits, options.k);
    results.push_back(std::move(hits));
  }
  return results;
}

std::vector<Hit> fuse_ranks(const std::vector<Hit>& by_vector,
                            const std::vector<std::pair<std::size_t, double>>& by_words, std::size_t k) {
  std::map<std::size_t, Hit> joined;
  for (std::size_t i = 0; i < by_vector.size(); ++i) {
    Hit& hit = joined[by_vector[i].slot];
    hit.vector_rank = i + 1;
    hit.score += 1.0 / (kReciprocalRank + static_cast<double>(i + 1));
  }
  for (std::size_t i = 0; i < by_words.size(); ++i) {
    Hit& hit = joined[by_words[i].first];
    hit.word_rank = i + 1;
    hit.score += 1.0 / (kReciprocalRank + static_cast<double>(i + 1));
  }
  std::vector<Hit> hits;
  for (auto& [slot, hit] : joined) {
    hit.slot = slot;
    hits.push_back(hit);
  }
  keep_best(hits, k);
  return hits;
}

void drop_near_duplicates(Index& index, std::vector<Hit>& hits, double most) {
  std::vector<std::vector<float>> kept;
  std::erase_if(hits, [&](const Hit& hit) {
    std::vector<float> vector = index.vector(hit.slot);
    for (const std::vector<float>& other : kept) {
      if (cosine(other, vector) >= most) return true;
    }
    kept.push_back(std::move(vector));
    return false;
  });
}

double measure_recall(Index& index, const RankingOptions& options, std::size_t queries) {
  const std::size_t slots = index.slots();
  const std::vector<std::size_t> free = index.free_slots();
  std::vector<std::vector<float>> sample;
  for (std::size_t i = 0; i < queries && slots > 0; ++i) {
    const std::size_t slot = slots * i / queries;
    if (std::binary_search(free.begin(), free.end(), slot)) continue;
    sample.push_back(index.vector(slot));
  }
  if (sample.empty()) return 1.0;
  RankingOptions exact = options;
  exact.form = index.header().forms[0];
  exact.rescore = 0;
  const auto truth = rank_vectors(index, {}, nullptr, sample, exact);
  const auto found = rank_vectors(index, {}, nullptr, sample, options);
  std::size_t there = 0;
  std::size_t wanted = 0;
  for (std::size_t q = 0; q < sample.size(); ++q) {
    std::unordered_set<std::size_t> slots_found;
    for (const Hit& hit : found[q]) slots_found.insert(hit.slot);
    for (const Hit& hit : truth[q]) there += slots_found.count(hit.slot);
    wanted += truth[q].size();
  }
  return wanted == 0 ? 1.0 : static_cast<double>(there) / static_cast<double>(wanted);
}

}  // namespace mha
