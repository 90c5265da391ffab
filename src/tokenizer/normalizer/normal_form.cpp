#include "tokenizer/normalizer/normal_form.hpp"

#include "core/utf8.hpp"
#include "tokenizer/normalizer/normalizers.hpp"

namespace mha::tokenizer {
namespace {

using unicode::Form;

constexpr std::uint32_t kPart = 1 << 16;  // bytes of a run that are worked on at once, where it can be cut

std::uint32_t flag_of(Form form) {
  switch (form) {
    case Form::nfd:
      return unicode::kChangesNfd;
    case Form::nfkd:
      return unicode::kChangesNfkd;
    case Form::nfc:
      return unicode::kMayChangeNfc;
    case Form::nfkc:
      return unicode::kMayChangeNfkc;
  }
  return ~0U;
}

class NormalForm final : public Normalizer {
 public:
  NormalForm(Form form, std::string_view type) : form_(form), type_(type) {}
  void normalize(NormalizedText& text) const override { to_normal_form(text, form_); }
  std::string_view type() const override { return type_; }

 private:
  Form form_;
  std::string_view type_;
};

}  // namespace

// Only runs of characters that may change are worked on. A run stands for itself: what is before and behind it are
// starters that are neither reordered nor, but for the one right before it, composed with anything in it. A long run is
// worked on in parts, as a character may become eighteen.
void to_normal_form(NormalizedText& text, Form form, std::uint32_t dropped) {
  const std::string_view old = text.text();
  const std::uint32_t any = flag_of(form) | dropped;
  const bool composes = form == Form::nfc || form == Form::nfkc;
  const auto size = static_cast<std::uint32_t>(old.size());
  std::uint32_t kept = 0;  // everything before is written
  bool rewriting = false;
  std::uint32_t before = 0;  // first byte of the character before `at`
  for (std::uint32_t at = 0; at < size;) {
    if (static_cast<unsigned char>(old[at]) < 0x80) {
      before = at++;
      continue;
    }
    std::size_t next = at;
    if (!unicode::is(utf8::next(old, next), any)) {
      before = at;
      at = static_cast<std::uint32_t>(next);
      continue;
    }
    const std::uint32_t run = composes && at > kept ? before : at;
    std::uint32_t end = at;
    while (end < size) {
      next = end;
      const char32_t c = utf8::next(old, next);
      if (!unicode::is(c, any) || (end - run >= kPart && unicode::starts_anew(c))) break;
      before = end;
      end = static_cast<std::uint32_t>(next);
    }
    if (!rewriting) text.begin_rewrite();
    rewriting = true;
    text.copy(kept, run);
    unicode::normalize(old.substr(run, end - run), form, text.change_buffer());
    text.replace(run, end, text.change_buffer(), dropped);
    kept = at = end;
  }
  if (!rewriting) return;
  text.copy(kept, size);
  text.end_rewrite();
}

NormalizerPtr make_nfc() { return std::make_shared<NormalForm>(Form::nfc, "NFC"); }
NormalizerPtr make_nfd() { return std::make_shared<NormalForm>(Form::nfd, "NFD"); }
NormalizerPtr make_nfkc() { return std::make_shared<NormalForm>(Form::nfkc, "NFKC"); }
NormalizerPtr make_nfkd() { return std::make_shared<NormalForm>(Form::nfkd, "NFKD"); }

}  // namespace mha::tokenizer
