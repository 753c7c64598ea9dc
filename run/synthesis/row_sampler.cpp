#include "run/synthesis/row_sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "models/generate.hpp"
#include "run/synthesis/row_walk.hpp"

namespace rldp::actors {

std::int32_t choose_token(const float* logits, std::int64_t vocabulary, const std::vector<std::int32_t>& values,
                          const std::vector<std::int32_t>& words, bool may_end, double temperature, double uniform) {
    const auto count = values.size() + words.size();
    const auto id = [&](std::size_t i) { return i < values.size() ? values[i] : words[i - values.size()]; };
    std::int32_t likeliest = -1;
    for (std::size_t i = 0; i < count; ++i)
        if (likeliest < 0 || logits[id(i)] > logits[likeliest]) likeliest = id(i);
    auto highest = likeliest < 0 ? -std::numeric_limits<float>::infinity() : logits[likeliest];
    if (may_end) highest = *std::max_element(logits, logits + vocabulary);
    const double cold = temperature == 0 ? 1 : temperature;
    const auto weigh = [&](std::int32_t of) { return std::exp((logits[of] - highest) / cold); };
    thread_local std::vector<double> weights;
    weights.resize(count);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += weights[i] = weigh(id(i));
    double end = 0;  // all other tokens
    if (may_end) {
        for (std::int32_t of = 0; of < vocabulary; ++of) end += weigh(of);
        end = std::max(0.0, end - sum);
        if (likeliest < 0) return -1;
    }
    if (temperature == 0) return end > sum ? -1 : likeliest;
    double left = uniform * (sum + end);
    for (std::size_t i = 0; i < count; ++i)
        if ((left -= weights[i]) < 0) return id(i);
    // Rounding never leads past the last that has any weight.
    return may_end || count == 0 ? -1 : id(count - 1);
}

row_model make_row_model(std::shared_ptr<const models::decoding_model> model, std::vector<std::int32_t> opening) {
    row_model out{.model = std::move(model), .opening = std::move(opening), .read = {}};
    if (!out.opening.empty()) out.read = models::read_beginning(out.model, out.opening);
    return out;
}

row_counts& row_counts::operator+=(const row_counts& other) {
    rows += other.rows;
    drawn += other.drawn;
    chosen += other.chosen;
    given += other.given;
    cut += other.cut;
    return *this;
}

namespace {

/// Whether its cells, told by the template, are the text that was made, and each is of its type.
bool reads_back(const table_plan& table, const std::vector<std::string>& cells, const std::string& text) {
    data::table row(table.how.file, table.columns);
    row.add_row(cells, 1);
    const auto& schema = *table.how.schema;
    for (std::size_t c = 0; c < cells.size(); ++c) {
        const bool listed = std::holds_alternative<data::category_type>(schema[c].type) ||
                            std::holds_alternative<data::date_type>(schema[c].type);
        if (listed || table.how.missing.contains(cells[c])) continue;
        auto cell = cells[c];
        const auto rule = table.how.columns.find(schema[c].name);
        if (rule != table.how.columns.end() && rule->second.decimal_comma)
            std::replace(cell.begin(), cell.end(), ',', '.');
        if (!data::conforms(cell, schema[c].type)) return false;
    }
    return data::row_renderer(table.how, row, nullptr)(0) == text;
}

class row_drawing final : public drawing {
  public:
    row_drawing(std::shared_ptr<const row_plan> plan, const row_model& model, const row_sampling& how,
                std::uint64_t number, token_lists& known)
        : plan_(std::move(plan)), model_(model), how_(how), number_(number), known_(known), walk_(*plan_) {}

    std::vector<std::int32_t> begin(std::uint64_t draw) override {
        draw_ = draw;
        step_ = 0;
        walk_ = row_walk(*plan_);
        const auto& opening = plan_->opening;
        const auto read = model_.opening.size();
        require(opening.size() >= read && std::equal(model_.opening.begin(), model_.opening.end(), opening.begin()),
                "a row begins as all do");
        return {opening.begin() + static_cast<std::ptrdiff_t>(read), opening.end()};
    }

    bool advance(const float* logits, std::vector<std::int32_t>& unread, row_counts& counts) override {
        while (step_ <= plan_->most_tokens) {
            const auto view = walk_.look(known_);
            if (view.what == row_walk::need::over || view.what == row_walk::need::stuck) break;
            auto token = view.token;
            if (view.what == row_walk::need::choice) {
                if (logits == nullptr) return false;
                const double uniform =
                    models::uniform_number(how_.seed, number_, (draw_ << 32U) + static_cast<std::uint64_t>(step_));
                token = choose_token(logits, model_.model->config.vocab, *view.values, view.words, view.may_end,
                                     how_.temperature, uniform);
                ++counts.chosen;
            } else {
                ++counts.given;
            }
            if (token < 0) {
                walk_.end();
                continue;
            }
            logits = nullptr;
            walk_.take(token);
            ++step_;
            unread.push_back(token);
        }
        return true;
    }

