// Checkpoints, good and damaged.
#include <cmath>

#include "base/files.hpp"
#include "models/architecture/family.hpp"
#include "models/weight_files.hpp"
#include "models/weights.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"
#include "tests/support/threads.hpp"

namespace rldp::models::test {

namespace {

nlohmann::json gpt2_config() {
    return {{"model_type", "gpt2"}, {"n_embd", 8},      {"n_layer", 1},      {"n_head", 2},
            {"n_positions", 16},    {"vocab_size", 11}, {"eos_token_id", 3}, {"pad_token_id", nullptr}};
}

nlohmann::json llama_config() {
    return {{"model_type", "llama"},   {"hidden_size", 8},       {"num_hidden_layers", 1}, {"num_attention_heads", 2},
            {"intermediate_size", 12}, {"eos_token_id", {3, 4}}, {"vocab_size", 11}};
}

}  // namespace

TEST_CASE("a model's own precision is bfloat16 where all of it is stored so", "[checkpoint]") {
    const scratch_directory scratch;
    write_file(scratch.path() / "config.json", gpt2_config().dump());
    const auto model = read_model_config(scratch.path());
    std::map<std::string, at::Tensor> weights;
    for (const auto& [name, shape] : base_tensors(model)) weights[name] = at::ones(shape, at::kBFloat16);
    const auto own = [&] {
        save_safetensors(scratch.path() / "model.safetensors", weights);
        return own_precision(scratch.path(), model);
    };
    CHECK(own() == at::kBFloat16);
    auto& last = weights.rbegin()->second;
    for (const auto other : {at::kFloat, at::kHalf}) {
        last = last.to(other);
        CHECK(own() == at::kFloat);
    }
}

TEST_CASE("weights that are not finite, or not in the type asked for, are refused by file and tensor", "[checkpoint]") {
    const scratch_directory scratch;
    write_file(scratch.path() / "config.json", gpt2_config().dump());
    const auto model = read_model_config(scratch.path());
    std::map<std::string, at::Tensor> good;
    for (const auto& [name, shape] : base_tensors(model)) good[name] = at::ones(shape);
    const std::string name = "transformer.h.0.mlp.c_proj.weight";
    const auto refused = [&](double number, at::ScalarType stored, std::optional<at::ScalarType> wanted) {
        auto weights = good;
        weights[name] = weights[name].to(stored);
        weights[name].flatten()[-1] = number;
        save_safetensors(scratch.path() / "model.safetensors", weights);
        return refusal([&] { load_weights(scratch.path(), model, wanted, at::kCPU); });
    };
    for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf})
        for (const double bad : {double{NAN}, -double{NAN}, double{INFINITY}, -double{INFINITY}}) {
            const auto line = refused(bad, type, std::nullopt);
            INFO(line);
            CHECK(has(line, "model.safetensors: tensor '" + name + "' holds numbers that are not finite in "));
        }
    CHECK(refused(3.4e38, at::kFloat, std::nullopt).empty());
    CHECK(refused(65504, at::kHalf, at::kFloat).empty());
    CHECK(has(refused(3.4e38, at::kFloat, at::kBFloat16), "not finite in BF16"));
    CHECK(has(refused(1e300, at::kDouble, at::kFloat), "not finite in F32"));
}

TEST_CASE("a digest of weights is of what is stored, wherever it lies", "[checkpoint]") {
    const scratch_directory scratch;
    write_file(scratch.path() / "config.json", gpt2_config().dump());
    const auto model = read_model_config(scratch.path());
    auto weights = random_weights(model);
    const auto digest = [&](std::optional<at::ScalarType> dtype = std::nullopt) {
        return load_weights(scratch.path(), model, dtype, at::kCPU, {.digest = true}).digest;
    };
    const auto single = scratch.path() / "model.safetensors";
    save_safetensors(single, weights);
    const auto first = digest();
    CHECK(first.size() == 64);
    CHECK(digest(at::kBFloat16) == first);
    CHECK(load_weights(scratch.path(), model, std::nullopt, at::kCPU).digest.empty());
    for (const auto& [name, weight] : weights) {
        INFO(name);
        auto changed = weights;
        changed[name] = weight.clone();
        changed[name].flatten()[-1] += 1;
        save_safetensors(single, changed);
        CHECK(digest() != first);
    }
    auto stored_otherwise = weights;
    stored_otherwise.begin()->second = weights.begin()->second.to(at::kDouble);
    save_safetensors(single, stored_otherwise);
    CHECK(digest() != first);

    fs::remove(single);
    save_safetensors(scratch.path() / "x.safetensors", weights);
    nlohmann::json map;
    for (const auto& [name, unused] : weights) map[name] = "x.safetensors";
    std::ofstream(scratch.path() / "model.safetensors.index.json") << nlohmann::json{{"weight_map", map}};
    CHECK(digest() == first);
}

