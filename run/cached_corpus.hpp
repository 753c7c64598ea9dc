#pragma once
// Where a run's records lie as tokens, so that its other ranks, a resume and a grid's cells need not read them again
// (docs/cluster.md): in the run's own trusted/ until its end, unless data.cache or a grid says otherwise.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/spec.hpp"
#include "data/units/load_tokens.hpp"
#include "data/units/token_cache.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::actors {

/// Whether tokens stay in memory: data.cache says none, or rows came through a pipe and no place is named for what is
/// made of them.
bool keeps_nothing(const config::data_section& data);

class cached_corpus {
  public:
    /// Of the run in `directory`, whether it is there or to be made; `shared`: where a grid's cells have theirs;
    /// `alone`: not one of several ranks, who may have other files of the same records. Null where data.cache is none.
    /// Errors: see token_cache.
    static std::unique_ptr<cached_corpus> of_run(const config::reading_spec& spec,
                                                 const std::filesystem::path& directory,
                                                 const std::optional<std::filesystem::path>& shared, bool alone);
    /// What data.cache has for whoever reads the records and makes no run; null where it names no directory.
    static std::unique_ptr<cached_corpus> of_reader(const config::reading_spec& spec);
    /// Removes what lies beside the run's place, where nobody else uses it: of a run that was not made, or is another
    /// machine's.
    ~cached_corpus();
    cached_corpus(const cached_corpus&) = delete;
    cached_corpus& operator=(const cached_corpus&) = delete;

    /// See token_cache; another version of the program makes its own.
    data::token_corpus get(const std::string& facts, const std::function<data::token_corpus(data::token_sink&)>& read);
    /// To the trusted side of `made`, which is about to become the run's directory.
    void settle(const eval::run_directory& made);

  private:
    enum class whose { everybody, run, run_to_be };
    cached_corpus(const std::filesystem::path& place, whose owner, bool alone)
        : token_cache_(place), owner_(owner), alone_(alone) {}

    data::token_cache token_cache_;
    whose owner_;
    bool alone_;
};

}  // namespace rldp::actors
