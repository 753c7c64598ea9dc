#include "data/sources/piped_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/sealed_input.hpp"
#include "base/system.hpp"

namespace rldp::data {

namespace {

using nlohmann::json;

constexpr std::string_view how_to =
    "python3 -m rldp rows FILE | rldp … writes rows as they are read here (docs/data.md)";

[[noreturn]] void refuse_pipe(const std::string& what) {
    refuse(fmt::format("{}: {}", piped_name, what));
}

std::string compute_sha256(std::string_view bytes) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> out{};
    crypto_hash_sha256(out.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    return fmt::format("{:02x}", fmt::join(out, ""));
}

/// Without the first line. Errors: bad_input where that is none of ours.
std::string_view take_header(std::string_view all) {
    if (all.empty()) refuse_pipe(fmt::format("nothing came; {}", how_to));
    const auto end = all.find('\n');
    const auto first = json::parse(all.substr(0, std::min<std::size_t>(end, 1000)), nullptr, false);
    if (!first.is_object() || !first.contains("rldp_rows"))
        refuse_pipe(fmt::format("does not begin with {{\"rldp_rows\": 1}}; {}", how_to));
    if (first["rldp_rows"] != 1)
        refuse_pipe(fmt::format("holds rows of form {}, and this program reads form 1; bring the two to one version",
                                first["rldp_rows"].dump()));
    return end == std::string_view::npos ? std::string_view() : all.substr(end + 1);
}

[[noreturn]] void refuse_early_end(std::size_t rows) {
    refuse_pipe(fmt::format(
        "ended early, after {} whole rows and without a last line {{\"rldp_end\": …}}; see what the process said that "
        "writes them. Nothing was begun",
        rows));
}

std::size_t count_lines(std::string_view text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

piped_rows read_piped_rows(int descriptor, std::uint64_t most) {
    if (sodium_init() < 0) throw error(errc::failed, "libsodium can't be initialised; check its installation");
    const auto rest = take_header(seal_input(descriptor, piped_name, most));
    const auto whole = rest.empty() || rest.back() != '\n' ? rest.substr(0, rest.rfind('\n') + 1) : rest;
    const auto before = whole.empty() ? std::string_view::npos : whole.rfind('\n', whole.size() - 2);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto last = json::parse(whole.substr(begin), nullptr, false);
    if (whole.size() != rest.size() || !last.is_object() || !last.contains("rldp_end") || !last["rldp_end"].is_object())
        refuse_early_end(count_lines(whole));
    piped_rows out{whole.substr(0, begin), compute_sha256(whole.substr(0, begin))};
    const auto& end = last["rldp_end"];
    if (end.value("rows", json()) != count_lines(out.lines) || end.value("sha256", json()) != out.digest)
        refuse_pipe(fmt::format(
            "{} rows came with SHA-256 {:.12}…, and its last line tells of {} with {:.14}…; what "
            "lies between has changed them",
            count_lines(out.lines), out.digest, end.value("rows", json()).dump(), end.value("sha256", json()).dump()));
    return out;
}

const piped_rows& standard_rows() {
    static const piped_rows rows =
        read_piped_rows(STDIN_FILENO, static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory_there() / 2)));
    return rows;
}

}  // namespace rldp::data
