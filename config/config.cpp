#include "config/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "config/open_keys.hpp"
#include "config/schema.hpp"
#include "config/values.hpp"

namespace rldp::config {

namespace {

/// One layer of configuration, the file or an override: where its values come from and which keys it gave.
struct layer {
    std::string origin;
    std::filesystem::path base;
    std::set<std::string> given = {};
};

/// "; did you mean rldp?" of a key that is one of a few words, where one is near.
std::string near_word(const key& known, const json& given) {
    if (!given.is_string() || !known.type.contains("enum")) return {};
    const auto& word = given.get_ref<const std::string&>();
    std::pair<std::size_t, std::string> nearest{word.size(), ""};
    for (const auto& allowed : known.type["enum"])
        if (allowed.is_string())
            nearest = std::min(nearest, {edit_distance(word, allowed.get<std::string>()), allowed});
    return 2 * nearest.first <= word.size() && !nearest.second.empty()
               ? fmt::format("; did you mean {}?", nearest.second)
               : std::string();
}

/// Keys that 0.1.0 had. Where they ask for nothing, as in the configurations that its runs left, they are passed over.
struct retired_key {
    const char* path;
    bool (*asks_for_nothing)(const json& value);
};
constexpr retired_key retired_keys[] = {
    {"lora.freeze_a", [](const json& value) { return value == false; }},
    {"lora.b_lr_ratio", [](const json& value) { return value == 1.0; }},
    // Without the use "subspace", which is refused as an unknown word.
    {"public.directions", [](const json& value) { return value.is_number_integer(); }},
};

/// Whether there was such a key. Errors: bad_input where it asks for what is no longer done.
bool is_retired(const layer& from, const std::string& path, const json& value) {
    const auto found = std::find_if(std::begin(retired_keys), std::end(retired_keys),
                                    [&](const auto& one) { return path == one.path; });
    if (found == std::end(retired_keys)) return false;
    if (!found->asks_for_nothing(value))
        refuse(fmt::format(
            "{}: {} is no longer there: it lost against the default (research/experiments.md); leave it out",
            from.origin, path));
    return true;
}

/// With a drive, or of another machine: on Linux nobody means a file of such a name.
bool is_windows_path(const std::string& text) {
    const bool drive = text.size() > 2 && std::isalpha(static_cast<unsigned char>(text[0])) != 0 && text[1] == ':' &&
                       (text[2] == '\\' || text[2] == '/');
    return drive || text.starts_with("\\\\");
}

void read(const json& object, const std::string& prefix, layer& from, run_config& into) {
    for (const auto& [name, value] : object.items()) {
        const auto path = prefix + name;
        if (path == "$schema") continue;  // editors read it
        if (name.find('.') != std::string::npos)
            refuse(fmt::format("{}: {}: a dotted name; write the section as an object", from.origin, shown(path)));
        if (const auto* known = find_key(path)) {
            if (known->place && value.is_string() && is_windows_path(value.get_ref<const std::string&>()))
                refuse(
                    fmt::format("{}: {} is {}, a path of Windows; RLDP runs on Linux, where WSL has C:\\data as "
                                "/mnt/c/data",
                                from.origin, path, shown(value)));
            if (!known->read(value, from.base, into))
                refuse(fmt::format("{}: {} is {}; give {}{}", from.origin, path, shown(value), known->expectation,
                                   near_word(*known, value)));
            from.given.insert(path);
        } else if (is_retired(from, path, value)) {
            continue;
        } else if (!is_section(path)) {
            refuse(fmt::format("{}: {}: unknown key; {}", from.origin, path, did_you_mean(path)));
        } else if (!value.is_object()) {
            refuse(fmt::format("{}: {} is {}; give an object, for it is a section", from.origin, path, shown(value)));
        } else {
            read(value, path + ".", from, into);
        }
    }
}

/// Overrides in order. One that gives the run's length in steps takes the file's epochs away, and the other way round.
void apply(const std::vector<std::string>& overrides, run_config& into) {
    std::set<std::string> given;
    const auto epochs_in_file = std::exchange(into.train.epochs, std::nullopt);
    const auto steps_in_file = std::exchange(into.train.steps, std::nullopt);
    for (const auto& text : overrides) {
        layer from{"--set " + text, std::filesystem::current_path()};
        read(parse_override(text), "", from, into);
        given.merge(from.given);
    }
    if (!into.train.epochs && !into.train.steps) {
        if (!given.count("train.epochs")) into.train.epochs = epochs_in_file;
        if (!given.count("train.steps")) into.train.steps = steps_in_file;
    }
}

/// Made-up records are nobody's. Up to 0.1 a book stood beside the configuration, "patients.book" for "patients.csv",
/// or under a name given without a '/': one that stands there is the data's still.
std::string resolve_book(const run_config& config, const std::filesystem::path& directory) {
    const auto& given = config.privacy.book;
    if (!given && is_synthetic(config.data.path)) return std::string(no_book);
    if (given && (is_book_path(*given) || *given == no_book || *given == found_book)) return *given;
    for (const auto& name : {given.value_or(""), bare_name(config.data.path) + ".book"})
        if (std::error_code absent; !name.empty() && std::filesystem::exists(directory / name / "book.key", absent))
            return (directory / name).string();
    return given.value_or(std::string(found_book));
}

[[noreturn]] void refuse_missing(const std::filesystem::path& file, const std::string& path) {
    refuse(fmt::format("{}: {} is missing; give {}", file.string(), path, find_key(path)->expectation));
}

}  // namespace

run_config parse(const std::string& text, const std::string& origin, const std::filesystem::path& base,
                 const std::vector<std::string>& overrides) {
    run_config config;
    layer file{origin, std::filesystem::absolute(base)};
    read(parse_object(text, origin), "", file, config);
    // An override takes the file's own contradiction away.
    if (const auto found = length_problem(config)) refuse(origin + ": " + *found);
    apply(overrides, config);
    if (const auto found = problem(config)) refuse(origin + ": " + *found);
    return config;
}

namespace {

/// The commonest mistake: the records themselves where a configuration is meant.
void refuse_records(const std::filesystem::path& file) {
    constexpr std::array<std::string_view, 9> endings{".csv",     ".tsv",  ".jsonl", ".ndjson", ".txt",
                                                      ".parquet", ".xlsx", ".gz",    ".zst"};
    if (std::find(endings.begin(), endings.end(), file.extension()) != endings.end() && std::filesystem::exists(file))
        refuse(
            fmt::format("{0}: these are records, and a configuration is meant; rldp init {0} --model DIRECTORY "
                        "writes one",
                        file.string()));
}

}  // namespace

run_config load(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
    refuse_records(file);
    const auto directory = std::filesystem::absolute(file).parent_path().lexically_normal();
    auto config = parse(read_file(file), file.string(), directory, overrides);
    if (config.data.path.empty()) refuse_missing(file, "data.path");
    if (config.model.path.empty()) refuse_missing(file, "model.path");
    config.privacy.book = resolve_book(config, directory);
    return config;
}

namespace {

/// Paths are what `shown` makes of them.
json make_document(run_config config, const std::function<std::string(const key&, const std::string&)>& shown) {
    if (!config.train.epochs && !config.train.steps) config.train.epochs = default_epochs;
    json document = json::object();
    for (const auto& key : schema()) {
        auto pointer = "/" + key.path;
        std::replace(pointer.begin(), pointer.end(), '.', '/');
        auto value = key.write(config);
        if (key.place && value.is_string()) value = shown(key, value.get<std::string>());
        document[json::json_pointer(pointer)] = std::move(value);
    }
    return document;
}

/// Whether a key takes `word` for a place, and not for something like "none".
bool is_place(const key& key, const std::string& word) {
    const auto taken = rewrite(key, word, "/");
    return taken && *taken != json(word);
}

std::string without_place(const key& key, const std::string& path) {
    if (!path.starts_with('/')) return path;
    const auto name = shown_text(without_directory(path));
    return is_place(key, name) ? name : "./" + name;
}

}  // namespace

std::string to_json(const run_config& config) {
    return make_document(config, [](const key&, const std::string& path) { return shown_text(path); }).dump(2) + "\n";
}

std::string to_public_json(const run_config& config) {
    return make_document(config, without_place).dump(2) + "\n";
}

std::vector<std::string> list_places(const run_config& config) {
    std::vector<std::string> out;
    for (const auto& key : schema())
        if (const auto value = key.write(config);
            key.place && value.is_string() && value.get_ref<const std::string&>().starts_with('/'))
            out.push_back(key.path + "=" + value.get<std::string>());
    return out;
}

std::string common_json(const run_config& config) {
    json document = json::object();
    for (const auto& key : schema())
        if (!key.place && !key.path.starts_with("monitor.") && !key.path.starts_with("cluster.") &&
            !key.path.starts_with("run."))
            document[key.path] = key.write(config);
    return document.dump();
}

std::int64_t planned_steps(const run_config& config, std::int64_t population) {
    const auto& train = config.train;
    if (population < 1) refuse("no training units; give more data, or another split");
    if (const auto found = rate_problem(config, population)) refuse(*found);
    if (train.steps) return *train.steps;
    const auto epochs = train.epochs.value_or(default_epochs);
    // 0.29·100 is 28.999…96 in floating point and means 29.
    const auto steps =
        std::floor(epochs * static_cast<double>(population) / static_cast<double>(read_batch_size(config)) + 1e-9);
    if (steps < 1 || steps > most_steps)
        refuse(
            fmt::format("train.epochs is {}, which is {} steps with {} units and expected_batch_size {}; a run has 1 "
                        "to {} steps",
                        epochs, steps, population, read_batch_size(config), most_steps));
    return static_cast<std::int64_t>(steps);
}

}  // namespace rldp::config
