#include <fmt/format.h>
#include <sodium.h>
#include <torch/torch.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "config/error.hpp"
#include "config/files.hpp"
#include "privacy/release.hpp"

namespace rldp::privacy {

namespace {

// A record: magic, payload length (u64), BLAKE2b-16 of the payload, payload. All numbers little-endian.
constexpr std::string_view magic = "RLDPREL1";
using checksum = std::array<unsigned char, 16>;
constexpr std::size_t prefix = magic.size() + sizeof(std::uint64_t) + std::tuple_size_v<checksum>;

checksum sum_of(std::string_view payload) {
    checksum out;
    crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(payload.data()), payload.size(),
                       nullptr, 0);
    return out;
}

template <class T>
void put(std::string& out, const T* values, std::size_t count) {
    out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <class T>
void put(std::string& out, T value) {
    put(out, &value, 1);
}

std::string payload_of(const release& value, const at::Tensor& gradient) {
    std::string out;
    const auto count = static_cast<std::uint64_t>(gradient.numel());
    out.reserve(count * sizeof(float) + value.statistics.size() * sizeof(double) + 128);
    put(out, value.charged->seq);
    put(out, value.charged->step);
    put(out, value.charged->noise_multiplier);
    put(out, count);
    put(out, gradient.data_ptr<float>(), count);
    put(out, static_cast<std::uint64_t>(value.statistics.size()));
    put(out, value.statistics.data(), value.statistics.size());
    put(out, static_cast<std::uint8_t>(value.unsound.has_value()));
    if (!value.unsound) return out;
    const auto& raw = *value.unsound;
    put(out, static_cast<std::uint64_t>(raw.quartiles.size()));
    put(out, raw.quartiles.data(), raw.quartiles.size());
    for (double x : {raw.loss, raw.variance, raw.fisher_mean, raw.fisher_variance, raw.skewness, raw.kurtosis})
        put(out, x);
    put(out, raw.units);
    return out;
}

/// Takes values off the front of a payload; `ok` turns false at the first that is not there.
struct reader {
    std::string_view rest;
    bool ok = true;

    template <class T>
    void get(T* values, std::uint64_t count) {
        ok = ok && count <= rest.size() / sizeof(T);
        if (!ok || count == 0) return;  // an empty vector has no address to copy to
        std::memcpy(values, rest.data(), count * sizeof(T));
        rest.remove_prefix(count * sizeof(T));
    }
    template <class T>
    T get() {
        T value{};
        get(&value, 1);
        return value;
    }
    /// A count of values of T that are all there.
    template <class T>
    std::size_t count() {
        const auto n = get<std::uint64_t>();
        ok = ok && n <= rest.size() / sizeof(T);
        return ok ? n : 0;
    }
};

/// A release as the file holds it, its charge not yet looked up.
struct stored_release {
    std::uint64_t seq = 0;
    std::int64_t step = 0;
    double noise_multiplier = 0;
    at::Tensor gradient;
    std::vector<double> statistics;
    std::optional<raw_statistics> unsound;
};

std::optional<stored_release> parse(std::string_view payload) {
    reader in{payload};
    stored_release value;
    value.seq = in.get<std::uint64_t>();
    value.step = in.get<std::int64_t>();
    value.noise_multiplier = in.get<double>();
    const auto coordinates = in.count<float>();
    value.gradient = torch::empty({static_cast<std::int64_t>(coordinates)}, torch::kFloat32);
    in.get(value.gradient.data_ptr<float>(), coordinates);
    value.statistics.resize(in.count<double>());
    in.get(value.statistics.data(), value.statistics.size());
    if (in.get<std::uint8_t>() != 0) {
        auto& raw = value.unsound.emplace();
        raw.quartiles.resize(in.count<std::array<double, 3>>());
        in.get(raw.quartiles.data(), raw.quartiles.size());
        for (double* x :
             {&raw.loss, &raw.variance, &raw.fisher_mean, &raw.fisher_variance, &raw.skewness, &raw.kurtosis}) {
            *x = in.get<double>();
        }
        raw.units = in.get<std::int64_t>();
    }
    if (!in.ok || !in.rest.empty()) return std::nullopt;
    return value;
}

charge charge_of(const stored_release& made, const ledger_content& book, const std::filesystem::path& log) {
    if (made.seq == 0 || made.seq > book.charges.size())
        refuse(
            fmt::format("{}: release {} (step {}) was never charged, the ledger ends at charge {}: it was cut, or "
                        "belongs to another run; bring back the run's own",
                        log.string(), made.seq, made.step, book.charges.size()));
    const auto& charged = book.charges[made.seq - 1];
    if (charged->step != made.step || charged->noise_multiplier != made.noise_multiplier)
        refuse(fmt::format(
            "{}: release {} is step {} at multiplier {}, but the ledger charged step {} at {}; bring "
            "back the run's own",
            log.string(), made.seq, made.step, made.noise_multiplier, charged->step, charged->noise_multiplier));
    return charged;
}

/// Calls `take` with the payload of every whole record and returns where the last of them ends.
template <class Take>
std::uintmax_t scan(const std::filesystem::path& path, Take take) {
    if (!std::filesystem::exists(path)) return 0;
    input_file in(path);
    const auto read = [&](auto* into, std::size_t bytes) {
        return in.read(reinterpret_cast<char*>(into), bytes) == bytes;
    };
    const auto size = in.size();
    std::uintmax_t at = 0;
    std::string payload;
    while (size - at >= prefix) {
        std::array<char, magic.size()> found;
        std::uint64_t length = 0;
        checksum expected;
        if (!read(found.data(), found.size()) || !read(&length, sizeof length) ||
            !read(expected.data(), expected.size()))
            break;
        if (std::string_view(found.data(), found.size()) != magic || length > size - at - prefix) break;
        payload.resize(length);
        if (!read(payload.data(), length) || sum_of(payload) != expected || !take(payload)) break;
        at += prefix + length;
    }
    return at;
}

}  // namespace

release_log::release_log(const std::filesystem::path& path) : file_(path) {
    // What follows a torn record could never be read again: cut it off before anything is appended.
    const auto whole = scan(path, [](const std::string& payload) { return parse(payload).has_value(); });
    if (whole < file_.size()) file_.truncate(whole);
}

void release_log::append(const release& value) {
    if (!value.gradient.defined() || value.gradient.dim() != 1 || value.gradient.scalar_type() != at::kFloat ||
        !value.gradient.device().is_cpu()) {
        throw error(errc::failed, "release log: the gradient must be a float32 vector on the CPU");
    }
    const auto payload = payload_of(value, value.gradient.contiguous());
    const auto sum = sum_of(payload);
    std::string record(magic);
    record.reserve(prefix + payload.size());
    put(record, static_cast<std::uint64_t>(payload.size()));
    put(record, sum.data(), sum.size());
    record += payload;
    file_.append(record);
}

void release_log::clear() {
    file_.truncate(0);
}

std::vector<release> release_log::read(const std::filesystem::path& path, const ledger_content& book) {
    std::vector<release> out;
    scan(path, [&](const std::string& payload) {
        auto found = parse(payload);
        if (!found) return false;
        out.push_back({charge_of(*found, book, path), std::move(found->gradient), std::move(found->statistics),
                       std::move(found->unsound)});
        return true;
    });
    return out;
}

}  // namespace rldp::privacy
