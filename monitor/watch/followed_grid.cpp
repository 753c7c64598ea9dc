#include "monitor/watch/followed_grid.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace rldp::monitor {

namespace {

constexpr std::size_t most_of_a_description = 64U << 20U;  // bytes

nlohmann::json parsed(const std::filesystem::path& file) {
    return nlohmann::json::parse(read_public(file, 0, most_of_a_description).value_or(""), nullptr, false);
}

std::string word_at(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

followed_grid::followed_grid(std::string id, std::string name, const std::filesystem::path& directory)
    : description_(directory / "grid.json"), progress_(directory / "progress.json") {
    view_.id = std::move(id);
    view_.name = std::move(name);
}

bool followed_grid::refresh() {
    auto described = state_of_public(description_), progressed = state_of_public(progress_);
    if (described == described_ && progressed == progressed_) return false;
    described_ = described;
    progressed_ = progressed;
    view_.problem.clear();
    view_.cells.clear();
    if (const auto grid = parsed(description_); grid.is_object())
        view_.kind = word_at(grid, "kind");
    else if (described_)
        view_.problem = "grid.json: is no description of a grid";
    if (!progressed_) return true;
    const auto progress = parsed(progress_);
    if (!progress.is_object() || !progress.contains("cells") || !progress["cells"].is_array()) {
        view_.problem = "progress.json: is no grid's progress";
        return true;
    }
    for (const auto& one : progress["cells"])
        if (one.is_object()) view_.cells.push_back({word_at(one, "id"), word_at(one, "state")});
    return true;
}

}  // namespace rldp::monitor
