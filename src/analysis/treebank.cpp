#include "analysis/treebank.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"

namespace mha {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr std::string_view kDirections[] = {"dependent-to-head", "head-to-dependent"};

bool parse_number(std::string_view text, std::size_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string_view> split_tabs(std::string_view line) {
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0;;) {
    const std::size_t tab = line.find('\t', begin);
    columns.push_back(line.substr(begin, tab - begin));
    if (tab == std::string_view::npos) return columns;
    begin = tab + 1;
  }
}

bool space_after(std::string_view misc) {
  for (std::size_t begin = 0; begin < misc.size();) {
    const std::size_t bar = std::min(misc.find('|', begin), misc.size());
    if (misc.substr(begin, bar - begin) == "SpaceAfter=No") return false;
    begin = bar + 1;
  }
  return true;
}

// A part of the surface text: one word, or a multiword token with its words.
struct Surface {
  std::string form;
  std::size_t first = 0, last = 0;  // word indices
  bool space = true;
};

std::size_t skip_blanks(std::string_view text, std::size_t position) {
  while (position < text.size()) {
    std::size_t next = position;
    const char32_t c = utf8::next(text, next);
    if (c != ' ' && c != '\t' && c != 0xA0 && c != 0x3000) break;
    position = next;
  }
  return position;
}

// Finds each surface form in the text, one after the other. The words of a multiword token are located only if their
// joined forms are the surface.
void locate(TreebankSentence& sentence, const std::vector<Surface>& surfaces) {
  std::size_t position = 0;
  for (const Surface& surface : surfaces) {
    const std::size_t at = skip_blanks(sentence.text, position);
    if (sentence.text.compare(at, surface.form.size(), surface.form) != 0) continue;
    std::string joined;
    for (std::size_t w = surface.first; w <= surface.last; ++w) joined += sentence.words[w].form;
    position = at + surface.form.size();
    if (joined != surface.form) continue;
    std::size_t begin = at;
    for (std::size_t w = surface.first; w <= surface.last; ++w) {
      TreebankWord& word = sentence.words[w];
      word.located = true;
      word.begin = begin;
      word.end = begin += word.form.size();
    }
  }
}

}  // namespace

TreebankReader::TreebankReader(std::function<bool(std::string&)> next_line, std::string origin)
    : next_line_(std::move(next_line)), origin_(std::move(origin)) {}

bool TreebankReader::next(TreebankSentence& sentence) {
  sentence = {};
  std::vector<Surface> surfaces;
  std::size_t covered = 0;  // words that a multiword token has already given a surface
  bool has_text = false;
  std::string line;
  const auto bad = [this](const std::string& what) {
    throw_input("treebank: " + origin_ + ": line " + std::to_string(line_) + ": " + what);
  };

  while (next_line_(line)) {
    ++line_;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) {
      if (sentence.words.empty()) continue;
      break;
    }
    if (utf8::first_invalid(line) != utf8::kValid) bad("expected UTF-8, got an invalid byte");
    if (sentence.line == 0) sentence.line = line_;
    if (line.front() == '#') {
      constexpr std::string_view kText = "# text = ";
      if (line.starts_with(kText)) {
        sentence.text = line.substr(kText.size());
        has_text = true;
      }
      continue;
    }
    const std::vector<std::string_view> columns = split_tabs(line);
    if (columns.size() != 10) bad("expected 10 columns, got " + std::to_string(columns.size()));
    const std::string_view id = columns[0];
    if (id.find('.') != std::string_view::npos) continue;
    if (const std::size_t dash = id.find('-'); dash != std::string_view::npos) {
      std::size_t first = 0;
      std::size_t last = 0;
      if (!parse_number(id.substr(0, dash), first) || !parse_number(id.substr(dash + 1), last) ||
          first != sentence.words.size() + 1 || last < first) {
        bad("expected a range of the words that follow, got " + std::string(id));
      }
      surfaces.push_back({std::string(columns[1]), first - 1, last - 1, space_after(columns[9])});
      covered = last;
      continue;
    }
    std::size_t number = 0;
    if (!parse_number(id, number) || number != sentence.words.size() + 1) {
      bad("expected id " + std::to_string(sentence.words.size() + 1) + ", got " + std::string(id));
    }
    TreebankWord word;
    word.form = columns[1];
    word.relation = columns[7];
    if (!parse_number(columns[6], word.head)) bad("expected a head number, got " + std::string(columns[6]));
    if (number > covered) surfaces.push_back({word.form, number - 1, number - 1, space_after(columns[9])});
    sentence.words.push_back(std::move(word));
  }
  if (sentence.words.empty()) return false;
  if (covered > sentence.words.size()) bad("a multiword token covers more words than the sentence has");
  for (const TreebankWord& word : sentence.words) {
    if (word.head > sentence.words.size()) {
      bad("expected heads up to " + std::to_string(sentence.words.size()) + ", got " + std::to_string(word.head));
    }
  }
  if (!has_text) {
    for (const Surface& surface : surfaces) sentence.text += surface.form + (surface.space ? " " : "");
    while (!sentence.text.empty() && sentence.text.back() == ' ') sentence.text.pop_back();
  }
  locate(sentence, surfaces);
  return true;
}

