#include "output/html.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/utf8.hpp"
#include "output/page.hpp"
#include "output/picture.hpp"

extern "C" {
extern const unsigned char mha_embedded_attention_page[];
extern const std::size_t mha_embedded_attention_page_size;
}

namespace mha {
namespace {

constexpr std::size_t kWideWeights = 3'000'000;

std::string packed(const std::vector<float>& weights, bool wide) {
  std::string bytes;
  bytes.reserve(weights.size() * (wide ? 2 : 1));
  for (const float weight : weights) {
    const double share = std::clamp(static_cast<double>(weight), 0.0, 1.0);
    if (wide) {
      const auto value = static_cast<std::uint32_t>(std::lround(share * 65535));
      bytes.push_back(static_cast<char>(value & 255U));
      bytes.push_back(static_cast<char>(value >> 8));
    } else {
      bytes.push_back(static_cast<char>(std::lround(std::sqrt(share) * 255)));
    }
  }
  return bytes;
}

nlohmann::ordered_json numbers_or_mean(const std::vector<std::size_t>& numbers) {
  if (numbers.empty()) return nlohmann::ordered_json::array({nullptr});
  return numbers;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t begin = position;
    const char32_t c = utf8::next(text, position);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0xFFFE || c == 0xFFFF) {
          utf8::append(out, 0xFFFD);
        } else {
          out.append(text, begin, position - begin);
        }
    }
  }
  return out;
}

std::string script_json(const nlohmann::ordered_json& value) {
  std::string out;
  for (const char c : value.dump()) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else {
      out += c;
    }
  }
  return out;
}

std::string attention_html(const AttentionMaps& maps, const InputFacts& facts) {
  const bool wide = maps.weights.size() <= kWideWeights;
  nlohmann::ordered_json meta;
  meta["text"] = facts.text;
  if (facts.text_pair) meta["text_pair"] = *facts.text_pair;
  meta["model"] = facts.model;
  meta["layers"] = numbers_or_mean(maps.layers);
  meta["heads"] = numbers_or_mean(maps.heads);
  meta["notes"] = facts.notes;
  if (maps.rolled_out) meta["rollout"] = true;
  meta["weights"] = wide ? "u16" : "u8";
  for (const Rgb& c : kColorScale) meta["scale"].push_back({c.red, c.green, c.blue});
  meta["tokens"] = nlohmann::ordered_json::array();
  for (const MapLabel& label : maps.labels) {
    meta["tokens"].push_back({{"text", label.text.empty() ? label.piece : label.text},
                              {"position", label.position},
                              {"special", label.special},
                              {"sequence", label.sequence},
                              {"word", label.word}});
  }

  std::string page(reinterpret_cast<const char*>(mha_embedded_attention_page), mha_embedded_attention_page_size);
  fill_mark(page, "%WEIGHTS%", base64(packed(maps.weights, wide)));
  fill_mark(page, "%META%", script_json(meta));
  fill_mark(page, "%TITLE%", "attention: " + escape_markup(facts.text.substr(0, facts.text.find('\n'))));
  return page;
}

}  // namespace mha
