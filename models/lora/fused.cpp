#include "models/lora/fused.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>

#include "base/error.hpp"
#include "models/architecture/family.hpp"

namespace rldp::models {

namespace {

constexpr auto rank_key = "rldp_rank", modules_key = "rldp_modules";

// Where the matrices of a pair lie within those of the whole module.
struct placed_pair {
    std::size_t pair;
    std::string whole;
    std::int64_t first_row;  // of the whole module's outputs
    std::int64_t first_rank;
};

std::vector<placed_pair> places(const lora_layout& layout, const model_config& model) {
    std::map<std::string, linear_module> modules;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (const auto& module : block_modules(model, layer)) modules[module.name] = module;
    std::vector<placed_pair> result;
    std::map<std::string, std::int64_t> used;  // ranks of each whole module
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) {
        const auto& module = modules.at(layout.pairs[i].module);
        const auto& whole = module.inside.empty() ? module.name : module.inside;
        result.push_back({i, whole, module.first_row, used[whole]});
        used[whole] += layout.config.rank;
    }
    return result;
}

std::size_t find_pair(const lora_layout& layout, const std::string& module) {
    const auto found = std::find_if(layout.pairs.begin(), layout.pairs.end(),
                                    [&](const lora_pair& pair) { return pair.module == module; });
    require(found != layout.pairs.end(), "no adapter of " + module);
    return static_cast<std::size_t>(found - layout.pairs.begin());
}

// The views of A and B within the whole module's.
struct block {
    at::Tensor a, b;
};

block find_block(const lora_layout& whole, const at::Tensor& flat, const placed_pair& place, const lora_layout& parts) {
    const std::size_t pair = find_pair(whole, place.whole);
    const std::int64_t rank = parts.config.rank, rows = parts.pairs[place.pair].d_out;
    return {whole.a(flat, pair).narrow(0, place.first_rank, rank),
            whole.b(flat, pair).narrow(0, place.first_row, rows).narrow(1, place.first_rank, rank)};
}

bool same_shape(const lora_layout& x, const lora_layout& y) {
    const auto same = [](const lora_pair& p, const lora_pair& q) { return p.module == q.module && p.size == q.size; };
    return std::equal(x.pairs.begin(), x.pairs.end(), y.pairs.begin(), y.pairs.end(), same);
}

}  // namespace

bool adapts_parts(const lora_layout& layout, const model_config& model) {
    for (const auto& place : places(layout, model))
        if (place.whole != layout.pairs[place.pair].module) return true;
    return false;
}

loaded_adapter fused(const lora_layout& layout, const at::Tensor& flat, const model_config& model) {
    const auto where = places(layout, model);
    lora_config config = layout.config;
    config.targets.clear();
    std::int64_t times = 1;
    for (const auto& place : where) {
        times = std::max(times, place.first_rank / layout.config.rank + 1);
        if (place.first_rank == 0) config.targets.push_back(place.whole);
    }
    config.rank *= times;
    config.alpha *= static_cast<double>(times);  // the scaling stays
    auto whole = make_layout(model, config);
    auto numbers = at::zeros({whole.dimension}, at::kFloat);
    for (const auto& place : where) {
        const auto to = find_block(whole, numbers, place, layout);
        to.a.copy_(layout.a(flat, place.pair));
        to.b.copy_(layout.b(flat, place.pair));
    }
    return {std::move(whole), std::move(numbers)};
}

std::map<std::string, std::string> describe_parts(const lora_layout& parts) {
    std::string names;
    for (const auto& pair : parts.pairs) names += (names.empty() ? "" : " ") + pair.module;
    return {{rank_key, std::to_string(parts.config.rank)}, {modules_key, names}};
}

loaded_adapter unfused(loaded_adapter whole, const std::map<std::string, std::string>& description,
                       const model_config& model) {
    const auto rank = description.find(rank_key), modules = description.find(modules_key);
    if (rank == description.end() || modules == description.end()) return whole;
    lora_config config = whole.layout.config;
    config.rank = 0;
    const auto& digits = rank->second;
    std::from_chars(digits.data(), digits.data() + digits.size(), config.rank);
    if (config.rank < 1 || whole.layout.config.rank % config.rank != 0) return whole;
    config.alpha /= static_cast<double>(whole.layout.config.rank / config.rank);
    std::istringstream names(modules->second);
    config.targets.assign(std::istream_iterator<std::string>(names), {});
    const auto parts = make_layout(model, config);
    if (parts.dimension > whole.layout.dimension) return whole;  // before anything of that size is allocated
    auto flat = at::zeros({parts.dimension}, at::kFloat);
    if (!same_shape(fused(parts, flat, model).layout, whole.layout)) return whole;
    for (const auto& place : places(parts, model)) {
        const auto from = find_block(whole.layout, whole.flat, place, parts);
        parts.a(flat, place.pair).copy_(from.a);
        parts.b(flat, place.pair).copy_(from.b);
    }
    // The tensors are the adapter, the description only a reading of them: outside the blocks must be nothing.
    if (!at::equal(fused(parts, flat, model).flat, whole.flat)) return whole;
    return {parts, flat};
}

}  // namespace rldp::models