    std::optional<std::vector<std::string>> cells() const override {
        auto cells = walk_.over() ? walk_.cells() : std::nullopt;
        return cells && reads_back(*plan_->table, *cells, walk_.text()) ? std::move(cells) : std::nullopt;
    }

  private:
    std::shared_ptr<const row_plan> plan_;
    const row_model& model_;
    const row_sampling& how_;
    std::uint64_t number_, draw_ = 0;
    token_lists& known_;
    row_walk walk_;
    std::int64_t step_ = 0;  ///< tokens behind the opening
};

}  // namespace

std::unique_ptr<drawing> draw_row(std::shared_ptr<const row_plan> plan, const row_model& model, const row_sampling& how,
                                  std::uint64_t number, token_lists& known) {
    return std::make_unique<row_drawing>(std::move(plan), model, how, number, known);
}

sampler::sampler(const row_model& model, std::int64_t places, std::int64_t longest)
    : model_(model), texts_(model.model, places, longest, model.read), places_(static_cast<std::size_t>(places)) {}

/// Hands it over, if it reads back.
bool sampler::finish(place& at, const sink& done, row_counts& counts) {
    ++counts.drawn;
    if (auto cells = at.what->cells()) {
        ++counts.rows;
        done(at.number, std::move(*cells));
        return true;
    }
    ++at.draw;
    if (counts.drawn >= least_draws && counts.rows * most_draws_per_row < counts.drawn)
        refuse(
            fmt::format("row {}: of {} draws {} read back; train longer, lower --temperature, or declare types that "
                        "are narrower",
                        at.number + 1, counts.drawn, counts.rows));
    return false;
}

row_counts sampler::run(const source& next, const sink& done, const std::function<bool()>& stop) {
    constexpr std::int64_t most_tokens_at_once = 512;
    row_counts counts;
    std::vector<models::growing_texts::piece> pieces;
    // Takes drawings, and goes on with them, until the model has something to read for the place, or none is left.
    const auto refill = [&](std::int64_t which, const float* logits) {
        auto& at = places_[static_cast<std::size_t>(which)];
        for (;;) {
            if (at.what) {
                if (!at.what->advance(logits, at.unread, counts)) return;
                if (finish(at, done, counts)) at = {};
            }
            if (!at.what) {
                auto one = next();
                if (!one) return;
                at.number = one->number;
                at.what = std::move(one->what);
            }
            texts_.restart(which);
            at.unread = at.what->begin(at.draw);
            logits = at.unread.empty() ? model_.read->logits.data() : nullptr;
        }
    };
    for (std::int64_t which = 0; which < std::ssize(places_); ++which) refill(which, nullptr);
    for (bool any = true; any;) {
        any = false;
        for (std::size_t from = 0; from < places_.size();) {
            if (stop && stop()) return counts;
            pieces.clear();
            std::int64_t tokens = 0;
            for (; from < places_.size() && tokens < most_tokens_at_once; ++from) {
                if (!places_[from].what) continue;
                pieces.push_back({static_cast<std::int64_t>(from), places_[from].unread, true});
                tokens += std::ssize(places_[from].unread);
            }
            if (pieces.empty()) continue;
            any = true;
            texts_.read(pieces);
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                places_[static_cast<std::size_t>(pieces[i].place)].unread.clear();
                refill(pieces[i].place, texts_.logits(i));
            }
        }
    }
    return counts;
}

made_rows make_rows(const row_model& model, const row_plan& plan, const row_sampling& how, std::int64_t first,
                    std::int64_t count, std::int64_t places) {
    made_rows out;
    out.cells.resize(static_cast<std::size_t>(count));
    const auto shared = std::make_shared<const row_plan>(plan);
    token_lists known(plan.table->tokens);
    sampler from(model, places, std::ssize(plan.opening) + plan.most_tokens);
    std::int64_t next = 0;
    out.counts = from.run(
        [&]() -> std::optional<sampler::numbered> {
            if (next == count) return std::nullopt;
            const auto number = static_cast<std::uint64_t>(first + next++);
            return sampler::numbered{number, draw_row(shared, model, how, number, known)};
        },
        [&](std::uint64_t number, std::vector<std::string> cells) {
            out.cells[static_cast<std::size_t>(number) - static_cast<std::size_t>(first)] = std::move(cells);
        });
    return out;
}

}  // namespace rldp::actors
