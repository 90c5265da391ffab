#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/load/settings.hpp"
#include "tokenizer/stages.hpp"

namespace mha::tokenizer {

/// A piece of a template: the text, the pair, or the special token of a role.
struct RolePiece {
  std::string_view what;  ///< kText, kPair, or `cls_token`, …
  std::int32_t type_id = 0;
};
inline constexpr std::string_view kText = "text";
inline constexpr std::string_view kPair = "pair";

/// Where a tokenizer class puts its special tokens. The arrays must live as long.
struct RoleTemplate {
  std::span<const RolePiece> single;
  std::span<const RolePiece> pair;
};

/// The template with the tokens of `settings.roles`, which must be in the vocabulary or among the added tokens of
/// `stages`. Throws Error{model} that names `origin` and the token otherwise.
TemplateOptions template_of(const RoleTemplate& roles, const TokenizerSettings& settings, const Stages& stages,
                            const std::string& origin);

/// Sets the roles of `stages` from the settings, then the template.
void add_roles(const RoleTemplate& roles, const TokenizerSettings& settings, const std::string& origin, Stages& stages);
/// Sets the added tokens of `stages` from the settings, then as `add_roles`. The model must be set.
void add_special_tokens(const RoleTemplate& roles, const TokenizerSettings& settings, const std::string& origin,
                        Stages& stages);

/// Id of a role's token in `stages`; Error{model} as above.
std::int32_t role_id(const std::string& role, const TokenizerSettings& settings, const Stages& stages,
                     const std::string& origin);

}  // namespace mha::tokenizer
