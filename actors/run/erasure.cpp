#include "actors/run/erasure.hpp"

#include "config/base/directory.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/nascent_directory.hpp"
#include "data/units/corpus_shelf.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;

/// What write_file was about to rename when its process was killed.
std::vector<fs::path> unfinished_writes(const eval::run_directory& where) {
    std::vector<fs::path> out;
    for (const auto& side : {where.public_side(), where.trusted_side()}) {
        std::error_code absent;
        for (const auto& entry : fs::directory_iterator(side, absent))
            if (entry.path().extension() == ".tmp" && entry.is_regular_file()) out.push_back(entry.path());
    }
    return out;
}

void erase(const fs::path& path, std::vector<fs::path>& erased) {
    std::error_code reason;
    if (fs::remove(path, reason)) erased.push_back(path);
    if (reason)
        throw storage_error(errc::failed, path.string() + ": can't be erased: " + reason.message() +
                                              "; it is secret, erase it by hand or with rldp clean");
}

std::vector<fs::path> erase_all(const eval::run_directory& where) {
    std::vector<fs::path> erased;
    erase(where.key(), erased);
    if (!erased.empty()) sync_directory(where.key());
    erase(where.releases(), erased);
    erase(where.checkpoint(), erased);
    erase(where.looks(), erased);
    erase(where.lessons(), erased);
    erase(where.weights_seen(), erased);
    if (data::erase_shelf(where.corpus())) erased.push_back(where.corpus());
    for (const auto& path : unfinished_writes(where)) erase(path, erased);
    if (!erased.empty()) sync_directory(where.key());
    return erased;
}

bool is_run(const fs::path& directory) {
    return fs::exists(eval::run_directory{directory}.ledger());
}

void append(std::vector<fs::path>& to, std::vector<fs::path> more) {
    to.insert(to.end(), more.begin(), more.end());
}

void clean_below(const fs::path& directory, std::vector<fs::path>& erased) {
    if (is_run(directory)) append(erased, finish_erasure({directory}));
    for (const auto& entry : entries_of(directory)) {
        if (entry.is_symlink() || !entry.is_directory()) continue;
        if (!nascent_directory::is_one(entry.path()))
            clean_below(entry.path(), erased);
        else if (nascent_directory::remove_abandoned(entry.path()))
            erased.push_back(entry.path());
    }
}

}  // namespace

bool is_over(const eval::run_directory& where) {
    return !fs::exists(where.key());
}

void erase_secrets(const eval::run_directory& where) {
    erase_all(where);
}

std::vector<fs::path> finish_erasure(const eval::run_directory& where) {
    return is_over(where) ? erase_all(where) : std::vector<fs::path>{};
}

std::vector<fs::path> clean(const fs::path& root) {
    const bool there = fs::is_directory(root);
    auto erased = nascent_directory::remove_abandoned_of(root);
    if (!there && erased.empty())
        refuse(root.string() + ": no such directory; give a run, a grid, or a folder of them");
    if (there) clean_below(root, erased);
    return erased;
}

}  // namespace rldp::actors
