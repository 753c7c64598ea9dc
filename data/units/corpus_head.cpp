#include "data/units/corpus_head.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

namespace rldp::data::detail {

namespace {

using nlohmann::json;

json held_out_to_json(const held_out_record& from) {
    std::vector<std::uint8_t> tokens(from.tokens.size() * sizeof(std::int32_t));
    if (!tokens.empty()) std::memcpy(tokens.data(), from.tokens.data(), tokens.size());
    json clauses = json::array();
    for (const auto& one : from.rendered.clauses) {
        json places = {one.column, one.whole.begin, one.whole.end};
        for (const auto& value : one.values) places.insert(places.end(), {value.begin, value.end});
        clauses.push_back(std::move(places));
    }
    return {json::binary(std::move(tokens)),
            from.rendered.text,
            from.rendered.key,
            from.rendered.group,
            std::move(clauses),
            from.cut,
            from.unit};
}

held_out_record held_out_from_json(const json& from) {
    const auto& bytes = from.at(0).get_binary();
    held_out_record out;
    out.tokens.resize(bytes.size() / sizeof(std::int32_t));
    if (!bytes.empty()) std::memcpy(out.tokens.data(), bytes.data(), bytes.size());
    from.at(1).get_to(out.rendered.text);
    from.at(2).get_to(out.rendered.key);
    from.at(3).get_to(out.rendered.group);
    for (const auto& places : from.at(4)) {
        clause one{.column = places.at(0), .whole = {places.at(1), places.at(2)}, .values = {}};
        for (std::size_t i = 3; i < places.size(); i += 2) one.values.push_back({places.at(i), places.at(i + 1)});
        out.rendered.clauses.push_back(std::move(one));
    }
    from.at(5).get_to(out.cut);
    from.at(6).get_to(out.unit);
    return out;
}

json as_json(const unit_sketches& from) {
    json out = json::object();
    for (const auto& [name, one] : from) out[name] = {one.level, one.hashes};
    return out;
}

unit_sketches sketches_from(const json& from) {
    unit_sketches out;
    for (const auto& [name, one] : from.items())
        out.emplace(name, unit_sketch{.level = one.at(0), .hashes = one.at(1)});
    return out;
}

}  // namespace

std::vector<std::uint8_t> encode_head(const token_corpus& corpus) {
    json held_out = json::array();
    for (const auto& one : corpus.held_out.records) held_out.push_back(held_out_to_json(one));
    return json::to_cbor({{"held_out", std::move(held_out)},
                          {"expected_units", corpus.held_out.expected_units},
                          {"columns", corpus.held_out.columns},
                          {"values", corpus.held_out.values},
                          {"records", corpus.records},
                          {"cut", corpus.cut},
                          {"planted", corpus.planted},
                          {"warnings", corpus.warnings},
                          {"digest", corpus.digest},
                          {"split", corpus.split},
                          {"sketches", as_json(corpus.sketches)}});
}

token_corpus corpus_from(std::span<const std::uint8_t> head) {
    const auto from = json::from_cbor(head.begin(), head.end());
    token_corpus out;
    for (const auto& one : from.at("held_out")) out.held_out.records.push_back(held_out_from_json(one));
    from.at("expected_units").get_to(out.held_out.expected_units);
    from.at("columns").get_to(out.held_out.columns);
    from.at("values").get_to(out.held_out.values);
    from.at("records").get_to(out.records);
    from.at("cut").get_to(out.cut);
    from.at("planted").get_to(out.planted);
    from.at("warnings").get_to(out.warnings);
    from.at("digest").get_to(out.digest);
    from.at("split").get_to(out.split);
    out.sketches = sketches_from(from.at("sketches"));
    return out;
}

}  // namespace rldp::data::detail