TreebankScore::Counts& TreebankScore::counts(const std::string& relation, bool to_head) {
  Counts& entry = relations_[{relation, to_head}];
  entry.right.resize(heads_.size());
  entry.right_any.resize(heads_.size());
  return entry;
}

void TreebankScore::add(const TreebankSentence& sentence, const AttentionMaps& maps) {
  const std::size_t heads = maps.layer_count * maps.head_count;
  if (heads_.empty()) {
    for (const std::size_t layer : maps.layers) {
      for (const std::size_t head : maps.heads) heads_.emplace_back(layer, head);
    }
  }
  if (heads_.size() != heads) throw_internal("treebank score: inputs with different numbers of heads");
  ++sentences_;

  // Pieces to words, then words that own pieces to the rows of a dense word matrix.
  const std::size_t words = sentence.words.size();
  std::vector<std::size_t> word_of(maps.tokens(), kNone);
  std::vector<std::size_t> row_of(words, kNone);
  std::vector<std::size_t> owners;
  std::vector<double> pieces;
  for (std::size_t t = 0, w = 0; t < maps.tokens(); ++t) {
    const MapLabel& label = maps.labels[t];
    if (label.special || label.sequence != 0) continue;
    std::size_t begin = label.begin;
    while (begin < label.end && sentence.text[begin] == ' ') ++begin;
    while (w < words && (!sentence.words[w].located || sentence.words[w].end <= begin)) ++w;
    if (w == words) break;
    if (begin < sentence.words[w].begin) continue;
    if (row_of[w] == kNone) {
      row_of[w] = owners.size();
      owners.push_back(w);
      pieces.push_back(0);
    }
    word_of[t] = row_of[w];
    pieces[row_of[w]] += 1;
  }
  unscored_ += words - owners.size();
  const std::size_t rows = owners.size();
  if (rows < 2) return;

  struct Arc {
    Counts* counts;
    std::size_t from, to;
  };
  struct Group {
    Counts* counts;
    std::size_t from;
    std::vector<std::size_t> to;
  };
  std::vector<Arc> arcs;
  std::vector<Group> groups;
  for (std::size_t w = 0; w < words; ++w) {
    const TreebankWord& word = sentence.words[w];
    if (word.head == 0 || row_of[w] == kNone || row_of[word.head - 1] == kNone || word.head - 1 == w) continue;
    const std::size_t dependent = row_of[w];
    const std::size_t head = row_of[word.head - 1];
    const int offset = static_cast<int>(word.head - 1) - static_cast<int>(w);
    for (const bool to_head : {true, false}) {
      Counts& entry = counts(word.relation, to_head);
      ++entry.support;
      ++entry.offsets[to_head ? offset : -offset];
      arcs.push_back({&entry, to_head ? dependent : head, to_head ? head : dependent});
      if (to_head) continue;
      const auto same = std::find_if(groups.begin(), groups.end(),
                                     [&](const Group& group) { return group.counts == &entry && group.from == head; });
      if (same != groups.end()) {
        same->to.push_back(dependent);
      } else {
        ++entry.support_any;
        groups.push_back({&entry, head, {dependent}});
      }
    }
  }

  std::vector<double> weights(rows * rows);
  std::vector<std::size_t> prediction(rows);
  for (std::size_t h = 0; h < heads; ++h) {
    std::fill(weights.begin(), weights.end(), 0.0);
    const float* map = maps.weights.data() + h * maps.tokens() * maps.tokens();
    for (std::size_t q = 0; q < maps.tokens(); ++q) {
      if (word_of[q] == kNone) continue;
      double* row = weights.data() + word_of[q] * rows;
      const double share = 1.0 / pieces[word_of[q]];
      for (std::size_t k = 0; k < maps.tokens(); ++k) {
        if (word_of[k] != kNone) row[word_of[k]] += share * static_cast<double>(map[q * maps.tokens() + k]);
      }
    }
    for (std::size_t q = 0; q < rows; ++q) {
      std::size_t best = q == 0 ? 1 : 0;
      for (std::size_t k = 0; k < rows; ++k) {
        if (k != q && weights[q * rows + k] > weights[q * rows + best]) best = k;
      }
      prediction[q] = best;
    }
    for (const Arc& arc : arcs) arc.counts->right[h] += prediction[arc.from] == arc.to;
    for (const Group& group : groups) {
      group.counts->right_any[h] +=
          std::find(group.to.begin(), group.to.end(), prediction[group.from]) != group.to.end();
    }
  }
}

