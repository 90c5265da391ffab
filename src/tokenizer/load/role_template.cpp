#include "tokenizer/load/role_template.hpp"

#include "mha/core/error.hpp"

namespace mha::tokenizer {
namespace {

std::int32_t id_of(const std::string& content, const AddedTokens& added, const Stages& stages,
                   const std::string& origin) {
  if (const auto id = added.id_of(content)) return *id;
  if (const auto id = stages.model->vocab().id_of(content)) return *id;
  throw_model("tokenizer: " + origin + ": expected the special token \"" + content + "\" in the vocabulary, got none");
}

std::vector<TemplateOptions::Piece> pieces_of(std::span<const RolePiece> roles, const TokenizerSettings& settings,
                                              const AddedTokens& added, const Stages& stages,
                                              const std::string& origin) {
  using Kind = TemplateOptions::Piece::Kind;
  std::vector<TemplateOptions::Piece> pieces;
  for (const RolePiece& piece : roles) {
    if (piece.what == kText || piece.what == kPair) {
      pieces.push_back({piece.what == kText ? Kind::text : Kind::pair, piece.type_id});
      continue;
    }
    const std::string content = settings.role_or(std::string(piece.what), "");
    pieces.push_back({Kind::special, piece.type_id, {id_of(content, added, stages, origin)}});
  }
  return pieces;
}

}  // namespace

TemplateOptions template_of(const RoleTemplate& roles, const TokenizerSettings& settings, const Stages& stages,
                            const std::string& origin) {
  const AddedTokens added(stages.added_tokens, stages.model->vocab(), nullptr);
  return {pieces_of(roles.single, settings, added, stages, origin),
          pieces_of(roles.pair, settings, added, stages, origin)};
}

void add_special_tokens(const RoleTemplate& roles, const TokenizerSettings& settings, const std::string& origin,
                        Stages& stages) {
  stages.added_tokens = settings.all_added();
  add_roles(roles, settings, origin, stages);
}

void add_roles(const RoleTemplate& roles, const TokenizerSettings& settings, const std::string& origin,
               Stages& stages) {
  for (const auto& [role, token] : settings.roles) stages.roles[role] = token.content;
  stages.post_processor =
      PostProcessor(template_of(roles, settings, stages, origin), origin, [](std::int32_t) { return true; });
}

std::int32_t role_id(const std::string& role, const TokenizerSettings& settings, const Stages& stages,
                     const std::string& origin) {
  const AddedTokens added(stages.added_tokens, stages.model->vocab(), nullptr);
  return id_of(settings.role_or(role, ""), added, stages, origin);
}

}  // namespace mha::tokenizer
