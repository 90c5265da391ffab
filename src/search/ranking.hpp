#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mha/core/executor.hpp"
#include "search/index.hpp"

namespace mha {

/// A passage that was found. Better hits come first; of equal scores the lower slot.
struct Hit {
  std::size_t slot = 0;
  double score = 0;                        ///< cosine or dot product; of a hybrid search the sum of 1/(60 + rank)
  std::optional<std::size_t> vector_rank;  ///< 1-based, in a hybrid search
  std::optional<std::size_t> word_rank;
};

struct RankingOptions {
  std::size_t k = 10;
  VectorForm form = VectorForm::f32;  ///< what the scan reads
  /// Candidates of an int8 or binary scan per hit; they are scored again with the most exact form. 0: none are.
  std::size_t rescore = 4;
  std::optional<double> threshold;  ///< hits score at least that much
  /// Slots that may be found, ascending; empty pointer: all.
  std::shared_ptr<const std::vector<std::size_t>> allowed;
};

/// The k passages whose vectors are nearest to each query [width], by a scan of all vectors: exact with `f32`, because
/// candidates within the rounding error of the scan are scored again in double. The result does not depend on the
/// number of threads. `index` must be reading. `readers`: further connections to the same file and state, one per
/// thread; may be empty.
std::vector<std::vector<Hit>> rank_vectors(Index& index, std::span<Index* const> readers, Executor* executor,
                                           const std::vector<std::vector<float>>& queries,
                                           const RankingOptions& options);

/// Joins two rankings of the same query by reciprocal rank: Σ 1/(60 + rank) (Cormack et al. 2009, k = 60).
std::vector<Hit> fuse_ranks(const std::vector<Hit>& by_vector,
                            const std::vector<std::pair<std::size_t, double>>& by_words, std::size_t k);

/// Leaves out each hit whose vector has a cosine of at least `most` with that of a better one.
void drop_near_duplicates(Index& index, std::vector<Hit>& hits, double most);

/// Share of the exact first k that a scan of `form` with its rescoring finds: the mean over every `step`-th stored
/// vector as a query.
double measure_recall(Index& index, const RankingOptions& options, std::size_t queries);

}  // namespace mha
