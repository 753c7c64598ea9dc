#include "run/first/first_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/temporary_directory.hpp"
#include "data/sources/made_up_rows.hpp"
#include "models/weights.hpp"
#include "privacy/accounting/banded_matrix.hpp"
#include "run/first/preview.hpp"
#include "run/resolve.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

/// Brings back what was there before, unless what was written is kept.
class written_files {
  public:
    explicit written_files(bool overwrite) : overwrite_(overwrite) {}
    ~written_files() {
        for (const auto& [path, before] : before_) try {
                if (before)
                    write_file(path, *before);
                else
                    fs::remove(path);
            } catch (const std::exception&) {  // whatever ended the work is what is told
            }
    }
    void write(const fs::path& path, const std::string& text) {
        if (!before_.contains(path)) {
            const bool there = fs::exists(path);
            if (there && !overwrite_)
                refuse(path.string() +
                       ": exists already; choose another name with --out, or overwrite it with --force");
            before_.emplace(path, there ? std::optional(read_file(path)) : std::nullopt);
        }
        write_file(path, text);
    }
    void keep() { before_.clear(); }

  private:
    bool overwrite_;
    std::map<fs::path, std::optional<std::string>> before_;
};

/// A configuration's own directory is where its paths begin.
std::string path_from(const fs::path& config, const fs::path& file) {
    const auto here = fs::absolute(config).lexically_normal().parent_path();
    const auto there = fs::absolute(file).lexically_normal();
    const auto relative = there.lexically_relative(here);
    return *relative.begin() == ".." ? there.string() : relative.string();
}

/// Where the owner says nothing else: time does not grow with it, for units are not padded to it, and memory is planned
/// by it.
std::int64_t default_max_tokens(std::int64_t window) {
    return std::min<std::int64_t>(window, 512);
}

/// Whether made-up rows can teach how a row is told: the owner has said of what type each told column is, and not of
/// all that it is free text.
bool are_typed(const first_request& asked, const data::survey& found) {
    const auto told = std::ranges::count_if(found.columns, [](const auto& column) {
        return column.role == data::column_role::rendered || column.role == data::column_role::free_text;
    });
    const auto& types = asked.hints.types;  // of as many columns: none has two
    return std::ssize(types) == told && std::ranges::any_of(types, [](const auto& type) {
               return !type.substr(type.find('=')).starts_with("=text:");
           });
}

json make_document(const first_request& asked, const first_config& found, std::int64_t population,
                   std::int64_t window) {
    const auto* person = found.found.find(data::column_role::person);
    json out;
    out["privacy"] = {{"epsilon", asked.epsilon},
                      {"delta", delta_for(population)},
                      {"unit", person ? json{{"group", person->name}} : json("record")},
                      {"population", population},
                      {"book", make_book_name(bare_name(asked.name()))}};
    out["data"] = {{"path", is_piped(asked.data) ? asked.data.string() : path_from(asked.config, asked.data)},
                   {"max_tokens", asked.max_tokens.value_or(default_max_tokens(window))}};
    if (found.found.has_chats) out["data"]["chat"] = true;
    if (found.has_template) out["data"]["template"] = path_from(asked.config, asked.table_template);
    if (found.has_made_up_rows) out["public"] = {{"path", data::proposed_rows}, {"steps", data::proposed_batches}};
    out["model"] = {{"path", path_from(asked.config, asked.model)}};
    if (found.found.target) out["eval"] = {{"target", *found.found.target}};
    return out;
}

/// As the owner says; where that is open, as the values suggest.
std::int64_t count_units(const first_request& asked, const data::survey& found, const data::profile_advice& advice) {
    const auto& person = asked.hints.person ? asked.hints.person : advice.person;
    for (const auto& column : found.columns)
        if (person == column.name) return static_cast<std::int64_t>(column.distinct);
    return static_cast<std::int64_t>(found.records);
}

/// What the owner has to say: whose a record is, where some column by its name could say it, and N.
std::vector<open_question> list_questions(const first_request& asked, const data::survey& found) {
    std::vector<open_question> out;
    if (!asked.hints.person && !found.identifiers().empty()) out.push_back(open_question::whose);
    if (!asked.population) out.push_back(open_question::how_many);
    return out;
}

/// Prefix sums' noise in bands, over that of independent noise of the same multiplier.
double share_left(std::int64_t bands, std::int64_t steps) {
    const auto of = [&](const privacy::band_coefficients& matrix) {
        return privacy::compute_prefix_error(matrix, steps).mean_squared;
    };
    return bands == 1 ? 1 : std::sqrt(of(privacy::make_bands(bands, steps)) / of({1}));
}

