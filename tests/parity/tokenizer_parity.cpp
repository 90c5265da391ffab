// Compares every tokenizer of ../shared/tokenizers with the reference: ids, offsets, type ids and special-token masks,
// on all texts and pairs, with the file's truncation and padding (`*.asis`), with all truncations and paddings of
// trunc_pad, and each component on every code point (tables). scripts/compare_tokenizers.py compares tokenizers of
// random parts; it needs the reference itself.
//
//   mha_tokenizer_parity [--show N] [NAME…]     exit 1 on any difference, 77 if ../shared is absent
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "support/gzip_file.hpp"
#include "support/padding.hpp"
#include "support/shared.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/normalizer/normalizer.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"
#include "tokenizer/stages.hpp"

namespace mha::test {
namespace {

using tokenizer::JsonDocument;
using tokenizer::JsonValue;

struct Input {
  std::string text;
  std::optional<std::string> pair;
};

struct Tally {
  std::size_t rows = 0;
  std::size_t different = 0;
  std::map<std::string, std::size_t> by_kind;
};

std::size_t show = 5;

template <typename Use>
void for_each_line(const std::string& text, const Use& use) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) {
      const auto document = JsonDocument::parse(std::string_view(text).substr(at, end - at), "golden");
      use(document.root());
    }
    at = end + 1;
  }
}

std::vector<std::int64_t> integers(const JsonValue& array) {
  std::vector<std::int64_t> values;
  for (const JsonValue element : array.elements()) values.push_back(element.as_integer(0, 1LL << 40));
  return values;
}

std::vector<std::int64_t> flattened(const JsonValue& pairs) {
  std::vector<std::int64_t> values;
  for (const JsonValue pair : pairs.elements()) {
    for (const JsonValue element : pair.elements()) values.push_back(element.as_integer(0, 1LL << 40));
  }
  return values;
}

// Code points before each byte.
std::vector<std::int64_t> code_points(std::string_view text) {
  std::vector<std::int64_t> count(text.size() + 1);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    count[i] = starts ? seen : -1000000;  // inside a character: never right
    seen += starts;
  }
  count[text.size()] = seen;
  return count;
}

std::vector<std::int64_t> offsets_of(const Encoding& encoding, const Input& input) {
  const auto first = code_points(input.text);
  const auto second = code_points(input.pair.value_or(""));
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const auto& map = encoding.sequence_ids[i] == 1 ? second : first;
    values.push_back(map.at(encoding.offsets[i].begin));
    values.push_back(map.at(encoding.offsets[i].end));
  }
  return values;
}

template <typename T>
std::vector<std::int64_t> wide(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

std::string joined(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const auto value : values) text += std::to_string(value) + ' ';
  return text.substr(0, 400);
}

// Empty when equal, else what differs.
std::string difference(const JsonValue& want, const Encoding& got, const Input& input) {
  const auto field = [&](const char* name, const std::vector<std::int64_t>& wanted,
                         const std::vector<std::int64_t>& mine) {
    if (wanted == mine) return std::string();
    return std::string(name) + "\n    want " + joined(wanted) + "\n    got  " + joined(mine);
  };
  std::string found = field("ids", integers(want.at("ids")), wide(got.input_ids));
  if (found.empty()) found = field("offsets", flattened(want.at("offsets")), offsets_of(got, input));
  if (found.empty()) found = field("type_ids", integers(want.at("type_ids")), wide(got.token_type_ids));
  if (found.empty() && want.find("special_tokens_mask")) {
    found = field("special_tokens_mask", integers(want.at("special_tokens_mask")), wide(got.special_tokens_mask));
  }
  return found;
}

void count(Tally& tally, const std::string& name, const std::string& id, const std::string& found, const Input& input) {
  ++tally.rows;
  if (found.empty()) return;
  if (tally.different++ < show) {
    std::cout << name << ' ' << id << ' ' << found << "\n    text " << input.text.substr(0, 200) << '\n';
  }
  ++tally.by_kind[id.substr(0, id.rfind('-'))];
}

void report(const std::string& name, const Tally& tally, Tally& total) {
  std::cout << name << ": " << tally.rows - tally.different << " of " << tally.rows << " equal";
  for (const auto& [kind, number] : tally.by_kind) std::cout << ' ' << kind << ':' << number;
  std::cout << std::endl;
  total.rows += tally.rows;
  total.different += tally.different;
}

