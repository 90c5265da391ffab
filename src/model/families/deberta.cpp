#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/families/bert_like.hpp"

namespace mha {
namespace {

using nlohmann::json;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

/// "c2p|p2c" → c2p, p2c, in lower case.
std::vector<std::string> kinds_in(const std::string& list) {
  std::vector<std::string> kinds;
  const std::string text = lower(list) + "|";
  for (std::size_t begin = 0, end; (end = text.find('|', begin)) != std::string::npos; begin = end + 1) {
    std::string kind = text.substr(begin, end - begin);
    std::erase(kind, ' ');
    if (!kind.empty()) kinds.push_back(kind);
  }
  return kinds;
}

/// "c2p|p2c" or ["c2p", "p2c"].
std::vector<std::string> position_kinds(ConfigReader& read) {
  std::vector<std::string> kinds;
  const json* value = read.find("pos_att_type");
  if (value == nullptr) return kinds;
  if (value->is_string()) {
    kinds = kinds_in(value->get<std::string>());
  } else if (value->is_array()) {
    for (const json& kind : *value) kinds.push_back(kind.is_string() ? kind.get<std::string>() : "?");
  } else {
    read.fail("pos_att_type", "a text or a list", value->dump().substr(0, 60));
  }
  std::string all;
  for (const std::string& kind : kinds) {
    if (kind != "c2p" && kind != "p2c") read.fail("pos_att_type", "c2p or p2c", "\"" + kind + "\"");
    all += (all.empty() ? "" : "|") + kind;
  }
  read.note("disentangled", all, read.file() + ": pos_att_type");
  return kinds;
}

// He et al. 2020 (v1) and 2021 (v2, v3); transformers 5.24, models/deberta and models/deberta_v2.
ModelConfig common(ConfigReader& read) {
  ModelConfig c = read_bert_block(read, 1e-7);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  read_embedding_size(read, c, c.d_model);
  c.embedding_projection = ModelConfig::Projection::after_sum;
  c.embedding_projection_bias = false;
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 0, 0);
  c.position.learned = read.flag_or("learned_positions", {"position_biased_input"}, true);

  const std::vector<std::string> kinds = position_kinds(read);
  const bool c2p = std::find(kinds.begin(), kinds.end(), "c2p") != kinds.end();
  const bool p2c = std::find(kinds.begin(), kinds.end(), "p2c") != kinds.end();
  c.score_parts = 1 + (c2p ? 1U : 0U) + (p2c ? 1U : 0U);  // also where relative_attention is off
  if (!read.flag_or("relative_attention", {"relative_attention"}, false)) return c;
  PositionConfig::Disentangled d;
  d.content_to_position = c2p;
  d.position_to_content = p2c;
  const std::int64_t distance = read.integer_or("max_distance", {"max_relative_positions"}, -1);
  d.max_distance = distance < 1 ? c.max_positions : static_cast<std::size_t>(distance);
  c.position.disentangled = d;
  return c;
}

ModelConfig config_v1(ConfigReader& read) {
  ModelConfig c = common(read);
  read.only_flag("talking_head", false);
  read.harmless({"pooler_dropout", "cls_dropout", "padding_idx"});
  return c;
}

ModelConfig config_v2(ConfigReader& read) {
  ModelConfig c = common(read);
  c.d_head = read.size_or("d_head", {"attention_head_size"}, c.d_head);
  if (c.position.disentangled) {
    PositionConfig::Disentangled& d = *c.position.disentangled;
    const std::int64_t buckets = read.integer_or("position_buckets", {"position_buckets"}, -1);
    d.buckets = buckets < 1 ? 0 : static_cast<std::size_t>(buckets);
    d.share_key = read.flag_or("share_key", {"share_att_key"}, false);
    const std::string norm = read.text_or("norm_table", {"norm_rel_ebd"}, "none");
    for (const std::string& kind : kinds_in(norm)) {
      if (kind != "none" && kind != "layer_norm") read.fail("norm_rel_ebd", "none or layer_norm", "\"" + norm + "\"");
      d.norm_table = d.norm_table || kind == "layer_norm";
    }
  }
  if (const std::int64_t kernel = read.integer_or("convolution_kernel", {"conv_kernel_size"}, 0); kernel > 0) {
    ConvolutionConfig convolution;
    convolution.kernel = static_cast<std::size_t>(kernel);
    if (kernel % 2 == 0) read.fail("conv_kernel_size", "an odd number", std::to_string(kernel));
    convolution.groups = read.size_or("convolution_groups", {"conv_groups"}, 1);
    convolution.activation = read.activation_or("convolution_activation", {"conv_act"}, "tanh");
    c.convolution = convolution;
  }
  read.harmless({"pooler_dropout", "cls_dropout", "padding_idx"});
  return c;
}

void adapt(ConfigReader& read, const ModelConfig& config, WeightNames&, HeadTable& heads) {
  heads.classify.activation = read.activation_or("classifier_activation", {"pooler_hidden_act"}, "gelu");
  if (const std::size_t width = read.size_or("pooler_width", {"pooler_hidden_size"}, config.d_model);
      width != config.d_model) {
    read.fail("pooler_hidden_size", "hidden_size " + std::to_string(config.d_model), std::to_string(width));
  }
  if (read.flag_or("legacy_fill_mask_head", {"legacy"}, true)) return;
  heads.fill_mask = {.dense = "lm_predictions.lm_head.dense",
                     .norm = "lm_predictions.lm_head.LayerNorm",
                     .out = "lm_predictions.lm_head.decoder",
                     .out_bias = "lm_predictions.lm_head",
                     .tied = true};
}

HeadTable head_table() {
  return bert_heads(bert_fill_mask(), amended(bert_classify(), [](HeadNames& head) { head.activation.reset(); }));
}

// What both versions spell alike.
WeightNames names_of_both() {
  return amended(bert_names({"deberta.", "", "model."}), [](WeightNames& names) {
    names[Place::embedding_projection] = "embeddings.embed_proj";
    names[Place::relative_table] = "encoder.rel_embeddings";
    names.drop({Place::pooler});
  });
}

}  // namespace

const Family kDeberta{
    .model_types = {"deberta"},
    .config = config_v1,
    .names = amended(names_of_both(),
                     [](WeightNames& names) {
                       names.drop({Place::query, Place::key, Place::value});
                       names.packed_qkv = "attention.self.in_proj";
                       names.packed_by_head = true;
                       names.query_bias = "attention.self.q_*";
                       names.value_bias = "attention.self.v_*";
                       names[Place::position_key] = "attention.self.pos_proj";
                       names[Place::position_query] = "attention.self.pos_q_proj";
                       names.position_key_bias = false;
                     }),
    .heads = head_table(),
    .adapt = adapt,
};

const Family kDebertaV2{
    .model_types = {"deberta-v2", "deberta-v3"},
    .config = config_v2,
    .names = amended(names_of_both(),
                     [](WeightNames& names) {
                       names[Place::query] = "attention.self.query_proj";
                       names[Place::key] = "attention.self.key_proj";
                       names[Place::value] = "attention.self.value_proj";
                       names[Place::position_key] = "attention.self.pos_key_proj";
                       names[Place::position_query] = "attention.self.pos_query_proj";
                       names[Place::relative_norm] = "encoder.LayerNorm";
                       names[Place::convolution] = "encoder.conv.conv";
                       names[Place::convolution_norm] = "encoder.conv.LayerNorm";
                     }),
    .heads = head_table(),
    .adapt = adapt,
};

}  // namespace mha
