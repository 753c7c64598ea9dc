#include "run/synthesis/synthesis.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/strict_json.hpp"
#include "config/config.hpp"
#include "data/sources/records.hpp"
#include "data/sources/table_file.hpp"
#include "data/sources/text.hpp"
#include "models/decoding/decoding_model.hpp"
#include "models/device.hpp"
#include "models/generate.hpp"
#include "models/thread_count.hpp"
#include "models/weights.hpp"
#include "privacy/keys/digest.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/synthesis/free_texts.hpp"
#include "run/synthesis/row_desk.hpp"
#include "run/synthesis/row_walk.hpp"
#include "run/synthesis/waiting_rows.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

/// What public/ says of the run.
struct public_run {
    config::run_config config;
    std::optional<data::row_template> how = {};  ///< none of a run on texts
    std::string template_text;
    fs::path model;
    std::optional<fs::path> adapter;
};

fs::path find_model(const synthesis_request& asked, const eval::run_directory& run, const config::run_config& config) {
    if (fs::exists(run.model())) {
        if (asked.model)
            refuse(fmt::format("--model: the run trained the whole model, which lies in {}; leave --model out",
                               run.model().string()));
        return run.model();
    }
    if (asked.model) return *asked.model;
    if (fs::exists(config.model.path)) return config.model.path;
    refuse(fmt::format("{}: its base is called {}; say where it lies with --model", asked.run.string(),
                       model_name(config.model.path)));
}

public_run open_run(const synthesis_request& asked) {
    const auto run = eval::run_at(asked.run);
    if (!fs::exists(run.config())) refuse(asked.run.string() + ": is no run's directory");
    public_run out;
    out.config = config::load(run.config(), {});
    if (!fs::exists(run.row_template()) && (out.config.data.narrative || is_synthetic(out.config.data.path)))
        refuse(asked.run.string() +
               ": its template declared no schema when it ran, so nothing says what columns there are; add one "
               "(docs/synthetic.md) and run again");
    if (fs::exists(run.row_template())) {
        out.template_text = read_file(run.row_template());
        out.how = data::parse_template(out.template_text, run.row_template().string());
        if (!out.how->schema) refuse(run.row_template().string() + ": has no schema");
    }
    out.model = find_model(asked, run, out.config);
    if (!fs::exists(run.adapter()) && !fs::exists(run.model()))
        refuse(asked.run.string() + ": has neither an adapter nor a model yet; let the run end first");
    if (fs::exists(run.adapter())) out.adapter = run.adapter();
    return out;
}

struct read_base {
    std::shared_ptr<const models::causal_lm> model;
    std::string digest;  ///< of its weights
};

read_base load_base(const public_run& run, const on_loading& tell) {
    const auto device = models::find_device("cpu", "device");
    const auto described = models::read_model(run.model);
    const auto quantize = described.in_blocks.numbers > 0 ? quantization::none : run.config.model.quantize;
    auto read = models::load_weights(
        run.model, described, models::use_precision(run.config.model.dtype, device), device,
        {.quantize = models::to_block_type(quantize), .digest = true, .known_good = false, .tell = tell});
    return {models::causal_lm::from_weights(described, std::move(read.weights)), std::move(read.digest)};
}

/// Of an adapter's files; empty without one.
std::string digest_adapter(const public_run& run) {
    if (!run.adapter) return {};
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(*run.adapter))
        if (entry.is_regular_file()) files.insert(entry.path());
    std::string all;
    for (const auto& file : files) all += file.filename().string() + privacy::sha256(read_file(file));
    return privacy::sha256(all);
}

/// Rows whose plans are asked for one after the other.
class plan_source {
  public:
    virtual ~plan_source() = default;
    virtual std::int64_t rows() const = 0;
    virtual std::int64_t longest() const = 0;               ///< tokens of a row
    virtual std::vector<std::int32_t> opening() const = 0;  ///< of all rows
    virtual std::shared_ptr<const row_plan> next() = 0;
    virtual void skip(std::int64_t rows) = 0;
};

class equal_plans final : public plan_source {
  public:
    equal_plans(row_planner& planner, const synthesis_request& asked)
        : rows_(asked.rows),
          plan_(std::make_shared<const row_plan>(planner.plan(planner.check_given(asked.given, "--where")))) {
        if (plan_->slots.empty())
            refuse(planner.table().how.file + ": every column is given; there is nothing to make");
    }
    std::int64_t rows() const override { return rows_; }
    std::int64_t longest() const override { return std::ssize(plan_->opening) + plan_->most_tokens; }
    std::vector<std::int32_t> opening() const override { return plan_->opening; }
    std::shared_ptr<const row_plan> next() override { return plan_; }
    void skip(std::int64_t) override {}

