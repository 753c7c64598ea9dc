// What config.json tells of each family, in both of its layouts, and what of it is refused.
#include <algorithm>
#include <cmath>

#include "models/architecture/family.hpp"
#include "tests/models/support.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

using nlohmann::json;

json make_config(const std::string& model_type, const json& more = json::object()) {
    json out = {{"model_type", model_type},    {"hidden_size", 8},        {"num_hidden_layers", 4},
                {"num_attention_heads", 2},    {"head_dim", 4},           {"num_key_value_heads", 1},
                {"intermediate_size", 12},     {"vocab_size", 11},        {"max_position_embeddings", 64},
                {"query_pre_attn_scalar", 16}, {"tie_word_embeddings", 1}};
    out["tie_word_embeddings"] = true;
    out.update(more);
    return out;
}

model_config read(const json& config) {
    const scratch_directory scratch;
    std::ofstream(scratch.path() / "config.json") << config;
    return read_model_config(scratch.path());
}

std::vector<bool> slides(const model_config& config) {
    std::vector<bool> out;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) out.push_back(config.slides(layer));
    return out;
}

std::vector<std::string> list_tensors(const model_config& config, const std::string& part) {
    std::vector<std::string> found;
    for (const auto& [name, shape] : base_tensors(config))
        if (has(name, part)) found.push_back(name);
    return found;
}

using which = std::vector<bool>;

}  // namespace

TEST_CASE("Qwen's windows hold from a layer on, where they hold at all", "[config]") {
    for (const std::string type : {"qwen2", "qwen3"}) {
        INFO(type);
        const json window = {{"sliding_window", 6}, {"max_window_layers", 3}};
        CHECK(!read(make_config(type, window)).sliding_window);
        auto used = window;
        used["use_sliding_window"] = true;
        const auto config = read(make_config(type, used));
        CHECK(slides(config) == which{false, false, false, true});
        CHECK(config.find_window(3) == 6);
        CHECK(!config.find_window(2));
        used["layer_types"] = {"sliding_attention", "full_attention", "full_attention", "sliding_attention"};
        CHECK(slides(read(make_config(type, used))) == which{true, false, false, true});
        used["sliding_window"] = nullptr;
        used.erase("layer_types");
        CHECK(slides(read(make_config(type, used))) == which(4, false));
    }
    CHECK(list_tensors(read(make_config("qwen2")), "layers.0.self_attn.") ==
          std::vector<std::string>{"model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.q_proj.bias",
                                   "model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.k_proj.bias",
                                   "model.layers.0.self_attn.v_proj.weight", "model.layers.0.self_attn.v_proj.bias",
                                   "model.layers.0.self_attn.o_proj.weight"});
    CHECK(list_tensors(read(make_config("qwen3")), "_norm.weight").size() == 8);
    CHECK(list_tensors(read(make_config("qwen3")), ".bias").empty());
}

TEST_CASE("Gemma's windows, caps and frequencies", "[config]") {
    const auto second = read(make_config("gemma2", {{"sliding_window", 7}, {"final_logit_softcapping", nullptr}}));
    CHECK(slides(second) == which{true, false, true, false});
    CHECK(second.attention_cap == 50);  // of a file that doesn't say
    CHECK(!second.final_cap);           // of one that says none
    CHECK(second.score_scale() == 0.25);
    CHECK(second.activation == "gelu_new");
    auto untold = make_config("gemma2");
    untold.erase("tie_word_embeddings");
    CHECK(read(untold).tied_head);
    CHECK(list_tensors(second, "layers.0.post_feedforward_layernorm").size() == 1);

    const json old = {{"sliding_window", 6},
                      {"sliding_window_pattern", 3},
                      {"rope_theta", 5e5},
                      {"rope_local_base_freq", 500},
                      {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8}}}};
    const json both = {{"full_attention", {{"rope_theta", 5e5}, {"rope_type", "linear"}, {"factor", 8}}},
                       {"sliding_attention", {{"rope_theta", 500}, {"rope_type", "default"}}}};
    const json present = {
        {"sliding_window", 6},
        {"layer_types", {"sliding_attention", "sliding_attention", "full_attention", "sliding_attention"}},
        {"rope_parameters", both}};
    for (const auto& layout : {old, present}) {
        const auto third = read(make_config("gemma3_text", layout));
        CHECK(slides(third) == which{true, true, false, true});
        CHECK(third.rope.theta == 5e5);
        CHECK(third.rope.factor == 8);
        REQUIRE(third.sliding_rope);
        CHECK(third.sliding_rope->theta == 500);
        CHECK(third.sliding_rope->type == "default");
        CHECK(!third.attention_cap);
        CHECK(!third.final_cap);
    }
    CHECK(slides(read(make_config("gemma3_text", {{"num_hidden_layers", 7}}))) ==
          which{true, true, true, true, true, false, true});
    CHECK(read(make_config("gemma3_text", {{"final_logit_softcapping", 9}})).final_cap == 9);
}

