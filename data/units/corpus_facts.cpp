#include "data/units/corpus_facts.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "config/base/made_up.hpp"

namespace rldp::data {

namespace {

using nlohmann::json;

json nanoseconds(const timespec& at) {
    return {at.tv_sec, at.tv_nsec};
}

json facts_of_file(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return nullptr;
    return {std::filesystem::path(path).filename().string(), found.st_size, found.st_ino, nanoseconds(found.st_mtim),
            nanoseconds(found.st_ctim)};
}

json facts_of_file(const std::optional<std::string>& path) {
    return path ? facts_of_file(*path) : json();
}

template <class T>
json as_json(const std::optional<T>& value) {
    return value ? json(*value) : json();
}

}  // namespace

std::string file_facts(const std::string& path) {
    return facts_of_file(path).dump();
}

std::string list_corpus_facts(const source& from, const split_rule& split, const token_rule& how) {
    const bool made_up = is_synthetic(from.path);
    const json out{{"reading", 3},  // goes up where the same records become other tokens, clauses or units
                   {"records",
                    {{"path", made_up ? json(from.path) : facts_of_file(from.path)},
                     {"ids_mapping", made_up ? facts_of_file(from.ids_mapping) : facts_of_file(find_code_book_path(from))},
                     {"template", facts_of_file(from.narrative)},
                     {"group", as_json(from.group)},
                     {"made_up_seed", made_up ? from.made_up_seed : 0}}},
                   {"split",
                    {{"exact", split.how == split_kind::exact},
                     {"seed", split.seed},
                     {"canaries", split.canaries},
                     {"canary_length", split.canary_length},
                     {"max_records", split.max_records},
                     {"attack", split.attack},
                     {"eval", split.eval},
                     {"population", as_json(split.population)},
                     {"shadow", split.shadow ? json{split.shadow->targets, split.shadow->number} : json()}}},
                   {"tokens",
                    {{"max", how.max_tokens},
                     {"tail", how.keep_tail},
                     {"mark_training", how.mark_training},
                     {"held_out", as_json(how.held_out)},
                     {"by", how.identity}}}};
    return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace rldp::data
