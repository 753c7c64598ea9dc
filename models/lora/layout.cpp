#include "models/lora/layout.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "models/architecture/family.hpp"
#include "models/regex/regex.hpp"

namespace rldp::models {

namespace {

// A target names a role, "all-linear", or the end of a module's name from a dot on, as in PEFT.
bool matches(const linear_module& module, const std::string& target) {
    if (target == "all-linear") return module.inside.empty();
    if (module.role == target || module.name == target) return true;
    return module.name.size() > target.size() && module.name.ends_with("." + target);
}

void check(const lora_config& config) {
    if (config.rank < 1 || config.rank > largest_rank)
        refuse(fmt::format("lora.rank is {}; 1 to {} are possible", config.rank, largest_rank));
    if (!(std::isfinite(config.alpha) && config.alpha > 0))
        refuse(fmt::format("lora.alpha is {}; a positive number is needed", config.alpha));
    if (!(config.dropout >= 0 && config.dropout < 1))
        refuse(fmt::format("lora.dropout is {}; 0 or more and below 1 is needed", config.dropout));
    if (config.targets.empty()) refuse("lora.targets is empty; name at least one linear module");
}

[[noreturn]] void refuse_target(const model_config& model, const std::string& target) {
    refuse(fmt::format("lora.targets: '{}' matches no linear module of this {}; there are {}", target, model.model_type,
                       linear_names(model)));
}

void refuse_overlap(const std::vector<linear_module>& chosen) {
    std::set<std::string> names;
    for (const auto& module : chosen) names.insert(module.name);
    for (const auto& module : chosen)
        if (names.count(module.inside))
            refuse(fmt::format("lora.targets: '{}' is part of '{}'; adapt one of them", module.name, module.inside));
}

}  // namespace

at::Tensor lora_layout::a(const at::Tensor& flat, std::size_t pair) const {
    const lora_pair& p = pairs.at(pair);
    return flat.narrow(0, p.offset, p.a_size).view({config.rank, -1});
}

at::Tensor lora_layout::b(const at::Tensor& flat, std::size_t pair) const {
    const lora_pair& p = pairs.at(pair);
    return flat.narrow(0, p.offset + p.a_size, p.size - p.a_size).view({-1, config.rank});
}

std::vector<std::string> expand_targets(const model_config& model, const std::vector<std::string>& targets) {
    std::vector<std::string> expanded;
    for (const auto& target : targets) {
        if (target.find_first_of("\\^$*+?()[]{}|") == std::string::npos) {
            expanded.push_back(target);
            continue;
        }
        const auto pattern = python_regex_of_whole(target, "lora.targets");
        const auto before = expanded.size();
        for (std::int64_t layer = 0; layer < model.layers; ++layer)
            for (const auto& module : block_modules(model, layer))
                if (pattern.matches_start(module.name)) expanded.push_back(module.name);
        if (expanded.size() == before) refuse_target(model, target);
    }
    return expanded;
}

lora_layout make_layout(const model_config& model, const lora_config& config) {
    check(config);
    std::vector<linear_module> chosen;
    std::set<std::string> used;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (const auto& module : block_modules(model, layer)) {
            bool wanted = false;
            for (const auto& target : config.targets)
                if (matches(module, target)) {
                    used.insert(target);
                    wanted = true;
                }
            if (wanted) chosen.push_back(module);
        }
    for (const auto& target : config.targets)
        if (!used.count(target)) refuse_target(model, target);
    refuse_overlap(chosen);

    lora_layout layout{config, {}, 0};
    for (const auto& module : chosen) {
        const std::int64_t a_size = config.rank * module.d_in;
        const std::int64_t size = a_size + config.rank * module.d_out;
        layout.pairs.push_back({module.name, module.d_in, module.d_out, layout.dimension, size, a_size});
        layout.dimension += size;
    }
    return layout;
}

lora_layout make_tensor_layout(const model_config& model, const std::vector<std::string>& wanted) {
    lora_layout out;
    out.tensors = choose_trained_tensors(model, wanted);
    for (const auto& tensor : out.tensors) out.dimension += tensor.size;
    return out;
}

at::Tensor initial_adapter(const lora_layout& layout, std::int64_t seed) {
    const at::NoGradGuard no_grad;
    at::Tensor flat = at::zeros({layout.dimension}, at::kFloat);
    // Kaiming-uniform with a = √5, which is uniform on ±1/√d_in.
    auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(seed));
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) {
        const double bound = 1 / std::sqrt(static_cast<double>(layout.pairs[i].d_in));
        layout.a(flat, i).uniform_(-bound, bound, generator);
    }
    return flat;
}

}  // namespace rldp::models
