// Base plus adapter as a plain checkpoint.
#include <ATen/core/grad_mode.h>

#include <set>

#include "models/architecture/family.hpp"
#include "models/full_checkpoint.hpp"
#include "models/weights.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

at::Tensor compute_logits(const fs::path& directory, const at::Tensor& ids, const loaded_adapter* adapter = nullptr) {
    const at::NoGradGuard no_grad;
    const auto model = causal_lm::load(directory, at::kFloat, at::kCPU);
    return model->logits(ids, adapter ? &adapter->layout : nullptr, adapter ? &adapter->flat : nullptr);
}

std::string read_bytes(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries(const fs::path& directory) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("merged weights give the adapted model's logits", "[merge]") {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        random_source random(seed);
        const auto config = random_config(random);
        const auto weights = random_weights(config);
        loaded_adapter adapter{make_layout(config, random_lora(random, config)), {}};
        adapter.flat = 0.3 * at::randn({adapter.layout.dimension});
        INFO("seed " << seed << ", " << config.model_type);
        const auto base = causal_lm::from_weights(config, weights);
        const auto merged = causal_lm::from_weights(config, merged_weights(config, weights, adapter));
        const auto ids = at::randint(config.vocab, {3, 8}, at::kLong);
        const auto expected = base->logits(ids, &adapter.layout, &adapter.flat);
        const double size = expected.abs().max().item<double>();
        CHECK(largest_difference(merged->logits(ids, nullptr, nullptr), expected) <= 2e-5 * (1 + size));
        CHECK(largest_difference(base->logits(ids, nullptr, nullptr), expected) > 1e-3);
    }
}

TEST_CASE("weights of more rows than are merged at once are merged whole", "[merge]") {
    for (const std::string type : {"gpt2", "llama", "phi3"}) {
        INFO(type);
        random_source random(5);
        auto config = random_config(random, type);
        config.width = 12;
        if (type == "gpt2") config.heads = config.kv_heads = 3, config.head_dim = 4;
        config.layers = 1;
        config.inner = 100'000;  // a million numbers at once are 87,000 rows of 12, or 10 rows of so many
        const auto weights = random_weights(config);
        const std::vector<std::string> mlp =
            type == "gpt2" ? std::vector<std::string>{"fc", "proj"} : std::vector<std::string>{"gate", "up", "down"};
        loaded_adapter adapter{make_layout(config, {2, 4, 0, mlp}), {}};
        adapter.flat = at::randn({adapter.layout.dimension});
        auto merged = merged_weights(config, weights, adapter);
        for (std::size_t i = 0; i < adapter.layout.pairs.size(); ++i)
            for (const auto& module : block_modules(config, 0)) {
                if (module.name != adapter.layout.pairs[i].module) continue;
                const auto name = (module.inside.empty() ? module.name : module.inside) + ".weight";
                const auto rows = [&](const at::Tensor& all) {
                    return (type == "gpt2" ? all.t() : all).narrow(0, module.first_row, module.d_out);
                };
                const auto delta = at::mm(adapter.layout.b(adapter.flat, i), adapter.layout.a(adapter.flat, i)) * 2;
                CHECK(largest_difference(rows(merged.at(name)), rows(weights.at(name)) + delta) <= 1e-4);
            }
    }
}

TEST_CASE("a base of 16-bit floats stays one", "[merge]") {
    random_source random(8);
    const auto config = random_config(random);
    auto weights = random_weights(config);
    for (auto& [name, weight] : weights) weight = weight.to(at::kBFloat16);
    loaded_adapter adapter{make_layout(config, random_lora(random, config)), {}};
    adapter.flat = 0.3 * at::randn({adapter.layout.dimension});
    for (const auto& [name, weight] : merged_weights(config, weights, adapter))
        CHECK(weight.scalar_type() == at::kBFloat16);
}

TEST_CASE("a sum that is not finite is refused by the weight's name", "[merge]") {
    random_source random(8);
    const auto config = random_config(random);
    loaded_adapter adapter{make_layout(config, random_lora(random, config)), {}};
    adapter.flat = at::full({adapter.layout.dimension}, 1e30);  // finite, but B·A is not
    const auto line = refusal([&] { merged_weights(config, random_weights(config), adapter); });
    CHECK(has(line, "with the adapter its weight is not finite"));
}

TEST_CASE("golden: every base with every adapter, from disk to disk", "[golden]") {
    const auto directories = golden_directories();
    if (directories.empty()) WARN("skipped: no shared data");
    for (const auto& directory : directories)
        for (const std::string name : {"adapter", "adapter_qv_split"}) {
            if (!fs::exists(directory / name)) continue;
            INFO(directory << " " << name);
            const scratch_directory scratch;
            merge(directory, directory / name, scratch.path() / "merged/");
            CHECK(entries(scratch.path()) == 1);
            const auto ids = safetensors_file(directory / "case.safetensors").tensor("input_ids").clone();
            const auto adapter = load_adapter(directory / name, read_model_config(directory));
            const double tolerance = directory.filename() == "stories260K" ? 2e-4 : 5e-5;
            const auto merged = compute_logits(scratch.path() / "merged", ids);
            CHECK(largest_difference(merged, compute_logits(directory, ids, &adapter)) <= tolerance);
            CHECK(read_bytes(scratch.path() / "merged/config.json") == read_bytes(directory / "config.json"));
            CHECK(fs::exists(scratch.path() / "merged/tokenizer.json") == fs::exists(directory / "tokenizer.json"));
            // The base's own tensors, no more, no less: a tied head stays absent.
            const safetensors_file ours(scratch.path() / "merged/model.safetensors"),
                theirs(directory / "model.safetensors");
            CHECK(ours.names() == theirs.names());
            CHECK(ours.metadata().at("format") == "pt");
        }
}

