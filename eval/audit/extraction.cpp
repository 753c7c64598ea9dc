#include "eval/audit/extraction.hpp"

#include <algorithm>

#include "config/base/require.hpp"
#include "data/units/split.hpp"
#include "eval/audit/statistics/jaccard.hpp"
#include "models/generate.hpp"

namespace rldp::eval {

std::string leading_secret(const std::string& text) {
    const auto begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const auto end = text.find_first_not_of(data::secret_symbols, begin);
    auto out = text.substr(begin, end - begin);
    return secret_like(out) ? out : std::string();
}

token_ids fit_prompt(token_ids prompt, const models::model_config& model, std::int64_t max_new_tokens) {
    const auto room = model.window - max_new_tokens;
    const auto excess = std::max<std::int64_t>(0, std::ssize(prompt) - std::max<std::int64_t>(1, room));
    prompt.erase(prompt.begin(), prompt.begin() + excess);
    return prompt;
}

std::vector<std::string> continue_prompts(const attacked_model& model, const models::tokenizer& words,
                                          const std::vector<token_ids>& prompts, const extraction_config& config) {
    require(config.trials >= 1, "an extraction attack without a trial");
    const auto count = std::ssize(prompts);
    std::vector<models::prompt> asked;
    for (std::int64_t i = 0; i < count; ++i)
        asked.push_back({prompts[static_cast<std::size_t>(i)], config.seed + static_cast<std::uint64_t>(i)});
    models::generation_config how;
    how.how = {.temperature = config.temperature, .top_k = config.top_k, .top_p = config.top_p};
    how.max_new_tokens = config.max_new_tokens;
    how.samples = (config.trials + count - 1) / count;
    const auto made = models::generate(model.base, model.layout, model.adapter, asked, how);
    std::vector<std::string> out;
    for (std::int64_t trial = 0; trial < config.trials; ++trial) {
        const auto which = static_cast<std::size_t>(trial % count);
        const auto& text = made[which][static_cast<std::size_t>(trial / count)];
        out.push_back(models::decode_after(words, prompts[which], text.ids));
    }
    return out;
}

}  // namespace rldp::eval
