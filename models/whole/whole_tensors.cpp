#include "models/whole/whole_tensors.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <set>

#include "base/error.hpp"
#include "models/architecture/family.hpp"

namespace rldp::models {

namespace {

/// What a word of train.parameters may go by.
struct candidate {
    trained_tensor tensor;
    std::string role;  ///< of a linear module
    bool is_bias, is_norm, is_embedding;
};

std::map<std::string, linear_module> linear_modules(const model_config& model) {
    std::map<std::string, linear_module> out;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (auto& module : block_modules(model, layer)) out.emplace(module.name, module);
    return out;
}

std::vector<candidate> list_candidates(const model_config& model) {
    static const std::set<std::string> tables{"wte", "wpe", "embed_tokens"};
    const auto linear = linear_modules(model);
    std::vector<candidate> out;
    for (const auto& [name, shape] : base_tensors(model)) {
        const auto module = name.substr(0, name.rfind('.'));
        const auto found = linear.find(module);
        const bool embeds = tables.contains(last_name(module));
        std::int64_t size = 1;
        for (const auto each : shape) size *= each;
        out.push_back({{name, module, shape, 0, size},
                       found == linear.end() ? "" : found->second.role,
                       name.ends_with(".bias"),
                       found == linear.end() && shape.size() == 1,
                       embeds});
    }
    return out;
}

bool is_pattern(const std::string& word) {
    return word.find_first_of("\\^$*+?()[]{}|") != std::string::npos;
}

std::optional<std::regex> parse_pattern(const std::string& word) {
    if (!is_pattern(word)) return std::nullopt;
    try {
        return std::regex(word);
    } catch (const std::regex_error& e) {
        refuse(fmt::format("train.parameters: '{}' is not a regular expression ({})", word, e.what()));
    }
}

bool matches_word(const candidate& one, const std::string& word, const std::optional<std::regex>& pattern) {
    const auto& module = one.tensor.module;
    if (pattern) return std::regex_match(module, *pattern);
    if (word == "all") return true;
    if (word == "bias") return one.is_bias;
    if (word == "norm") return one.is_norm;
    if (word == "embedding") return one.is_embedding;
    return one.role == word || module == word || module.ends_with("." + word);
}

[[noreturn]] void refuse_word(const model_config& model, const std::string& word) {
    for (const auto& [name, module] : linear_modules(model))
        if (!module.inside.empty() && (module.role == word || last_name(name) == word || name == word))
            refuse(fmt::format("train.parameters: '{}' is part of '{}' in this {}; name that", word,
                               last_name(module.inside), model.model_type));
    std::set<std::string> known;
    for (const auto& one : list_candidates(model)) known.insert(last_name(one.tensor.module));
    std::string names;
    for (const auto& name : known) names += (names.empty() ? "" : ", ") + name;
    refuse(fmt::format("train.parameters: '{}' matches no tensor of this {}; there are all, bias, norm, embedding, {}",
                       word, model.model_type, names));
}

}  // namespace

std::vector<trained_tensor> choose_trained_tensors(const model_config& model, const std::vector<std::string>& wanted) {
    const auto candidates = list_candidates(model);
    std::vector<bool> chosen(candidates.size(), false);
    for (const auto& word : wanted) {
        const auto pattern = parse_pattern(word);
        bool any = false;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (!matches_word(candidates[i], word, pattern)) continue;
            any = chosen[i] = true;
        }
        if (!any) refuse_word(model, word);
    }
    std::vector<trained_tensor> out;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (!chosen[i]) continue;
        out.push_back(candidates[i].tensor);
        out.back().offset = offset;
        offset += out.back().size;
    }
    return out;
}

at::Tensor flatten_tensors(const std::vector<trained_tensor>& tensors,
                           const std::map<std::string, at::Tensor>& weights) {
    std::vector<at::Tensor> parts;
    for (const auto& tensor : tensors) parts.push_back(weights.at(tensor.name).flatten().to(at::kFloat));
    return at::cat(parts);
}

at::Tensor view_part(const at::Tensor& flat, const trained_tensor& tensor) {
    return flat.narrow(0, tensor.offset, tensor.size).view(tensor.shape);
}

}  // namespace rldp::models