  private:
    std::int64_t rows_;
    std::shared_ptr<const row_plan> plan_;
};

/// Of a table with cells that are to be filled: all is looked at before anything is made.
class plans_like final : public plan_source {
  public:
    plans_like(row_planner& planner, const synthesis_request& asked)
        : planner_(planner), file_(asked.like->string()), where_(asked.given), rows_(file_) {
        while (const auto row = read()) {
            longest_ = std::max(longest_, std::ssize(row->opening) + row->most_tokens);
            ++count_;
        }
        if (count_ == 0) refuse(file_ + ": has no rows to fill");
        rewind();
    }
    std::int64_t rows() const override { return count_; }
    std::int64_t longest() const override { return longest_; }
    std::vector<std::int32_t> opening() const override { return {}; }
    std::shared_ptr<const row_plan> next() override { return read(); }
    void skip(std::int64_t rows) override {
        for (; rows > 0; --rows) advance();
    }

  private:
    void rewind() {
        rows_.rewind();
        part_.reset();
    }
    /// Whether there is another row.
    bool advance() {
        while (!part_ || ++at_ == part_->rows()) {
            part_ = rows_.next();
            at_ = static_cast<std::size_t>(-1);
            if (!part_) return false;
        }
        return true;
    }
    std::shared_ptr<const row_plan> read() {
        if (!advance()) return nullptr;
        auto given = where_;
        for (std::size_t c = 0; c < part_->columns().size(); ++c) {
            const auto& name = part_->columns()[c];
            const std::string cell(part_->cell(at_, c));
            // A name that the schema lacks is refused with the others.
            if (cell.empty() && std::ranges::count(planner_.table().columns, name) > 0) continue;
            const auto [before, fresh] = given.emplace(name, cell);
            if (!fresh && before->second != cell)
                data::refuse_at(file_, part_->line(at_),
                                fmt::format("{} is \"{}\", and --where says \"{}\"", name, cell, before->second));
        }
        const auto place = fmt::format("{}:{}:", file_, part_->line(at_));
        return std::make_shared<const row_plan>(planner_.plan(planner_.check_given(given, place)));
    }

    row_planner& planner_;
    std::string file_;
    given_cells where_;
    data::csv_stream rows_;
    std::optional<data::table> part_;
    std::size_t at_ = 0;
    std::int64_t count_ = 0, longest_ = 1;
};

std::unique_ptr<plan_source> make_plans(row_planner& planner, const synthesis_request& asked) {
    if (asked.like) return std::make_unique<plans_like>(planner, asked);
    return std::make_unique<equal_plans>(planner, asked);
}

std::string describe_dependence(const synthesis_request& asked, const public_run& run, const std::string& base) {
    return json{{"run", read_file(eval::run_at(asked.run).config())},
                {"base", base},
                {"adapter", digest_adapter(run)},
                {"template", run.template_text},
                {"seed", asked.how.seed},
                {"temperature", asked.how.temperature},
                {"given", asked.given},
                {"like", asked.like ? privacy::sha256(read_file(*asked.like)) : ""},
                {"questions", asked.questions}}
        .dump();
}

/// Rows of persons who are nobody, one after the other: how many each has is drawn from the declared shares.
void write_with_persons(const synthesis_request& asked, const data::row_template& how, const data::row_source& rows) {
    auto told = how;
    constexpr std::int64_t most = 1'000'000'000'000;
    told.schema->insert(
        told.schema->begin(),
        data::column_schema{.name = "person", .type = data::number_type{.range = {1, most, 1, 0}, .whole = true}});
    data::write_table(asked.out, told, [&](const auto& use) {
        // Another stream than any row's.
        constexpr auto stream = std::uint64_t{1} << 63U;
        std::uint64_t person = 0;
        std::int64_t left = 0;
        rows([&](const std::vector<std::string>& cells) {
            if (left == 0) {
                double uniform = models::uniform_number(asked.how.seed, stream, ++person);
                for (const auto share : how.rows_per_person) {
                    ++left;
                    if ((uniform -= share) < 0) break;
                }
            }
            --left;
            std::vector<std::string> all{std::to_string(person)};
            all.insert(all.end(), cells.begin(), cells.end());
            use(all);
        });
    });
}

void check(const synthesis_request& asked) {
    if (asked.like && asked.rows != 0)
        refuse("--rows: --like has rows of its own, and each is filled; leave --rows out");
    if (!asked.like && (asked.rows < 1 || asked.rows > most_rows))
        refuse(fmt::format("--rows {}: must be from 1 to {}", asked.rows, most_rows));
    if (asked.like && !fs::is_regular_file(*asked.like)) refuse("--like " + asked.like->string() + ": no such file");
    if (fs::exists(asked.out)) refuse(asked.out.string() + ": exists already; choose another --out");
    models::validate({.temperature = asked.how.temperature});
}

