#include "tests/noninterference/configurations.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "config/methods.hpp"
#include "config/policies.hpp"

namespace rldp::testing {

using nlohmann::json;

std::int64_t setting(const char* name, std::int64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atoll(text) : otherwise;
}

json short_run(std::size_t units, const std::string& method, const std::string& policy) {
    json out{{"privacy", {{"epsilon", 8}, {"delta", 1e-5}, {"population", units}}},
             {"method", {{"name", method}}},
             {"train",
              // Some methods act at their eleventh step for the first time.
              {{"steps", config::method_named(method).steered() ? 6 : 12},
               {"expected_batch_size", 6},
               {"lr", 5e-3},
               {"warmup", 2},
               {"eval_every", 4},
               {"eval_records", 4}}},
             {"data", {{"max_tokens", 24}}},
             {"model", {{"path", (std::filesystem::current_path() / "config/tiny-gpt2").string()}}},
             {"rl", {{"interval", 2}, {"warmup", 2}, {"batch", 2}}}};
    if (!policy.empty()) out["noise"]["policy"] = policy;
    if (method == "autoclip_quantile") out["method"]["query_noise"] = 2;  // so small a batch's own leaves nothing
    return out;
}

std::vector<json> sound_policies() {
    std::vector<json> out;
    for (const auto& row : config::policies())
        if (row.sound) out.emplace_back(name_of(row.kind));
    return out;
}

json prepared_run(std::size_t units, const std::filesystem::path& policy) {
    auto out = short_run(units, "rldp");
    out["rl"] = {
        {"state", "prepared"}, {"controller", policy.string()}, {"policy", "learned"}, {"interval", 2}, {"warmup", 1}};
    out["noise"]["allocation"] = "shares";
    out["train"].erase("warmup");
    return out;
}

json random_configuration(generator& random, std::size_t units) {
    auto rows = config::methods();
    const auto steered = std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.steered(); });
    rows.insert(rows.end(), 2, *steered);  // more can go wrong where a controller decides
    const auto row = one_of(rows, random);
    auto out = short_run(units, row.name);
    const auto maybe = [&](const char* section, const char* key, const std::vector<json>& values) {
        if (below(random, 2) == 0) out[section][key] = one_of(values, random);
    };
    const auto words = [](std::initializer_list<const char*> list) {
        return json(std::vector<std::string>(list.begin(), list.end()));
    };
    out["seed"] = below(random, 3);
    maybe("privacy", "epsilon", {2, 20, 50});
    maybe("privacy", "accountant", {"pld", "rdp"});
    maybe("privacy", "max_records_per_unit", {1, 2, 8});
    if (below(random, 4) == 0) {
        out["privacy"]["pad_batches"] = true;
        out["privacy"]["population"] = 2 * units;
    }
    maybe("train", "expected_batch_size", {1, 3, 10});
    maybe("train", "micro_batch", {1, 4});
    maybe("train", "eval_every", {2, 3, 100});
    maybe("eval", "publish", {"private", "none"});
    maybe("eval", "looks", {1, 2, 4});
    maybe("data", "keep", {"head", "tail"});
    maybe("data", "max_tokens", {2, 8, 40});
    maybe("data", "canaries", {0, 2});
    maybe("lora", "rank", {1, 4});
    maybe("lora", "dropout", {0, 0.3});
    maybe("lora", "targets", {words({"q"}), words({"all-linear"})});
    maybe("model", "dtype", {"bfloat16", "float32"});
    if (row.steered()) {
        maybe("noise", "policy", sound_policies());
        maybe("noise", "statistics_share", {0.02, 0.3});
        maybe("rl", "actions", {words({"radii"}), words({"noise"}), words({"radii", "noise", "lr"})});
        maybe("rl", "policy", {"learned", "frozen", "random"});
        maybe("rl", "clip_action", {"absolute", "delta"});
        maybe("rl", "interval", {1, 3});
    }
    constexpr std::size_t least_group = 10;
    if (!row.steered() && units >= 2 * least_group) maybe("noise", "bands", {1, 2});
    if (row.groups == config::grouping_rule::any) {
        maybe("noise", "allocation", {"proportional", "uniform", "min_variance"});
        maybe("clip", "groups", {"adapters", "factors", "flat"});
    }
    return out;
}

layout random_layout(generator& random) {
    static const std::vector<layout> all{
        {"csv", false}, {"csv", true}, {"jsonl", false}, {"jsonl", true}, {"txt", false}};
    return one_of(all, random);
}

}  // namespace rldp::testing