struct Loaded {
  std::shared_ptr<const Tokenizer> tokenizer;
  EncodeOptions as_is;
  std::optional<test::Padding> padding;
};

std::string tokenizer_bytes(const std::filesystem::path& folder) {
  const auto plain = folder / "tokenizer.json";
  return read_gzip(std::filesystem::exists(plain) ? plain : folder / "tokenizer.json.gz");
}

test::Padding padding_from(const JsonValue& value) {
  test::Padding padding;
  if (const auto strategy = value.find("strategy"); strategy && strategy->is_object()) {
    padding.length = static_cast<std::size_t>(strategy->at("Fixed").as_integer(0, 1 << 20));
  }
  if (const auto multiple = value.find("pad_to_multiple_of")) {
    padding.multiple_of = static_cast<std::size_t>(multiple->as_integer(0, 1 << 20));
  }
  padding.left = value.string_or("direction", "Right") == "Left";
  padding.id = static_cast<std::int32_t>(value.at("pad_id").as_integer(0, 1 << 28));
  padding.type_id = static_cast<std::int32_t>(value.at("pad_type_id").as_integer(0, 1 << 28));
  return padding;
}

Loaded load(const std::filesystem::path& folder) {
  const std::string bytes = tokenizer_bytes(folder);
  Loaded loaded;
  loaded.tokenizer = Tokenizer::from_json(bytes, folder.filename().string());
  const auto document = JsonDocument::parse(bytes, "tokenizer.json");
  if (const auto truncation = document.root().find("truncation")) {
    loaded.as_is.max_length = static_cast<std::size_t>(truncation->at("max_length").as_integer(0, 1 << 20));
  }
  if (const auto padding = document.root().find("padding")) loaded.padding = padding_from(*padding);
  return loaded;
}

Tally check_golden(const std::string& name, const std::string& golden, const Loaded& loaded, bool as_is,
                   const std::map<std::string, Input>& inputs) {
  Tally tally;
  TokenizerScratch scratch;
  for_each_line(golden, [&](const JsonValue& row) {
    const std::string id = row.at("id").as_string();
    const Input& input = inputs.at(id);
    std::vector<Encoding> batch(1);
    std::string found;
    try {
      loaded.tokenizer->encode(input.text, input.pair, as_is ? loaded.as_is : EncodeOptions{}, scratch, batch[0]);
      if (as_is && loaded.padding) test::pad(batch, *loaded.padding);
      found = row.find("error") ? "expected an error" : difference(row, batch[0], input);
    } catch (const Error& error) {
      if (!row.find("error")) found = std::string("threw ") + error.what();
    }
    count(tally, name, id, found, input);
  });
  return tally;
}

EncodeOptions truncation_of(const JsonValue& row) {
  EncodeOptions options;
  options.max_length = static_cast<std::size_t>(row.at("max_length").as_integer(0, 1 << 20));
  options.stride = static_cast<std::size_t>(row.at("stride").as_integer(0, 1 << 20));
  options.keep = row.at("direction").as_string() == "left" ? TruncationSide::tail : TruncationSide::head;
  const std::string strategy = row.at("strategy").as_string();
  options.strategy = strategy == "OnlyFirst"    ? TruncationStrategy::only_first
                     : strategy == "OnlySecond" ? TruncationStrategy::only_second
                                                : TruncationStrategy::longest_first;
  return options;
}

std::string check_truncation(const JsonValue& row, const Tokenizer& tokenizer, const Input& input,
                             TokenizerScratch& scratch) {
  Encoding encoding;
  const bool no_room = *truncation_of(row).max_length < tokenizer.special_count(input.pair.has_value());
  try {
    tokenizer.encode(input.text, input.pair, truncation_of(row), scratch, encoding);
  } catch (const Error& error) {
    // Where the limit has no room for the specials, the reference's subtraction wraps around and nothing is cut; here
    // it is wrong usage (docs/cli.md).
    if (no_room) return error.kind() == ErrorKind::usage ? "" : std::string("threw ") + error.what();
    return row.find("error") ? "" : std::string("threw ") + error.what();
  }
  if (row.find("error") || no_room) return "expected an error";
  std::string found = difference(row, encoding, input);
  const JsonValue windows = row.at("overflow");
  if (found.empty() && windows.size() != encoding.overflowing.size()) {
    found = "overflow: want " + std::to_string(windows.size()) + " windows, got " +
            std::to_string(encoding.overflowing.size());
  }
  std::size_t i = 0;
  for (const JsonValue window : windows.elements()) {
    if (found.empty()) found = difference(window, encoding.overflowing[i++], input);
    if (!found.empty() && found[0] != 'o') found = "overflow " + found;
  }
  return found;
}

