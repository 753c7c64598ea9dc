// rldp models: what can be fine-tuned, where it comes from, and what is here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "base/system.hpp"
#include "base/text.hpp"
#include "models/architecture/family.hpp"
#include "models/gguf/gguf_file.hpp"
#include "models/weight_files.hpp"
#include "models/weights.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::app {

namespace {

namespace fs = std::filesystem;

struct model_here {
    fs::path directory;
    std::string name, type, state;
    std::int64_t parameters = 0;
};

std::int64_t count_parameters(const models::model_config& config) {
    std::int64_t out = 0;
    for (const auto& [name, shape] : models::base_tensors(config)) {
        std::int64_t numbers = 1;
        for (const auto size : shape) numbers *= size;
        out += numbers;
    }
    return out;
}

model_here look_at(const fs::path& directory) {
    model_here out{directory, shown_text(model_name(directory)), "", "", 0};
    try {
        const auto config = models::read_model(directory);
        out.type = config.model_type;
        out.parameters = count_parameters(config);
        out.state = models::has_weights(directory) ? "can be fine-tuned" : "has no weights yet";
    } catch (const error& refused) {
        out.state = "can't be read: " + std::string(refused.what());
    }
    return out;
}

/// Directories in `parent` that hold a config.json with a model's type, and GGUF files.
void add_models_in(const fs::path& parent, std::vector<model_here>& all) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(parent, fs::directory_options::skip_permission_denied, absent))
        if (models::is_gguf(entry.path()) || fs::exists(entry.path() / "config.json", absent))
            all.push_back(look_at(entry.path().lexically_normal()));
}

/// Where huggingface_hub keeps what it downloads: HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub.
fs::path hub_cache() {
    if (const char* given = std::getenv("HF_HUB_CACHE")) return given;
    if (const char* home = std::getenv("HF_HOME")) return fs::path(home) / "hub";
    return with_home("~/.cache/huggingface/hub");
}

std::vector<model_here> models_here() {
    std::vector<model_here> out;
    add_models_in(examples_directory(), out);
    add_models_in("models", out);
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(hub_cache(), fs::directory_options::skip_permission_denied, absent))
        if (entry.path().filename().string().starts_with("models--")) add_models_in(entry.path() / "snapshots", out);
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.parameters < b.parameters; });
    return out;
}

std::string in_millions(std::int64_t parameters) {
    const double millions = static_cast<double>(parameters) / 1e6;
    return parameters == 0 ? "" : millions < 10 ? fmt::format("{:.1f} M", millions) : fmt::format("{:.0f} M", millions);
}

void print_models(const std::vector<model_here>& here) {
    say("Models that can be fine-tuned, by the model_type of their config.json:\n\n");
    std::vector<std::vector<std::string>> kinds = {{"  model_type", "models", "not there"}};
    for (const auto& kind : models::all_families())
        kinds.push_back({"  " + std::string(kind.model_type), std::string(kind.known_as), std::string(kind.without)});
    say_text(eval::text_table(kinds));
    say("\nOne is downloaded from the Hugging Face Hub, to try with, or larger ones later:\n"
        "  pip install huggingface_hub\n"
        "  hf download HuggingFaceTB/SmolLM2-135M --local-dir models/SmolLM2-135M\n");
    say("\nHere (in {}, models and the Hub's cache, {}):\n\n", examples_directory(), hub_cache().string());
    std::vector<std::vector<std::string>> rows = {{"  --model", "called", "parameters", ""}};
    for (const auto& one : here)
        rows.push_back({"  " + one.directory.string(), one.name, in_millions(one.parameters), one.state});
    say_text(eval::text_table(rows));
}

void print_models_json(const std::vector<model_here>& here) {
    nlohmann::ordered_json out = {{"model_types", nlohmann::ordered_json::array()},
                                  {"here", nlohmann::ordered_json::array()}};
    for (const auto& kind : models::all_families()) out["model_types"].push_back(std::string(kind.model_type));
    for (const auto& one : here)
        out["here"].push_back({{"directory", shown_path(one.directory)},
                               {"name", one.name},
                               {"model_type", one.type},
                               {"parameters", one.parameters},
                               {"state", shown_text(one.state)}});
    say("{}\n", out.dump());
}

}  // namespace

void add_models(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "models");
    auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "print as JSON");
    command->footer("Example: rldp models");
    command->callback([as_json, &chosen] {
        chosen = [as_json] {
            (*as_json ? print_models_json : print_models)(models_here());
            return 0;
        };
    });
}

}  // namespace rldp::app
