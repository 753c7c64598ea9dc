#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "privacy/release.hpp"

namespace rldp::privacy {

namespace {

// A record: magic, payload length (u64), the payload's seal, payload. All numbers little-endian.
constexpr std::string_view magic = "RLDPREL2";
constexpr std::string_view sealed_as = "release";
constexpr std::size_t prefix = magic.size() + sizeof(std::uint64_t) + file_seal::bytes;

template <class T>
void put(std::string& out, const T* values, std::size_t count) {
    out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <class T>
void put(std::string& out, T value) {
    put(out, &value, 1);
}

std::string encode_payload(const release& value, const at::Tensor& gradient) {
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
    value.gradient = at::empty({static_cast<std::int64_t>(coordinates)}, at::kFloat);
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

charge find_charge(const stored_release& made, const ledger_content& ledger, const std::filesystem::path& log) {
    if (made.seq == 0 || made.seq > ledger.charges.size())
        refuse(
            fmt::format("{}: release {} (step {}) was never charged, the ledger ends at charge {}: it was cut, or "
                        "belongs to another run; bring back the run's own",
                        log.string(), made.seq, made.step, ledger.charges.size()));
    const auto& charged = ledger.charges[made.seq - 1];
    if (charged->step != made.step || charged->noise_multiplier != made.noise_multiplier)
        refuse(fmt::format(
            "{}: release {} is step {} at multiplier {}, but the ledger charged step {} at {}; bring "
            "back the run's own",
            log.string(), made.seq, made.step, made.noise_multiplier, charged->step, charged->noise_multiplier));
    return charged;
}

/// Takes records off a file, one after the other.
class record_reader {
  public:
    record_reader(const std::filesystem::path& path, const file_seal& seal) : seal_(seal) {
        if (!std::filesystem::exists(path)) return;
        in_.emplace(path);
        size_ = in_->size();
    }

    /// The payload of the whole record that begins at `at`; nothing where none does.
    std::optional<std::string> at(std::uintmax_t at) {
        file_seal::tag expected;
        const auto length = begin(at, expected);
        if (!length) return std::nullopt;
        std::string payload(*length, '\0');
        if (!read(payload.data(), payload.size()) || seal_(sealed_as, payload) != expected) return std::nullopt;
        return payload;
    }

    /// Whether there is a record, or what looks like the rest of one, behind the one that should begin at `at`.
    bool any_behind(std::uintmax_t at) {
        file_seal::tag ignored;
        if (const auto length = begin(at, ignored); length && at + prefix + *length < size_) return true;
        in_->seek(at);
        std::string rest(size_ - at, '\0');
        rest.resize(in_->read(rest.data(), rest.size()));
        for (auto next = rest.find(magic, 1); next != std::string::npos; next = rest.find(magic, next + 1))
            if (this->at(at + next)) return true;
        return false;
    }

    std::uintmax_t size() const { return size_; }

  private:
    /// Reads to the payload; how long it is, where all of it can be there.
    std::optional<std::uint64_t> begin(std::uintmax_t at, file_seal::tag& sealed) {
        if (size_ < prefix || at > size_ - prefix) return std::nullopt;
        in_->seek(at);
        std::array<char, magic.size()> found;
        std::uint64_t length = 0;
        if (!read(found.data(), found.size()) || !read(&length, sizeof length) || !read(sealed.data(), sealed.size()) ||
            std::string_view(found.data(), found.size()) != magic || length > size_ - at - prefix)
            return std::nullopt;
        return length;
    }

    bool read(void* into, std::size_t bytes) { return in_->read(static_cast<char*>(into), bytes) == bytes; }

    const file_seal& seal_;
    std::optional<input_file> in_;  ///< none where there is no file
    std::uintmax_t size_ = 0;
};

/// Calls `take` with the payload of every whole record and returns where the last of them ends. Each was durable before
/// the next began, so a crash tears the last one alone; anything else is damage, and cutting there would lose releases.
template <class Take>
std::uintmax_t scan(const std::filesystem::path& path, const file_seal& seal, Take take) {
    record_reader records(path, seal);
    std::uintmax_t at = 0;
    for (; at < records.size();) {
        const auto payload = records.at(at);
        if (!payload && records.any_behind(at))
            refuse(fmt::format("{}: the record at byte {} is damaged, or another run's; bring back the run's own file",
                               path.string(), at));
        if (!payload || !take(*payload)) break;
        at += prefix + payload->size();
    }
    return at;
}

}  // namespace

release_log::release_log(const std::filesystem::path& path, file_seal seal) : file_(path), seal_(std::move(seal)) {
    // What follows a torn record could never be read again: cut it off before anything is appended.
    const auto whole = scan(path, seal_, [](const std::string& payload) { return parse(payload).has_value(); });
    if (whole < file_.size()) file_.truncate(whole);
    // A kill may have come between the last record and its fsync: what a resume shows of it must be durable.
    file_.sync();
}

void release_log::append(const release& value) {
    require(value.gradient.defined() && value.gradient.dim() == 1 && value.gradient.scalar_type() == at::kFloat &&
                value.gradient.device().is_cpu(),
            "release log: the gradient is no float32 vector on the CPU");
    const auto payload = encode_payload(value, value.gradient.contiguous());
    const auto sum = seal_(sealed_as, payload);
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

std::vector<release> release_log::read(const std::filesystem::path& path, const file_seal& seal,
                                       const ledger_content& ledger) {
    std::vector<release> out;
    scan(path, seal, [&](const std::string& payload) {
        auto found = parse(payload);
        if (!found) return false;
        out.push_back({find_charge(*found, ledger, path), std::move(found->gradient), std::move(found->statistics),
                       std::move(found->unsound)});
        return true;
    });
    return out;
}

}  // namespace rldp::privacy