// `{"maxLength": 16, "direction": "left", …}` of the JavaScript binding that made the goldens.
test::Padding golden_padding(const JsonValue& value) {
  test::Padding padding;
  if (const auto length = value.find("maxLength"))
    padding.length = static_cast<std::size_t>(length->as_integer(0, 1 << 20));
  if (const auto multiple = value.find("padToMultipleOf")) {
    padding.multiple_of = static_cast<std::size_t>(multiple->as_integer(0, 1 << 20));
  }
  padding.left = value.string_or("direction", "right") == "left";
  if (const auto id = value.find("padId")) padding.id = static_cast<std::int32_t>(id->as_integer(0, 1 << 28));
  if (const auto type = value.find("padTypeId"))
    padding.type_id = static_cast<std::int32_t>(type->as_integer(0, 1 << 28));
  return padding;
}

Tally check_trunc_pad(const std::string& golden, std::map<std::string, Loaded>& loaded, bool all) {
  Tally tally;
  TokenizerScratch scratch;
  for_each_line(golden, [&](const JsonValue& row) {
    const auto found_tokenizer = loaded.find(row.at("tokenizer").as_string());
    if (found_tokenizer == loaded.end()) {
      if (all) count(tally, "trunc_pad", row.at("id").as_string(), "no tokenizer", {});
      return;
    }
    const Tokenizer& tokenizer = *found_tokenizer->second.tokenizer;
    const std::string id = row.at("id").as_string();
    Input input;
    if (const auto a = row.find("a")) input.text = a->as_string();
    if (const auto b = row.find("b")) input.pair = b->as_string();
    if (!row.find("padding")) {
      count(tally, "trunc_pad", id, check_truncation(row, tokenizer, input, scratch), input);
      return;
    }
    std::vector<Input> batch;
    std::vector<JsonValue> wants;
    if (const auto texts = row.find("batch")) {
      for (const JsonValue text : texts->elements()) batch.push_back({text.as_string(), {}});
      for (const JsonValue want : row.at("rows").elements()) wants.push_back(want);
    } else {
      batch.push_back(input);
      wants.push_back(row);
    }
    std::vector<Encoding> encodings(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      tokenizer.encode(batch[i].text, batch[i].pair, {}, scratch, encodings[i]);
    }
    test::pad(encodings, golden_padding(row.at("padding")));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      count(tally, "trunc_pad", id, difference(wants[i], encodings[i], batch[i]), batch[i]);
    }
  });
  return tally;
}

// ---- tables: every code point through one component ----

using Table = std::map<char32_t, std::string>;

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  const std::string text = read_gzip(path);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && text[at] != '#') lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::set<char32_t> ranges(const std::filesystem::path& path) {
  std::set<char32_t> members;
  for (const std::string& line : lines_of(path)) {
    const std::size_t dots = line.find("..");
    const auto first = static_cast<char32_t>(std::stoul(line, nullptr, 16));
    const auto last = dots == line.npos ? first : static_cast<char32_t>(std::stoul(line.substr(dots + 2), nullptr, 16));
    for (char32_t c = first; c <= last; ++c) members.insert(c);
  }
  return members;
}

Table mapping(const std::filesystem::path& path) {
  Table table;
  for (const std::string& line : lines_of(path)) {
    std::size_t at = line.find('\t');
    std::string target;
    while (at != line.npos && at + 1 < line.size()) {
      std::size_t used = 0;
      utf8::append(target, static_cast<char32_t>(std::stoul(line.substr(at + 1), &used, 16)));
      at = line.find(' ', at + 1);
    }
    table[static_cast<char32_t>(std::stoul(line, nullptr, 16))] = target;
  }
  return table;
}

template <typename Use>
void for_each_code_point(const Use& use) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    utf8::append(text, c);
    use(c, text);
  }
}