void TreebankScore::add(const TreebankScore& other) {
  if (other.heads_.empty()) return;
  heads_ = other.heads_;
  for (const auto& [key, from] : other.relations_) {
    Counts& to = counts(key.first, key.second);
    to.support += from.support;
    to.support_any += from.support_any;
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      to.right[h] += from.right[h];
      to.right_any[h] += from.right_any[h];
    }
    for (const auto& [offset, count] : from.offsets) to.offsets[offset] += count;
  }
  sentences_ += other.sentences_;
  unscored_ += other.unscored_;
}

std::vector<RelationScore> TreebankScore::relations() const {
  std::vector<RelationScore> scores;
  for (const auto& [key, entry] : relations_) {
    const auto best =
        static_cast<std::size_t>(std::max_element(entry.right.begin(), entry.right.end()) - entry.right.begin());
    const auto support = static_cast<double>(entry.support);
    RelationScore score;
    score.relation = key.first;
    score.direction = kDirections[key.second ? 0 : 1];
    score.layer = heads_[best].first;
    score.head = heads_[best].second;
    score.accuracy = static_cast<double>(entry.right[best]) / support;
    score.support = entry.support;
    const auto offset = std::max_element(entry.offsets.begin(), entry.offsets.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
    score.baseline = static_cast<double>(offset->second) / support;
    score.baseline_offset = offset->first;
    score.support_any = entry.support_any;
    if (entry.support_any > 0) {
      score.accuracy_any = static_cast<double>(*std::max_element(entry.right_any.begin(), entry.right_any.end())) /
                           static_cast<double>(entry.support_any);
    }
    scores.push_back(std::move(score));
  }
  return scores;
}

AttachmentScore TreebankScore::attachment() const {
  std::vector<std::size_t> right(heads_.size());
  std::vector<std::size_t> punct(heads_.size());
  AttachmentScore score;
  std::size_t punct_support = 0;
  for (const auto& [key, entry] : relations_) {
    if (!key.second) continue;
    const bool is_punct = key.first == "punct" || key.first.starts_with("punct:");
    (is_punct ? punct_support : score.support) += entry.support;
    for (std::size_t h = 0; h < heads_.size(); ++h) (is_punct ? punct : right)[h] += entry.right[h];
  }
  if (heads_.empty() || score.support == 0) return score;
  const auto best = static_cast<std::size_t>(std::max_element(right.begin(), right.end()) - right.begin());
  score.layer = heads_[best].first;
  score.head = heads_[best].second;
  score.accuracy = static_cast<double>(right[best]) / static_cast<double>(score.support);
  score.accuracy_with_punct =
      static_cast<double>(right[best] + punct[best]) / static_cast<double>(score.support + punct_support);
  return score;
}

}  // namespace mha
