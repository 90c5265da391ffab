#include "mha/analysis/attention_maps.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "mha/core/error.hpp"

namespace mha {
namespace {

AttentionMaps like(const AttentionMaps& maps, std::vector<MapLabel> labels) {
  AttentionMaps result;
  result.labels = std::move(labels);
  result.layers = maps.layers;
  result.heads = maps.heads;
  result.layer_count = maps.layer_count;
  result.head_count = maps.head_count;
  result.weights.assign(maps.layer_count * maps.head_count * result.tokens() * result.tokens(), 0.0F);
  return result;
}

std::string axis_name(const std::vector<std::size_t>& numbers, std::size_t index) {
  return index < numbers.size() ? std::to_string(numbers[index]) : "mean";
}

std::size_t model_number(const std::vector<std::size_t>& numbers, std::size_t index) {
  return index < numbers.size() ? numbers[index] : index;
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

std::string AttentionMaps::name(std::size_t layer, std::size_t head) const {
  if (rolled_out) return "rollout";
  return axis_name(layers, layer) + "." + axis_name(heads, head);
}

AttentionMaps join_words(const AttentionMaps& maps) {
  std::vector<MapLabel> words;
  std::vector<std::size_t> word_of(maps.tokens());
  for (std::size_t t = 0; t < maps.tokens(); ++t) {
    const MapLabel& label = maps.labels[t];
    const bool continues = t > 0 && label.word >= 0 && label.word == maps.labels[t - 1].word &&
                           label.sequence == maps.labels[t - 1].sequence;
    if (continues) {
      words.back().text += label.text;
      words.back().piece += label.piece;
      words.back().pieces += label.pieces;
      words.back().end = label.end;
    } else {
      words.push_back(label);
      words.back().position = words.size() - 1;
    }
    word_of[t] = words.size() - 1;
  }

  AttentionMaps result = like(maps, words);
  const std::size_t tokens = maps.tokens();
  const std::size_t count = result.tokens();
  std::vector<double> sums(count * count);
  for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
    for (std::size_t head = 0; head < maps.head_count; ++head) {
      std::fill(sums.begin(), sums.end(), 0.0);
      const float* from = maps.map(layer, head);
      for (std::size_t q = 0; q < tokens; ++q) {
        double* row = sums.data() + word_of[q] * count;
        for (std::size_t k = 0; k < tokens; ++k) row[word_of[k]] += static_cast<double>(from[q * tokens + k]);
      }
      float* to = result.map(layer, head);
      for (std::size_t q = 0; q < count; ++q) {
        const auto pieces = static_cast<double>(words[q].pieces);
        for (std::size_t k = 0; k < count; ++k) to[q * count + k] = static_cast<float>(sums[q * count + k] / pieces);
      }
    }
  }
  return result;
}

AttentionMaps without_specials(const AttentionMaps& maps) {
  std::vector<MapLabel> labels;
  std::vector<std::size_t> kept;
  for (std::size_t t = 0; t < maps.tokens(); ++t) {
    if (maps.labels[t].special) continue;
    labels.push_back(maps.labels[t]);
    kept.push_back(t);
  }
  AttentionMaps result = like(maps, std::move(labels));
  for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
    for (std::size_t head = 0; head < maps.head_count; ++head) {
      const float* from = maps.map(layer, head);
      float* to = result.map(layer, head);
      for (const std::size_t q : kept) {
        for (const std::size_t k : kept) *to++ = from[q * maps.tokens() + k];
      }
    }
  }
  return result;
}

AttentionMaps average_layers(const AttentionMaps& maps) {
  AttentionMaps result = maps;
  result.layers.clear();
  result.layer_count = 1;
  const std::size_t size = maps.head_count * maps.tokens() * maps.tokens();
  result.weights.assign(size, 0.0F);
  for (std::size_t i = 0; i < size; ++i) {
    double sum = 0;
    for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
      sum += static_cast<double>(maps.weights[layer * size + i]);
    }
    result.weights[i] = static_cast<float>(sum / static_cast<double>(maps.layer_count));
  }
  return result;
}

AttentionMaps average_heads(const AttentionMaps& maps) {
  AttentionMaps result = maps;
  result.heads.clear();
  result.head_count = 1;
  const std::size_t size = maps.tokens() * maps.tokens();
  result.weights.assign(maps.layer_count * size, 0.0F);
  for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
    for (std::size_t i = 0; i < size; ++i) {
      double sum = 0;
      for (std::size_t head = 0; head < maps.head_count; ++head) sum += static_cast<double>(maps.map(layer, head)[i]);
      result.weights[layer * size + i] = static_cast<float>(sum / static_cast<double>(maps.head_count));
    }
  }
  return result;
}

