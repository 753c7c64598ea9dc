// LoRA layouts and PEFT's directory format.
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

model_config small(const std::string& family) {
    model_config c;
    c.model_type = family;
    c.vocab = 11;
    c.width = 8;
    c.layers = 2;
    c.heads = 2;
    c.kv_heads = family == "gpt2" ? 2 : 1;
    c.head_dim = 4;
    c.inner = 12;
    c.window = 16;
    c.activation = family == "gpt2" ? "gelu_new" : "silu";
    return c;
}

std::vector<std::string> modules(const lora_layout& layout) {
    std::vector<std::string> names;
    for (const auto& pair : layout.pairs) names.push_back(pair.module);
    return names;
}

}  // namespace

TEST_CASE("targets are roles, module names or ends of names", "[lora]") {
    const auto names = [](const std::string& family, std::vector<std::string> targets) {
        return modules(make_layout(small(family), {2, 4, 0, std::move(targets)}));
    };
    CHECK(names("gpt2", {"q", "v"}) ==
          std::vector<std::string>{"transformer.h.0.attn.q_proj", "transformer.h.0.attn.v_proj",
                                   "transformer.h.1.attn.q_proj", "transformer.h.1.attn.v_proj"});
    CHECK(names("gpt2", {"c_proj"}).size() == 4);
    CHECK(names("gpt2", {"mlp.c_proj"}) == names("gpt2", {"proj"}));
    CHECK(names("llama", {"down_proj", "o"}) ==
          std::vector<std::string>{"model.layers.0.self_attn.o_proj", "model.layers.0.mlp.down_proj",
                                   "model.layers.1.self_attn.o_proj", "model.layers.1.mlp.down_proj"});
    CHECK(names("llama", {"model.layers.1.self_attn.k_proj"}).size() == 1);
    CHECK(names("gpt2", {"all-linear"}).size() == 8);
    CHECK(names("qwen3", {"all-linear"}).size() == 14);
    CHECK(names("phi3", {"all-linear"}) ==
          std::vector<std::string>{"model.layers.0.self_attn.qkv_proj", "model.layers.0.self_attn.o_proj",
                                   "model.layers.0.mlp.gate_up_proj", "model.layers.0.mlp.down_proj",
                                   "model.layers.1.self_attn.qkv_proj", "model.layers.1.self_attn.o_proj",
                                   "model.layers.1.mlp.gate_up_proj", "model.layers.1.mlp.down_proj"});
    CHECK(names("phi3", {"qkv_proj"}).size() == 2);
    CHECK(names("phi3", {"q", "up_proj"}) ==
          std::vector<std::string>{"model.layers.0.self_attn.q_proj", "model.layers.0.mlp.up_proj",
                                   "model.layers.1.self_attn.q_proj", "model.layers.1.mlp.up_proj"});
    CHECK(has(refusal([&] { names("phi3", {"gate_up_proj", "up"}); }), "part of"));
    CHECK(has(refusal([&] { names("llama", {"qkv_proj"}); }), "'qkv_proj' matches no linear module"));
    CHECK(has(refusal([&] { names("llama", {"c_attn"}); }), "'c_attn' matches no linear module"));
    CHECK(has(refusal([&] { names("gpt2", {"c_attn", "q"}); }), "part of"));
    CHECK(!refusal([&] { make_layout(small("llama"), {0, 4, 0, {"q"}}); }).empty());
    CHECK(!refusal([&] { make_layout(small("llama"), {2, NAN, 0, {"q"}}); }).empty());
    CHECK(!refusal([&] { make_layout(small("llama"), {2, 4, 1, {"q"}}); }).empty());
    CHECK(!refusal([&] { make_layout(small("llama"), {2, 4, 0, {}}); }).empty());
}

TEST_CASE("a target may be a regular expression for whole names", "[lora]") {
    const auto expanded = [](std::vector<std::string> targets) { return expand_targets(small("llama"), targets); };
    CHECK(expanded({"q", "o_proj"}) == std::vector<std::string>{"q", "o_proj"});
    CHECK(expanded({R"(model\.layers\.1\..*\.[qv]_proj)", "down"}) ==
          std::vector<std::string>{"model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.v_proj", "down"});
    CHECK(has(refusal([&] { expanded({"[qv]_proj"}); }), "'[qv]_proj' matches no linear module"));
    CHECK(has(refusal([&] { expanded({"(q"}); }), "'(q' is not a regular expression"));
}