/// What all drawings of a call share.
struct workplace {
    const synthesis_request& asked;
    const synthesis_hooks& hooks;
    const public_run& run;
    row_model model;
    std::string base_digest;
    std::int64_t rows = 0, longest = 0;
    std::vector<std::string> columns = {};
};

/// Reads the model, and what all begin with.
workplace open_workplace(const synthesis_request& asked, const synthesis_hooks& hooks, const public_run& run,
                         std::vector<std::int32_t> opening) {
    auto base = load_base(run, hooks.loading);
    std::optional<models::loaded_adapter> adapter;
    if (run.adapter) adapter = models::load_adapter(*run.adapter, base.model->config(), run.model);
    auto decoded = std::make_shared<const models::decoding_model>(
        std::move(base.model), adapter ? &adapter->layout : nullptr, adapter ? &adapter->flat : nullptr);
    return {asked, hooks, run, make_row_model(std::move(decoded), std::move(opening)), std::move(base.digest)};
}

using source_maker = std::function<sampler::source(row_desk& desk)>;

/// Draws the rows that the desk may give. Each thread asks `make_source` for a source of its own, which gives rows in
/// the desk's order.
row_counts draw_open(const workplace& at, row_desk& desk, const source_maker& make_source) {
    const auto threads = static_cast<std::size_t>(at.asked.threads);
    std::vector<row_counts> counts(threads);
    std::atomic<bool> failed = false;
    data::in_parallel(at.asked.threads, threads, [&](std::size_t, std::size_t i) {
        const models::one_thread alone;
        try {
            sampler from(at.model, std::min(at.asked.batch, at.rows), at.longest);
            counts[i] = from.run(
                make_source(desk),
                [&](std::uint64_t number, std::vector<std::string> cells) { desk.take(number, std::move(cells)); },
                [&] { return failed || at.hooks.stop(); });
        } catch (...) {
            failed = true;
            throw;
        }
    });
    row_counts out;
    for (const auto& one : counts) out += one;
    return out;
}

/// Of so many rows as are tried first, beyond which a call says what it will take.
constexpr std::int64_t many_trials = 20;

using row_reader = std::function<void(const std::function<void(const std::vector<std::string>&)>& use)>;
synthesis_result draw_all(const workplace& at, const std::function<void(std::int64_t)>& skip,
                          const source_maker& make_source, const std::function<void(const row_reader&)>& write_out) {
    const auto& asked = at.asked;
    synthesis_result out;
    out.waiting = asked.out.string() + ".partial";
    waiting_rows waiting(out.waiting, describe_dependence(asked, at.run, at.base_digest), asked.resume);
    out.begun_with = std::min(waiting.rows(), at.rows);
    double seconds = 0;
    if (waiting.rows() < at.rows) {
        skip(waiting.rows());
        row_desk desk(at.rows, at.columns, waiting, at.hooks);
        const auto draw_up_to = [&](std::int64_t rows) {
            const auto began = std::chrono::steady_clock::now();
            desk.open_up_to(rows);
            out.counts += draw_open(at, desk, make_source);
            desk.flush();
            seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        };
        const auto trial = 2 * asked.batch * asked.threads;
        bool wanted = true;
        if (at.rows - waiting.rows() >= many_trials * trial) {
            const auto empty = fs::file_size(out.waiting);
            draw_up_to(waiting.rows() + trial);
            const auto made = static_cast<double>(waiting.rows() - out.begun_with);
            const auto left = static_cast<double>(at.rows - waiting.rows());
            wanted = !at.hooks.stop() &&
                     at.hooks.go_on({.rows = at.rows - waiting.rows(),
                                     .seconds = seconds / made * left,
                                     .bytes = static_cast<double>(fs::file_size(out.waiting) - empty) / made * left});
        }
        if (wanted) draw_up_to(at.rows);
    }
    out.seconds = seconds;
    if (out.counts.drawn > 0)
        out.row_tokens = std::ssize(at.model.opening) + (out.counts.chosen + out.counts.given) / out.counts.drawn;
    out.rows = std::min(waiting.rows(), at.rows);
    out.finished = waiting.rows() >= at.rows;
    if (!out.finished) return out;
    write_out([&](const auto& use) { waiting.each(at.rows, use); });
    remove_file(out.waiting);
    return out;
}

