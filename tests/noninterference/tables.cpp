#include "tests/noninterference/tables.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "tests/support/corpus.hpp"

namespace rldp::testing {

namespace {

std::string quoted(const std::string& cell) {
    std::string out = "\"";
    for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

std::string format_line(const row& r, std::string_view extension) {
    if (extension == "csv") return quoted(r.id) + "," + quoted(r.patient) + "," + quoted(r.text) + "\n";
    if (extension == "jsonl") return nlohmann::json{{"text", r.text}, {"patient", r.patient}}.dump() + "\n";
    return r.text + "\n";
}

data::corpus load(const std::filesystem::path& folder, const table& of, const layout& how) {
    const auto file = folder / how.file("probe");
    write_table(file, of, how);
    data::source from{};
    from.path = file.string();
    if (how.extension == "csv") from.narrative = (folder / "template.json").string();
    if (how.grouped) from.group = "patient";
    return data::load_corpus(from, {});
}

}  // namespace

void write_table(const std::filesystem::path& file, const table& of, const layout& how) {
    std::string out = how.extension == "csv" ? "id,patient,text\n" : "";
    for (const auto* side : {&of.train, &of.held_out})
        for (const auto& one : *side)
            for (const auto& r : one) out += format_line(r, how.extension);
    write_file(file, out);
}

std::string words(generator& random, std::size_t count) {
    constexpr std::string_view letters = "eeeettaaooiinsshrdlucmfwypvbgkq";
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) out += ' ';
        for (auto length = 2 + below(random, 5); length > 0; --length) out += letters[below(random, letters.size())];
    }
    return out;
}

table_maker::table_maker(std::filesystem::path folder, layout how, std::uint64_t seed)
    : folder_(std::move(folder)), how_(std::move(how)), random_(seed) {
    std::filesystem::create_directories(folder_);
    write_file(folder_ / "template.json", plain_template);
}

unit table_maker::identified(std::size_t records) {
    const auto patient = fmt::format("P{}", ++count_);
    unit out;
    for (std::size_t i = 0; i < records; ++i) out.push_back({fmt::format("R{}", ++count_), patient, {}});
    return out;
}

unit table_maker::any_unit() {
    auto out = identified(how_.grouped ? 1 + below(random_, 3) : 1);
    for (auto& r : out) r.text = words(random_, 3 + below(random_, 3));
    return out;
}

unit table_maker::unit_on(data::side where) {
    for (;;)
        if (auto made = any_unit(); lies_on(where, made)) return made;
}

table table_maker::base(std::size_t training_units) {
    table out;
    while (out.train.size() < training_units) out.train.push_back(unit_on(data::side::train));
    while (eval_units(out) < 3)
        if (auto made = any_unit(); !lies_on(data::side::train, made)) out.held_out.push_back(std::move(made));
    return out;
}

/// A unit's side does not depend on the others. A table without training units is refused, so one is beside it.
bool table_maker::lies_on(data::side where, const unit& one) try {
    const auto sides = [&](const table& of) { return load(folder_, of, how_); };
    if (!trained_) {
        const auto alone = sides({{one}, {}});  // or it throws
        trained_ = one;
        return where == data::side::train && alone.train.size() == 1;
    }
    const auto both = sides({{*trained_}, {one}});
    switch (where) {
        case data::side::train:
            return both.train.size() == 2;
        case data::side::eval:
            return both.eval.size() == 1;
        case data::side::attack:
            return both.attack.size() == 1;
    }
    return false;
} catch (const error&) {
    return false;
}

std::size_t table_maker::eval_units(const table& of) {
    return load(folder_, of, how_).eval.size();
}

}  // namespace rldp::testing