TEST_CASE("pairs fill the flat vector without gaps", "[lora]") {
    const auto layout = make_layout(small("llama"), {3, 6, 0, {"q", "k", "down"}});
    std::int64_t expected = 0;
    for (const auto& pair : layout.pairs) {
        CHECK(pair.offset == expected);
        CHECK(pair.size == 3 * (pair.d_in + pair.d_out));
        expected += pair.size;
    }
    CHECK(layout.dimension == expected);
    CHECK(layout.scaling() == 2);
    const auto flat = at::arange(layout.dimension, at::kFloat);
    CHECK(layout.a(flat, 1)[0][0].item<double>() == static_cast<double>(layout.pairs[1].offset));
    CHECK(layout.b(flat, 1)[0][0].item<double>() == static_cast<double>(layout.pairs[1].offset + 3 * 8));
}

TEST_CASE("a fresh adapter changes nothing and follows PEFT's initialisation", "[lora]") {
    auto config = small("llama");
    config.width = 64;
    const auto layout = make_layout(config, {8, 16, 0, {"q", "v"}});
    const auto flat = initial_adapter(layout, 7);
    CHECK(at::equal(flat, initial_adapter(layout, 7)));
    CHECK(!at::equal(flat, initial_adapter(layout, 8)));
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) {
        CHECK(layout.b(flat, i).abs().max().item<double>() == 0);
        const auto a = layout.a(flat, i);
        CHECK(a.abs().max().item<double>() <= 1 / 8.0);
        // Uniform on ±1/8: standard deviation 1/(8√3), known to 4 % from 512 numbers (5 standard errors: 10 %).
        CHECK(a.std().item<double>() == Approx(1 / (8 * std::sqrt(3.0))).epsilon(0.1));
    }
}

TEST_CASE("an adapter comes back bit by bit from PEFT's format", "[lora]") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        random_source random(seed);
        const auto config = random_config(random);
        auto lora = random_lora(random, config);
        lora.dropout = 0.25;
        const auto layout = make_layout(config, lora);
        const auto flat = at::randn({layout.dimension});
        const scratch_directory scratch;
        save_adapter(scratch.path() / "adapter", layout, flat, "base", config);
        const auto back = load_adapter(scratch.path() / "adapter", config);
        CHECK(at::equal(back.flat, flat));
        CHECK(modules(back.layout) == modules(layout));
        CHECK(back.layout.config.rank == lora.rank);
        CHECK(back.layout.config.alpha == lora.alpha);
        CHECK(back.layout.config.dropout == 0.25);
    }
}

TEST_CASE("adapter_config.json says what PEFT needs", "[lora]") {
    const scratch_directory scratch;
    const auto config = small("gpt2");
    const auto written = [&](std::vector<std::string> targets) {
        const auto layout = make_layout(config, {2, 4, 0.5, std::move(targets)});
        save_adapter(scratch.path(), layout, at::zeros({layout.dimension}), "gpt2", config);
        return read_json(scratch.path() / "adapter_config.json");
    };
    const auto fused = written({"c_attn"});
    CHECK(fused.at("peft_type") == "LORA");
    CHECK(fused.at("task_type") == "CAUSAL_LM");
    CHECK(fused.at("r") == 2);
    CHECK(fused.at("lora_alpha") == 4);
    CHECK(fused.at("lora_dropout") == 0.5);
    CHECK(fused.at("bias") == "none");
    CHECK(fused.at("base_model_name_or_path") == "gpt2");
    CHECK(fused.at("fan_in_fan_out") == true);
    CHECK(fused.at("target_modules") == nlohmann::json({"c_attn"}));
    // q and v apart are what PEFT can attach: one adapter of c_attn at twice the rank.
    const auto split = written({"q", "v"});
    CHECK(split.at("fan_in_fan_out") == true);
    CHECK(split.at("target_modules") == nlohmann::json({"c_attn"}));
    CHECK(split.at("r") == 4);
    CHECK(split.at("lora_alpha") == 8);
    CHECK(written({"k"}).at("r") == 2);
    CHECK(written({"q", "k", "v", "fc"}).at("r") == 6);
    // c_proj alone would also name the attention's.
    CHECK(written({"proj"}).at("target_modules").size() == 2);
}