TEST_CASE("weights that were found finite are not looked through again", "[checkpoint]") {
    const scratch_directory scratch;
    write_file(scratch.path() / "config.json", gpt2_config().dump());
    const auto model = read_model_config(scratch.path());
    auto weights = random_weights(model);
    weights.begin()->second.flatten()[0] = NAN;
    save_safetensors(scratch.path() / "model.safetensors", weights);
    CHECK(has(refusal([&] { load_weights(scratch.path(), model, at::kFloat, at::kCPU); }), "not finite"));
    CHECK(load_weights(scratch.path(), model, at::kFloat, at::kCPU, {.known_good = true}).weights.numbers.size() ==
          weights.size());
}

TEST_CASE("weights are the same, and so is the refusal of several, on any number of threads", "[checkpoint]") {
    const scratch_directory scratch;
    write_file(scratch.path() / "config.json", gpt2_config().dump());
    const auto model = read_model_config(scratch.path());
    auto weights = random_weights(model);
    const auto read = [&](int threads) {
        const rldp::testing::on_threads so_many(threads);
        std::int64_t calls = 0, most = 0;
        auto out = load_weights(scratch.path(), model, at::kBFloat16, at::kCPU,
                                {.digest = true, .tell = [&](const rldp::loading& seen) {
                                     ++calls;
                                     CHECK(seen.done > most);  // it is told in order
                                     most = seen.done;
                                 }});
        CHECK(calls == std::ssize(weights));
        return out;
    };
    save_safetensors(scratch.path() / "model.safetensors", weights);
    const auto alone = read(1), shared = read(4);
    CHECK(shared.digest == alone.digest);
    for (const auto& [name, tensor] : alone.weights.numbers) CHECK(at::equal(shared.weights.numbers.at(name), tensor));

    for (auto& [name, tensor] : weights) tensor.flatten()[0] = NAN;
    save_safetensors(scratch.path() / "model.safetensors", weights);
    const auto first = refusal([&] { load_weights(scratch.path(), model, at::kFloat, at::kCPU); });
    CHECK(has(first, "not finite"));
    for (int round = 0; round < 20; ++round) {
        const rldp::testing::on_threads four(4);
        CHECK(refusal([&] { load_weights(scratch.path(), model, at::kFloat, at::kCPU); }) == first);
    }
}

TEST_CASE("config.json is read with its defaults and checked", "[config]") {
    const scratch_directory scratch;
    const auto read = [&](const nlohmann::json& json) {
        std::ofstream(scratch.path() / "config.json") << json;
        return read_model_config(scratch.path());
    };
    const auto gpt2 = read(gpt2_config());
    CHECK(gpt2.inner == 32);
    CHECK(gpt2.head_dim == 4);
    CHECK(gpt2.tied_head);
    CHECK(gpt2.activation == "gelu_new");
    CHECK(gpt2.eos == std::vector<std::int64_t>{3});
    CHECK(!gpt2.pad);
    const auto llama = read(llama_config());
    CHECK(llama.kv_heads == 2);
    CHECK(llama.rope.theta == 10000);
    CHECK(!llama.tied_head);
    CHECK(llama.eos == std::vector<std::int64_t>{3, 4});

    const auto refused = [&](nlohmann::json json, const std::string& key, const nlohmann::json& value) {
        INFO(key << " " << value);
        json[key] = value;
        const auto line = refusal([&] { read(json); });
        CHECK(has(line, "config.json"));
        CHECK(has(line, key));
    };
    refused(gpt2_config(), "model_type", "bert");
    CHECK(has(refusal([&] { read({{"model_type", "bert"}}); }), "gpt2, llama, mistral"));
    refused(gpt2_config(), "n_embd", 9);
    refused(gpt2_config(), "n_layer", 0);
    refused(gpt2_config(), "n_layer", 1e9);
    refused(gpt2_config(), "n_head", "two");
    refused(gpt2_config(), "vocab_size", nullptr);
    refused(gpt2_config(), "vocab_size", 18446744073709551615ull);
    refused(gpt2_config(), "activation_function", "relu");
    refused(gpt2_config(), "activation_function", "");
    refused(gpt2_config(), "activation_function", "gelu_new, gelu");
    refused(gpt2_config(), "scale_attn_by_inverse_layer_idx", true);
    refused(llama_config(), "num_key_value_heads", 3);
    refused(llama_config(), "hidden_act", "gelu");
    refused(llama_config(), "attention_bias", true);
    refused(llama_config(), "rms_norm_eps", -1);
    refused(llama_config(), "rope_scaling", {{"rope_type", "yarn"}, {"factor", 2}});
    refused(llama_config(), "rope_scaling", {{"rope_type", "llama3"}, {"factor", 2}});
    refused(llama_config(), "rope_parameters", 3);
    refused(llama_config(), "eos_token_id", {"x"});
    write_file(scratch.path() / "config.json", "{\"model_type\": \"gpt2\",\n oops}");
    CHECK(has(refusal([&] { read_model_config(scratch.path()); }), "config.json: not valid JSON at byte"));
    write_file(scratch.path() / "config.json", "{\"model_type\": \"gpt2\", \"n_embd\": 1e999}");
    CHECK(has(refusal([&] { read_model_config(scratch.path()); }), "config.json: key 'n_embd' holds a number"));
    fs::remove(scratch.path() / "config.json");
    CHECK(has(refusal([&] { read_model_config(scratch.path()); }), "config.json"));
}

