#include "run/run_end.hpp"

#include <chrono>
#include <thread>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "data/units/token_cache.hpp"
#include "eval/report/certificate.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;

/// All but the key, and what write_file was about to rename when its process was killed.
std::vector<fs::path> other_secrets(const eval::run_directory& where) {
    std::vector<fs::path> out;
    for (const auto& path :
         {where.releases(), where.checkpoint(), where.looks(), where.lessons(), where.weights_seen(), where.corpus()})
        if (fs::exists(path)) out.push_back(path);
    for (const auto& side : {where.public_side(), where.trusted_side()}) {
        std::error_code absent;
        for (const auto& entry : fs::directory_iterator(side, absent))
            if (entry.path().extension() == ".tmp" && entry.is_regular_file()) out.push_back(entry.path());
    }
    return out;
}

void erase(const fs::path& path) {
    std::error_code reason;
    fs::remove(path, reason);
    if (reason)
        throw storage_error(errc::failed, path.string() + ": can't be erased: " + reason.message() +
                                              "; it is secret, erase it by hand or with rldp clean");
}

void erase_secrets(const eval::run_directory& where) {
    remove_file(where.key());
    data::erase_token_cache(where.corpus());
    for (const auto& path : other_secrets(where)) erase(path);
    sync_directory(where.key());
}

void append(std::vector<fs::path>& to, std::vector<fs::path> more) {
    to.insert(to.end(), more.begin(), more.end());
}

void clean_run(const eval::run_directory& run, cleaning& done) {
    const auto found = eval::read_state(run);
    if (found == eval::run_state::unfinished) done.unfinished.push_back(run.root);
    if (found == eval::run_state::lost) {  // nothing opens what is left of it
        append(done.erased, other_secrets(run));
        erase_secrets(run);
    }
    append(done.erased, finish_end(run));
    if (found == eval::run_state::ending) done.ended.push_back(run.root);
}

void clean_below(const fs::path& directory, cleaning& done) {
    clean_run({directory}, done);
    for (const auto& entry : list_entries(directory)) {
        if (entry.is_symlink() || !entry.is_directory()) continue;
        if (!staged_directory::is_one(entry.path()))
            clean_below(entry.path(), done);
        else if (staged_directory::remove_abandoned(entry.path()))
            done.erased.push_back(entry.path());
    }
}

}  // namespace

bool is_over(const eval::run_directory& where) {
    return eval::read_state(where) == eval::run_state::over;
}

void reopen(const eval::run_directory& where) {
    remove_file(where.certificate());
    remove_file(where.waiting_certificate());
}

void end_run(const eval::run_directory& where, const privacy::signing_key* signed_by) {
    eval::prepare_certificate(where, signed_by);
    erase_secrets(where);
    eval::publish_certificate(where);
}

std::vector<fs::path> finish_end(const eval::run_directory& where) {
    const auto found = eval::read_state(where);
    if (found != eval::run_state::ending && found != eval::run_state::over) return {};
    const auto left = other_secrets(where);
    if (left.empty() && !fs::exists(where.waiting_certificate())) return {};
    const append_file alone(where.ledger());  // a run that is still ending goes on by itself
    erase_secrets(where);
    if (fs::exists(where.waiting_certificate())) eval::publish_certificate(where);
    return left;
}

void await_end(const eval::run_directory& where) {
    while (eval::read_state(where) == eval::run_state::ending) {
        if (is_being_written(where.ledger()))
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        else
            finish_end(where);
    }
}

cleaning clean(const fs::path& root) {
    const bool there = fs::is_directory(root);
    cleaning done{.erased = staged_directory::remove_abandoned_of(root), .ended = {}, .unfinished = {}};
    if (!there && done.erased.empty())
        refuse(root.string() + ": no such directory; give a run, a grid, or a folder of them");
    if (there) clean_below(root, done);
    return done;
}

}  // namespace rldp::actors