TEST_CASE("parts of a fused module apart are blocks of one adapter of it", "[lora]") {
    const std::vector<std::pair<std::string, std::vector<std::string>>> choices{
        {"gpt2", {"q", "v"}},
        {"gpt2", {"k"}},
        {"gpt2", {"q", "k", "v", "fc"}},
        {"gpt2", {"o", "v"}},
        {"gpt2", {"transformer.h.1.attn.q_proj", "v"}},
        {"phi3", {"q", "v"}},
        {"phi3", {"k", "gate", "up"}},
        {"phi3", {"qkv_proj", "up"}},
        {"phi3", {"model.layers.1.mlp.gate_proj", "v", "down"}}};
    for (const auto& [family, targets] : choices) {
        INFO(family << " " << targets.front());
        const auto config = small(family);
        const auto model = causal_lm::from_weights(config, random_weights(config));
        const auto ids = at::randint(config.vocab, {3, 8}, at::kLong);
        const scratch_directory scratch;
        const auto layout = make_layout(config, {3, 4, 0, targets});
        const auto flat = at::randn({layout.dimension});
        save_adapter(scratch.path(), layout, flat, "base", config);
        const auto path = scratch.path() / "adapter_model.safetensors";
        std::map<std::string, at::Tensor> tensors;
        const safetensors_file file(path);
        for (const auto& name : file.names()) tensors[name] = file.tensor(name).clone();
        for (const auto& [name, tensor] : tensors)
            for (const auto* part : {".q_proj", ".k_proj", ".v_proj", ".gate_proj", ".up_proj"})
                CHECK(!has(name, part));
        const auto back = load_adapter(scratch.path(), config);
        CHECK(modules(back.layout) == modules(layout));
        CHECK(back.layout.config.rank == 3);
        CHECK(back.layout.config.alpha == 4);
        CHECK(at::equal(back.flat, flat));

        // As PEFT reads it, without our metadata, the logits are the same.
        save_safetensors(path, tensors, {{"format", "pt"}});
        const auto plain = load_adapter(scratch.path(), config);
        CHECK(modules(plain.layout) != modules(layout));
        const auto expected = model->logits(ids, &layout, &flat);
        CHECK(largest_difference(model->logits(ids, &plain.layout, &plain.flat), expected) <= 1e-4);

        // Tensors changed by someone else count as they are, and metadata that names no module is refused.
        const auto description = file.metadata();
        for (auto& [name, tensor] : tensors) tensor = at::randn(tensor.sizes());
        save_safetensors(path, tensors, description);
        const auto changed = load_adapter(scratch.path(), config);
        CHECK(modules(changed.layout) == modules(plain.layout));
        save_safetensors(path, tensors, {{"rldp_rank", "3"}, {"rldp_modules", "nothing"}});
        CHECK(has(refusal([&] { load_adapter(scratch.path(), config); }), "__metadata__"));
        save_safetensors(path, tensors, {{"rldp_rank", "many"}, {"rldp_modules", "nothing"}});
        CHECK(modules(load_adapter(scratch.path(), config).layout) == modules(plain.layout));
    }
}