AttentionMaps rollout(const AttentionMaps& maps) {
  const std::size_t tokens = maps.tokens();
  const AttentionMaps mean = average_heads(maps);
  std::vector<double> product(tokens * tokens, 0.0);
  for (std::size_t t = 0; t < tokens; ++t) product[t * tokens + t] = 1.0;
  std::vector<double> next(tokens * tokens);
  for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
    std::fill(next.begin(), next.end(), 0.0);
    const float* attention = mean.map(layer, 0);
    for (std::size_t q = 0; q < tokens; ++q) {
      double* row = next.data() + q * tokens;
      for (std::size_t middle = 0; middle < tokens; ++middle) {
        const double step = 0.5 * static_cast<double>(attention[q * tokens + middle]) + (middle == q ? 0.5 : 0.0);
        for (std::size_t k = 0; k < tokens; ++k) row[k] += step * product[middle * tokens + k];
      }
    }
    std::swap(product, next);
  }
  AttentionMaps result = average_layers(mean);
  for (std::size_t i = 0; i < product.size(); ++i) result.weights[i] = static_cast<float>(product[i]);
  result.rolled_out = true;
  return result;
}

std::vector<Edge> top_edges(const AttentionMaps& maps, std::size_t k) {
  const std::size_t tokens = maps.tokens();
  const std::size_t count = std::min(k, tokens);
  std::vector<Edge> edges;
  edges.reserve(maps.layer_count * maps.head_count * tokens * count);
  std::vector<std::size_t> keys(tokens);
  for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
    for (std::size_t head = 0; head < maps.head_count; ++head) {
      for (std::size_t q = 0; q < tokens; ++q) {
        const float* row = maps.map(layer, head) + q * tokens;
        std::iota(keys.begin(), keys.end(), std::size_t{0});
        std::partial_sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count), keys.end(),
                          [row](std::size_t a, std::size_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
        for (std::size_t i = 0; i < count; ++i) {
          edges.push_back({model_number(maps.layers, layer), model_number(maps.heads, head), q, keys[i], row[keys[i]]});
        }
      }
    }
  }
  return edges;
}

std::vector<FoundEdge> rank_heads(const AttentionMaps& maps, std::size_t query, std::size_t key) {
  const std::size_t tokens = maps.tokens();
  std::vector<FoundEdge> found;
  for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
    for (std::size_t head = 0; head < maps.head_count; ++head) {
      const float* row = maps.map(layer, head) + query * tokens;
      FoundEdge edge;
      edge.layer = model_number(maps.layers, layer);
      edge.head = model_number(maps.heads, head);
      edge.query = query;
      edge.key = key;
      edge.weight = row[key];
      edge.rank = 1 + static_cast<std::size_t>(std::count_if(row, row + tokens, [&](float w) { return w > row[key]; }));
      found.push_back(edge);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FoundEdge& a, const FoundEdge& b) { return a.weight > b.weight; });
  return found;
}

std::size_t find_label(const AttentionMaps& maps, std::string_view name) {
  const std::string count = std::to_string(maps.tokens());
  if (name.size() > 1 && name.front() == '#') {
    std::size_t position = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), position);
    if (error == std::errc() && end == name.data() + name.size()) {
      for (std::size_t t = 0; t < maps.tokens(); ++t) {
        if (maps.labels[t].position == position) return t;
      }
      throw_usage("token: " + std::string(name) + ": expected a position below " + count);
    }
  }
  const auto matches = [&](auto&& same) {
    std::vector<std::size_t> positions;
    for (std::size_t t = 0; t < maps.tokens(); ++t) {
      if (same(maps.labels[t])) positions.push_back(t);
    }
    return positions;
  };
  const std::string lower = lower_ascii(name);
  std::vector<std::size_t> positions = matches([&](const MapLabel& label) { return label.text == name; });
  if (positions.empty()) positions = matches([&](const MapLabel& label) { return label.piece == name; });
  if (positions.empty()) positions = matches([&](const MapLabel& l) { return lower_ascii(l.text) == lower; });
  if (positions.size() == 1) return positions.front();

  std::string list;
  if (positions.empty()) {
    constexpr std::size_t kShown = 40;
    for (std::size_t t = 0; t < std::min(maps.tokens(), kShown); ++t) list += (t > 0 ? " " : "") + maps.labels[t].text;
    if (maps.tokens() > kShown) list += " …";
    throw_usage("token: " + std::string(name) + ": not in the input; its tokens are: " + list);
  }
  for (const std::size_t t : positions) list += (list.empty() ? "#" : ", #") + std::to_string(maps.labels[t].position);
  throw_usage("token: " + std::string(name) + ": expected one token, got " + std::to_string(positions.size()) +
              "; name it by position: " + list);
}

}  // namespace mha
