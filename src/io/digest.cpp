#include "io/digest.hpp"

#include <sha1.h>
#include <sha256.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <span>
#include <system_error>
#include <vector>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"

namespace mha {
namespace {

std::string hex_of(std::span<const std::uint8_t> bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kHex[byte / 16];
    text += kHex[byte % 16];
  }
  return text;
}

const std::uint8_t* bytes_in(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

void read_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& use) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(kPiece);
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    use({piece.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (!file.eof()) {
    const int error = errno == 0 ? EIO : errno;
    throw_input(utf8::printable(path.string()) + ": " + std::generic_category().message(error));
  }
}

}  // namespace

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256Init(&state_->context); }
Sha256::~Sha256() = default;
void Sha256::update(std::string_view bytes) { SHA256Update(&state_->context, bytes_in(bytes), bytes.size()); }
std::string Sha256::hex() {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  SHA256Final(digest.data(), &state_->context);
  return hex_of(digest);
}

std::string sha256_of(std::string_view bytes) {
  Sha256 sum;
  sum.update(bytes);
  return sum.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  Sha256 sum;
  read_pieces(path, [&](std::string_view piece) { sum.update(piece); });
  return sum.hex();
}

std::string git_blob_sha1(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw_input(utf8::printable(path.string()) + ": " + error.message());
  const std::string head = "blob " + std::to_string(size);
  SHA1_CTX context;
  SHA1Init(&context);
  SHA1Update(&context, bytes_in({head.c_str(), head.size() + 1}), head.size() + 1);
  read_pieces(path, [&](std::string_view piece) { SHA1Update(&context, bytes_in(piece), piece.size()); });
  std::array<std::uint8_t, SHA1_DIGEST_LENGTH> digest{};
  SHA1Final(digest.data(), &context);
  return hex_of(digest);
}

}  // namespace mha
