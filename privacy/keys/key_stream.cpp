#include "privacy/keys/key_stream.hpp"

#include <fmt/format.h>
#include <gcrypt.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

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

}  // namespace rldp::privacy
