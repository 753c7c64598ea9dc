#include "run/cached_corpus.hpp"

#include <functional>
#include <string>
#include <system_error>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/system.hpp"
#include "version.hpp"

namespace rldp::actors {

bool keeps_nothing(const config::data_section& data) {
    return data.cache ? *data.cache == config::no_cache : is_piped(data.path);
}

namespace {

/// Six letters that follow from its name: on a file system that machines share each has a place of its own, for their
/// locks may not hold each other.
std::string letters_of_machine() {
    auto value = std::hash<std::string>()(machine_name());
    std::string out;
    for (; out.size() < 6; value /= 26) out += static_cast<char>('a' + value % 26);
    return out;
}

}  // namespace

std::unique_ptr<cached_corpus> cached_corpus::of_run(const config::reading_spec& spec,
                                                     const std::filesystem::path& directory,
                                                     const std::optional<std::filesystem::path>& shared, bool alone) {
    const auto make = [&](const std::filesystem::path& place, whose owner) {
        return std::unique_ptr<cached_corpus>(new cached_corpus(place, owner, alone));
    };
    const eval::run_directory where{directory};
    if (keeps_nothing(spec.data)) return nullptr;
    // A shadow run trains on units of its own: for everybody there would be as many corpora as shadow runs.
    if (!spec.audit.shadow) {
        if (spec.data.cache) return make(*spec.data.cache, whose::everybody);
        if (shared) return make(*shared, whose::everybody);
    }
    std::error_code absent;
    if (std::filesystem::is_directory(where.trusted_side(), absent)) return make(where.corpus(), whose::run);
    return make(staged_directory::shared_name(directory, letters_of_machine()), whose::run_to_be);
}

std::unique_ptr<cached_corpus> cached_corpus::of_reader(const config::reading_spec& spec) {
    if (!spec.data.cache || keeps_nothing(spec.data)) return nullptr;
    return std::unique_ptr<cached_corpus>(new cached_corpus(*spec.data.cache, whose::everybody, true));
}

cached_corpus::~cached_corpus() {
    if (owner_ != whose::run_to_be) return;
    const auto place = token_cache_.place();
    token_cache_.leave();
    try {
        staged_directory::remove_abandoned(place);
    } catch (const error&) {  // rldp clean finds it
    }
}

data::token_corpus cached_corpus::get(const std::string& facts,
                                      const std::function<data::token_corpus(data::token_sink&)>& read) {
    return token_cache_.get(RLDP_VERSION + facts, alone_ && owner_ != whose::everybody, read);
}

void cached_corpus::settle(const eval::run_directory& made) {
    if (owner_ != whose::run_to_be) return;
    token_cache_.move_to(made.corpus());
    owner_ = whose::run;
}

}  // namespace rldp::actors
