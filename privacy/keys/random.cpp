#include <fmt/format.h>
#include <gcrypt.h>
#include <sodium.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/files.hpp"
#include "privacy/keys/cluster_secret.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/keys/random_normals.hpp"

namespace rldp::privacy {

namespace {

void check(gcry_error_t code) {
    if (code != 0) throw error(errc::failed, fmt::format("libgcrypt: no key stream: {}", gcry_strerror(code)));
}

constexpr int most_locked = 1 << 18;  // a stream needs 2 KiB, a thread one stream at a time

/// All of it is locked, or nothing; libsodium's keys need locked memory, too.
int locked_bytes() {
    constexpr rlim_t least = 1 << 14;
    rlimit limit{};
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return most_locked;
    return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 4, least, most_locked));
}

/// Once in a process. Another library may have started libgcrypt before (LibTorch's video readers come with one).
void start_gcrypt() {
    static const bool started = [] {
        if (gcry_check_version(GCRYPT_VERSION) == nullptr)
            throw error(errc::failed, fmt::format("libgcrypt: {} is older than {}, which this program was built with",
                                                  gcry_check_version(nullptr), GCRYPT_VERSION));
        gcry_control(GCRYCTL_DISABLE_SECMEM_WARN, 0);
        if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P) == 0) {
            // Fails where the system's limit allows no more; keys then lie in memory that is not locked.
            gcry_control(GCRYCTL_INIT_SECMEM, locked_bytes(), 0);
            check(gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0));
        }
        // By memory that is zeroed, but not locked. (In FIPS mode libgcrypt refuses that, and the stream fails.)
        check(gcry_control(GCRYCTL_AUTO_EXPAND_SECMEM, most_locked));
        return true;
    }();
    static_cast<void>(started);
}

}  // namespace

void key_stream::closer::operator()(gcry_cipher_handle* cipher) const {
    gcry_cipher_close(cipher);
}

key_stream::key_stream(std::span<const unsigned char, 32> key) {
    start_gcrypt();
    gcry_cipher_hd_t cipher = nullptr;
    check(gcry_cipher_open(&cipher, GCRY_CIPHER_AES256, GCRY_CIPHER_MODE_CTR, GCRY_CIPHER_SECURE));
    cipher_.reset(cipher);
    check(gcry_cipher_setkey(cipher, key.data(), key.size()));
    seek(0);
}

void key_stream::read(std::span<unsigned char> out) {
    require(out.size() % block == 0, "a key stream is read in whole blocks");
    static constexpr std::array<unsigned char, 4096> zeros{};  // what is added to them is the stream itself
    for (; !out.empty(); out = out.subspan(std::min(out.size(), zeros.size()))) {
        const auto count = std::min(out.size(), zeros.size());
        check(gcry_cipher_encrypt(cipher_.get(), out.data(), count, zeros.data(), count));
    }
}

void key_stream::seek(std::uint64_t index) {
    std::array<unsigned char, block> counter{};  // big-endian
    for (std::size_t i = counter.size(); i-- > counter.size() - sizeof index; index >>= 8)
        counter[i] = static_cast<unsigned char>(index);
    check(gcry_cipher_setctr(cipher_.get(), counter.data(), counter.size()));
}

static_assert(std::endian::native == std::endian::little, "key streams and files are little-endian");
static_assert(crypto_generichash_KEYBYTES == 32);

