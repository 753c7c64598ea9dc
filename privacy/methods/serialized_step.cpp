#include "privacy/methods/serialized_step.hpp"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "privacy/methods/geometries.hpp"

namespace rldp::privacy {

namespace {

using json = nlohmann::json;

json to_json(const at::Tensor& tensor) {
    const auto plain = tensor.detach().cpu().contiguous();
    require(plain.scalar_type() == at::kFloat || plain.scalar_type() == at::kDouble, "an order's tensors are real");
    const auto* const bytes = static_cast<const std::uint8_t*>(plain.data_ptr());
    return {{"double", plain.scalar_type() == at::kDouble},
            {"shape", plain.sizes().vec()},
            {"bytes", json::binary({bytes, bytes + plain.nbytes()})}};
}

at::Tensor tensor_from(const json& stored) {
    const auto& bytes = stored.at("bytes").get_binary();
    auto out = at::empty(stored.at("shape").get<std::vector<std::int64_t>>(),
                         stored.at("double").get<bool>() ? at::kDouble : at::kFloat);
    refuse_unless(out.nbytes() == bytes.size(), "what rank 0 told of a step: a tensor of another length");
    std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t*>(out.data_ptr()));
    return out;
}

json to_json(const geometry* shape) {
    if (shape == nullptr) return nullptr;
    json out{{"centre", to_json(shape->centre())}};
    if (const auto* diagonal = dynamic_cast<const diagonal_geometry*>(shape)) {
        out["scales"] = to_json(diagonal->scales());
        return out;
    }
    const auto* spiked = dynamic_cast<const spiked_geometry*>(shape);
    require(spiked != nullptr, "a geometry of a kind that ranks don't tell each other");
    out["blocks"] = json::array();
    for (const auto& block : spiked->blocks())
        out["blocks"].push_back(
            {{"directions", to_json(block.directions)}, {"variances", to_json(block.variances)}, {"tail", block.tail}});
    return out;
}

std::shared_ptr<const geometry> geometry_from(const json& stored) {
    if (stored.is_null()) return nullptr;
    auto centre = tensor_from(stored.at("centre"));
    if (stored.contains("scales"))
        return std::make_shared<diagonal_geometry>(std::move(centre), tensor_from(stored.at("scales")));
    std::vector<spiked_block> blocks;
    for (const auto& block : stored.at("blocks"))
        blocks.push_back({tensor_from(block.at("directions")), tensor_from(block.at("variances")), block.at("tail")});
    return std::make_shared<spiked_geometry>(std::move(centre), std::move(blocks));
}

}  // namespace

std::string serialize_step(const serialized_step& step) {
    const auto& terms = step.terms;
    json out{{"radii", terms.radii},
             {"shares", terms.shares},
             {"rule", static_cast<int>(terms.rule)},
             {"stabiliser", terms.stabiliser},
             {"shape", to_json(terms.shape.get())},
             {"measured", terms.measured ? terms.measured->described() : json()},
             {"measurement_multiplier", terms.measurement_multiplier},
             {"probes_at", terms.probes},
             {"adapter", to_json(step.adapter)},
             {"probes", json::array()}};
    for (const auto& probe : step.probes) out["probes"].push_back(to_json(probe));
    std::string bytes;
    json::to_cbor(out, bytes);
    return bytes;
}

serialized_step parse_step(std::string_view bytes) try {
    const auto stored = json::from_cbor(bytes);
    serialized_step out;
    stored.at("radii").get_to(out.terms.radii);
    stored.at("shares").get_to(out.terms.shares);
    const auto rule = stored.at("rule").get<int>();
    refuse_unless(rule >= 0 && rule <= static_cast<int>(clip_rule::batch_mean),
                  "what rank 0 told of a step: no rule of clipping");
    out.terms.rule = static_cast<clip_rule>(rule);
    stored.at("stabiliser").get_to(out.terms.stabiliser);
    out.terms.shape = geometry_from(stored.at("shape"));
    if (!stored.at("measured").is_null()) out.terms.measured = measurement_from(stored.at("measured"));
    stored.at("measurement_multiplier").get_to(out.terms.measurement_multiplier);
    stored.at("probes_at").get_to(out.terms.probes);
    out.adapter = tensor_from(stored.at("adapter"));
    for (const auto& probe : stored.at("probes")) out.probes.push_back(tensor_from(probe));
    return out;
} catch (const nlohmann::json::exception& e) {
    refuse(std::string("what rank 0 told of a step is none: ") + e.what());
}

}  // namespace rldp::privacy
