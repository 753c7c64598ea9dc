#include "privacy/random.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "config/error.hpp"
#include "config/files.hpp"
#include "privacy/random_normals.hpp"

namespace rldp::privacy {

static_assert(std::endian::native == std::endian::little, "key streams and files are little-endian");
static_assert(crypto_generichash_KEYBYTES == 32 && crypto_stream_chacha20_KEYBYTES == 32);

namespace {

void start_sodium() {
    // Negative only where the operating system gives no randomness.
    static const int state = sodium_init();
    if (state < 0) throw error(errc::failed, "libsodium can't start: the system gives no random bytes");
}

/// Appends the bytes of an integer to a fixed-size label.
template <class T>
unsigned char* put(unsigned char* at, T value) {
    std::memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

}  // namespace

run_key run_key::from_system() {
    start_sodium();
    run_key key;
    randombytes_buf(key.bytes_.data(), key.bytes_.size());
    return key;
}

run_key run_key::insecure_from_seed(std::int64_t seed) {
    start_sodium();
    run_key key;
    crypto_generichash(key.bytes_.data(), key.bytes_.size(), reinterpret_cast<const unsigned char*>(&seed), sizeof seed,
                       nullptr, 0);
    return key;
}

run_key run_key::load(const std::filesystem::path& path) {
    start_sodium();
    run_key key;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) refuse(path.string() + ": the run key can't be read: " + std::strerror(errno));
    unsigned char extra;
    const bool whole = ::read(file, key.bytes_.data(), key.bytes_.size()) == std::ssize(key.bytes_);
    const bool ended = ::read(file, &extra, 1) == 0;
    ::close(file);
    if (!whole || !ended)
        refuse(path.string() + ": not a run key (32 bytes are needed); without it this run can't go on");
    return key;
}

void run_key::save(const std::filesystem::path& path) const {
    write_file(path, {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}, 0600);
}

run_key::~run_key() {
    sodium_memzero(bytes_.data(), bytes_.size());
}

std::string run_key::hmac(std::string_view message) const {
    static_assert(crypto_auth_hmacsha256_KEYBYTES == 32 && crypto_auth_hmacsha256_BYTES == 32);
    constexpr std::string_view label = "rldp hmac v1";
    std::array<unsigned char, 32> subkey, tag;
    crypto_generichash(subkey.data(), subkey.size(), reinterpret_cast<const unsigned char*>(label.data()), label.size(),
                       bytes_.data(), bytes_.size());
    crypto_auth_hmacsha256(tag.data(), reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                           subkey.data());
    sodium_memzero(subkey.data(), subkey.size());
    std::array<char, 65> hex;
    return sodium_bin2hex(hex.data(), hex.size(), tag.data(), tag.size());
}

random_stream::random_stream(const run_key& key, purpose why, std::uint64_t seq, std::uint64_t tensor) {
    // BLAKE2b keyed by the run key is a pseudorandom function: streams of other labels look independent.
    constexpr std::string_view label = "rldp stream v1";
    std::array<unsigned char, label.size() + 4 + 8 + 8> message;
    std::memcpy(message.data(), label.data(), label.size());
    put(put(put(message.data() + label.size(), static_cast<std::uint32_t>(why)), seq), tensor);
    crypto_generichash(subkey_.data(), subkey_.size(), message.data(), message.size(), key.bytes_.data(),
                       key.bytes_.size());
}

random_stream::~random_stream() {
    sodium_memzero(subkey_.data(), subkey_.size());
    sodium_memzero(buffer_.data(), sizeof buffer_);
}

void random_stream::keystream(std::uint64_t* out, std::size_t blocks) {
    // The key is used for this stream alone, so the nonce may stay zero.
    constexpr std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> nonce{};
    const std::size_t bytes = blocks * sizeof buffer_;
    auto* target = reinterpret_cast<unsigned char*>(out);
    std::memset(target, 0, bytes);
    crypto_stream_chacha20_xor_ic(target, target, bytes, nonce.data(), block_, subkey_.data());
    block_ += bytes / 64;
}

std::uint64_t random_stream::next() {
    if (used_ == buffer_.size()) {
        keystream(buffer_.data(), 1);
        used_ = 0;
    }
    return buffer_[used_++];
}

void random_stream::words(std::span<std::uint64_t> out) {
    const std::size_t buffered = std::min(out.size(), buffer_.size() - used_);
    std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(used_), buffered, out.begin());
    used_ += buffered;
    out = out.subspan(buffered);
    if (const std::size_t whole = out.size() / buffer_.size(); whole > 0) {
        keystream(out.data(), whole);
        out = out.subspan(whole * buffer_.size());
    }
    for (auto& word : out) word = next();
}

void random_stream::normals(std::span<double> out) {
    constexpr std::size_t n = detail::normals_per_block;
    static_assert(detail::words_per_block == std::tuple_size_v<decltype(buffer_)>);
    used_ = buffer_.size();
    for (; out.size() >= n; out = out.subspan(n)) {
        keystream(buffer_.data(), 1);
        detail::normal_block(buffer_.data(), out.data());
    }
    if (out.empty()) return;
    std::array<double, n> last;
    keystream(buffer_.data(), 1);
    detail::normal_block(buffer_.data(), last.data());
    std::copy_n(last.begin(), out.size(), out.begin());
    sodium_memzero(last.data(), sizeof last);
}

void random_stream::dropout(std::span<float> out, double p) {
    if (!(p >= 0 && p < 1)) refuse("dropout must be in [0, 1), not " + std::to_string(p));
    const auto threshold = static_cast<std::uint64_t>(std::lround(p * 65536));
    const auto kept = static_cast<float>(1 / (1 - p));
    std::array<std::uint64_t, 512> drawn;
    while (!out.empty()) {
        const std::size_t count = std::min(out.size(), 4 * drawn.size());
        words(std::span(drawn).first((count + 3) / 4));
        for (std::size_t j = 0; j < count; ++j) {
            const std::uint64_t uniform = (drawn[j / 4] >> (16 * (j % 4))) & 0xffff;
            out[j] = uniform < threshold ? 0.f : kept;
        }
        out = out.subspan(count);
    }
}

}  // namespace rldp::privacy