TEST_CASE("adapters that mean something else are refused with file and key", "[lora]") {
    const scratch_directory scratch;
    const auto config = small("llama");
    const auto layout = make_layout(config, {2, 4, 0, {"q"}});
    save_adapter(scratch.path(), layout, at::zeros({layout.dimension}), "base", config);
    const auto good = read_json(scratch.path() / "adapter_config.json");
    const auto read = [&](const std::string& key, const nlohmann::json& value) {
        auto changed = good;
        changed[key] = value;
        std::ofstream(scratch.path() / "adapter_config.json") << changed;
        return refusal([&] { load_adapter(scratch.path(), config); });
    };
    const auto refused = [&](const std::string& key, const nlohmann::json& value) {
        INFO(key << " " << value);
        auto line = read(key, value);
        CHECK(has(line, "adapter_config.json"));
        CHECK(has(line, key));
        return line;
    };
    const auto accepted = [&](const std::string& key, const nlohmann::json& value) {
        INFO(key << " " << value);
        CHECK(read(key, value).empty());
    };
    for (const char* off : {"mica", "MICA", "gaussian", "Gaussian", "eva", "orthogonal", ""})
        accepted("init_lora_weights", off);
    for (const auto& off : nlohmann::json::array({true, false, nullptr, 0})) accepted("init_lora_weights", off);
    for (const char* changing : {"pissa", "pissa_niter_16", "olora", "OLoRA", "corda", "lora_ga"})
        CHECK(has(refused("init_lora_weights", changing), "path_initial_model_for_weight_conversion"));
    CHECK(has(refused("init_lora_weights", "loftq"), "merge_and_unload"));
    for (const auto& unknown : nlohmann::json::array({"true", "EVA", "one_of_tomorrow", 1, {1}}))
        CHECK(has(refused("init_lora_weights", unknown), "is not known"));
    // What PEFT converts to plain LoRA keeps the configuration of its initialisation.
    for (const char* inert : {"corda_config", "eva_config", "loftq_config", "lora_ga_config"})
        accepted(inert, {{"x", 1}});
    accepted("ensure_weight_tying", true);
    accepted("layer_replication", nlohmann::json::array());
    for (const char* option : {"use_rslora", "lora_bias", "use_qalora", "one_of_tomorrow"}) {
        accepted(option, false);
        accepted(option, nullptr);
        CHECK(has(refused(option, true), "merge_and_unload"));
    }
    refused("use_dora", "none");
    refused("trainable_token_indices", {3});
    refused("alora_invocation_tokens", {3});
    refused("layer_replication", {{0, 2}});
    refused("target_parameters", {"q_proj.weight"});
    refused("alpha_pattern", {{"q_proj", 4}});
    for (const char* variant : {"arrow_config", "kasa_config", "monteclora_config", "use_bdlora", "velora_config"})
        refused(variant, {{"x", 1}});
    refused("use_dora", true);
    refused("bias", "all");
    refused("modules_to_save", {"lm_head"});
    refused("rank_pattern", {{"q_proj", 4}});
    refused("an_option_of_tomorrow", 1);
    refused("peft_type", "IA3");
    refused("task_type", "SEQ_CLS");
    refused("r", 0);
    refused("r", "two");
    refused("lora_alpha", nullptr);
    refused("lora_dropout", 1.5);
    refused("target_modules", {"nothing"});
    refused("target_modules", 3);

    const auto tensor_refused = [&](const nlohmann::json& changes, const std::string& tensor) {
        auto changed = good;
        changed.update(changes);
        std::ofstream(scratch.path() / "adapter_config.json") << changed;
        const auto line = refusal([&] { load_adapter(scratch.path(), config); });
        CHECK(has(line, "adapter_model.safetensors"));
        CHECK(has(line, tensor));
    };
    tensor_refused({{"r", 3}}, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
    tensor_refused({{"target_modules", {"v_proj"}}}, "v_proj.lora_A.weight");
    tensor_refused({{"target_modules", {"model.layers.0.self_attn.q_proj"}}},
                   "layers.1.self_attn.q_proj.lora_A.weight");
    // What a double holds may be too much for a float.
    const auto path = scratch.path() / "adapter_model.safetensors";
    std::map<std::string, at::Tensor> tensors;
    for (const auto& name : safetensors_file(path).names())
        tensors[name] = at::full_like(safetensors_file(path).tensor(name), 1e300, at::kDouble);
    save_safetensors(path, tensors);
    tensor_refused(nlohmann::json::object(), "not finite");
    save_adapter(scratch.path(), layout, at::zeros({layout.dimension}), "base", config);
    // Nor does a tensor belong to two names, or to a head.
    for (const char* other : {"model.layers.0.self_attn.q_proj.lora_A.weight", "base_model.model.lm_head.weight",
                              "base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight"}) {
        save_adapter(scratch.path(), layout, at::zeros({layout.dimension}), "base", config);
        std::map<std::string, at::Tensor> more{{other, at::zeros({2, 8})}};
        for (const auto& name : safetensors_file(path).names())
            more[name] = safetensors_file(path).tensor(name).clone();
        save_safetensors(path, more);
        tensor_refused(nlohmann::json::object(), fmt::format("'{}' belongs to no target module", other));
    }
    fs::rename(path, scratch.path() / "adapter_model.bin");
    const auto line = refusal([&] { load_adapter(scratch.path(), config); });
    CHECK(has(line, "adapter_model.bin: adapters are read as safetensors only; convert it: python3 -c"));
}

namespace {

/// What adapter_config.json chooses, where the file holds the tensors of `stored`.
std::vector<std::string> chosen(const std::string& family, const nlohmann::json& choice,
                                const std::vector<std::string>& stored) {
    const scratch_directory scratch;
    const auto config = small(family);
    const auto layout = make_layout(config, {2, 4, 0, stored});
    std::map<std::string, at::Tensor> tensors;
    for (const auto& pair : layout.pairs) {
        tensors["base_model.model." + pair.module + ".lora_A.weight"] = at::zeros({2, pair.d_in});
        tensors["base_model.model." + pair.module + ".lora_B.weight"] = at::zeros({pair.d_out, 2});
    }
    save_safetensors(scratch.path() / "adapter_model.safetensors", tensors);
    nlohmann::json all{{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 4}};
    all.update(choice);
    std::ofstream(scratch.path() / "adapter_config.json") << all;
    return modules(load_adapter(scratch.path(), config).layout);
}

}  // namespace

// Each as PEFT 0.21.2 chooses.
TEST_CASE("target modules are PEFT's: one that matches is enough", "[lora]") {
    struct choice {
        std::string family;
        nlohmann::json config;
        std::vector<std::string> modules;  // as layout.cpp's targets
    };
    const auto targets = [](const nlohmann::json& what) { return nlohmann::json{{"target_modules", what}}; };
    const auto with = [&](const nlohmann::json& what, const nlohmann::json& more) {
        auto out = targets(what);
        out.update(more);
        return out;
    };
    const std::string q0 = "model.layers.0.self_attn.q_proj", q1 = "model.layers.1.self_attn.q_proj";
    const std::vector<choice> choices{
        {"llama", targets({"q_proj", "c_attn", "query_key_value"}), {"q"}},
        {"llama", targets({"q_proj", "o"}), {"q"}},  // PEFT knows no roles
        {"llama", targets({"q_proj", "self_attn.q_proj", q1}), {"q"}},
        {"llama", targets({"q_proj", "all-linear"}), {"q"}},
        {"llama", targets("all-linear"), {"all-linear"}},
        {"llama", with("All-Linear", {{"exclude_modules", ".*mlp.*"}}), {"q", "k", "v", "o"}},
        {"phi3", with("all-linear", {{"exclude_modules", {"mlp.down_proj"}}}), {"qkv_proj", "o", "gate_up_proj"}},
        {"llama", targets(".*q_proj"), {"q"}},
        {"llama", targets(R"(model\.layers\.1\..*(q|v)_proj)"), {q1, "model.layers.1.self_attn.v_proj"}},
        {"llama", targets(R"(.*\.(?P<which>q|k)_proj\Z)"), {"q", "k"}},
        {"llama", targets(R"((?i).*Q_PROJ)"), {"q"}},
        {"llama", targets(R"(.*(?<!gate)(?<!up)_proj)"), {"q", "k", "v", "o", "down"}},
        {"llama", with({"q_proj", "lm_head"}, {{"exclude_modules", {"lm_head"}}}), {"q"}},
        {"llama", with({"q_proj", "v_proj"}, {{"exclude_modules", {"v_proj"}}}), {"q"}},
        {"llama", with({"q_proj"}, {{"exclude_modules", "model.layers.0.*"}}), {q1}},
        {"llama", with({"q_proj"}, {{"exclude_modules", {q1}}}), {q0}},
        {"llama", with({"q_proj"}, {{"exclude_modules", {"layers.1"}}}), {"q"}},
        {"llama", with({"q_proj"}, {{"exclude_modules", ""}}), {"q"}},
        {"llama", with({"q_proj"}, {{"layers_to_transform", 1}}), {q1}},
        {"llama", with({"q_proj"}, {{"layers_to_transform", {1, 7}}}), {q1}},
        {"llama", with({"q_proj"}, {{"layers_to_transform", nlohmann::json::array()}}), {"q"}},
        {"llama", with({"q_proj"}, {{"layers_to_transform", {1}}, {"layers_pattern", {"h", "layers"}}}), {q1}},
        {"llama", with({"q_proj"}, {{"layers_to_transform", {1}}, {"layers_pattern", R"(model\.layers)"}}), {q1}},
        {"llama", with({"q_proj"}, {{"layers_to_transform", {1}}, {"layers_pattern", ""}}), {q1}},
        {"llama", with({"k_proj", q0}, {{"layers_to_transform", {1}}}), {q0, "model.layers.1.self_attn.k_proj"}},
        {"gpt2", targets({"q_proj", "v_proj", "c_attn"}), {"c_attn"}},
        {"gpt2",
         with({"c_proj"}, {{"layers_to_transform", {1}}, {"layers_pattern", "h"}}),
         {"transformer.h.1.attn.c_proj", "transformer.h.1.mlp.c_proj"}},
        {"gpt2", targets("all-linear"), {"all-linear"}},
        {"phi3", targets({"q_proj", "o_proj", "gate_proj", "qkv_proj"}), {"o", "qkv_proj"}},
        // Parts of a module, which PEFT does not know, where their tensors are there.
        {"gpt2", targets({"q_proj", "v_proj"}), {"q", "v"}},
    };
    for (const auto& [family, config, expected] : choices) {
        INFO(family << " " << config);
        CHECK(chosen(family, config, expected) == modules(make_layout(small(family), {2, 4, 0, expected})));
    }

    const auto refused = [&](const nlohmann::json& config, const std::string& what) {
        INFO(config);
        const auto line = refusal([&] { chosen("llama", config, {"q"}); });
        CHECK(has(line, "adapter_config.json: "));
        CHECK(has(line, what));
    };
    for (const auto& none : nlohmann::json::array({{"c_attn"}, {"q"}, nlohmann::json::array(), "q_proj", ""}))
        refused(targets(none), "target_modules matches no linear module of this llama; there are q_proj, k_proj");
    refused(with({"q_proj"}, {{"layers_to_transform", {-1}}}), "matches no linear module");
    refused(with({"q_proj"}, {{"layers_to_transform", {0}}, {"layers_pattern", "h"}}), "matches no linear module");
    refused(with({"q_proj"}, {{"exclude_modules", {"q_proj"}}}), "matches no linear module");
    for (const char* other : {"lm_head", "embed_tokens", "input_layernorm", "self_attn", "0"})
        refused(targets({"q_proj", other}), "target_modules has '");
    refused(targets(".*"), "target_modules has '");
    refused(targets("(q"), "target_modules: '(q' is not a regular expression (");
    refused(targets("(.*)*[A-Z]"), "takes too long");
    refused(targets({1}), "key 'target_modules' must be strings");
    refused(with({"q_proj"}, {{"exclude_modules", 3}}), "key 'exclude_modules' must be a list or a string");
    refused(with({"q_proj"}, {{"layers_to_transform", "1"}}), "key 'layers_to_transform' must be");
    refused(with({"q_proj"}, {{"layers_pattern", "layers"}}), "needs 'layers_to_transform'");
    refused(with(".*q_proj", {{"layers_to_transform", {1}}}), "needs 'target_modules' to be a list");
    refused(with("all-linear", {{"layers_to_transform", {1}}}), "needs 'target_modules' to be a list");
}

}  // namespace rldp::models::test
