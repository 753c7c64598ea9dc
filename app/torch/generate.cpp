// rldp generate: text from a model, with an adapter or without.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "models/device.hpp"
#include "models/generate.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "models/weights.hpp"
#include "monitor/terminal/live_line.hpp"
#include "run/model_files.hpp"

namespace rldp::app {

namespace {

using json = nlohmann::ordered_json;

struct generate_arguments {
    std::string model, adapter, prompt, prompt_file, system;
    std::vector<std::string> stop;
    models::generation_config config;
    std::string dtype, quantize = "none", device = "cpu";
    std::int64_t seed = 0;
    bool json = false, echo = false, chat = false;
};

/// From the command line, a file, or, as "-", standard input; a line's end at the end of a file is not part of it.
std::string read_prompt(const generate_arguments& given) {
    if (given.prompt_file.empty()) return given.prompt;
    auto text = given.prompt_file == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                         : read_text(given.prompt_file);
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

/// As the user's message, in the model's chat template, up to where the assistant's answer begins.
std::string asked_in_chat(const generate_arguments& given, const std::string& message) {
    const auto how = actors::read_chat_template(given.model);
    if (!how)
        refuse("--chat: " + given.model + " has no chat template; leave it out, and the prompt is continued as it is");
    std::vector<data::chat_message> messages;
    if (!given.system.empty()) messages.push_back({"system", given.system});
    messages.push_back({"user", message});
    return how->render(messages, true);
}

std::vector<std::int32_t> prompt_ids(const std::string& prompt, const models::tokenizer& words,
                                     const models::model_config& model) {
    auto ids = words.encode(prompt);
    if (ids.empty() && !model.bos) refuse("--prompt: it is empty, and the model has no token to begin with");
    if (ids.empty()) ids.push_back(static_cast<std::int32_t>(*model.bos));
    return ids;
}

/// For each new token its likeliest rivals as [id, log-probability].
json list_alternatives(const models::continuation& text) {
    json steps = json::array();
    for (const auto& step : text.alternatives) {
        json list = json::array();
        for (const auto& [id, log_probability] : step) list.push_back({id, log_probability});
        steps.push_back(std::move(list));
    }
    return steps;
}

void check(const generate_arguments& given) {
    if (given.seed < 0) refuse(fmt::format("--seed {}: must be 0 or a positive whole number", given.seed));
    if (given.config.how.temperature == 0 && (given.config.how.top_k != 0 || given.config.how.top_p != 1))
        refuse("--top-k and --top-p choose among tokens drawn at random: give --temperature too, such as 1");
    if (std::find(given.stop.begin(), given.stop.end(), "") != given.stop.end()) refuse("--stop: it is empty");
    if (!given.system.empty() && !given.chat) refuse("--system: it is a message of a chat; give --chat too");
    if (given.config.alternatives != 0 && !given.json) refuse("--logprobs: they are printed with --json only");
}

at::Device resolve_device(const generate_arguments& given) {
    return models::find_device(given.device, "--device");
}

at::ScalarType choose_precision(const generate_arguments& given, at::Device device) {
    if (given.dtype.empty()) return models::own_precision(given.model, models::read_model(given.model));
    const auto type = parse_named<precision>(given.dtype);
    if (const auto card = models::find_card(device, "--device")) models::check_precision(*card, type, "--dtype");
    return models::use_precision(type, device);
}

int generate(const generate_arguments& given) {
    check(given);
    const auto device = resolve_device(given);
    const auto described = models::read_model(given.model);
    const auto quantize = parse_named<quantization>(given.quantize);
    if (const bool in_blocks = described.in_blocks.numbers > 0; in_blocks || quantize != quantization::none) {
        if (!device.is_cpu()) refuse("--device: quantized bases are computed on the processor alone so far; give cpu");
        if (in_blocks && quantize != quantization::none)
            refuse(fmt::format("--quantize: {} is quantized already ({}); leave it out", given.model,
                               described.in_blocks.type));
    }
    models::choose_threads(described);
    const auto model = models::causal_lm::load(given.model, choose_precision(given, device), device,
                                               monitor::loading_line(), quantize);
    if (const auto doubt = models::find_warning(model->config(), given.model)) say(stderr, "warning: {}\n", *doubt);
    auto words = models::tokenizer::load(given.model);
    if (given.chat) words = models::once_begun(std::move(words));
    std::optional<models::loaded_adapter> adapter;
    if (!given.adapter.empty()) {
        adapter = models::load_adapter(given.adapter, model->config(), given.model);
        adapter->flat = adapter->flat.to(device);
    }

    auto config = given.config;
    config.stop = models::find_stop_tokens(given.model);
    const auto prompt = given.chat ? asked_in_chat(given, read_prompt(given)) : read_prompt(given);
    const auto ids = prompt_ids(prompt, *words, model->config());
    models::growing_text text(*words, ids, given.stop);
    const auto show = [&](bool all) {
        say_text(text.news(all));
        std::fflush(stdout);
    };
    config.ends = [&](const models::continuation& so_far) {
        const bool ended = text.take(so_far.ids);
        if (!given.json) show(ended);
        return ended;
    };
    if (given.echo && !given.json) say_text(prompt);
    const auto made = models::generate(*model, adapter ? &adapter->layout : nullptr, adapter ? &adapter->flat : nullptr,
                                       {{ids, static_cast<std::uint64_t>(given.seed)}}, config);
    const auto& found = made.at(0).at(0);
    if (!given.json) {
        show(true);
        say("\n");
        return 0;
    }
    json out{{"prompt", prompt},
             {"text", text.text()},
             {"ids", found.ids},
             {"stopped", found.stopped ? "eos"
                         : found.ended ? "stop"
                                       : "length"}};
    if (config.alternatives > 0) out["logprobs"] = list_alternatives(found);
    say("{}\n", out.dump(-1, ' ', false, json::error_handler_t::replace));
    return 0;
}

}  // namespace

void add_generate(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "generate");
    auto given = std::make_shared<generate_arguments>();
    auto& config = given->config;
    command->add_option("model", given->model, "Hugging Face directory of the model and its tokenizer")->required();
    command->add_option("--adapter", given->adapter, "PEFT directory, such as a run's public/adapter");
    auto* prompt = command->add_option_group("prompt")->require_option(1);
    prompt->add_option("--prompt", given->prompt, "text to continue");
    prompt->add_option("--prompt-file", given->prompt_file, "file that holds it; -: standard input");
    command->add_flag("--chat", given->chat, "the prompt is a user's message, in the model's chat template");
    command->add_option("--system", given->system, "with --chat: what the assistant is told before it");
    command->add_flag("--echo", given->echo, "print the prompt in front of what is made");
    command->add_option("--stop", given->stop, "end before this text; repeatable")->allow_extra_args(false);
    command
        ->add_option("--max-new-tokens", config.max_new_tokens,
                     "most tokens to add; the model's end token ends earlier")
        ->capture_default_str();
    command->add_option("--temperature", config.how.temperature, "0 takes the likeliest token, 1 draws from the model")
        ->capture_default_str();
    command->add_option("--top-k", config.how.top_k, "draw among the k likeliest tokens only; 0: all")
        ->capture_default_str();
    command->add_option("--top-p", config.how.top_p, "draw among the fewest tokens that reach this probability")
        ->capture_default_str();
    command
        ->add_option("--dtype", given->dtype,
                     "float32, tf32 or bfloat16; default as the model is stored: bfloat16 where all of it is, which is "
                     "then not copied but read from its file, else float32")
        ->check(CLI::IsMember(all_names<precision>()));
    command
        ->add_option("--quantize", given->quantize,
                     "holds the base in blocks, as model.quantize does: what an adapter was trained on")
        ->check(CLI::IsMember(all_names<quantization>()));
    command->add_option("--device", given->device, "cpu, cuda or cuda:N")->capture_default_str();
    command->add_option("--seed", given->seed, "of the draws")->capture_default_str();
    command->add_option("--logprobs", config.alternatives,
                        "with --json: the log-probabilities of so many likeliest tokens at each step, as [id, ln p]");
    command->add_flag("--json", given->json,
                      "print prompt, text, ids of the new tokens, and eos, stop or length as what ended it");
    command->footer(
        "Example: rldp generate config/tiny-gpt2 --adapter runs/first/public/adapter --prompt 'The patient' "
        "--max-new-tokens 40 --temperature 0.8 --top-p 0.9 --seed 1");
    command->callback([given, &chosen] { chosen = [given] { return generate(*given); }; });
}

}  // namespace rldp::app