std::string normalized(const tokenizer::Normalizer& normalizer, const std::string& text) {
  tokenizer::NormalizedText result;
  result.assign(text, 0, static_cast<std::uint32_t>(text.size()));
  normalizer.normalize(result);
  return std::string(result.text());
}

std::vector<std::string> words(const tokenizer::PreTokenizer& pre_tokenizer, const std::string& text) {
  tokenizer::PreTokenizedText result;
  result.text.assign(text, 0, static_cast<std::uint32_t>(text.size()));
  result.words = {{0, static_cast<std::uint32_t>(text.size())}};
  pre_tokenizer.pre_tokenize(result);
  std::vector<std::string> found;
  for (const Span& word : result.words) {
    found.emplace_back(result.text.text().substr(word.begin, word.end - word.begin));
  }
  return found;
}

std::shared_ptr<const tokenizer::Normalizer> normalizer(const std::string& json) {
  const auto document = JsonDocument::parse(json, "test");
  return tokenizer::Normalizer::from_json(document.root());
}

std::shared_ptr<tokenizer::PreTokenizer> pre_tokenizer(const std::string& json) {
  const auto document = JsonDocument::parse(json, "test");
  return tokenizer::PreTokenizer::from_json(document.root());
}

void check_tables(const std::filesystem::path& folder, Tally& total) {
  const auto check = [&](const std::string& name, const auto& right) {
    Tally tally;
    for_each_code_point([&](char32_t c, const std::string& text) {
      ++tally.rows;
      if (right(c, text)) return;
      if (tally.different++ < show)
        std::cout << "table " << name << ": U+" << std::hex << static_cast<unsigned>(c) << std::dec << '\n';
    });
    report("table " + name, tally, total);
  };
  const auto maps = [&](const std::string& file, const std::string& json) {
    const Table table = mapping(folder / (file + ".txt"));
    const auto component = normalizer(json);
    check(file, [&](char32_t c, const std::string& text) {
      const auto found = table.find(c);
      return normalized(*component, text) == (found == table.end() ? text : found->second);
    });
  };
  maps("lowercase", R"({"type":"Lowercase"})");
  maps("nfc", R"({"type":"NFC"})");
  maps("nfd", R"({"type":"NFD"})");
  maps("nfkc", R"({"type":"NFKC"})");
  maps("nfkd", R"({"type":"NFKD"})");
  const auto bert = [](const char* clean, const char* chinese, const char* strip, const char* lower) {
    return normalizer(std::string(R"({"type":"BertNormalizer","clean_text":)") + clean + R"(,"handle_chinese_chars":)" +
                      chinese + R"(,"strip_accents":)" + strip + R"(,"lowercase":)" + lower + "}");
  };
  // `outside` is what a member of the set becomes, between two letters.
  const auto in_set = [&](const std::string& file, const tokenizer::Normalizer& component, const auto& inside,
                          const auto& outside) {
    const auto members = ranges(folder / (file + ".txt"));
    check(file, [&](char32_t c, const std::string& text) {
      return normalized(component, "a" + text + "b") ==
             "a" + (members.contains(c) ? inside(text) : outside(c, text)) + "b";
    });
  };
  const auto same = [](char32_t, const std::string& text) { return text; };
  const auto gone = [](const std::string&) { return std::string(); };
  const auto spaces = ranges(folder / "bert_clean_to_space.txt");
  in_set("bert_clean_removed", *bert("true", "false", "false", "false"), gone,
         [&](char32_t c, const std::string& text) { return spaces.contains(c) ? std::string(" ") : text; });
  in_set(
      "bert_cjk", *bert("false", "true", "false", "false"), [](const std::string& text) { return " " + text + " "; },
      same);
  const Table nfd = mapping(folder / "nfd.txt");
  const auto nonspacing = ranges(folder / "bert_strip_accents_removed_Mn.txt");
  in_set("bert_strip_accents_removed_Mn", *bert("false", "false", "true", "false"), gone,
         [&](char32_t c, const std::string& text) {
           const auto found = nfd.find(c);
           if (found == nfd.end()) return text;
           std::string kept;
           for (std::size_t at = 0; at < found->second.size();) {
             const char32_t part = utf8::next(found->second, at);
             if (!nonspacing.contains(part)) utf8::append(kept, part);
           }
           return kept;
         });
  in_set("StripAccents_removed_M", *normalizer(R"({"type":"StripAccents"})"), gone, same);
  const auto stripped = ranges(folder / "Strip_normalizer.txt");
  const auto strip = normalizer(R"({"type":"Strip","strip_left":true,"strip_right":true})");
  check("Strip_normalizer", [&](char32_t c, const std::string& text) {
    return normalized(*strip, text + "a" + text) == (stripped.contains(c) ? "a" : text + "a" + text);
  });
  const auto cuts = [&](const std::string& file, const std::string& json, std::size_t inside, std::size_t outside) {
    const auto members = ranges(folder / (file + ".txt"));
    const auto component = pre_tokenizer(json);
    check(file, [&](char32_t c, const std::string& text) {
      return words(*component, "a" + text + "b").size() == (members.contains(c) ? inside : outside);
    });
  };
  cuts("Punctuation_pretok", R"({"type":"Punctuation"})", 3, 1);
  cuts("WhitespaceSplit", R"({"type":"WhitespaceSplit"})", 2, 1);
  const auto bert_words = pre_tokenizer(R"({"type":"BertPreTokenizer"})");
  const auto punctuation = ranges(folder / "bert_pretok_punct.txt");
  const auto white = ranges(folder / "bert_pretok_whitespace.txt");
  check("bert_pretok", [&](char32_t c, const std::string& text) {
    return words(*bert_words, "a" + text + "b").size() == (punctuation.contains(c) ? 3U : white.contains(c) ? 2U : 1U);
  });
  const auto whitespace = pre_tokenizer(R"({"type":"Whitespace"})");
  const auto word = ranges(folder / "Whitespace_pretok_w.txt");
  check("Whitespace_pretok", [&](char32_t c, const std::string& text) {
    return words(*whitespace, "a" + text + "b").size() == (word.contains(c) ? 1U : white.contains(c) ? 2U : 3U);
  });
}