TEST_CASE("quantized weights are told by their method", "[config]") {
    const scratch_directory scratch;
    const auto line = [&](const std::string& key, const nlohmann::json& how) {
        auto json = llama_config();
        json[key] = how;
        std::ofstream(scratch.path() / "config.json") << json;
        return refusal([&] { read_model_config(scratch.path()); });
    };
    const std::string key = "quantization_config";
    for (const std::string method : {"gptq", "awq", "fp8", "mxfp4"})
        CHECK(
            has(line(key, {{"quant_method", method}, {"bits", 4}}),
                "config.json: key 'quantization_config': the weights are quantized by " + method + "; take the model"));
    CHECK(has(line(key, {{"load_in_4bit", true}}), "the weights are quantized; take the model"));
    CHECK(has(line(key, 3), "the weights are quantized; take the model"));
    CHECK(
        has(line("quantization", {{"group_size", 64}, {"bits", 4}}), "key 'quantization': the weights are quantized"));
    CHECK(line(key, nullptr).empty());
    CHECK(line(key, {{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}).empty());  // its files say the rest
}

TEST_CASE("weights in another form are told with what to do", "[checkpoint]") {
    const scratch_directory scratch;
    std::ofstream(scratch.path() / "config.json") << gpt2_config();
    const auto load = [&] { return refusal([&] { causal_lm::load(scratch.path(), at::kFloat, at::kCPU); }); };
    CHECK(!has_weights(scratch.path()));
    CHECK(has(load(), "model.safetensors: no such file"));
    for (const std::string name : {"tf_model.h5", "consolidated.00.pth"}) {
        write_file(scratch.path() / name, "x");
        CHECK(has(load(), name + ": weights are read as safetensors only; take the model in that form"));
        CHECK(has(refusal([&] { has_weights(scratch.path()); }), name));
        fs::remove(scratch.path() / name);
    }
    write_file(scratch.path() / "model-Q4_K_M.gguf", "x");
    CHECK(has(load(), "give the GGUF file itself: " + (scratch.path() / "model-Q4_K_M.gguf").string()));
    fs::remove(scratch.path() / "model-Q4_K_M.gguf");
    for (const std::string name :
         {"pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json"}) {
        write_file(scratch.path() / name, "x");
        const auto line = load();
        CHECK(has(line, name + ": weights are read as safetensors only; convert them: python3 -c \"from transformers"));
        CHECK(has(line, "save_pretrained('" + scratch.path().string() + "')\""));
        fs::remove(scratch.path() / name);
    }
    write_file(scratch.path() / "model.safetensors",
               "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548105171\n");
    CHECK(has(load(), "model.safetensors: is a Git LFS pointer, not the file itself; call git lfs pull"));
    save_safetensors(scratch.path() / "model.safetensors", random_weights(read_model_config(scratch.path())));
    write_file(scratch.path() / "pytorch_model.bin", "x");
    CHECK(load().empty());
}

TEST_CASE("a tied model has the head of its file where that is another", "[checkpoint]") {
    for (const auto& type : model_types()) {
        INFO(type);
        const scratch_directory scratch;
        nlohmann::json json = type == "gpt2" ? gpt2_config() : llama_config();
        json.update({{"model_type", type},
                     {"tie_word_embeddings", true},
                     {"sliding_window", 8},
                     {"num_key_value_heads", 2},
                     {"head_dim", 4}});
        std::ofstream(scratch.path() / "config.json") << json;
        const auto config = read_model_config(scratch.path());
        REQUIRE(config.tied_head);
        CHECK(read_model(scratch.path()).tied_head);  // without weights
        const auto weights = random_weights(config);
        const auto embedding = base_tensors(config).front().first;
        const auto ids = at::randint(config.vocab, {2, 5}, at::kLong);
        const auto with = [&](const at::Tensor& head) {
            auto all = weights;
            if (head.defined()) all["lm_head.weight"] = head;
            save_safetensors(scratch.path() / "model.safetensors", all);
            return read_model(scratch.path());
        };
        const auto logits = [&] {
            return causal_lm::load(scratch.path(), at::kFloat, at::kCPU)->logits(ids, nullptr, nullptr);
        };
        CHECK(with({}).tied_head);
        const auto tied = logits();
        CHECK(!find_warning(with(weights.at(embedding).clone()), scratch.path()));
        CHECK(at::equal(logits(), tied));

        auto head = weights.at(embedding).clone();
        head[-1][-1] += 1;
        const auto apart = with(head);
        CHECK(!apart.tied_head);
        CHECK(has(find_warning(apart, scratch.path()).value(), "config.json: tie_word_embeddings is true, but"));
        auto untied = config;
        untied.tied_head = false;
        auto all = weights;
        all["lm_head.weight"] = head;
        CHECK(at::equal(logits(), causal_lm::from_weights(untied, all)->logits(ids, nullptr, nullptr)));
        CHECK(!at::equal(logits(), tied));
        with(at::zeros({12, config.width}));
        CHECK(has(refusal(logits), "'lm_head.weight' has shape [12, 8]; config.json asks for [11, 8]"));

        // The other way round: the head alone is the embedding, too.
        all["lm_head.weight"] = weights.at(embedding);
        all.erase(embedding);
        save_safetensors(scratch.path() / "model.safetensors", all);
        CHECK(read_model(scratch.path()).tied_head);
        CHECK(at::equal(logits(), tied));
    }
}

TEST_CASE("a checkpoint that does not fit its config is refused with file and tensor", "[checkpoint]") {
    const scratch_directory scratch;
    std::ofstream(scratch.path() / "config.json") << gpt2_config();
    auto weights = random_weights(read_model_config(scratch.path()));
    const auto file = scratch.path() / "model.safetensors";
    const auto load = [&] { return causal_lm::load(scratch.path(), at::kFloat, at::kCPU); };
    CHECK(has(refusal([&] { load(); }), "model.safetensors"));
    save_safetensors(file, weights);
    CHECK(load()->parameters() == 8 * 11 + 8 * 16 + 8 * 24 + 24 + 8 * 8 + 8 + 8 * 32 + 32 + 32 * 8 + 8 + 6 * 8);

    const auto refused = [&](const std::map<std::string, at::Tensor>& changed, const std::string& tensor) {
        save_safetensors(file, changed);
        const auto line = refusal([&] { load(); });
        CHECK(has(line, "model.safetensors"));
        CHECK(has(line, tensor));
        CHECK(has(refusal([&] { causal_lm::from_weights(read_model_config(scratch.path()), changed); }), tensor));
    };
    auto changed = weights;
    changed.erase("transformer.h.0.mlp.c_fc.bias");
    refused(changed, "transformer.h.0.mlp.c_fc.bias");
    changed = weights;
    changed["transformer.h.0.mlp.c_fc.weight"] = at::zeros({32, 8});
    refused(changed, "transformer.h.0.mlp.c_fc.weight");
    changed = weights;
    changed["transformer.ln_f.bias"] = at::zeros({8}, at::kLong);
    save_safetensors(file, changed);
    CHECK(has(refusal([&] { load(); }), "transformer.ln_f.bias"));
}

TEST_CASE("shards are found by their index, and only beside it", "[checkpoint]") {
    const scratch_directory scratch;
    std::ofstream(scratch.path() / "config.json") << gpt2_config();
    const auto weights = random_weights(read_model_config(scratch.path()));
    save_safetensors(scratch.path() / "x.safetensors", weights);
    nlohmann::json map;
    for (const auto& [name, unused] : weights) map[name] = "x.safetensors";
    const auto load = [&](const nlohmann::json& index) {
        std::ofstream(scratch.path() / "model.safetensors.index.json") << index;
        return causal_lm::load(scratch.path(), at::kBFloat16, at::kCPU);
    };
    CHECK(load({{"weight_map", map}})->parameters() > 0);
    CHECK(has(refusal([&] { load({{"weights", map}}); }), "weight_map"));
    // Another head may lie in a shard of its own.
    auto head = weights.at("transformer.wte.weight").clone();
    save_safetensors(scratch.path() / "head.safetensors", {{"lm_head.weight", head + 1}});
    map["lm_head.weight"] = "head.safetensors";
    CHECK(!load({{"weight_map", map}})->config().tied_head);
    save_safetensors(scratch.path() / "head.safetensors", {{"lm_head.weight", head}});
    CHECK(load({{"weight_map", map}})->config().tied_head);
    map["transformer.ln_f.bias"] = "../x.safetensors";
    CHECK(has(refusal([&] { load({{"weight_map", map}}); }), "index.json: weight_map.transformer.ln_f.bias"));
    map["transformer.ln_f.bias"] = "y.safetensors";
    CHECK(has(refusal([&] { load({{"weight_map", map}}); }), "y.safetensors"));
}

}  // namespace rldp::models::test
