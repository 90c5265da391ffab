#include "tokenizer/load/reference_class.hpp"

#include <algorithm>
#include <iterator>

namespace mha::tokenizer {
namespace {

struct ClassRow {
  std::string_view name;
  ClassKind kind;
};

constexpr ClassRow kClasses[] = {
    {"", ClassKind::generic},
    {"PreTrainedTokenizer", ClassKind::generic},
    {"TokenizersBackend", ClassKind::generic},

    {"BertTokenizer", ClassKind::bert},
    {"ConvBertTokenizer", ClassKind::bert},
    {"DPRContextEncoderTokenizer", ClassKind::bert},
    {"DPRQuestionEncoderTokenizer", ClassKind::bert},
    {"DPRReaderTokenizer", ClassKind::bert},
    {"DistilBertTokenizer", ClassKind::bert},
    {"ElectraTokenizer", ClassKind::bert},
    {"LayoutLMTokenizer", ClassKind::bert},
    {"LxmertTokenizer", ClassKind::bert},
    {"MobileBertTokenizer", ClassKind::bert},
    {"RealmTokenizer", ClassKind::bert},
    {"RetriBertTokenizer", ClassKind::bert},
    {"SqueezeBertTokenizer", ClassKind::bert},
    {"MPNetTokenizer", ClassKind::mpnet},
    {"FunnelTokenizer", ClassKind::funnel},

    {"BartTokenizer", ClassKind::byte_bpe},
    {"CodeGenTokenizer", ClassKind::byte_bpe},
    {"DebertaTokenizer", ClassKind::byte_bpe},
    {"GPT2Tokenizer", ClassKind::byte_bpe},
    {"LEDTokenizer", ClassKind::byte_bpe},
    {"LayoutLMv3Tokenizer", ClassKind::byte_bpe},
    {"LongformerTokenizer", ClassKind::byte_bpe},
    {"MvpTokenizer", ClassKind::byte_bpe},
    {"RobertaTokenizer", ClassKind::byte_bpe},

    {"AlbertTokenizer", ClassKind::metaspace},
    {"BarthezTokenizer", ClassKind::metaspace},
    {"BigBirdTokenizer", ClassKind::metaspace},
    {"CamembertTokenizer", ClassKind::metaspace},
    {"FNetTokenizer", ClassKind::metaspace},
    {"LayoutXLMTokenizer", ClassKind::metaspace},
    {"MT5Tokenizer", ClassKind::metaspace},
    {"RemBertTokenizer", ClassKind::metaspace},
    {"T5Tokenizer", ClassKind::metaspace},
    {"XLMRobertaTokenizer", ClassKind::metaspace},
    {"XLNetTokenizer", ClassKind::metaspace},
    {"DebertaV2Tokenizer", ClassKind::deberta_v2},

    {"BlenderbotTokenizer", ClassKind::other},
    {"CLIPTokenizer", ClassKind::other},
    {"CodeLlamaTokenizer", ClassKind::other},
    {"CohereTokenizer", ClassKind::other},
    {"CpmTokenizer", ClassKind::other},
    {"EsmcTokenizer", ClassKind::other},
    {"GPTNeoXTokenizer", ClassKind::other},
    {"GemmaTokenizer", ClassKind::other},
    {"HerbertTokenizer", ClassKind::other},
    {"LayoutLMv2Tokenizer", ClassKind::other},
    {"LlamaTokenizer", ClassKind::other},
    {"LukeTokenizer", ClassKind::other},
    {"MBart50Tokenizer", ClassKind::other},
    {"MBartTokenizer", ClassKind::other},
    {"MLukeTokenizer", ClassKind::other},
    {"MarianTokenizer", ClassKind::other},
    {"MarkupLMTokenizer", ClassKind::other},
    {"NllbTokenizer", ClassKind::other},
    {"NougatTokenizer", ClassKind::other},
    {"OpenAIGPTTokenizer", ClassKind::other},
    {"PLBartTokenizer", ClassKind::other},
    {"PegasusTokenizer", ClassKind::other},
    {"Qwen2Tokenizer", ClassKind::other},
    {"Qwen3_5Tokenizer", ClassKind::other},
    {"ReformerTokenizer", ClassKind::other},
    {"RoFormerTokenizer", ClassKind::other},
    {"SeamlessM4TTokenizer", ClassKind::other},
    {"Siglip2Tokenizer", ClassKind::other},
    {"SplinterTokenizer", ClassKind::other},
    {"UdopTokenizer", ClassKind::other},
    {"WhisperTokenizer", ClassKind::other},
    {"XGLMTokenizer", ClassKind::other},

    {"BartphoTokenizer", ClassKind::python},
    {"BertGenerationTokenizer", ClassKind::python},
    {"BertJapaneseTokenizer", ClassKind::python},
    {"BertweetTokenizer", ClassKind::python},
    {"BioGptTokenizer", ClassKind::python},
    {"BlenderbotSmallTokenizer", ClassKind::python},
    {"ByT5Tokenizer", ClassKind::python},
    {"CTRLTokenizer", ClassKind::python},
    {"CanineTokenizer", ClassKind::python},
    {"CharacterBertTokenizer", ClassKind::python},
    {"CpmAntTokenizer", ClassKind::python},
    {"EsmTokenizer", ClassKind::python},
    {"FSMTTokenizer", ClassKind::python},
    {"FlaubertTokenizer", ClassKind::python},
    {"GPTNeoXJapaneseTokenizer", ClassKind::python},
    {"GPTSw3Tokenizer", ClassKind::python},
    {"M2M100Tokenizer", ClassKind::python},
    {"MyT5Tokenizer", ClassKind::python},
    {"PerceiverTokenizer", ClassKind::python},
    {"PhobertTokenizer", ClassKind::python},
    {"ProphetNetTokenizer", ClassKind::python},
    {"RoCBertTokenizer", ClassKind::python},
    {"SiglipTokenizer", ClassKind::python},
    {"Speech2TextTokenizer", ClassKind::python},
    {"TapasTokenizer", ClassKind::python},
    {"TransfoXLTokenizer", ClassKind::python},
    {"XLMProphetNetTokenizer", ClassKind::python},
    {"XLMTokenizer", ClassKind::python},
};

struct ModelTypeRow {
  std::string_view model_type;
  std::string_view name;
};

// The class that a model type has if the files name none.
constexpr ModelTypeRow kModelTypes[] = {
    {"albert", "AlbertTokenizer"},
    {"bart", "RobertaTokenizer"},
    {"barthez", "BarthezTokenizer"},
    {"bert", "BertTokenizer"},
    {"bert-generation", "BertGenerationTokenizer"},
    {"bert-japanese", "BertJapaneseTokenizer"},
    {"bertweet", "BertweetTokenizer"},
    {"big_bird", "BigBirdTokenizer"},
    {"camembert", "CamembertTokenizer"},
    {"canine", "CanineTokenizer"},
    {"clip", "CLIPTokenizer"},
    {"clip_text_model", "CLIPTokenizer"},
    {"convbert", "BertTokenizer"},
    {"data2vec-text", "RobertaTokenizer"},
    {"deberta", "DebertaTokenizer"},
    {"deberta-v2", "DebertaV2Tokenizer"},
    {"distilbert", "BertTokenizer"},
    {"dpr", "DPRQuestionEncoderTokenizer"},
    {"electra", "BertTokenizer"},
    {"ernie", "BertTokenizer"},
    {"esm", "EsmTokenizer"},
    {"flaubert", "FlaubertTokenizer"},
    {"fnet", "FNetTokenizer"},
    {"funnel", "FunnelTokenizer"},
    {"gpt2", "GPT2Tokenizer"},
    {"gte", "XLMRobertaTokenizer"},
    {"herbert", "HerbertTokenizer"},
    {"ibert", "RobertaTokenizer"},
    {"jina_embeddings_v3", "XLMRobertaTokenizer"},
    {"layoutlm", "BertTokenizer"},
    {"layoutxlm", "LayoutXLMTokenizer"},
    {"longformer", "RobertaTokenizer"},
    {"luke", "LukeTokenizer"},
    {"marian", "MarianTokenizer"},
    {"megatron-bert", "BertTokenizer"},
    {"mluke", "MLukeTokenizer"},
    {"mobilebert", "MobileBertTokenizer"},
    {"mpnet", "MPNetTokenizer"},
    {"mt5", "T5Tokenizer"},
    {"nezha", "BertTokenizer"},
    {"nomic_bert", "BertTokenizer"},
    {"phobert", "PhobertTokenizer"},
    {"qdqbert", "BertTokenizer"},
    {"reformer", "ReformerTokenizer"},
    {"rembert", "RemBertTokenizer"},
    {"roberta", "RobertaTokenizer"},
    {"roberta-prelayernorm", "RobertaTokenizer"},
    {"roc_bert", "RoCBertTokenizer"},
    {"roformer", "RoFormerTokenizer"},
    {"splinter", "SplinterTokenizer"},
    {"squeezebert", "BertTokenizer"},
    {"t5", "T5Tokenizer"},
    {"tapas", "TapasTokenizer"},
    {"umt5", ""},
    {"xlm", "XLMTokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"},
    {"xlm-roberta-xl", ""},
    {"xlnet", "XLNetTokenizer"},
    {"xmod", "XLMRobertaTokenizer"},
    {"yoso", "AlbertTokenizer"},
};

// Model types whose files often name a wrong class: the reference reads their tokenizer.json as it is.
constexpr std::string_view kAlwaysGeneric[] = {"modernbert", "modernbert-decoder"};

}  // namespace

ClassKind kind_of_class(std::string_view name) {
  const auto* row =
      std::find_if(std::begin(kClasses), std::end(kClasses), [&](const ClassRow& r) { return r.name == name; });
  return row == std::end(kClasses) ? ClassKind::unknown : row->kind;
}

std::string reference_class(const TokenizerSettings& settings) {
  for (const std::string_view type : kAlwaysGeneric) {
    if (settings.model_type == type) return {};
  }
  const auto* row = std::find_if(std::begin(kModelTypes), std::end(kModelTypes),
                                 [&](const ModelTypeRow& r) { return r.model_type == settings.model_type; });
  const bool registered = row != std::end(kModelTypes);
  if (registered && row->name.empty()) return {};
  if (settings.tokenizer_class.empty()) return registered ? std::string(row->name) : std::string();
  return kind_of_class(settings.tokenizer_class) == ClassKind::generic ? std::string() : settings.tokenizer_class;
}

}  // namespace mha::tokenizer
