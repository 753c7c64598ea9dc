#include "privacy/mechanism/look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/strict_json.hpp"
#include "privacy/mechanism/kernels.hpp"

namespace rldp::privacy {

namespace {

using nlohmann::json;

constexpr double presence = 0.5;
constexpr double grid = 0x1p-36;  // of a norm of 1
constexpr double of_95_percent = 1.959963984540054;

/// A unit's vector before it is shortened. A loss that is no number, as after a run that diverged, lies beyond all that
/// are: of a vector shortened from there nothing is left but that axis.
std::vector<double> make_vector(const unit_look& of_unit, const look_frame& frame) {
    const auto place = [](double nats, const look_axis& axis) { return (nats - axis.centre) / axis.reach; };
    std::vector<double> out = {presence, place(of_unit.nats, frame.nats)};
    // A unit without a value, or a target, lies at the centre.
    if (const auto& axis = frame.value_token_nats)
        out.push_back(of_unit.value_token_nats ? place(*of_unit.value_token_nats, *axis) : 0);
    if (frame.hits) out.push_back(of_unit.hits && std::isfinite(*of_unit.hits) ? *of_unit.hits - 0.5 : 0);
    const auto finite = [](double each) { return std::isfinite(each); };
    constexpr double beyond = 2;  // longer than any may stay
    if (!std::all_of(out.begin(), out.end(), finite))
        for (auto& each : out) each = finite(each) ? 0 : beyond;
    return out;
}

double compute_norm(const std::vector<double>& values) {
    double squares = 0;
    for (const double value : values) squares += value * value;
    return std::sqrt(squares);
}

json axis_json(const look_axis& axis) {
    return {axis.centre, axis.reach};
}

look_axis axis_from(const json& in) {
    const look_axis out{in.at(0).get<double>(), in.at(1).get<double>()};
    refuse_unless(std::isfinite(out.centre) && is_positive(out.reach), "an axis that is none");
    return out;
}

/// Half of the interval, in reaches, of a mean that lies `off` reaches from the centre, of `units` units.
double half_width(double noise_multiplier, double units, double off) {
    const double of_number = off / presence;
    return of_95_percent * noise_multiplier / units * std::sqrt(1 + of_number * of_number);
}

}  // namespace

look_sum::look_sum(const look_frame& frame) : frame_(frame), sum_(frame.entries()) {
    for (const auto* axis : {&frame_.nats, frame_.value_token_nats ? &*frame_.value_token_nats : &frame_.nats}) {
        require(std::isfinite(axis->centre), "look: a centre is no number");
        require_positive(axis->reach, "look: how far figures may lie from the centre");
    }
}

void look_sum::add(const unit_look& of_unit) {
    ++units_;
    add_vector(make_vector(of_unit, frame_));
}

void look_sum::add_vector(std::vector<double> values) {
    require(values.size() == sum_.size(), "look: a vector of another length");
    const double norm = compute_norm(values), factor = norm > 1 ? 1 / norm : 1;
    shortened_ += norm > 1 ? 1 : 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        sum_[i] += static_cast<std::int64_t>(std::trunc(values[i] * factor * (1 - 0x1p-50) / grid));
}

std::vector<double> look_sum::exact() const {
    std::vector<double> out;
    for (const auto steps : sum_) out.push_back(static_cast<double>(steps) * grid);
    return out;
}

look_release look_sum::finish(const look_charge& charged, const run_key& key) {
    require(!std::exchange(finished_, true), "look: its noise was drawn already");
    const auto sum = exact();
    std::vector<double> out(sum.size());
    const double z = charged->noise_multiplier;
    if (z == 0) return {charged, frame_, sum};  // of a run that promises nothing
    std::vector<double> noise(sum.size());
    random_stream(key, purpose::look, static_cast<std::uint64_t>(charged->look), 0).normals(noise);
    detail::noise_and_round(sum.data(), noise.data(), out.data(), std::ssize(sum), z);
    return {charged, frame_, out};
}

look_figures decode_figures(const look_release& released) {
    const auto& numbers = released.numbers;
    const auto& frame = released.frame;
    const double z = released.charged->noise_multiplier;
    // A number of units within its own noise says nothing: the interval then spans more than the axis.
    const double units = std::max({numbers.at(0) / presence, z / presence, 1.0});
    std::size_t next = 1;
    const auto read = [&](const look_axis& axis) {
        const double off = numbers.at(next++) / units;
        return noised_figure{axis.centre + axis.reach * off, axis.reach * half_width(z, units, off)};
    };
    look_figures out;
    out.nats = read(frame.nats);
    if (frame.value_token_nats) out.value_token_nats = read(*frame.value_token_nats);
    if (frame.hits) out.hits = read({0.5, 1});
    return out;
}

double expected_within(double noise_multiplier, double units, double off) {
    return half_width(noise_multiplier, std::max(units, 1.0), off);
}

std::string to_json(const look_release& released) {
    const auto& frame = released.frame;
    return json{{"look", released.charged->look},
                {"step", released.charged->step},
                {"noise_multiplier", released.charged->noise_multiplier},
                {"nats", axis_json(frame.nats)},
                {"value_token_nats", frame.value_token_nats ? axis_json(*frame.value_token_nats) : json(nullptr)},
                {"hits", frame.hits},
                {"numbers", released.numbers}}
        .dump();
}

look_release look_from(const std::string& text, const ledger_content& ledger) try {
    const auto in = json::parse(text);
    const auto number = to_integer(in.at("look"));
    refuse_unless(number >= 1 && number <= std::ssize(ledger.looks), "the ledger did not charge it");
    const auto& charged = ledger.looks[static_cast<std::size_t>(number - 1)];
    refuse_unless(charged->step == to_integer(in.at("step")) &&
                      charged->noise_multiplier == in.at("noise_multiplier").get<double>(),
                  "the ledger charged another one");
    look_frame frame{axis_from(in.at("nats")), {}, in.at("hits").get<bool>()};
    if (const auto& axis = in.at("value_token_nats"); !axis.is_null()) frame.value_token_nats = axis_from(axis);
    auto numbers = in.at("numbers").get<std::vector<double>>();
    refuse_unless(numbers.size() == frame.entries() &&
                      std::all_of(numbers.begin(), numbers.end(), [](double each) { return std::isfinite(each); }),
                  "its numbers are not those of a look");
    return {charged, frame, std::move(numbers)};
} catch (const json::exception& e) {
    refuse(fmt::format("not a look ({})", e.what()));
}

}  // namespace rldp::privacy
