#include "run/synthesis/waiting_rows.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "data/sources/text.hpp"

namespace rldp::actors {

waiting_rows::waiting_rows(std::filesystem::path path, const std::string& depends_on, bool resume)
    : path_(std::move(path)) {
    const bool there = std::filesystem::exists(path_);
    if (there && !resume)
        refuse(path_.string() + ": rows of an earlier call wait there; go on with --resume, or remove it");
    if (!there) {
        if (resume) refuse(path_.string() + ": there is nothing to go on with; leave --resume out");
        file_.emplace(path_);
        file_->append(depends_on + "\n");
        return;
    }
    const auto whole = count_whole(depends_on);
    file_.emplace(path_);
    file_->truncate(whole);
}

void waiting_rows::add(const std::vector<std::vector<std::string>>& rows) {
    std::string lines;
    for (const auto& row : rows) lines += nlohmann::json(row).dump() + "\n";
    file_->append(lines);
    rows_ += std::ssize(rows);
}

void waiting_rows::each(std::int64_t rows, const std::function<void(const std::vector<std::string>&)>& use) const {
    data::piece_reader pieces(path_.string(), false);
    std::int64_t next = -1;
    while (const auto part = pieces.next())
        for (const auto& line : data::split_lines(part->text, part->line))
            if (next++ >= 0 && next <= rows) use(nlohmann::json::parse(line.text).get<std::vector<std::string>>());
}

/// Bytes of the first line and of rows whose line is whole.
std::uintmax_t waiting_rows::count_whole(const std::string& depends_on) {
    std::ifstream in(path_, std::ios::binary);
    std::string first(depends_on.size() + 1, '\0');
    in.read(first.data(), std::ssize(first));
    if (!in || first != depends_on + "\n")
        refuse(path_.string() +
               ": was begun with another run, base, seed, temperature, --where or --like; remove it, or repeat that "
               "call");
    auto whole = first.size(), read = whole;
    std::vector<char> block(1 << 20);
    while (in) {
        in.read(block.data(), std::ssize(block));
        for (std::streamsize i = 0; i < in.gcount(); ++i) {
            ++read;
            if (block[static_cast<std::size_t>(i)] != '\n') continue;
            ++rows_;
            whole = read;
        }
    }
    return whole;
}

}  // namespace rldp::actors
