#include "privacy/keys/cluster_secret.hpp"

#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/files.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/keys/secrets.hpp"

namespace rldp::privacy {

namespace {

constexpr std::string_view secret_name = "cluster secret", secret_label = "rldp-cluster-secret ";
constexpr std::size_t secret_hex_length = 2 * cluster_secret::bytes;
constexpr std::size_t secret_file_length = secret_label.size() + secret_hex_length + 1;  // with the newline
constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

static_assert(crypto_secretbox_KEYBYTES == cluster_secret::bytes);
static_assert(meeting::overhead == crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES);

using nonce_of_box = std::array<unsigned char, crypto_secretbox_NONCEBYTES>;

/// Sender and count: they never come twice at a meeting.
nonce_of_box nonce_for(std::uint64_t from, std::uint64_t count) {
    nonce_of_box out{};
    std::memcpy(out.data(), &from, sizeof from);
    std::memcpy(out.data() + sizeof from, &count, sizeof count);
    return out;
}

__extension__ using wide_product = unsigned __int128;

std::uint64_t reduce(wide_product x) {
    const auto low = static_cast<std::uint64_t>(x & prime) + static_cast<std::uint64_t>(x >> 61);
    return low >= prime ? low - prime : low;
}

}  // namespace

cluster_secret cluster_secret::from_system() {
    start_sodium();
    auto inside = make_locked<key>();
    randombytes_buf(inside->data(), inside->size());
    return cluster_secret(std::move(inside));
}

cluster_secret cluster_secret::load(const std::filesystem::path& path) {
    start_sodium();
    detail::refuse_inside_run(path, secret_name);
    auto text = make_locked<std::array<char, secret_file_length + 1>>();
    const std::string_view line(text->data(), detail::read_private(path, secret_name, text->data(), text->size()));
    auto inside = make_locked<key>();
    if (line.size() != secret_file_length || !line.starts_with(secret_label) || !line.ends_with('\n') ||
        !detail::from_hex(line.substr(secret_label.size(), secret_hex_length), *inside))
        refuse(path.string() +
               ": is no cluster secret; make one with rldp key new --cluster PATH, and give every rank the same");
    return cluster_secret(std::move(inside));
}

void cluster_secret::save(const std::filesystem::path& path) const {
    detail::refuse_inside_run(path, secret_name);
    if (std::filesystem::exists(std::filesystem::symlink_status(path)))
        refuse(path.string() + ": exists already; no secret is written over");
    require_directory_of(path);
    auto text = make_locked<std::array<char, secret_file_length + 1>>();
    std::copy(secret_label.begin(), secret_label.end(), text->begin());
    sodium_bin2hex(text->data() + secret_label.size(), secret_hex_length + 1, inside_->data(), inside_->size());
    text->at(secret_file_length - 1) = '\n';
    write_file(path, {text->data(), secret_file_length}, 0600);
}

void cluster_secret::share(int descriptor) const {
    if (::write(descriptor, inside_->data(), inside_->size()) != static_cast<ssize_t>(inside_->size()))
        throw error(errc::failed, "the cluster secret could not be handed to a rank");
}

cluster_secret cluster_secret::receive(int descriptor) {
    start_sodium();
    auto inside = make_locked<key>();
    std::size_t got = 0;
    while (got < inside->size()) {
        const auto more = ::read(descriptor, inside->data() + got, inside->size() - got);
        if (more <= 0)
            throw error(errc::failed, "the cluster secret did not arrive from the process that began this rank");
        got += static_cast<std::size_t>(more);
    }
    ::close(descriptor);
    return cluster_secret(std::move(inside));
}

std::string cluster_secret::proof(std::string_view said) const {
    // Another purpose than the keys of meetings, which the same secret gives.
    constexpr std::array<unsigned char, crypto_generichash_blake2b_PERSONALBYTES> purpose{"rldp rank proof"};
    std::string out(proof_bytes, '\0');
    crypto_generichash_blake2b_salt_personal(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                                             reinterpret_cast<const unsigned char*>(said.data()), said.size(),
                                             inside_->data(), inside_->size(), nullptr, purpose.data());
    return out;
}

bool cluster_secret::proves(std::string_view proof, std::string_view said) const {
    const auto expected = this->proof(said);
    return proof.size() == expected.size() && sodium_memcmp(proof.data(), expected.data(), expected.size()) == 0;
}

std::array<unsigned char, meeting::nonce_bytes> meeting::nonce() {
    start_sodium();
    std::array<unsigned char, nonce_bytes> out;
    randombytes_buf(out.data(), out.size());
    return out;
}

meeting::meeting(const cluster_secret& secret, std::string_view nonces) : key_(make_locked<cluster_secret::key>()) {
    require(!nonces.empty() && nonces.size() % nonce_bytes == 0, "cluster: a nonce of every rank is needed");
    crypto_generichash(key_->data(), key_->size(), reinterpret_cast<const unsigned char*>(nonces.data()), nonces.size(),
                       secret.inside_->data(), secret.inside_->size());
}

void meeting::seal_into(std::span<char> sealed, std::span<const char> said, std::uint64_t from,
                        std::uint64_t count) const {
    require(sealed.size() == overhead + said.size(), "cluster: no place for a sealed message");
    const auto nonce = nonce_for(from, count);
    std::copy(nonce.begin(), nonce.end(), sealed.begin());
    crypto_secretbox_easy(reinterpret_cast<unsigned char*>(sealed.data()) + nonce.size(),
                          reinterpret_cast<const unsigned char*>(said.data()), said.size(), nonce.data(), key_->data());
}

bool meeting::open_into(std::span<char> said, std::span<const char> sealed, std::uint64_t from,
                        std::uint64_t count) const {
    require(sealed.size() == overhead + said.size(), "cluster: no place for an opened message");
    const auto nonce = nonce_for(from, count);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(sealed.data());
    return std::equal(nonce.begin(), nonce.end(), bytes) &&
           crypto_secretbox_open_easy(reinterpret_cast<unsigned char*>(said.data()), bytes + nonce.size(),
                                      sealed.size() - nonce.size(), nonce.data(), key_->data()) == 0;
}

std::string meeting::seal(std::string_view said, std::size_t rank, std::uint64_t count) const {
    std::string out(overhead + said.size(), '\0');
    seal_into(out, said, rank, count);
    return out;
}

std::optional<std::string> meeting::open(std::string_view sealed, std::size_t rank, std::uint64_t count) const {
    if (sealed.size() < overhead) return std::nullopt;
    std::string out(sealed.size() - overhead, '\0');
    return open_into(out, sealed, rank, count) ? std::optional(std::move(out)) : std::nullopt;
}

void meeting::add_stream(std::span<std::int64_t> numbers, std::uint64_t seq, std::size_t which, bool positive) const {
    random_stream stream(*key_, purpose::mask, seq, which);
    constexpr std::size_t block = 4096;  // words at a time
    const auto words = make_locked<std::array<std::uint64_t, block>>();
    for (std::size_t at = 0; at < numbers.size(); at += block) {
        const auto some = numbers.subspan(at, std::min(block, numbers.size() - at));
        stream.words(std::span(*words).first(some.size()));
        for (std::size_t j = 0; j < some.size(); ++j) {  // unsigned: modulo 2⁶⁴
            const auto word = positive ? (*words)[j] : -(*words)[j];
            some[j] = static_cast<std::int64_t>(static_cast<std::uint64_t>(some[j]) + word);
        }
    }
}

void meeting::mask(std::span<std::int64_t> numbers, std::uint64_t seq, std::size_t rank) const {
    add_stream(numbers, seq, rank, true);
    add_stream(numbers, seq, rank + 1, false);
}

void meeting::unmask(std::span<std::int64_t> sum, std::uint64_t seq, std::size_t ranks) const {
    add_stream(sum, seq, 0, false);
    add_stream(sum, seq, ranks, true);
}

std::uint64_t meeting::tag(std::span<const std::int64_t> numbers, std::uint64_t seq) const {
    const auto key = reduce(random_stream(*key_, purpose::tag, seq, 0).next());
    // Horner's rule, from the end: one multiplication for each number.
    std::uint64_t out = 0;
    for (std::size_t j = numbers.size(); j-- > 0;) {
        const auto number =
            numbers[j] < 0 ? static_cast<std::uint64_t>(numbers[j]) + prime : static_cast<std::uint64_t>(numbers[j]);
        out = reduce(static_cast<wide_product>(out) + number);
        out = reduce(static_cast<wide_product>(out) * key);
    }
    return out;
}

std::uint64_t meeting::add_tags(std::uint64_t a, std::uint64_t b) {
    return reduce(static_cast<wide_product>(a) + b);
}

}  // namespace rldp::privacy
