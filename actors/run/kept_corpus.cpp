#include "actors/run/kept_corpus.hpp"

#include "config/base/error.hpp"
#include "config/base/nascent_directory.hpp"
#include "version.hpp"

namespace rldp::actors {

namespace {

bool is_none(const std::optional<std::string>& cache) {
    return cache && *cache == config::no_cache;
}

}  // namespace

std::unique_ptr<kept_corpus> kept_corpus::of_run(const config::run_config& config,
                                                 const std::filesystem::path& directory,
                                                 const std::optional<std::filesystem::path>& shared) {
    const auto make = [](const std::filesystem::path& place, whose owner) {
        return std::unique_ptr<kept_corpus>(new kept_corpus(place, owner));
    };
    const eval::run_directory where{directory};
    if (is_none(config.data.cache)) return nullptr;
    // A shadow run trains on units of its own: for everybody there would be as many corpora as shadow runs.
    if (!config.audit.shadow) {
        if (config.data.cache) return make(*config.data.cache, whose::everybody);
        if (shared) return make(*shared, whose::everybody);
    }
    if (std::filesystem::is_directory(where.trusted_side())) return make(where.corpus(), whose::run);
    return make(nascent_directory::shared_name(directory, "corpus"), whose::run_to_be);
}

std::unique_ptr<kept_corpus> kept_corpus::of_reader(const config::run_config& config) {
    if (!config.data.cache || is_none(config.data.cache)) return nullptr;
    return std::unique_ptr<kept_corpus>(new kept_corpus(*config.data.cache, whose::everybody));
}

kept_corpus::~kept_corpus() {
    if (owner_ != whose::run_to_be) return;
    const auto place = shelf_.place();
    shelf_.leave();
    try {
        nascent_directory::remove_abandoned(place);
    } catch (const error&) {  // rldp clean finds it
    }
}

data::token_corpus kept_corpus::get(const std::string& facts,
                                    const std::function<data::token_corpus(data::token_sink&)>& read) {
    return shelf_.get(RLDP_VERSION + facts, owner_ != whose::everybody, read);
}

void kept_corpus::settle(const eval::run_directory& made) {
    if (owner_ != whose::run_to_be) return;
    shelf_.move_to(made.corpus());
    owner_ = whose::run;
}

}  // namespace rldp::actors
