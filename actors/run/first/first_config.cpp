#include "actors/run/first/first_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "actors/run/first/preview.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "models/architecture/model_config.hpp"

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

json document_of(const first_request& asked, const first_config& found) {
    const auto* person = found.found.find(data::column_role::person);
    const auto population = declared_population(found.units);
    json out;
    out["privacy"] = {{"epsilon", asked.epsilon},
                      {"delta", delta_for(population)},
                      {"unit", person ? json{{"group", person->name}} : json("record")},
                      {"population", population}};
    out["data"] = {{"path", path_from(asked.config, asked.data)}};
    if (found.found.has_chats) out["data"]["chat"] = true;
    if (found.has_template) out["data"]["template"] = path_from(asked.config, asked.table_template);
    out["model"] = {{"path", path_from(asked.config, asked.model)}};
    if (found.found.target) out["eval"] = {{"target", *found.found.target}};
    return out;
}

std::int64_t units_of(const data::survey& found) {
    const auto* person = found.find(data::column_role::person);
    return static_cast<std::int64_t>(person ? person->distinct : found.records);
}

std::vector<priced_budget> budgets_for(const config::run_config& config, const models::model_config& model,
                                       const run_plan& plan) {
    std::vector<double> all = {1, 2, 4, 8};
    if (std::find(all.begin(), all.end(), config.privacy.epsilon) == all.end()) all.push_back(config.privacy.epsilon);
    std::sort(all.begin(), all.end());
    std::vector<priced_budget> out;
    for (const double epsilon : all) {
        auto asked = config;
        asked.privacy.epsilon = epsilon;
        const auto full = with_choices(asked, plan.population, model).config;
        const double z = policy_of(full, plan.population)->initial_noise_multiplier();
        out.push_back({epsilon, z, z / static_cast<double>(config::batch_of(full))});
    }
    return out;
}

}  // namespace

std::int64_t declared_population(std::int64_t units) {
    const auto training = static_cast<std::int64_t>(0.72 * static_cast<double>(units));
    std::int64_t round = 1;
    while (training / round >= 100) round *= 10;
    return std::max<std::int64_t>(1, training / round * round);
}

double delta_for(std::int64_t population) {
    const auto digits = static_cast<int>(std::ceil(std::log10(10.0 * static_cast<double>(population)) - 1e-9));
    return std::stod(fmt::format("1e-{}", digits));
}

std::int64_t tokens_for(std::int64_t p95_tokens, std::int64_t window) {
    constexpr std::int64_t step = 32;
    return std::min(window, (p95_tokens + step - 1) / step * step);
}

first_config write_first_config(const first_request& asked) {
    first_config out;
    out.found = data::survey_of(asked.data.string(), asked.hints);
    out.units = units_of(out.found);
    constexpr std::int64_t fewest = 100;
    if (out.units < fewest)
        refuse(fmt::format("{}: fewer than {} {}; a contract for so few leaves nothing to learn", asked.data.string(),
                           fewest, out.found.find(data::column_role::person) ? "persons" : "records"));
    out.has_template = out.found.kind == data::data_kind::table ||
                       (out.found.kind == data::data_kind::json_lines && !out.found.has_text && !out.found.has_chats);
    written_files files(asked.overwrite);
    if (out.has_template) files.write(asked.table_template, data::template_for(out.found, asked.data.string()));
    auto document = document_of(asked, out);
    files.write(asked.config, document.dump(2) + "\n");
    const auto model = models::read_model_config(asked.model);
    const auto seen = preview_of(config::load(asked.config, {}), 0);
    out.looked_at = seen.looked_at;
    out.median_tokens = seen.median_tokens;
    out.most_tokens = seen.most_tokens;
    document["data"]["max_tokens"] = tokens_for(seen.p95_tokens, model.window);
    if (out.found.target) {
        // A value can be guessed only where no record is cut: room for some that are longer than those looked at.
        const auto room = seen.most_tokens + seen.most_tokens / 4;
        out.target_fits = room <= model.window;
        if (out.target_fits)
            document["data"]["max_tokens"] = tokens_for(room, model.window);
        else
            document.erase("eval");
    }
    files.write(asked.config, document.dump(2) + "\n");
    const auto config = config::load(asked.config, {});
    out.plan = check(config);
    out.cut = longer_than(out.plan.max_tokens, seen.lengths);
    const auto full = with_choices(config, out.plan.population, model).config;
    out.expected_batch_size = config::batch_of(full);
    out.budgets = budgets_for(config, model, out.plan);
    files.keep();
    return out;
}

}  // namespace rldp::actors
