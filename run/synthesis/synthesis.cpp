#include "run/synthesis/synthesis.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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
#include "models/device.hpp"
#include "models/generate.hpp"
#include "models/thread_count.hpp"
#include "models/weights.hpp"
#include "privacy/keys/digest.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

/// What public/ says of the run.
struct public_run {
    config::run_config config;
    data::row_template how;
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
    if (!fs::exists(run.row_template()))
        refuse(asked.run.string() +
               (out.config.data.narrative
                    ? ": its template declared no schema when it ran, so nothing says what columns there are; add one "
                      "(docs/synthetic.md) and run again"
                    : ": its records were no table with a template; rldp generate continues texts"));
    out.template_text = read_file(run.row_template());
    out.how = data::parse_template(out.template_text, run.row_template().string());
    if (!out.how.schema) refuse(run.row_template().string() + ": has no schema");
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

/// Rows of a table that is not whole yet, in JSON lines: first what they depend on, then a row each.
class waiting_rows {
  public:
    waiting_rows(fs::path path, const std::string& depends_on, const synthesis_request& asked)
        : path_(std::move(path)) {
        const bool resume = asked.resume;
        const bool there = fs::exists(path_);
        if (there && !resume)
            refuse(path_.string() + ": rows of an earlier call wait there; go on with --resume, or remove it");
        if (!there) {
            if (resume) refuse(path_.string() + ": there is nothing to go on with; leave --resume out");
            file_.emplace(path_);
            file_->append(depends_on + "\n");
            return;
        }
        const auto whole = count_whole(depends_on, asked.batch);
        file_.emplace(path_);
        file_->truncate(whole);
    }
    std::int64_t rows() const { return rows_; }
    void add(const std::vector<std::vector<std::string>>& rows) {
        std::string lines;
        for (const auto& row : rows) lines += json(row).dump() + "\n";
        file_->append(lines);
        rows_ += std::ssize(rows);
    }
    /// The first of them, in order.
    void each(std::int64_t rows, const std::function<void(const std::vector<std::string>&)>& use) const {
        data::piece_reader pieces(path_.string(), false);
        std::int64_t next = -1;
        while (const auto part = pieces.next())
            for (const auto& line : data::split_lines(part->text, part->line))
                if (next++ >= 0 && next <= rows) use(json::parse(line.text).get<std::vector<std::string>>());
    }

  private:
    /// Bytes of the first line and of whole batches.
    std::uintmax_t count_whole(const std::string& depends_on, std::int64_t batch) {
        const auto text = read_file(path_);
        auto end = text.find('\n');
        if (end == std::string::npos || text.substr(0, end) != depends_on)
            refuse(path_.string() +
                   ": was begun with another run, base, seed, batch, temperature or --where; remove it, or repeat that "
                   "call");
        std::int64_t lines = 0;
        auto whole = ++end;
        for (auto next = text.find('\n', end); next != std::string::npos; next = text.find('\n', next + 1))
            if (++lines % batch == 0) {
                rows_ = lines;
                whole = next + 1;
            }
        return whole;
    }

    fs::path path_;
    std::optional<append_file> file_;
    std::int64_t rows_ = 0;
};

std::string describe_dependence(const synthesis_request& asked, const public_run& run, const std::string& base) {
    return json{{"run", read_file(eval::run_at(asked.run).config())},
                {"base", base},
                {"adapter", digest_adapter(run)},
                {"template", run.template_text},
                {"seed", asked.how.seed},
                {"temperature", asked.how.temperature},
                {"batch", asked.batch},
                {"given", asked.given}}
        .dump();
}

void check(const synthesis_request& asked) {
    if (asked.rows < 1 || asked.rows > most_rows)
        refuse(fmt::format("--rows {}: must be from 1 to {}; a hundred million take days and gigabytes", asked.rows,
                           most_rows));
    data::check_table_name(asked.out);
    if (fs::exists(asked.out)) refuse(asked.out.string() + ": exists already; choose another --out");
    models::validate({.temperature = asked.how.temperature});
}

}  // namespace

synthesis_result synthesize(const synthesis_request& asked, const synthesis_hooks& hooks) {
    check(asked);
    const auto run = open_run(asked);
    const auto words = models::tokenizer::load(run.model);
    const auto described = models::read_model(run.model);
    const auto plan = plan_rows(run.how, asked.given, *words, described.bos, described.window);
    auto base = load_base(run, hooks.loading);
    row_model model{.base = std::move(base.model)};
    std::optional<models::loaded_adapter> adapter;
    if (run.adapter) {
        adapter = models::load_adapter(*run.adapter, model.base->config(), run.model);
        model.layout = &adapter->layout;
        model.adapter = &adapter->flat;
    }
    synthesis_result out;
    out.waiting = asked.out.string() + ".partial";
    waiting_rows waiting(out.waiting, describe_dependence(asked, run, base.digest), asked);
    out.begun_with = waiting.rows();
    out.made.rows = std::min(waiting.rows(), asked.rows);
    const auto began = std::chrono::steady_clock::now();
    while (waiting.rows() < asked.rows && !hooks.stop()) {
        const auto first = waiting.rows();
        require(first % asked.batch == 0, "waiting rows are whole batches");
        const auto batches =
            std::min<std::int64_t>(4 * asked.threads, (asked.rows - first + asked.batch - 1) / asked.batch);
        std::vector<made_rows> made(static_cast<std::size_t>(batches));
        data::in_parallel(asked.threads, made.size(), [&](std::size_t, std::size_t i) {
            const models::one_thread alone;
            if (!hooks.stop())
                made[i] =
                    make_rows(model, plan, asked.how, first + static_cast<std::int64_t>(i) * asked.batch, asked.batch);
        });
        for (const auto& one : made) {
            if (one.cells.empty()) break;  // stopped; those behind it are left, too
            waiting.add(one.cells);
            out.made.drawn += one.drawn;
            out.made.chosen += one.chosen;
            out.made.given += one.given;
            out.made.rows = std::min(waiting.rows(), asked.rows);
        }
        hooks.progress(out.made);
    }
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (out.made.drawn > 0)
        out.row_tokens = std::ssize(plan.opening) + (out.made.chosen + out.made.given) / out.made.drawn;
    out.finished = waiting.rows() >= asked.rows;
    if (!out.finished) return out;
    data::write_table(asked.out, run.how, [&](const auto& use) { waiting.each(asked.rows, use); });
    remove_file(out.waiting);
    return out;
}

}  // namespace rldp::actors