TEST_CASE("golden: shards, hub layout and bfloat16 merge too", "[golden]") {
    for (const auto& directory : golden_directories())
        for (const std::string layout : {"sharded", "hub_layout", "bf16"}) {
            if (!fs::exists(directory / layout)) continue;
            INFO(directory << " " << layout);
            const scratch_directory scratch;
            merge(directory / layout, directory / "adapter", scratch.path() / "merged");
            const auto ids = safetensors_file(directory / "case.safetensors").tensor("input_ids").clone();
            const auto adapter = load_adapter(directory / "adapter", read_model_config(directory));
            const auto expected = compute_logits(directory / layout, ids, &adapter);
            // Rounding a weight to bfloat16 is a relative error of up to 2^-9.
            const double tolerance = layout == "bf16" ? 0.1 : 5e-5;
            CHECK(largest_difference(compute_logits(scratch.path() / "merged", ids), expected) <= tolerance);
            // The base's files, one or shards, with an index where it has one.
            std::set<std::string> files, names;
            for (const auto& entry : fs::directory_iterator(scratch.path() / "merged")) {
                if (entry.path().extension() != ".safetensors") continue;
                files.insert(entry.path().filename());
                const safetensors_file file(entry.path());
                for (const auto& name : file.names()) {
                    CHECK(names.insert(name).second);
                    CHECK(file.tensor(name).scalar_type() == (layout == "bf16" ? at::kBFloat16 : at::kFloat));
                }
            }
            const auto index = scratch.path() / "merged/model.safetensors.index.json";
            CHECK(fs::exists(index) == (layout == "sharded"));
            if (layout != "sharded") continue;
            CHECK(files.size() > 1);
            const auto parsed = read_json(index);
            CHECK(parsed["weight_map"].size() == names.size());
            for (const auto& [name, file] : parsed["weight_map"].items())
                CHECK(files.contains(file.get<std::string>()));
        }
}

TEST_CASE("a head of the file's own is merged, too, and told by config.json", "[merge]") {
    const scratch_directory scratch;
    const auto base = scratch.path() / "base";
    fs::create_directory(base);
    const nlohmann::ordered_json json{
        {"model_type", "llama"},  {"tie_word_embeddings", true}, {"hidden_size", 8},        {"rms_norm_eps", 1e-5},
        {"num_hidden_layers", 1}, {"num_attention_heads", 2},    {"intermediate_size", 12}, {"vocab_size", 11}};
    std::ofstream(base / "config.json") << json;
    auto weights = random_weights(read_model_config(base));
    const auto layout = make_layout(read_model_config(base), {2, 4, 0, {"q"}});
    save_adapter(scratch.path() / "adapter", layout, at::randn({layout.dimension}), "base", read_model_config(base));
    const auto adapter = load_adapter(scratch.path() / "adapter", read_model_config(base));
    for (const bool other : {true, false}) {
        weights["lm_head.weight"] = weights.at("model.embed_tokens.weight") + (other ? 1 : 0);
        save_safetensors(base / "model.safetensors", weights);
        const auto out = scratch.path() / (other ? "other" : "same");
        merge(base, scratch.path() / "adapter", out);
        CHECK(safetensors_file(out / "model.safetensors").contains("lm_head.weight") == other);
        auto expected = json;
        if (other) expected["tie_word_embeddings"] = false;
        CHECK(nlohmann::ordered_json::parse(read_bytes(out / "config.json")).dump() == expected.dump());
        CHECK(!read_model(out).head_beside_config);
        const auto ids = at::randint(11, {2, 5}, at::kLong);
        CHECK(largest_difference(compute_logits(out, ids), compute_logits(base, ids, &adapter)) <= 1e-5);

        const auto model = causal_lm::load(base, at::kFloat, at::kCPU);
        const auto norms = make_tensor_layout(model->config(), {"norm"});
        const auto whole = scratch.path() / (other ? "other_whole" : "same_whole");
        save_full_model(base, norms, model->flatten_tensors(norms), whole);
        CHECK(read_json(whole / "config.json").at("tie_word_embeddings") == !other);
        CHECK(at::equal(compute_logits(whole, ids), compute_logits(base, ids)));
    }
}

TEST_CASE("merging refuses what is there and leaves nothing behind when it fails", "[merge]") {
    random_source random(3);
    const auto config = random_config(random);
    const scratch_directory scratch;
    const auto layout = make_layout(config, {2, 4, 0, {"q"}});
    save_adapter(scratch.path() / "adapter", layout, at::zeros({layout.dimension}), "base", config);
    const auto attempt = [&](const fs::path& base, const fs::path& adapter, const fs::path& out) {
        return refusal([&] { merge(base, adapter, out); });
    };
    fs::create_directory(scratch.path() / "there");
    CHECK(has(attempt(scratch.path(), scratch.path() / "adapter", scratch.path() / "there"), "there: exists already"));
    CHECK(has(attempt(scratch.path() / "no", scratch.path() / "adapter", scratch.path() / "out"),
              "no: no such directory; a model is"));
    const auto count = entries(scratch.path());
    for (const auto& directory : golden_directories()) {
        CHECK(has(attempt(directory, scratch.path() / "no", scratch.path() / "out"), "adapter_model.safetensors"));
        CHECK(has(attempt(directory, directory / "adapter", scratch.path() / "adapter/adapter_config.json/out"),
                  "can't be created"));
    }
    CHECK(entries(scratch.path()) == count);
}

}  // namespace rldp::models::test
