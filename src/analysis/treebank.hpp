#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mha/analysis/attention_maps.hpp"

namespace mha {

/// One syntactic word of a CoNLL-U sentence (a line with an integer id).
struct TreebankWord {
  std::string form;
  std::size_t head = 0;   ///< 1-based number of its head, 0: root
  std::string relation;   ///< deprel as in the file
  bool located = false;   ///< true if its form was found in the text
  std::size_t begin = 0;  ///< bytes of the text
  std::size_t end = 0;
};

struct TreebankSentence {
  std::string text;  ///< the `# text` line, else the forms joined by SpaceAfter
  std::vector<TreebankWord> words;
  std::size_t line = 0;  ///< 1-based, of the sentence's first line
};

/// Reads CoNLL-U (universaldependencies.org/format.html) sentence by sentence.
class TreebankReader {
 public:
  /// `next_line` fills its argument with the next line, without its end, and returns false at the end of the file.
  /// `origin` is the path that messages name.
  TreebankReader(std::function<bool(std::string&)> next_line, std::string origin);

  /// False at the end. Throws Error{input} with origin and line for malformed lines: wrong number of columns, ids that
  /// do not count up, heads outside the sentence, invalid UTF-8.
  bool next(TreebankSentence& sentence);

 private:
  std::function<bool(std::string&)> next_line_;
  std::string origin_;
  std::size_t line_ = 0;
};

/// The accuracy of the best head for one relation in one direction.
struct RelationScore {
  std::string relation;
  std::string direction;  ///< "dependent-to-head" or "head-to-dependent"
  std::size_t layer = 0;  ///< the best head
  std::size_t head = 0;
  double accuracy = 0;          ///< share of arcs whose other end gets the most weight among the other words
  std::size_t support = 0;      ///< arcs that were scored
  double baseline = 0;          ///< the same share for the best fixed offset
  int baseline_offset = 0;      ///< that offset, in words
  double accuracy_any = 0;      ///< head-to-dependent: share of head words that point at any such dependent
  std::size_t support_any = 0;  ///< head words with at least one such dependent
};

/// The best single head for "any head word" (unlabelled attachment).
struct AttachmentScore {
  std::size_t layer = 0;
  std::size_t head = 0;
  double accuracy = 0;  ///< without dependents whose relation is punct
  double accuracy_with_punct = 0;
  std::size_t support = 0;  ///< dependents without punct
};

/// Scores every head against a treebank (Clark et al. 2019, §4.2). From word to word: weights are summed over the key's
/// pieces and averaged over the query's. A piece belongs to the word in which it begins; a word without a piece is not
/// scored. Prediction: the other word with the most weight; special tokens and the word itself do not count. Dependents
/// of the root are not scored. Memory does not grow with the corpus.
class TreebankScore {
 public:
  /// `maps` are those of the sentence's text, with pieces not joined.
  void add(const TreebankSentence& sentence, const AttentionMaps& maps);
  void add(const TreebankScore& other);

  /// One row per relation and direction, sorted by relation, with the best head (of equals, the first).
  std::vector<RelationScore> relations() const;
  AttachmentScore attachment() const;
  std::size_t sentences() const { return sentences_; }
  std::size_t unscored_words() const { return unscored_; }  ///< words without a piece

 private:
  struct Counts {
    std::size_t support = 0;
    std::size_t support_any = 0;
    std::vector<std::size_t> right;  ///< a head of the model
    std::vector<std::size_t> right_any;
    std::map<int, std::size_t> offsets;
  };
  Counts& counts(const std::string& relation, bool to_head);

  std::vector<std::pair<std::size_t, std::size_t>> heads_;  ///< (layer, head)
  std::map<std::pair<std::string, bool>, Counts> relations_;
  std::size_t sentences_ = 0;
  std::size_t unscored_ = 0;
};

}  // namespace mha