/// What budgets that are usual, and the one that is asked for, cost in noise.
std::vector<priced_budget> price_budgets(const config::run_config& config, std::int64_t population,
                                         const models::model_config& model) {
    const double asked = config.privacy.epsilon;
    std::vector<double> all = {1, 2, 4, 8};
    if (std::find(all.begin(), all.end(), asked) == all.end()) all.push_back(asked);
    std::sort(all.begin(), all.end());
    std::vector<priced_budget> out;
    for (const double epsilon : all) {
        auto other = config;
        other.privacy.epsilon = epsilon;
        const auto spec = resolve(std::move(other), population, model);
        const double z = make_spending_policy(spec)->initial_noise_multiplier();
        const double left = z * share_left(spec.privacy.bands, spec.train.steps);
        out.push_back({.epsilon = epsilon,
                       .noise_multiplier = z,
                       .bands = spec.privacy.bands,
                       .noise_left = left,
                       .noise_per_unit = left / static_cast<double>(spec.train.expected_batch_size)});
    }
    return out;
}

/// What a unit has of those that were looked at, on average.
models::unit_shape find_usual_shape(const preview& seen, std::int64_t records, std::int64_t units,
                                    const run_plan& plan) {
    double tokens = 0;
    for (const auto length : seen.lengths) tokens += static_cast<double>(std::min(length, plan.max_tokens));
    return {.records = std::clamp<std::int64_t>((records + units / 2) / units, 1, plan.max_records_per_unit),
            .tokens = std::max<std::int64_t>(1, std::lround(tokens / static_cast<double>(seen.looked_at)))};
}

}  // namespace

std::int64_t rounded_population(std::int64_t training) {
    std::int64_t round = 1;
    while (training / round >= 100) round *= 10;
    return std::max<std::int64_t>(1, training / round * round);
}

std::int64_t declared_population(std::int64_t units) {
    return rounded_population(static_cast<std::int64_t>(0.72 * static_cast<double>(units)));
}

double delta_for(std::int64_t population) {
    const auto digits = static_cast<int>(std::ceil(std::log10(10.0 * static_cast<double>(population)) - 1e-9));
    return std::stod(fmt::format("1e-{}", digits));
}

std::int64_t tokens_for(std::int64_t tokens, std::int64_t window) {
    constexpr std::int64_t step = 32;
    return std::min(window, (tokens + step - 1) / step * step);
}

first_config write_first_config(const first_request& asked) {
    first_config out;
    out.found = data::profile_data(asked.data.string(), asked.hints);
    out.advice.columns = data::advise_columns(out.found);
    out.open = list_questions(asked, out.found);
    out.advice.units = count_units(asked, out.found, out.advice.columns);
    constexpr std::int64_t fewest = 100;
    if (out.advice.units < fewest)
        refuse(
            fmt::format("{}: fewer than {} units to protect (records, or persons where a column says whose they "
                        "are); a contract for so few leaves nothing to learn",
                        asked.data.string(), fewest));
    out.advice.population = declared_population(out.advice.units);
    out.has_template = out.found.kind == data::data_kind::table ||
                       (out.found.kind == data::data_kind::json_lines && !out.found.has_text && !out.found.has_chats);
    out.has_made_up_rows = out.has_template && are_typed(asked, out.found);
    out.in_the_way =
        !asked.overwrite && (fs::exists(asked.config) || (out.has_template && fs::exists(asked.table_template)));
    const auto model = models::read_model(asked.model);
    std::optional<temporary_directory> passing;
    auto placed = asked;
    if (!out.open.empty()) {
        placed.config = passing.emplace().path() / "config.json";
        placed.table_template = passing->path() / "template.json";
    }
    written_files files(asked.overwrite);
    if (out.has_template)
        files.write(placed.table_template, data::template_for(out.found, asked.name(), asked.hints.types));
    const auto population = asked.population.value_or(out.advice.population);
    files.write(placed.config, make_document(placed, out, population, model.window).dump(2) + "\n");
    const auto config = config::load(placed.config, {});
    const auto seen = make_preview(config::to_reading_spec(config), 0);
    out.advice.looked_at = seen.looked_at;
    out.advice.cut = seen.cut;
    out.advice.median_tokens = seen.median_tokens;
    out.advice.most_tokens = seen.most_tokens;
    // A value can be guessed only where no record is cut: room for some that are longer than those looked at.
    out.advice.tokens_for_target = tokens_for(seen.most_tokens + seen.most_tokens / 4, model.window);
    out.advice.max_tokens = out.found.target ? out.advice.tokens_for_target : tokens_for(seen.p95_tokens, model.window);
    out.advice.cut_as_advised = longer_than(out.advice.max_tokens, seen.lengths);
    if (!out.open.empty()) return out;
    out.plan = check(config);
    out.expected_batch_size = resolve(config, out.plan.population, model).train.expected_batch_size;
    out.budgets = price_budgets(config, out.plan.population, model);
    const auto usual = find_usual_shape(seen, static_cast<std::int64_t>(out.found.records), out.advice.units, out.plan);
    out.time = estimate_time(config, out.plan, usual);
    files.keep();
    return out;
}

}  // namespace rldp::actors
