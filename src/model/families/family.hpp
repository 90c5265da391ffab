#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoder/places.hpp"
#include "mha/encoder/config.hpp"
#include "mha/encoder/heads.hpp"
#include "mha/model/decision.hpp"
#include "model/config_reader.hpp"

namespace mha {

/// The spelling of each place; empty: the family has no such place.
class PlaceNames {
 public:
  PlaceNames() = default;
  PlaceNames(std::initializer_list<std::pair<Place, std::string_view>> names) {
    for (const auto& [place, name] : names) (*this)[place] = name;
  }
  std::string_view& operator[](Place place) { return names_[static_cast<std::size_t>(place)]; }
  std::string_view operator[](Place place) const { return names_[static_cast<std::size_t>(place)]; }

 private:
  std::array<std::string_view, kPlaces> names_{};
};

/// How one family spells the places of its weights.
///
/// A name leaves out the family's prefix and the last part: "pooler.dense" means `pooler.dense.weight` and
/// `pooler.dense.bias`. If the last part is joined otherwise, `*` marks its place ("self_attn.in_proj_*").
/// Spellings of one place are separated by `|`; the first that is in the file counts. Norms may be called gamma and
/// beta.
struct WeightNames {
  std::vector<std::string_view> prefixes{""};  ///< before every name; the first under which the word table is found
  bool biases_optional = false;                ///< an absent bias is zero (mha-json), else it is missing
  std::string_view layer{};  ///< prefix of a layer, `{}` for its number; two of them: group and number within it
  std::size_t layers_in_group = 1;

  std::string_view packed_qkv{};  ///< instead of query, key and value: their rows one after the other
  bool packed_by_head = false;    ///< … or query, key, value of head 0, then of head 1, … (DeBERTa 2020)
  std::string_view query_bias{}, value_bias{};  ///< their own arrays; the key then has none
  bool position_key_bias = true;
  /// Instead of feed_forward_in and feed_forward_gate: both, one after the other.
  std::string_view packed_gate_in{}, packed_in_gate{};

  PlaceNames places{};
  std::string_view& operator[](Place place) { return places[place]; }
  std::string_view operator[](Place place) const { return places[place]; }
  /// Says that the family has no such places.
  void drop(std::initializer_list<Place> absent) {
    for (const Place place : absent) places[place] = {};
  }
};

/// How one family spells a head (see HeadWeights). Names are as in WeightNames, with or without the encoder's
/// prefix.
struct HeadNames {
  HeadPooling pooling = HeadPooling::tokens;
  std::string_view dense{};
  std::optional<Activation> activation{};  ///< empty: the encoder's own
  std::string_view norm{};
  std::string_view out{};       ///< empty: the family has no such head
  std::string_view out_bias{};  ///< if it is not named as `out`
  bool tied = false;            ///< without a weight of its own, `out` is the word table
  bool dense_bias = true;
  bool norm_bias = true;
  bool has_out_bias = true;
  double eps = 0.0;  ///< 0: as the encoder's norms
};

struct HeadTable {
  HeadNames fill_mask{}, classify{}, tag{}, answer{};
  const HeadNames& of(Task task) const;
};

/// One family: a table of names, and how its configuration sets the switches. No family has a forward pass.
struct Family {
  std::vector<std::string_view> model_types{};
  /// Reads every key that the family's reference computes with; refuses values that are not implemented.
  ModelConfig (*config)(ConfigReader& read) = nullptr;
  WeightNames names{};
  HeadTable heads{};
  /// Changes names and heads that depend on the configuration; may be null.
  void (*adapt)(ConfigReader& read, const ModelConfig& config, WeightNames& names, HeadTable& heads) = nullptr;
};

/// The family that a `model_type` names, or nullptr.
const Family* family_named(std::string_view model_type);
/// Every `model_type` that is known, sorted.
std::vector<std::string> family_names();

/// The contents of a configuration file, validated.
struct FamilyModel {
  ModelConfig config;
  WeightNames names;
  HeadTable heads;
  std::vector<std::string> architectures;  ///< as the file lists them
  bool tie_word_embeddings = true;
  std::vector<Decision> decisions;
  std::vector<std::string> ignored_keys;  ///< keys that the family's reference does not read
};

/// Reads a Hugging Face config.json, or the `config` of an mha-json file when `model_type` is given.
/// `file` is how messages name it. Throws Error{model} `FILE: KEY: expected …, got …`.
FamilyModel read_family(const nlohmann::json& config, const std::string& file, std::string_view model_type = "");

/// The `config` object of an mha-json file: every switch that differs from its default, and all sizes.
nlohmann::json config_to_json(const ModelConfig& config);
/// The block of BERT (Devlin et al. 2018), which many families share: post-norm, biases, embedding norm, GELU. Reads
/// the keys that they spell alike: sizes, layer_norm_eps, pad_token_id, and refuses decoders.
ModelConfig read_bert_block(ConfigReader& read, double default_eps = 1e-12);
/// `rope_parameters` / `rope_scaling` / `rope_theta` of one object: base and linear divisor. Other kinds are refused.
void read_rotary(ConfigReader& read, const nlohmann::json* parameters, double default_base, double& base,
                 double& divisor);

// One a file of this folder.
extern const Family kBert, kRoberta, kDistilbert, kMpnet, kAlbert, kElectra, kDeberta, kDebertaV2, kModernBert,
    kNomicBert, kGte, kT5, kMt5, kUmt5, kMarian, kRoformer, kEuroBert, kEsm, kTransformerEncoder, kMhaJson;

}  // namespace mha