synthesis_result synthesize_rows(const synthesis_request& asked, const synthesis_hooks& hooks, const public_run& run) {
    data::check_table_name(asked.out);
    const auto words = models::tokenizer::load(run.model);
    const auto described = models::read_model(run.model);
    row_planner planner(*run.how, *words, described.bos, described.window);
    const auto plans = make_plans(planner, asked);
    auto at = open_workplace(asked, hooks, run, plans->opening());
    at.rows = plans->rows();
    at.longest = plans->longest();
    at.columns = planner.table().columns;
    std::mutex planning;
    const auto make_source = [&](row_desk& desk) -> sampler::source {
        return [&,
                known = std::make_shared<token_lists>(planner.table().tokens)]() -> std::optional<sampler::numbered> {
            const std::scoped_lock lock(planning);
            while (const auto number = desk.claim()) {
                auto plan = plans->next();
                require(plan != nullptr, "as many rows as were counted");
                if (!plan->slots.empty())
                    return sampler::numbered{*number, draw_row(std::move(plan), at.model, asked.how, *number, *known)};
                std::vector<std::string> cells;
                for (const auto& cell : plan->given) cells.push_back(cell.value());
                desk.take(*number, std::move(cells));
            }
            return std::nullopt;
        };
    };
    return draw_all(
        at, [&](std::int64_t rows) { plans->skip(rows); }, make_source,
        [&](const row_reader& rows) {
            if (run.how->rows_per_person.empty() || asked.like) return data::write_table(asked.out, *run.how, rows);
            write_with_persons(asked, *run.how, rows);
        });
}

/// In the run's format: lines of text, or JSON with it.
void write_texts(const synthesis_request& asked, const row_reader& rows, bool talks, bool lines) {
    data::write_lines(asked.out, [&](const std::function<void(std::string_view)>& add) {
        rows([&](const std::vector<std::string>& said) {
            if (lines) return add(said.front());
            nlohmann::ordered_json out;
            if (!talks) out["text"] = said.front();
            for (std::size_t i = 0; talks && i < said.size(); ++i)
                out["messages"].push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", said[i]}});
            add(out.dump());
        });
    });
}

synthesis_result synthesize_texts(const synthesis_request& asked, const synthesis_hooks& hooks, const public_run& run) {
    if (asked.like || !asked.given.empty())
        refuse(fmt::format("--{}: the run's records were texts, which have no columns", asked.like ? "like" : "where"));
    const bool talks = run.config.data.chat;
    const auto name = data::name_of_file(asked.out).extension;
    const bool lines = name == ".txt";
    if (name != ".jsonl" && name != ".ndjson" && (!lines || talks))
        refuse(fmt::format("{}: name it .jsonl{} (.gz or .zst behind that to pack it)", asked.out.string(),
                           talks ? "" : " or .txt"));
    constexpr std::int64_t most_questions = 100;
    if (asked.questions < 1 || asked.questions > most_questions)
        refuse(fmt::format("--questions {}: must be from 1 to {}", asked.questions, most_questions));
    if (asked.questions > 1 && !talks) refuse("--questions: the run's records were no conversations");
    auto words = models::tokenizer::load(run.model);
    const auto described = models::read_model(run.model);
    const text_rule rule{
        .bos = described.bos,
        .stops = models::find_stop_tokens(run.model),
        .most_tokens = std::min(described.window, run.config.data.max_tokens.value_or(described.window)),
        .one_line = lines || data::name_of_file(run.config.data.path).extension == ".txt"};
    std::optional<text_script> script;
    if (talks) {
        words = models::once_begun(std::move(words));
        const auto chat = hooks.read_chat_template ? hooks.read_chat_template(run.model) : std::nullopt;
        if (!chat) refuse(run.model.string() + " has no chat template");
        script = make_talk_script(*words, *chat, asked.questions, rule);
    } else {
        script = make_text_script(*words, rule);
    }
    auto at = open_workplace(asked, hooks, run, script->parts.front().given);
    at.rows = asked.rows;
    at.longest = script->longest();
    for (std::int64_t i = 0; talks && i < asked.questions; ++i)
        at.columns.insert(at.columns.end(), {"user", "assistant"});
    if (!talks) at.columns = {"text"};
    const auto make_source = [&](row_desk& desk) -> sampler::source {
        return [&]() -> std::optional<sampler::numbered> {
            const auto number = desk.claim();
            if (!number) return std::nullopt;
            return sampler::numbered{*number, draw_text(*script, at.model, asked.how, *number)};
        };
    };
    return draw_all(
        at, [](std::int64_t) {}, make_source, [&](const row_reader& rows) { write_texts(asked, rows, talks, lines); });
}

}  // namespace

synthesis_result synthesize(const synthesis_request& asked, const synthesis_hooks& hooks) {
    check(asked);
    const auto run = open_run(asked);
    return run.how ? synthesize_rows(asked, hooks, run) : synthesize_texts(asked, hooks, run);
}

}  // namespace rldp::actors