namespace {

/// Appends the bytes of an integer to a fixed-size label.
template <class T>
unsigned char* put(unsigned char* at, T value) {
    std::memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

using key_bytes = std::array<unsigned char, 32>;
using key_checksum = std::array<unsigned char, 16>;

/// What a key's file holds.
struct stored_key {
    key_bytes bytes;
    key_checksum checksum;
};

/// A flipped bit would make another key, and of the run's files strangers.
key_checksum compute_checksum(const key_bytes& bytes) {
    key_checksum out;
    crypto_generichash(out.data(), out.size(), bytes.data(), bytes.size(), nullptr, 0);
    return out;
}

/// BLAKE2b keyed by a secret is a pseudorandom function: streams of other labels look independent.
locked_ptr<key_bytes> derive_subkey(std::span<const unsigned char, 32> key, purpose why, std::uint64_t seq,
                                    std::uint64_t tensor) {
    constexpr std::string_view label = "rldp stream v2";
    std::array<unsigned char, label.size() + 4 + 8 + 8> message;
    std::memcpy(message.data(), label.data(), label.size());
    put(put(put(message.data() + label.size(), static_cast<std::uint32_t>(why)), seq), tensor);
    auto out = make_locked<key_bytes>();
    crypto_generichash(out->data(), out->size(), message.data(), message.size(), key.data(), key.size());
    return out;
}

void read_words(key_stream& from, std::span<std::uint64_t> out) {
    from.read({reinterpret_cast<unsigned char*>(out.data()), out.size_bytes()});
}

}  // namespace

run_key run_key::with_fresh_streams(locked_ptr<secret> inside) {
    start_sodium();
    auto fresh = make_locked<std::array<unsigned char, 32>>();
    randombytes_buf(fresh->data(), fresh->size());
    // BLAKE2b keyed by the run's secret: as good as the better of the two.
    crypto_generichash(inside->streams.data(), inside->streams.size(), fresh->data(), fresh->size(),
                       inside->bytes.data(), inside->bytes.size());
    return run_key(std::move(inside));
}

run_key run_key::from_system() {
    start_sodium();
    auto inside = make_locked<secret>();
    randombytes_buf(inside->bytes.data(), inside->bytes.size());
    return with_fresh_streams(std::move(inside));
}

run_key run_key::insecure_from_seed(std::int64_t seed) {
    start_sodium();
    auto inside = make_locked<secret>();
    crypto_generichash(inside->bytes.data(), inside->bytes.size(), reinterpret_cast<const unsigned char*>(&seed),
                       sizeof seed, nullptr, 0);
    inside->streams = inside->bytes;
    return run_key(std::move(inside));
}

locked_ptr<run_key::secret> run_key::read(const std::filesystem::path& path) {
    auto stored = make_locked<stored_key>();
    input_file file(path);
    char extra;
    // No copy but the one in locked memory.
    const bool whole = file.read(reinterpret_cast<char*>(stored.get()), sizeof *stored) == sizeof *stored;
    if (!whole || file.read(&extra, 1) > 0 || stored->checksum != compute_checksum(stored->bytes))
        refuse(path.string() + ": not a run key, or damaged; without it this run can't go on");
    auto inside = make_locked<secret>();
    inside->bytes = stored->bytes;
    return inside;
}

run_key run_key::load(const std::filesystem::path& path) {
    return with_fresh_streams(read(path));
}

run_key run_key::load_insecure(const std::filesystem::path& path) {
    auto inside = read(path);
    inside->streams = inside->bytes;
    return run_key(std::move(inside));
}

void run_key::save(const std::filesystem::path& path) const {
    auto stored = make_locked<stored_key>();
    *stored = {inside_->bytes, compute_checksum(inside_->bytes)};
    write_file(path, {reinterpret_cast<const char*>(stored.get()), sizeof *stored}, 0600);
}

std::string run_key::seal(const meeting& with, std::size_t rank, std::uint64_t count) const {
    return with.seal({reinterpret_cast<const char*>(inside_.get()), sizeof(secret)}, rank, count);
}

std::optional<run_key> run_key::open(const meeting& with, std::string_view sealed, std::size_t rank,
                                     std::uint64_t count) {
    auto plain = with.open(sealed, rank, count);
    if (!plain || plain->size() != sizeof(secret)) return std::nullopt;
    auto inside = make_locked<secret>();
    std::memcpy(inside.get(), plain->data(), sizeof(secret));
    sodium_memzero(plain->data(), plain->size());
    return run_key(std::move(inside));
}

std::string run_key::hmac(std::string_view message) const {
    static_assert(crypto_auth_hmacsha256_KEYBYTES == 32 && crypto_auth_hmacsha256_BYTES == 32);
    constexpr std::string_view label = "rldp hmac v1";
    std::array<unsigned char, 32> subkey, tag;
    crypto_generichash(subkey.data(), subkey.size(), reinterpret_cast<const unsigned char*>(label.data()), label.size(),
                       inside_->bytes.data(), inside_->bytes.size());
    crypto_auth_hmacsha256(tag.data(), reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                           subkey.data());
    sodium_memzero(subkey.data(), subkey.size());
    std::array<char, 65> hex;
    return sodium_bin2hex(hex.data(), hex.size(), tag.data(), tag.size());
}

random_stream::random_stream(const run_key& key, purpose why, std::uint64_t seq, std::uint64_t tensor)
    : random_stream(key.inside_->streams, why, seq, tensor) {}

random_stream::random_stream(std::span<const unsigned char, 32> key, purpose why, std::uint64_t seq,
                             std::uint64_t tensor)
    : stream_(*derive_subkey(key, why, seq, tensor)) {}

std::uint64_t random_stream::next() {
    if (used_ == buffered) {
        read_words(stream_, buffer_->words);
        used_ = 0;
    }
    return buffer_->words[used_++];
}

void random_stream::words(std::span<std::uint64_t> out) {
    const std::size_t left = std::min(out.size(), buffered - used_);
    std::copy_n(buffer_->words.begin() + static_cast<std::ptrdiff_t>(used_), left, out.begin());
    used_ += left;
    out = out.subspan(left);
    if (const std::size_t whole = out.size() / buffered; whole > 0) {
        read_words(stream_, out.first(whole * buffered));
        out = out.subspan(whole * buffered);
    }
    for (auto& word : out) word = next();
}

void random_stream::normals(std::span<double> out) {
    constexpr std::size_t n = detail::normals_per_block;
    static_assert(detail::words_per_block == buffered);
    used_ = buffered;
    for (; out.size() >= n; out = out.subspan(n)) {
        read_words(stream_, buffer_->words);
        detail::normal_block(buffer_->words.data(), out.data());
    }
    if (out.empty()) return;
    std::array<double, n> last;
    read_words(stream_, buffer_->words);
    detail::normal_block(buffer_->words.data(), last.data());
    std::copy_n(last.begin(), out.size(), out.begin());
    sodium_memzero(last.data(), sizeof last);
}

void random_stream::seek_normal(std::uint64_t which) {
    require(which % detail::normals_per_block == 0, "normals are drawn in blocks");
    stream_.seek(which / detail::normals_per_block * (sizeof(words_ahead) / key_stream::block));
    used_ = buffered;
}

record_seeds::record_seeds(const run_key& key, std::uint64_t seq) {
    random_stream(key, purpose::dropout, seq, 0).words(*key_);
}

std::array<std::uint64_t, 2> record_seeds::operator()(std::span<const std::int32_t> tokens) const {
    std::array<std::uint64_t, 2> out;
    static_assert(sizeof out >= crypto_generichash_BYTES_MIN);
    crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), sizeof out,
                       reinterpret_cast<const unsigned char*>(tokens.data()), tokens.size_bytes(),
                       reinterpret_cast<const unsigned char*>(key_->data()), sizeof *key_);
    return out;
}