TEST_CASE("Phi-3's modules are fused, its window every layer's", "[config]") {
    const auto config = read(make_config("phi3", {{"sliding_window", 5}, {"head_dim", nullptr}}));
    CHECK(slides(config) == which(4, true));
    CHECK(!read(make_config("phi3")).sliding_window);
    const auto modules = block_modules(config, 1);
    const auto find = [&](const std::string& role) {
        return *std::find_if(modules.begin(), modules.end(), [&](const auto& module) { return module.role == role; });
    };
    CHECK(find("k").inside == "model.layers.1.self_attn.qkv_proj");
    CHECK(find("k").first_row == 8);
    CHECK(find("v").first_row == 12);
    CHECK(find("qkv_proj").d_out == 16);
    CHECK(find("up").first_row == 12);
    CHECK(find("gate_up_proj").d_out == 24);
    CHECK(list_tensors(config, "layers.0.").size() == 6);
}

TEST_CASE("what a family's config.json asks for and is not there is refused in one line", "[config]") {
    const auto refused = [](const std::string& type, const json& more, const std::string& what) {
        INFO(type << " " << more);
        const auto line = refusal([&] { read(make_config(type, more)); });
        CHECK(has(line, "config.json"));
        CHECK(has(line, what));
    };
    for (const std::string type : {"llama", "qwen3", "gemma2", "gemma3_text", "phi3"})
        refused(type, {{"attention_bias", true}}, "key 'attention_bias' is supported only as false");
    for (const auto& row : families()) {
        const std::string type(row.model_type);
        refused(type, {{"partial_rotary_factor", 0.75}}, "key 'partial_rotary_factor' is supported only as 1");
        refused(type, {{"num_key_value_heads", 3}}, "num_key_value_heads");
        refused(type, {{std::string(row.activation_key), "relu"}}, "is 'relu'; supported: ");
        if (row.two_rotations) continue;
        refused(type, {{"rope_parameters", {{"partial_rotary_factor", 0.5}}}}, "rope_parameters: key 'partial_rotary");
        refused(type, {{"rope_scaling", {{"type", "longrope"}, {"short_factor", {1}}}}}, "rope_type is 'longrope'");
        refused(type, {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}}}}, "rope_type is 'yarn'");
    }
    CHECK(read(make_config("phi3", {{"partial_rotary_factor", 1}})).width == 8);
    refused("gemma3_text", {{"rope_parameters", {{"rope_theta", 10000}}}}, "key 'full_attention' is missing");
    refused("gemma3_text", {{"rope_parameters", {{"full_attention", 3}}}}, "key 'full_attention' must be an object");
    const json half = {{"full_attention", {{"rope_type", "dynamic"}}}};
    refused("gemma3_text", {{"rope_parameters", half}}, "rope_parameters.full_attention: rope_type is 'dynamic'");
    refused("gemma3_text", {{"attn_logit_softcapping", 50}}, "key 'attn_logit_softcapping' is supported only as null");
    refused("llama", {{"final_logit_softcapping", 50}}, "key 'final_logit_softcapping' is supported only as null");
    refused("gemma2", {{"attn_logit_softcapping", 0}}, "attn_logit_softcapping");
    refused("gemma2", {{"query_pre_attn_scalar", 0}}, "query_pre_attn_scalar");
    refused("gemma2", {{"sliding_window", nullptr}}, "key 'sliding_window' is missing, but layers slide");
    refused("gemma3_text", {{"sliding_window_pattern", 0}}, "sliding_window_pattern");
    refused("gemma3_text", {{"use_bidirectional_attention", true}}, "use_bidirectional_attention");
    refused("qwen2", {{"use_mrope", true}}, "use_mrope");
    refused("qwen2", {{"layer_types", {"full_attention"}}}, "as many layers");
    refused("qwen2", {{"layer_types", {"full_attention", "full_attention", "chunked", "full_attention"}}}, "alone");
    const json sliding = {"full_attention", "full_attention", "full_attention", "sliding_attention"};
    refused("qwen2", {{"layer_types", sliding}}, "key 'sliding_window' is missing, but layers slide");
    refused("gemma3", json::object(), "'gemma3_text', is supported");
    refused("qwen2_moe", json::object(), "supported: gpt2, llama, mistral, qwen2, qwen3, gemma2, gemma3_text, phi3");
}

}  // namespace rldp::models::test
