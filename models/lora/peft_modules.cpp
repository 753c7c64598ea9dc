// As tuners/tuners_utils.py of PEFT 0.21 has it: check_target_module_exists, _maybe_include_all_linear_layers.
#include "models/lora/peft_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "models/architecture/family.hpp"
#include "models/regex/regex.hpp"

namespace rldp::models {

namespace {

/// Null, "" and [] leave a key off, as in Python.
bool is_given(const json_reader& json, const std::string& key) {
    if (!json.has(key)) return false;
    const auto& value = json.at(key);
    if (value.is_string()) return !value.get_ref<const std::string&>().empty();
    return !(value.is_array() && value.empty());
}

std::vector<std::string> strings_at(const json_reader& json, const std::string& key) {
    std::vector<std::string> out;
    for (const auto& item : json.at(key)) {
        if (!item.is_string()) refuse(fmt::format("{}: key '{}' must be strings", json.origin(), key));
        out.push_back(item.get<std::string>());
    }
    return out;
}

/// Names, or ends of names from a dot on, or one regular expression for whole names.
struct name_choice {
    std::vector<std::string> names;
    std::optional<regex> pattern;

    name_choice(const json_reader& json, const std::string& key) {
        const auto& value = json.at(key);
        if (value.is_string())
            pattern = python_regex_of_whole(value.get<std::string>(), fmt::format("{}: {}", json.origin(), key));
        else if (value.is_array())
            names = strings_at(json, key);
        else
            refuse(fmt::format("{}: key '{}' must be a list or a string", json.origin(), key));
    }
    bool has_whole(const std::string& name) const {
        return pattern ? pattern->matches_start(name) : std::find(names.begin(), names.end(), name) != names.end();
    }
    bool has_end(const std::string& name) const {
        return std::any_of(names.begin(), names.end(), [&](const auto& end) { return name.ends_with("." + end); });
    }
};

std::set<std::int64_t> layers_at(const json_reader& json, const std::string& key) {
    const auto& value = json.at(key);
    const auto listed = value.is_array() ? value : nlohmann::json::array({value});
    std::set<std::int64_t> out;
    for (const auto& item : listed) {
        if (!item.is_number_integer())
            refuse(fmt::format("{}: key '{}' must be a layer's number or a list of such", json.origin(), key));
        out.insert(item.get<std::int64_t>());
    }
    return out;
}

/// The number that stands as a part of a module's name.
std::optional<std::int64_t> parse_layer(const std::string& name) {
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
        std::int64_t number = 0;
        const auto* const end = name.data() + name.size();
        const auto [rest, problem] = std::from_chars(name.data() + dot + 1, end, number);
        if (problem == std::errc() && rest != end && *rest == '.') return number;
    }
    return std::nullopt;
}

/// layers_to_transform and layers_pattern, which hold for targets that are a list.
class layer_choice {
  public:
    layer_choice(const json_reader& json, bool listed) {
        const bool layers = is_given(json, "layers_to_transform"), pattern = is_given(json, "layers_pattern");
        for (const auto& [key, given] : {std::pair{"layers_to_transform", layers}, {"layers_pattern", pattern}})
            if (given && !listed)
                refuse(fmt::format("{}: key '{}' needs 'target_modules' to be a list", json.origin(), key));
        if (pattern && !layers) refuse(json.origin() + ": key 'layers_pattern' needs 'layers_to_transform' beside it");
        if (layers) layers_ = layers_at(json, "layers_to_transform");
        if (!pattern) return;
        const std::string key = "layers_pattern";
        const auto names = json.at(key).is_array() ? strings_at(json, key) : std::vector{json.text(key)};
        for (const auto& name : names)
            patterns_.push_back(
                python_regex("(?:^|.*?\\.)" + name + "\\.\\d+\\.", fmt::format("{}: {}", json.origin(), key)));
    }
    bool has(const std::string& name) const {
        if (!layers_) return true;
        const auto layer = parse_layer(name);
        const auto fits = [&](const regex& pattern) { return pattern.matches_start(name); };
        return layer && layers_->contains(*layer) &&
               (patterns_.empty() || std::any_of(patterns_.begin(), patterns_.end(), fits));
    }

  private:
    std::optional<std::set<std::int64_t>> layers_;
    std::vector<regex> patterns_;
};

bool says_all_linear(const nlohmann::json& targets) {
    return targets.is_string() && lower_case(targets.get<std::string>()) == "all-linear";
}

/// What else there is in the model: embeddings, head, norms, and what holds other modules.
std::set<std::string> other_modules(const model_config& model) {
    std::set<std::string> out{"lm_head"};
    for (const auto& [tensor, shape] : base_tensors(model))
        for (auto end = tensor.rfind('.'); end != std::string::npos && end > 0; end = tensor.rfind('.', end - 1))
            out.insert(tensor.substr(0, end));
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (const auto& module : block_modules(model, layer)) out.erase(module.name);
    return out;
}

/// What an adapter chooses of all modules that there are, by name.
class module_choice {
  public:
    explicit module_choice(const json_reader& json)
        : all_linear_(says_all_linear(json.at("target_modules"))),
          targets_(json, "target_modules"),
          layers_(json, !targets_.pattern) {
        if (is_given(json, "exclude_modules")) excluded_.emplace(json, "exclude_modules");
    }
    bool is_all_linear() const { return all_linear_; }
    bool has(const std::string& name) const {
        if (excluded_ && (excluded_->has_whole(name) || excluded_->has_end(name))) return false;
        return all_linear_ || targets_.has_whole(name) || (targets_.has_end(name) && layers_.has(name));
    }

  private:
    bool all_linear_;
    name_choice targets_;
    layer_choice layers_;
    std::optional<name_choice> excluded_;
};

}  // namespace

std::vector<std::string> peft_modules(const json_reader& config, const model_config& model,
                                      const std::function<bool(const std::string&)>& stored) {
    const module_choice choice(config);
    const bool all_linear = choice.is_all_linear();
    if (!all_linear)
        for (const auto& name : other_modules(model))
            if (choice.has(name))
                refuse(fmt::format("{}: target_modules has '{}', too; adapters are read of {} only", config.origin(),
                                   name, linear_names(model)));
    std::vector<std::string> out;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (const auto& module : block_modules(model, layer)) {
            const bool part = !module.inside.empty();
            if (choice.has(module.name) && !(part && (all_linear || !stored(module.name)))) out.push_back(module.name);
        }
    if (out.empty())
        refuse(fmt::format("{}: target_modules matches no linear module of this {}; there are {}", config.origin(),
                           model.model_type, linear_names(model)));
    return out;
}

}  // namespace rldp::models