int run(const std::vector<std::string>& names) {
  const auto root = shared("tokenizers");
  if (root.empty()) return 77;
  std::map<std::string, Input> inputs;
  for_each_line(read_gzip(root / "corpus.jsonl"), [&](const JsonValue& row) {
    inputs[row.at("id").as_string()] = {row.at("text").as_string(), {}};
  });
  for_each_line(read_gzip(root / "pairs.jsonl"), [&](const JsonValue& row) {
    inputs[row.at("id").as_string()] = {row.at("a").as_string(), row.at("b").as_string()};
  });
  const auto wanted = [&](const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  Tally total;
  std::map<std::string, Loaded> loaded;
  std::set<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models")) folders.insert(entry.path());
  for (const auto& folder : folders) {
    const std::string name = folder.filename().string();
    if (!wanted(name) || !std::filesystem::exists(root / "golden" / (name + ".jsonl.gz"))) continue;
    try {
      loaded[name] = load(folder);
    } catch (const Error& error) {
      std::cout << name << ": " << error.what() << std::endl;
      ++total.rows;
      ++total.different;
      continue;
    }
    for (const bool as_is : {false, true}) {
      const auto golden = root / "golden" / (name + (as_is ? ".asis.jsonl.gz" : ".jsonl.gz"));
      if (!std::filesystem::exists(golden)) continue;
      const std::string label = name + (as_is ? " as is" : "");
      report(label, check_golden(label, read_gzip(golden), loaded[name], as_is, inputs), total);
    }
  }
  if (wanted("trunc_pad") || names.empty()) {
    if (!names.empty()) {
      for (const auto& folder : folders) {
        try {
          loaded[folder.filename().string()] = load(folder);
        } catch (const Error&) {
        }
      }
    }
    report("trunc_pad", check_trunc_pad(read_gzip(root / "golden" / "trunc_pad.jsonl.gz"), loaded, names.empty()),
           total);
  }
  if (wanted("tables")) check_tables(root / "tables", total);
  std::cout << "total: " << total.rows << " checks, " << total.different << " differences" << std::endl;
  return total.different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mha::test

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.size() >= 2 && names[0] == "--show") {
    mha::test::show = std::stoul(names[1]);
    names.erase(names.begin(), names.begin() + 2);
  }
  try {
    return mha::test::run(names);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
