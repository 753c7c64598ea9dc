#include "privacy/spending/book_mark.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <nlohmann/json.hpp>

#include "config/base/files.hpp"
#include "config/base/json_reader.hpp"
#include "privacy/keys/locked.hpp"

namespace rldp::privacy {

namespace {

using nlohmann::json;

}  // namespace

book_mark read_mark(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return {};
    const auto all = read_object(file);
    const json_reader from(all, file.string());
    book_mark out{.book = from.text("book"), .starts = {}};
    const auto& starts = from.at("starts");
    refuse_unless(starts.is_array() && !starts.empty() && starts.size() <= 2,
                  file.string() + ": starts is no list of one or two; bring back the run's own file");
    for (const auto& one : starts) {
        const json_reader start(one, file.string() + ": starts");
        out.starts.push_back({start.text("run"), start.text("nonce")});
    }
    return out;
}

void write_mark(const std::filesystem::path& file, const book_mark& mark) {
    json starts = json::array();
    for (const auto& one : mark.starts) starts.push_back({{"run", one.run}, {"nonce", one.nonce}});
    const json out{{"book", mark.book.string()}, {"starts", std::move(starts)}};
    write_file(file, out.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

std::string new_nonce() {
    start_sodium();
    std::array<unsigned char, 16> bytes;
    randombytes_buf(bytes.data(), bytes.size());
    std::array<char, 33> hex;
    return sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
}

}  // namespace rldp::privacy
