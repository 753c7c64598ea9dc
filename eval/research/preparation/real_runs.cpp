#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/run.hpp"
#include "eval/research/preparation/real_runs.hpp"
#include "models/architecture/model_config.hpp"
#include "rl/prepared/splitmix.hpp"
#include "rl/research/cma_es.hpp"

namespace rldp::eval {

namespace {

constexpr std::int64_t fewest_columns = 5, most_columns = 14;
// Those whose values differ between people.
constexpr std::array columns = {"race",
                                "gender",
                                "age",
                                "time_in_hospital",
                                "payer_code",
                                "medical_specialty",
                                "num_lab_procedures",
                                "num_procedures",
                                "num_medications",
                                "number_outpatient",
                                "number_emergency",
                                "number_inpatient",
                                "diag_1",
                                "diag_2",
                                "diag_3",
                                "number_diagnoses",
                                "max_glu_serum",
                                "A1Cresult",
                                "metformin",
                                "glipizide",
                                "glyburide",
                                "insulin",
                                "change",
                                "diabetesMed",
                                "readmitted"};
constexpr std::array clauses = {"{label} is {value}.", "{label}: {value};",
                                "{value} {label},",    "the {label} was found to be {value}.",
                                "[{label}] {value}",   "for {label} we have {value}, so far."};
constexpr std::array<std::string_view, 2> letters = {"bdfgklmnprstvz", "aeiou"};

std::int64_t below(std::int64_t count, rl::splitmix& random) {
    return random.integer(0, count - 1);
}

std::string word(rl::splitmix& random) {
    std::string out;
    for (auto syllables = random.integer(1, 3); syllables > 0; --syllables)
        for (const auto& some : letters) out += some[static_cast<std::size_t>(below(std::ssize(some), random))];
    return out;
}

std::string words(std::int64_t fewest, std::int64_t most, rl::splitmix& random) {
    auto out = word(random);
    for (auto more = random.integer(fewest, most); more > 1; --more) out.append(" ").append(word(random));
    return out;
}

// Of few values, half of all columns' have other words; a word stands for one value of a column alone.
nlohmann::json renamed(std::string_view column, rl::splitmix& random) {
    std::vector<std::string_view> values;
    if (column == "gender") values = {"Male", "Female"};
    if (column == "readmitted") values = {"NO", ">30", "<30"};
    if (column == "change") values = {"No", "Ch"};
    if (column == "diabetesMed") values = {"Yes", "No"};
    for (const auto* drug : {"metformin", "glipizide", "glyburide", "insulin"})
        if (column == drug) values = {"Up", "Down", "Steady", "No"};
    nlohmann::json out = nlohmann::json::object();
    if (below(2, random) == 0) return out;
    for (const auto value : values) out[std::string(value)] = words(1, 2, random).append(std::to_string(out.size()));
    return out;
}

}  // namespace

std::string random_template(rl::splitmix& random) {
    std::vector<std::string> left(columns.begin(), columns.end());
    nlohmann::json named = nlohmann::json::object();
    for (auto count = random.integer(fewest_columns, most_columns); count > 0; --count) {
        const auto which = left.begin() + below(std::ssize(left), random);
        nlohmann::json& about = named[*which] = {{"label", words(1, 3, random)}};
        if (auto values = renamed(*which, random); !values.empty()) about["values"] = std::move(values);
        left.erase(which);
    }
    return nlohmann::json{{"record", "encounter_id"},
                          {"person", "patient_nbr"},
                          {"only_named", true},
                          {"opening", words(1, 8, random) + "."},
                          {"missing", {"?", "None", "NULL", ""}},
                          {"unknown", word(random)},
                          {"clause", clauses[static_cast<std::size_t>(below(std::ssize(clauses), random))]},
                          {"columns", named}}
        .dump(2);
}

namespace {

constexpr std::int64_t first_world = 1000;  // lower ones are left to test beds and to practice by hand

/// What train.lr comes to where a user leaves it open.
double usual_rate(const run_family& from, std::vector<std::string> set) {
    set.emplace_back("rl.controller=policy");
    const auto config = config::load(from.base, set);
    const auto& targets = config.lora.targets;
    return config::rate_for(config, config::planned_steps(config, from.records),
                            {.width = models::read_model_config(config::to_reading_spec(config).model.path).width,
                             .queries_and_values = targets && *targets == std::vector<std::string>{"q", "v"}});
}

run_task draw(const run_family& from, const run_preparation& terms, std::uint64_t seed, std::size_t number) {
    rl::splitmix random(seed, number);
    run_task out{.base = from.base,
                 .set = from.set,
                 .offset = 1,
                 .name = fmt::format("{}-{}", from.name, number),
                 .row_template = {}};
    for (const auto& one : from.drawn)
        out.set.push_back(one.name + "=" +
                          one.values[static_cast<std::size_t>(random.integer(0, std::ssize(one.values) - 1))]);
    const auto world = random.integer(first_world, 1'000'000);
    out.offset = random.log_uniform(1 / terms.offset, terms.offset);
    const double rate = usual_rate(from, out.set) * out.offset;
    const auto more = {fmt::format("data.path=\"synthetic:{}@{}\"", from.records, world),
                       fmt::format("data.split_seed={}", world),
                       fmt::format("seed={}", world),
                       fmt::format("train.lr={:.6g}", rate),
                       std::string("noise.insecure_reproducible=true"),
                       std::string("noise.allocation=\"shares\""),
                       std::string("rl.state=\"prepared\""),
                       std::string("rl.interval=null"),  // the policy's own
                       std::string("rl.warmup=null"),
                       std::string("monitor.address=null")};
    out.set.insert(out.set.end(), more.begin(), more.end());
    if (from.random_template) out.row_template = random_template(random);
    return out;
}

std::string make_run_id(std::size_t arm, const run_task& task) {
    return fmt::format("arm{}-{}", arm, task.name);
}

double compute_loss(const cell_files& files) {
    const auto done = finished_summary(files);
    if (!done) throw error(errc::failed, "a run of the preparation failed; its log is " + files.log().string());
    const double kept = done->perplexity_after.value_or(done->perplexity_before);
    const double before = std::log(done->perplexity_before), after = std::log(kept);
    return std::log(std::isfinite(after) ? std::clamp(after, 1e-9, before) : before);
}

}  // namespace

std::vector<run_task> draw_runs(const std::vector<run_family>& from, const run_preparation& terms, std::uint64_t seed,
                                std::size_t first, std::size_t count) {
    std::vector<run_task> out;
    out.reserve(count);
    for (auto i = first; i < first + count; ++i) out.push_back(draw(from[i % from.size()], terms, seed, i));
    return out;
}

std::vector<double> compute_losses(std::span<const run_arm> arms, std::span<const run_task> tasks,
                                   const run_place& where) {
    make_directory(where.out);
    const auto folder_of_all = std::filesystem::absolute(where.out);
    const auto template_of = [&](const run_task& one) { return folder_of_all / (one.name + ".json"); };
    for (const auto& one : tasks)
        if (!one.row_template.empty()) write_file(template_of(one), one.row_template);
    std::map<std::filesystem::path, std::vector<cell>> by_base;  // a call of run_cells() has one
    std::vector<std::pair<std::filesystem::path, std::string>> order;
    for (std::size_t p = 0; p < arms.size(); ++p) {
        const auto file = folder_of_all / fmt::format("policy-{}.safetensors", p);
        const auto& policy = arms[p].policy;
        if (policy) policy->save(file);
        for (const auto& one : tasks) {
            cell made{.id = make_run_id(p, one), .at = {}, .overrides = one.set};
            if (policy) {
                made.overrides.push_back(fmt::format("rl.controller=\"{}\"", file.string()));
                made.overrides.push_back(fmt::format("rl.policy=\"{}\"", name_of(arms[p].mode)));
            } else {
                made.overrides.insert(made.overrides.end(), {"rl.state=\"schedule\"", "noise.allocation=null"});
            }
            if (!one.row_template.empty())
                made.overrides.push_back(fmt::format("data.template=\"{}\"", template_of(one).string()));
            order.emplace_back(one.base, made.id);
            by_base[one.base].push_back(std::move(made));
        }
    }
    std::map<std::filesystem::path, std::filesystem::path> folder;
    for (const auto& [base, cells] : by_base) {
        folder[base] = where.out / base.stem();
        grid_directory{folder[base]}.create();
        const bool all = run_cells(cells, {.config = base, .set = {}, .out = folder[base], .jobs = where.jobs},
                                   {.on_end = [](const auto&, auto, auto) {}, .on_tick = [](const auto&, auto) {}});
        if (!all) throw error(errc::interrupted, "prepare-controller: interrupted; call it again to go on");
    }
    std::vector<double> out;
    out.reserve(order.size());
    for (const auto& [base, id] : order) out.push_back(compute_loss({folder[base], id}));
    return out;
}

std::vector<rate_path> read_paths(std::size_t arm, std::span<const run_task> tasks, const std::filesystem::path& out) {
    std::vector<rate_path> all;
    for (const auto& one : tasks) {
        const cell_files files{out / one.base.stem(), make_run_id(arm, one)};
        const auto lines = read_metrics(files.run().metrics());
        rate_path path{one.name, one.offset, {}};
        for (const auto& line : lines)
            path.factors.emplace_back(static_cast<double>(line.step) / static_cast<double>(lines.back().step),
                                      line.steered ? line.steered->lr_factor : 1);
        all.push_back(std::move(path));
    }
    return all;
}

std::vector<rl::known_plan> read_plans(std::size_t arm, std::span<const run_task> tasks,
                                       const std::filesystem::path& out) {
    std::vector<rl::known_plan> all;
    for (const auto& one : tasks) {
        const cell_files files{out / one.base.stem(), make_run_id(arm, one)};
        const auto done = finished_summary(files);
        const auto lines = read_metrics(files.run().metrics());
        require(done && !lines.empty(), "a run that has ended tells its plan");
        all.push_back({.steps = done->steps_planned,
                       .noise = rl::compute_noise_level(lines.back().noise_multiplier,
                                                        static_cast<double>(done->trainable_parameters),
                                                        done->sample_rate * static_cast<double>(done->units)),
                       .adapters = done->groups.size(),
                       .bands = done->bands});
    }
    return all;
}

namespace {

struct progress {
    rl::cma_es search;
    std::vector<double> means;
};

progress begun(const std::filesystem::path& state, const std::vector<double>& start, const run_preparation& terms,
               const run_search& how) {
    if (!std::filesystem::exists(state)) return {{start, how.deviation, how.seed, terms.population}, {}};
    const auto text = read_text(state);
    const auto kept = nlohmann::json::parse(text, nullptr, false);
    if (!kept.is_object() || !kept.contains("search") || !kept.contains("means") || !kept["means"].is_array())
        refuse(state.string() + ": is damaged; remove it, and the search begins anew");
    progress out{rl::cma_es::load(kept["search"].dump(), state.string()), {}};
    for (const auto& one : kept["means"]) out.means.push_back(one.is_number() ? one.get<double>() : std::nan(""));
    if (out.search.mean().size() != start.size() || out.search.population() != terms.population ||
        out.means.size() != out.search.generation())
        refuse(state.string() + ": is of another search; choose another --out, or remove it");
    return out;
}

void keep(const std::filesystem::path& state, const progress& now) {
    write_file(state,
               nlohmann::json{{"search", nlohmann::json::parse(now.search.save())}, {"means", now.means}}.dump());
}

}  // namespace

searched search_on_runs(const std::vector<double>& start,
                        const std::function<run_arm(const std::vector<double>&)>& arm_at, const run_preparation& terms,
                        const run_search& how) {
    make_directory(how.out);
    const auto state = how.out / "search.json";
    auto [found, history] = begun(state, start, terms, how);
    while (found.generation() < terms.generations) {
        const auto number = found.generation();
        const auto tasks = draw_runs(terms.prepared, terms, how.seed, number * terms.tasks, terms.tasks);
        std::vector<run_arm> all;
        for (const auto& point : found.ask()) all.push_back(arm_at(point));
        const auto place = how.out / fmt::format("generation-{}", number);
        const auto losses = compute_losses(all, tasks, {place, how.jobs});
        std::vector<double> means;
        for (std::size_t p = 0; p < all.size(); ++p) {
            const auto first = losses.begin() + static_cast<std::ptrdiff_t>(p * tasks.size());
            means.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(tasks.size()), 0.0) /
                            static_cast<double>(tasks.size()));
        }
        found.tell(means);
        history.push_back(std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size()));
        keep(state, {found, history});
        std::filesystem::remove_all(place);
        how.on_generation(number, history.back());
    }
    return {found.mean(), history};
}

}  // namespace rldp::eval
