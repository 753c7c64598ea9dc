#include "eval/report/model_card.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "base/files.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::eval {

namespace {

namespace fs = std::filesystem;

/// JSON's strings are YAML's.
std::string yaml_text(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Of names that a page on the Hub belongs to, as "org/name".
bool is_hub_name(const std::string& name) {
    return name.find('/') != std::string::npos && name.find(' ') == std::string::npos;
}

std::string metadata(const run_summary& run, const card_facts& facts) {
    std::string out = "---\n";
    if (facts.license) out += fmt::format("license: {}\n", *facts.license);
    if (is_hub_name(run.model)) out += fmt::format("base_model: {}\n", yaml_text(run.model));
    out += fmt::format("library_name: {}\npipeline_tag: text-generation\ntags:\n- rldp\n- differential-privacy\n",
                       facts.is_whole ? "transformers" : "peft");
    if (!facts.is_whole) out += "- lora\n";
    return out + "---\n\n";
}

std::string unit_in_words(const privacy::contract& promised) {
    return promised.unit == "record" ? "each record"
                                     : fmt::format("all records that share a value of `{}`", promised.unit);
}

std::string promise(const card_facts& facts) {
    const auto& promised = facts.promised;
    if (!promised.holds()) {
        std::string out = "**NO GUARANTEE.** Nothing here may be treated as private:\n\n";
        for (const auto& why : promised.voids) out += "- " + why + "\n";
        return out;
    }
    std::string out = fmt::format(
        "| | |\n| --- | --- |\n| ε | {:.6g} |\n| δ | {:g} |\n| unit | {} |\n| N | {} units, {} |\n"
        "| relation | add or remove one unit |\n| steps, drawn per step on average | {}, {} |\n",
        *promised.epsilon_guaranteed, promised.delta, unit_in_words(promised), promised.population,
        privacy::describe_population(promised), promised.steps, promised.expected_batch_size);
    out += fmt::format("\nThis protects {}. It does not cover:\n\n", privacy::protected_by(promised));
    for (const auto& one : privacy::list_exceptions(promised)) out += "- " + one + "\n";
    return out;
}

std::string loading(const run_summary& run, const card_facts& facts) {
    const auto& base = run.model;
    if (facts.is_whole)
        return "```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\nplace = \"path/of/this/"
               "directory\"\nmodel, tokenizer = AutoModelForCausalLM.from_pretrained(place), "
               "AutoTokenizer.from_pretrained(place)\n```\n";
    return fmt::format(
        "```python\nfrom peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n\nbase = "
        "AutoModelForCausalLM.from_pretrained({})\nmodel = PeftModel.from_pretrained(base, \"path/of/this/"
        "directory\")\n```\n",
        yaml_text(base));
}

}  // namespace

std::optional<std::string> read_license(const fs::path& model) {
    const auto card = model / "README.md";
    std::error_code absent;
    if (!fs::is_regular_file(card, absent)) return std::nullopt;
    std::istringstream lines(read_file(card));
    std::string line;
    if (!std::getline(lines, line) || !line.starts_with("---")) return std::nullopt;
    constexpr std::string_view key = "license:";
    while (std::getline(lines, line) && !line.starts_with("---")) {
        if (!line.starts_with(key)) continue;
        const auto begin = line.find_first_not_of(" \t\"'", key.size());
        const auto end = line.find_last_not_of(" \t\r\"'");
        const auto word = begin == std::string::npos ? std::string() : line.substr(begin, end + 1 - begin);
        const auto plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
        const bool is_word = !word.empty() && word.size() <= 60 && word.find_first_not_of(plain) == std::string::npos;
        return is_word ? std::optional(word) : std::nullopt;
    }
    return std::nullopt;
}

std::string model_card(const run_summary& run, const card_facts& facts) {
    auto out = metadata(run, facts);
    out += fmt::format("# {}\n\n{} of {}, fine-tuned on private records by RLDP {} with differential privacy.\n\n",
                       run.name, facts.is_whole ? "The parameters" : "A LoRA adapter", run.model, run.version);
    out += "## What is guaranteed\n\n" + promise(facts);
    out +=
        "\n## How to check it\n\nThe run's `certificate.json` names the SHA-256 of every file here, this one "
        "included, and `rldp verify` checks it. It belongs to these files where its `ledger_head` is\n\n" +
        fmt::format("    {}\n", facts.ledger_head);
    if (!facts.weights_digest.empty())
        out += fmt::format("\nSHA-256 of adapter_model.safetensors: `{}`\n", facts.weights_digest);
    out +=
        "\n## Intended use\n\nText like the records that it was trained on, and research on private fine-tuning. What "
        "it writes is made up: it is no source on anybody, and nothing to decide about people by. The limits of the "
        "base are its limits, too.\n\n## How to load it\n\n" +
        loading(run, facts);
    if (facts.license)
        out += fmt::format(
            "\n## Licence\n\n`{}`, which the base's own card names; whoever hands this on has to "
            "see that it holds for what was added.\n",
            *facts.license);
    return out;
}

void write_model_card(const run_directory& where, const run_summary& run, const fs::path& model) {
    const bool is_whole = fs::exists(where.model());
    const auto ledger = privacy::read_ledger(where.ledger());
    card_facts facts{.promised = privacy::make_contract(ledger.header),
                     .ledger_head = ledger.end().hash,
                     .license = read_license(model),
                     .is_whole = is_whole};
    const auto config = config::load(where.config(), {});
    facts.promised.population_declared = config.privacy.population.has_value();
    facts.promised.expected_batch_size = config::read_batch_size(config);
    facts.promised.pad_batches = config.privacy.pad_batches;
    if (!is_whole) facts.weights_digest = privacy::sha256(read_file(where.adapter() / "adapter_model.safetensors"));
    write_file((is_whole ? where.model() : where.adapter()) / "README.md", model_card(run, facts));
}

}  // namespace rldp::eval
