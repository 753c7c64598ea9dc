#include "run/synthesis/row_sampler.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "base/error.hpp"
#include "models/forward_pass.hpp"
#include "models/generate.hpp"
#include "run/synthesis/row_walk.hpp"

namespace rldp::actors {

std::int32_t choose_token(const float* logits, std::int64_t vocabulary, const std::vector<std::int32_t>& values,
                          const std::vector<std::int32_t>& words, bool may_end, double temperature, double uniform) {
    const auto each = [&](const auto& use) {
        for (const auto id : values) use(id);
        for (const auto id : words) use(id);
    };
    std::int32_t likeliest = -1;
    float highest = -std::numeric_limits<float>::infinity();
    if (may_end) highest = *std::max_element(logits, logits + vocabulary);
    each([&](std::int32_t id) {
        if (likeliest < 0 || logits[id] > logits[likeliest]) likeliest = id;
    });
    if (!may_end && likeliest >= 0) highest = logits[likeliest];
    const double cold = temperature == 0 ? 1 : temperature;
    const auto weight = [&](std::int32_t id) { return std::exp((logits[id] - highest) / cold); };
    double sum = 0;
    each([&](std::int32_t id) { sum += weight(id); });
    double end = 0;  // all other tokens
    if (may_end) {
        for (std::int32_t id = 0; id < vocabulary; ++id) end += weight(id);
        end = std::max(0.0, end - sum);
        if (likeliest < 0) return -1;
    }
    if (temperature == 0) return end > sum ? -1 : likeliest;
    double left = uniform * (sum + end);
    std::int32_t chosen = -1;
    bool found = false;
    each([&](std::int32_t id) {
        if (found) return;
        chosen = id;
        left -= weight(id);
        found = left < 0;
    });
    // Rounding never leads past the last that has any weight.
    return found || !may_end ? chosen : -1;
}

namespace {

/// Rows of one draw, all together.
class batch_of_rows {
  public:
    batch_of_rows(const row_model& model, const row_plan& plan, const row_sampling& how, token_lists& known,
                  std::vector<std::uint64_t> numbers, int draw)
        : model_(model), plan_(plan), how_(how), known_(known), numbers_(std::move(numbers)), draw_(draw) {}

    std::vector<row_walk> run(made_rows& counts) {
        const auto count = static_cast<std::int64_t>(numbers_.size());
        const auto& config = model_.base->config();
        models::attention_memory memory(config, {std::ssize(plan_.opening)}, count, plan_.most_tokens);
        std::vector<row_walk> rows(numbers_.size(), row_walk(plan_));
        auto logits = read(memory, at::tensor(plan_.opening, at::kInt).to(at::kLong).unsqueeze(0));
        for (std::int64_t step = 0;; ++step) {
            const auto next = at::zeros({count, 1}, at::kLong);
            const bool any = advance(rows, logits, step, next.data_ptr<std::int64_t>(), counts);
            if (!any || step == plan_.most_tokens) return rows;
            logits = read(memory, next);
        }
    }

  private:
    at::Tensor read(models::attention_memory& memory, const at::Tensor& ids) const {
        return model_.base->extend(memory, ids, model_.layout, model_.adapter).contiguous();
    }

    /// Whether any row goes on.
    bool advance(std::vector<row_walk>& rows, const at::Tensor& logits, std::int64_t step, std::int64_t* next,
                 made_rows& counts) {
        const auto vocabulary = logits.size(1);
        const auto* numbers = logits.data_ptr<float>();
        bool any = false;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto& row = rows[i];
            const auto view = row.look(known_);
            if (view.what == row_walk::need::over || view.what == row_walk::need::stuck) continue;
            auto token = view.token;
            if (view.what == row_walk::need::choice) {
                const auto stream = static_cast<std::uint64_t>(draw_) << 32U;
                const double uniform =
                    models::uniform_number(how_.seed, numbers_[i], stream + static_cast<std::uint64_t>(step));
                token = choose_token(numbers + static_cast<std::int64_t>(i) * vocabulary, vocabulary, *view.values,
                                     view.words, view.may_end, how_.temperature, uniform);
                ++counts.chosen;
            } else {
                ++counts.given;
            }
            if (token < 0) {
                row.end();
                continue;
            }
            row.take(token);
            next[i] = token;
            any = any || !row.over();
        }
        return any;
    }

    const row_model& model_;
    const row_plan& plan_;
    const row_sampling& how_;
    token_lists& known_;
    std::vector<std::uint64_t> numbers_;
    int draw_;
};

/// Whether its cells, told by the template, are the text that was made, and each is of its type.
bool reads_back(const row_plan& plan, const std::vector<std::string>& cells, const std::string& text) {
    data::table row(plan.how.file, plan.columns);
    row.add_row(cells, 1);
    const auto& schema = *plan.how.schema;
    for (std::size_t c = 0; c < cells.size(); ++c) {
        const bool listed = std::holds_alternative<data::category_type>(schema[c].type) ||
                            std::holds_alternative<data::date_type>(schema[c].type);
        if (listed || plan.how.missing.contains(cells[c])) continue;
        auto cell = cells[c];
        const auto rule = plan.how.columns.find(schema[c].name);
        if (rule != plan.how.columns.end() && rule->second.decimal_comma)
            std::replace(cell.begin(), cell.end(), ',', '.');
        if (!data::conforms(cell, schema[c].type)) return false;
    }
    return data::row_renderer(plan.how, row, nullptr)(0) == text;
}

}  // namespace

made_rows make_rows(const row_model& model, const row_plan& plan, const row_sampling& how, std::int64_t first,
                    std::int64_t count) {
    const at::NoGradGuard no_grad;
    made_rows out;
    out.cells.resize(static_cast<std::size_t>(count));
    token_lists known(plan);
    std::vector<std::uint64_t> open(out.cells.size());
    std::iota(open.begin(), open.end(), static_cast<std::uint64_t>(first));
    for (int draw = 0; !open.empty(); ++draw) {
        const auto made_so_far = count - std::ssize(open);
        if (out.drawn >= least_draws && made_so_far * most_draws_per_row < out.drawn)
            refuse(
                fmt::format("rows from {} on: of {} draws {} read back by {}; train longer, lower --temperature, or "
                            "declare types that are narrower",
                            first + 1, out.drawn, made_so_far, plan.how.file));
        const auto rows = batch_of_rows(model, plan, how, known, open, draw).run(out);
        out.drawn += std::ssize(rows);
        std::vector<std::uint64_t> again;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto cells = rows[i].over() ? rows[i].cells() : std::nullopt;
            if (cells && reads_back(plan, *cells, rows[i].text()))
                out.cells[open[i] - static_cast<std::uint64_t>(first)] = std::move(*cells);
            else
                again.push_back(open[i]);
        }
        open = std::move(again);
    }
    return out;
}

}  // namespace rldp::actors
