#include "monitor/watch/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rldp::monitor {

namespace fs = std::filesystem;

namespace {

bool is_run(const fs::path& directory) {
    std::error_code ignored;
    return fs::is_regular_file(directory / "public" / "config.json", ignored);
}

/// A preparation's runs are one, too, without a description.
bool is_grid(const fs::path& directory) {
    std::error_code ignored;
    return fs::is_regular_file(directory / "grid.json", ignored) ||
           fs::is_regular_file(directory / "progress.json", ignored);
}

template <class Taken>
std::string unlike(const std::string& plain, const Taken& taken) {
    auto out = plain;
    for (int i = 2; taken(out); ++i) out = plain + "_" + std::to_string(i);
    return out;
}

fs::path whole(const fs::path& directory) {
    const auto normal = fs::absolute(directory).lexically_normal();
    return normal.has_filename() ? normal : normal.parent_path();
}

/// The last `count` parts of a path; all of it where it has no more.
fs::path last_parts(const fs::path& of, std::ptrdiff_t count) {
    fs::path out;
    const auto all = std::distance(of.begin(), of.end());
    for (auto part = std::next(of.begin(), std::max<std::ptrdiff_t>(0, all - count)); part != of.end(); ++part)
        out /= *part;
    return out;
}

}  // namespace

std::string to_id(const std::string& name) {
    std::string out;
    for (const char c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                           c == '_' || c == '+' || c == '-';
        out += c == '/' ? '~' : plain ? c : '_';
    }
    return out.empty() || out == "." || out == ".." ? "run" : out;
}

catalog::catalog(const std::vector<fs::path>& roots, catalog_limits limits) : limits_(limits) {
    for (const auto& root : roots) follow(root);
}

void catalog::follow(const fs::path& root) {
    std::error_code ignored;
    if (!fs::is_directory(root, ignored))
        refuse(root.string() + ": is no directory; name one that is a run, or has runs below it");
    roots_.push_back(whole(root));
    next_search_ = clock::time_point::min();
}

bool catalog::refresh(clock::time_point now) {
    const auto before = version_;
    if (now >= next_search_) {
        search();
        next_search_ = now + limits_.search;
    }
    for (const auto& one : runs_)
        if (one->refresh()) ++version_;
    for (const auto& one : grids_)
        if (one->refresh()) ++version_;
    return version_ != before;
}

void catalog::search() {
    const bool gone = forget_the_gone();
    const auto before = runs_.size() + grids_.size();
    for (const auto& root : roots_) search_below(root, name_below(root), 0);
    if (!gone && runs_.size() + grids_.size() == before) return;
    std::sort(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) { return a->view().name < b->view().name; });
    std::sort(grids_.begin(), grids_.end(),
              [](const auto& a, const auto& b) { return a->view().name < b->view().name; });
    ++version_;
}

/// What names begin with: nothing where only one folder of runs was named, else as many last parts of its path as tell
/// it from the others. So the name of a run follows from what was named, not from the order in which runs are found.
std::string catalog::name_below(const fs::path& root) const {
    if (roots_.size() == 1 && !is_run(root) && !is_grid(root)) return {};
    for (std::ptrdiff_t parts = 1;; ++parts) {
        const auto name = last_parts(root, parts);
        if (std::none_of(roots_.begin(), roots_.end(),
                         [&](const auto& other) { return other != root && last_parts(other, parts) == name; }))
            return name.string();
    }
}

void catalog::search_below(const fs::path& directory, const std::string& name, int depth) {
    if (runs_.size() >= limits_.runs) return;
    if (is_run(directory)) return add(directory, name);
    if (is_grid(directory)) add_grid(directory, name);
    if (depth >= limits_.depth) return;
    std::error_code ignored;
    // Links are not followed: they may lead round in circles, or out of what was named.
    for (fs::directory_iterator all(directory, fs::directory_options::skip_permission_denied, ignored), end;
         !ignored && all != end; all.increment(ignored)) {
        std::error_code gone;
        if (all->is_symlink(gone) || !all->is_directory(gone)) continue;
        const auto part = all->path().filename().string();
        // A run that is being made has another name until it is whole.
        if (part == "trusted" || part == "public" || part.starts_with(".") ||
            part.find(".partial-") != std::string::npos)
            continue;
        search_below(all->path(), name.empty() ? part : fmt::format("{}/{}", name, part), depth + 1);
    }
}

/// Runs whose directories have been removed, or renamed.
bool catalog::forget_the_gone() {
    return std::erase_if(runs_, [&](const auto& one) {
               if (is_run(one->directory())) return false;
               std::erase(recent_, one.get());
               std::erase(known_, one->directory());
               return true;
           }) > 0;
}

bool catalog::is_new(const fs::path& where) {
    const auto place = std::lower_bound(known_.begin(), known_.end(), where);
    if (place != known_.end() && *place == where) return false;
    known_.insert(place, where);
    return true;
}

void catalog::add(const fs::path& directory, const std::string& below) {
    const auto name = shown_text(below);
    const auto where = fs::absolute(directory).lexically_normal();
    if (!is_new(where)) return;
    const auto id = unlike(to_id(name), [&](const auto& text) { return find(text) != nullptr; });
    const auto called = [&](const std::string& text) {
        return std::any_of(runs_.begin(), runs_.end(), [&](const auto& one) { return one->view().name == text; });
    };
    runs_.push_back(std::make_unique<followed_run>(id, unlike(name, called), where));
}

void catalog::add_grid(const fs::path& directory, const std::string& below) {
    const auto name = shown_text(below);
    const auto where = fs::absolute(directory).lexically_normal();
    if (!is_new(where)) return;
    const auto id = unlike(to_id(name), [&](const auto& text) { return find_grid(text) != nullptr; });
    grids_.push_back(std::make_unique<followed_grid>(id, name, where));
}

const followed_grid* catalog::find_grid(std::string_view id) const {
    const auto found =
        std::find_if(grids_.begin(), grids_.end(), [&](const auto& one) { return one->view().id == id; });
    return found == grids_.end() ? nullptr : found->get();
}

followed_run* catalog::find(std::string_view id) {
    const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const auto& one) { return one->view().id == id; });
    return found == runs_.end() ? nullptr : found->get();
}

const history& catalog::past(followed_run& of) {
    std::erase(recent_, &of);
    recent_.push_back(&of);
    if (recent_.size() > limits_.remembered) {
        recent_.front()->forget();
        recent_.erase(recent_.begin());
    }
    return of.past();
}

}  // namespace rldp::monitor
