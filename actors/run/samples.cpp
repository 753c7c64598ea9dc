#include "actors/run/samples.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "data/chat/chat_template.hpp"
#include "data/sources/narrative.hpp"
#include "models/generate.hpp"

namespace rldp::actors {

namespace {

/// What a public text may begin with.
std::string find_opening(const config::reading_spec& spec) {
    if (spec.data.chat) {
        const std::vector<data::chat_message> greeting = {{"user", "Hello."}};
        return private_source(spec).chat->render(greeting, true);
    }
    return spec.data.narrative ? data::read_template(*spec.data.narrative).opening : std::string();
}

}  // namespace

std::vector<std::string> generate_samples(const config::reading_spec& spec, const run_model& model,
                                    const at::Tensor& adapter) {
    constexpr std::int64_t most_parameters = 1'500'000'000, samples = 3, length = 80;
    const auto& described = model.base->config();
    if (spec.on_cpu() && model.base->parameters() > most_parameters) return {};
    const auto words = load_tokenizer(spec, described);
    const auto opening = find_opening(spec);
    auto ids = words->encode(opening);
    if (ids.empty() && !described.bos) return {};
    if (ids.empty()) ids.push_back(static_cast<std::int32_t>(*described.bos));
    const auto room = described.window - std::ssize(ids);
    if (room < 1) return {};
    const models::generation_config how{.how = {.temperature = 0.8, .top_p = 0.95},
                                        .max_new_tokens = std::min(length, room),
                                        .samples = samples,
                                        .stop = models::read_stop_tokens(spec.model.path)};
    const auto made =
        models::generate(*model.base, &model.layout, &adapter, {{ids, static_cast<std::uint64_t>(spec.seed)}}, how);
    std::vector<std::string> out;
    for (const auto& text : made.front()) out.push_back(opening + models::decode_after(*words, ids, text.ids));
    return out;
}

}  // namespace rldp::actors