unit_shares::unit_shares(const run_key& key) {
    random_stream(key, purpose::share, 0, 0).words(*key_);
}

std::size_t unit_shares::assign_rank(std::span<const std::span<const std::int32_t>> records, std::size_t ranks) const {
    std::uint64_t out[2];
    static_assert(sizeof out >= crypto_generichash_BYTES_MIN);
    crypto_generichash_state state;
    crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(key_->data()), sizeof *key_, sizeof out);
    for (const auto& tokens : records)
        crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(tokens.data()), tokens.size_bytes());
    crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(out), sizeof out);
    return static_cast<std::size_t>(out[0] % ranks);
}

unit_groups::unit_groups(const run_key& key, std::int64_t groups) : groups_(static_cast<std::uint64_t>(groups)) {
    require(groups >= 1 && groups <= 65536, "a number of groups that is out of range");
    random_stream(key.inside_->bytes, purpose::group, 0, 0).words(*key_);
}

std::uint16_t unit_groups::find(std::string_view kind, std::uint64_t identity) const {
    std::uint64_t out[2];
    static_assert(sizeof out >= crypto_generichash_BYTES_MIN);
    crypto_generichash_state state;
    crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(key_->data()), sizeof *key_, sizeof out);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&identity), sizeof identity);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(kind.data()), kind.size());
    crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(out), sizeof out);
    return static_cast<std::uint16_t>(out[0] % groups_);
}

}  // namespace rldp::privacy
