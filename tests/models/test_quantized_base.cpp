// Bases in blocks: the same model as one of the numbers that these blocks stand for.
#include <ATen/core/grad_mode.h>

#include <fstream>

#include "base/files.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/full_checkpoint.hpp"
#include "models/gguf/gguf_model.hpp"
#include "models/quantized/quantize.hpp"
#include "models/unit_gradients.hpp"
#include "models/weight_files.hpp"
#include "models/weights.hpp"
#include "tests/models/random_models.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

/// Rows of every matrix fill blocks of 64.
model_config wide_config(random_source& random, const std::string& model_type) {
    auto c = random_config(random, model_type);
    c.heads = c.kv_heads = 2;
    c.head_dim = 32;
    c.width = 64;
    c.inner = 128;
    return c;
}

at::Tensor to_numbers(const quantized_tensor& blocks) {
    auto out = at::empty({blocks.rows, blocks.columns});
    blocks.read_rows(0, blocks.rows, out.data_ptr<float>());
    return out;
}

quantized_tensor quantize(block_type type, const at::Tensor& matrix) {
    const auto rows = matrix.contiguous();
    return quantize_matrix(type, rows.size(0), rows.size(1),
                           [&](std::int64_t i) { return rows.data_ptr<float>() + i * rows.size(1); });
}

struct pair_of_models {
    std::shared_ptr<const causal_lm> blocks, numbers;
};

/// Every matrix is in blocks but for positions, embedding and head too where `vocabulary` says so.
pair_of_models make_models(const model_config& config, block_type type, at::ScalarType dtype, bool vocabulary) {
    const bool conv1d = config.model_type == "gpt2";
    base_weights blocks;
    std::map<std::string, at::Tensor> numbers;
    for (const auto& [name, weight] : random_weights(config)) {
        const bool is_table =
            name.find("wte") != name.npos || name.find("embed") != name.npos || name.find("lm_head") != name.npos;
        if (weight.dim() != 2 || name.find("wpe") != name.npos || (is_table && !vocabulary)) {
            blocks.numbers[name] = numbers[name] = weight.to(dtype);
            continue;
        }
        const bool turned = conv1d && !is_table;
        const auto matrix = quantize(type, turned ? weight.t() : weight);
        const auto read = to_numbers(matrix);
        numbers[name] = (turned ? read.t().contiguous() : read).to(dtype);
        blocks.blocks.emplace(name, weight_matrix(matrix, dtype));
    }
    return {causal_lm::from_weights(config, std::move(blocks)), causal_lm::from_weights(config, std::move(numbers))};
}

double relative_distance(const at::Tensor& one, const at::Tensor& other) {
    return ((one - other).norm() / other.norm()).item<double>();
}

}  // namespace

TEST_CASE("a base in blocks computes what the numbers compute that they stand for") {
    unsigned seed = 0;
    for (const auto& model_type : model_types())
        for (const auto type : {block_type::nf4, block_type::q4_0, block_type::int8, block_type::f16}) {
            CAPTURE(model_type, name_of(type));
            random_source random(++seed);
            const auto config = wide_config(random, model_type);
            const auto models = make_models(config, type, at::kFloat, seed % 2 == 0);
            const auto layout = make_layout(config, random_lora(random, config));
            const auto flat = 0.3 * at::randn({layout.dimension});
            const auto sequences = random_sequences(random, config.vocab, 12);
            const auto batch = make_batch(sequences);
            CHECK(models.blocks->parameters() == models.numbers->parameters());
            CHECK(relative_distance(models.blocks->logits(batch.ids, &layout, &flat),
                                    models.numbers->logits(batch.ids, &layout, &flat)) < 1e-5);
            const auto found = models.blocks->gradients(batch, layout, flat);
            const auto wanted = models.numbers->gradients(batch, layout, flat);
            CHECK(relative_distance(found.gradients, wanted.gradients) < 1e-4);
            CHECK(at::allclose(found.losses, wanted.losses, 1e-5));
            const auto again = models.blocks->gradients(batch, layout, flat, {}, activations::recomputed);
            CHECK(at::equal(again.gradients, found.gradients));
            // by autograd alone
            auto leaf = flat.clone().requires_grad_();
            models.blocks->logits(batch.ids, &layout, &leaf).square().sum().backward();
            auto other = flat.clone().requires_grad_();
            models.numbers->logits(batch.ids, &layout, &other).square().sum().backward();
            CHECK(relative_distance(leaf.grad(), other.grad()) < 1e-3);
        }
}

TEST_CASE("blocks are rounded to the type in which products are") {
    random_source random(5);
    const auto config = wide_config(random, "llama");
    const auto models = make_models(config, block_type::q8_0, at::kBFloat16, true);
    const auto batch = make_batch(random_sequences(random, config.vocab, 12));
    const auto found = models.blocks->logits(batch.ids, nullptr, nullptr);
    CHECK(found.scalar_type() == at::kBFloat16);
    CHECK(relative_distance(found.to(at::kFloat), models.numbers->logits(batch.ids, nullptr, nullptr).to(at::kFloat)) <
          1e-2);
}

TEST_CASE("products with blocks that take several tiles, or a part of their rows") {
    at::manual_seed(3);
    // 8 MiB are 1,638 rows of 1,280 float32.
    const auto matrix = quantize(block_type::nf4, at::randn({4'000, 1'280}));
    const weight_matrix blocks(matrix, at::kFloat), numbers(to_numbers(matrix));
    const auto x = at::randn({7, 1'280}), g = at::randn({7, 4'000}), offsets = at::randn({4'000});
    CHECK(relative_distance(blocks.apply(x, offsets), numbers.apply(x, offsets)) < 1e-5);
    CHECK(relative_distance(blocks.pull_back(g), numbers.pull_back(g)) < 1e-5);
    auto sum = at::ones({7, 4'000}), other = at::ones({7, 4'000});
    CHECK(relative_distance(blocks.apply_onto(sum, x), numbers.apply_onto(other, x)) < 1e-5);
    auto back = at::ones({7, 1'280}), other_back = at::ones({7, 1'280});
    blocks.pull_back_onto(back, g);
    numbers.pull_back_onto(other_back, g);
    CHECK(relative_distance(back, other_back) < 1e-5);
    const auto part = blocks.narrow(1'001, 2'000);
    CHECK(relative_distance(part.apply(x), numbers.narrow(1'001, 2'000).apply(x)) < 1e-5);
    CHECK(relative_distance(part.narrow(5, 1).apply(x), numbers.narrow(1'006, 1).apply(x)) < 1e-5);
}

TEST_CASE("a base is quantized while it is read, and nothing else of it") {
    for (const auto* model_type : {"llama", "gpt2", "phi3"}) {
        CAPTURE(model_type);
        random_source random(11);
        const auto config = wide_config(random, model_type);
        const auto weights = random_weights(config);
        const scratch_directory scratch;
        save_safetensors(scratch.path() / "model.safetensors", weights);
        const auto load = [&](std::optional<block_type> type) {
            return load_weights(scratch.path(), config, at::kFloat, at::kCPU, {.quantize = type, .digest = true});
        };
        const auto plain = load(std::nullopt), read = load(block_type::nf4);
        CHECK(plain.weights.blocks.empty());
        CHECK(plain.digest == read.digest);
        std::size_t matrices = 0;
        for (const auto& [name, weight] : weights) {
            const bool is_module = weight.dim() == 2 && name.find("embed") == name.npos &&
                                   name.find("wte") == name.npos && name.find("wpe") == name.npos &&
                                   name.find("lm_head") == name.npos;
            CAPTURE(name);
            CHECK(read.weights.blocks.contains(name) == is_module);
            CHECK(read.weights.numbers.contains(name) != is_module);
            matrices += is_module;
        }
        CHECK(matrices > 0);
        const auto batch = make_batch(random_sequences(random, config.vocab, 12));
        const auto one = causal_lm::from_weights(config, read.weights)->logits(batch.ids, nullptr, nullptr);
        const auto other = causal_lm::from_weights(config, plain.weights)->logits(batch.ids, nullptr, nullptr);
        // Four bits keep much of a random model, and not all.
        CHECK(relative_distance(one, other) < 0.6);
        CHECK(relative_distance(one, other) > 1e-4);
    }
}

namespace {

/// Modules as bitsandbytes writes them in nf4: NAME, NAME.absmax, NAME.quant_map and
/// NAME.quant_state.bitsandbytes__nf4; all else as it is.
std::map<std::string, at::Tensor> store_nf4(const model_config& config, std::map<std::string, at::Tensor> weights) {
    for (const auto& name : list_module_weights(config)) {
        const auto weight = weights.at(name);
        const auto blocks = quantize(block_type::nf4_single, weight);
        const std::int64_t count = weight.numel() / 64;
        auto all = at::empty({count, 36}, at::kByte);
        std::copy(blocks.bytes.begin(), blocks.bytes.end(), all.data_ptr<std::uint8_t>());
        weights[name] = all.narrow(1, 4, 32).contiguous().view({-1, 1});
        const auto scales = all.narrow(1, 0, 4).contiguous();
        weights[name + ".absmax"] = at::from_blob(scales.data_ptr(), {count}, at::kFloat).clone();
        auto map = at::empty({16});
        std::copy(nf4_numbers().begin(), nf4_numbers().end(), map.data_ptr<float>());
        weights[name + ".quant_map"] = map;
        const auto state = nlohmann::json{{"blocksize", 64}, {"shape", {weight.size(0), weight.size(1)}}}.dump();
        auto text = at::empty({std::ssize(state)}, at::kByte);
        std::copy(state.begin(), state.end(), text.data_ptr<std::uint8_t>());
        weights[name + ".quant_state.bitsandbytes__nf4"] = text;
    }
    return weights;
}

/// Bytes of a mapped file that lie in this process's memory.
std::int64_t count_resident(const std::filesystem::path& file) {
    std::ifstream maps("/proc/self/smaps");
    const auto name = std::filesystem::canonical(file).string();
    std::int64_t kibibytes = 0;
    bool is_file = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find('-') < line.find(' ')) is_file = line.ends_with(name);  // a mapping's first line
        if (is_file && line.starts_with("Rss:")) kibibytes += std::stoll(line.substr(4));
    }
    return kibibytes << 10;
}

}  // namespace

TEST_CASE("of a file whose blocks were copied nothing but views stays in memory") {
    random_source random(6);
    auto config = wide_config(random, "llama");
    config.layers = 1;
    config.heads = config.kv_heads = 32;
    config.width = config.inner = 1024;
    const scratch_directory scratch;
    const auto file = scratch.path() / "model.safetensors";
    save_safetensors(file, store_nf4(config, random_weights(config)));
    const auto read = load_weights(scratch.path(), config, at::kFloat, at::kCPU);
    const std::int64_t matrices = 7 * 1024 * 1024 / 2;
    CHECK(count_resident(file) > 0);  // the embedding's rows
    CHECK(count_resident(file) < matrices / 2);
}

TEST_CASE("a directory that bitsandbytes quantized is read as it is") {
    random_source random(4);
    const auto config = wide_config(random, "llama");
    const scratch_directory scratch;
    at::manual_seed(0);
    auto stored = store_nf4(config, random_weights(config));
    std::int64_t numbers = 0;
    for (const auto& [name, shape] : base_tensors(config))
        if (list_module_weights(config).contains(name)) numbers += shape[0] * shape[1];
    const auto bytes = numbers / 2;
    save_safetensors(scratch.path() / "model.safetensors", stored);
    const auto read = load_weights(scratch.path(), config, at::kFloat, at::kCPU, {.digest = true});
    CHECK(read.weights.blocks.size() == list_module_weights(config).size());
    const auto batch = make_batch(random_sequences(random, config.vocab, 12));
    at::manual_seed(0);
    std::map<std::string, at::Tensor> expected;
    for (const auto& [name, weight] : random_weights(config))
        expected[name] =
            read.weights.blocks.contains(name) ? to_numbers(quantize(block_type::nf4_single, weight)) : weight;
    CHECK(relative_distance(causal_lm::from_weights(config, read.weights)->logits(batch.ids, nullptr, nullptr),
                            causal_lm::from_weights(config, expected)->logits(batch.ids, nullptr, nullptr)) < 1e-5);
    CHECK(own_precision(scratch.path(), config) == at::kFloat);
    auto counted = config;
    counted.in_blocks = {numbers, bytes, "nf4_single"};
    CHECK(count_weight_bytes(counted, 4, std::nullopt) ==
          count_weight_bytes(config, 4, std::nullopt) - 4 * numbers + bytes);
    // A scale of another value is another base.
    stored.at("model.layers.0.mlp.up_proj.weight.absmax")[0] += 1;
    save_safetensors(scratch.path() / "model.safetensors", stored);
    CHECK(load_weights(scratch.path(), config, at::kFloat, at::kCPU, {.digest = true}).digest != read.digest);
}

namespace {

/// A file whose modules are in q4_1, its tables in float16.
struct made_gguf {
    testing::gguf_writer file;
    std::map<std::string, at::Tensor> expected;  ///< the numbers in it
    std::int64_t in_blocks = 0;                  ///< of them
};

made_gguf make_gguf(const model_config& config, const std::map<std::string, at::Tensor>& weights) {
    made_gguf out;
    auto& file = out.file;
    const auto& kind = config.model_type;
    file.add("general.architecture", kind);
    const auto add = [&](const std::string& key, std::int64_t value) {
        file.add(kind + "." + key, static_cast<std::uint32_t>(value));
    };
    add("embedding_length", config.width), add("block_count", config.layers), add("context_length", config.window);
    add("attention.head_count", config.heads), add("attention.head_count_kv", config.kv_heads);
    add("feed_forward_length", config.inner);
    if (config.sliding_window) add("attention.sliding_window", *config.sliding_window);
    file.add(kind + (kind == "gpt2" ? ".attention.layer_norm_epsilon" : ".attention.layer_norm_rms_epsilon"),
             static_cast<float>(config.norm_epsilon));
    file.add(kind + ".rope.freq_base", 10000.0F);
    file.add("tokenizer.ggml.eos_token_id", 2U);
    const auto modules = list_module_weights(config);
    for (const auto& [name, weight] : weights) {
        const bool is_module = modules.contains(name), turned = is_module && kind == "gpt2";
        const auto type = is_module ? block_type::q4_1 : weight.dim() == 2 ? block_type::f16 : block_type::f32;
        const auto to_rows = [&](const at::Tensor& t) { return quantize(type, t.dim() == 2 ? t : t.view({1, -1})); };
        auto matrix = turned ? weight.t() : weight;
        const auto read = to_numbers(to_rows(matrix));
        out.expected[name] = (turned ? read.t().contiguous() : read).view(weight.sizes());
        // Of a Llama's head the two halves of rows that are rotated together lie in turn.
        if (kind == "llama" && (name.find("q_proj") != name.npos || name.find("k_proj") != name.npos))
            matrix = weight.view({-1, 2, config.head_dim / 2, config.width}).transpose(1, 2).reshape(weight.sizes());
        const auto lies = to_rows(matrix);
        std::vector<std::uint64_t> shape(matrix.sizes().begin(), matrix.sizes().end());
        file.tensor(to_gguf_name(config, name), shape, static_cast<std::uint32_t>(format_of(type).ggml),
                    std::string(lies.bytes.begin(), lies.bytes.end()));
        if (is_module) out.in_blocks += weight.numel();
    }
    return out;
}

}  // namespace

TEST_CASE("a GGUF file of GPT-2 or Phi-3 is the model that it is, in blocks and in numbers") {
    for (const auto* kind : {"gpt2", "phi3"}) {
        CAPTURE(kind);
        random_source random(9);
        auto config = wide_config(random, kind);
        config.rope = {};
        config.window = 64;
        if (config.model_type == "gpt2") config.activation = "gelu_new";
        const auto weights = random_weights(config);
        const auto made = make_gguf(config, weights);
        const scratch_directory scratch;
        const std::filesystem::path path = scratch.write("model.gguf", made.file.bytes());
        const auto read = read_model(path);
        CHECK(read.tied_head == config.tied_head);
        CHECK(read.sliding_window == config.sliding_window);
        CHECK(read.in_blocks.numbers == made.in_blocks);
        const auto batch = make_batch(random_sequences(random, config.vocab, 12));
        const auto logits_of = [&](const base_weights& of) {
            return causal_lm::from_weights(read, of)->logits(batch.ids, nullptr, nullptr);
        };
        const auto loaded = load_weights(path, read, at::kFloat, at::kCPU).weights;
        CHECK(std::ssize(loaded.blocks) == std::ssize(list_module_weights(config)));
        CHECK(relative_distance(logits_of(loaded), logits_of({made.expected})) < 1e-5);
        CHECK(relative_distance(logits_of(loaded), logits_of({weights})) > 1e-3);
        // modules in float32, as they lie and quantized
        auto plain = made.file;
        for (const auto& name : list_module_weights(config)) {
            const auto matrix = (config.model_type == "gpt2" ? weights.at(name).t() : weights.at(name)).contiguous();
            plain.remove_tensor(to_gguf_name(config, name));
            plain.tensor(to_gguf_name(config, name),
                         {static_cast<std::uint64_t>(matrix.size(0)), static_cast<std::uint64_t>(matrix.size(1))},
                         std::vector<float>(matrix.data_ptr<float>(), matrix.data_ptr<float>() + matrix.numel()));
        }
        const std::filesystem::path wide = scratch.write("wide.gguf", plain.bytes());
        auto expected = made.expected;
        for (const auto& name : list_module_weights(config)) expected[name] = weights.at(name);
        CHECK(relative_distance(logits_of(load_weights(wide, read_model(wide), at::kFloat, at::kCPU).weights),
                                logits_of({expected})) < 1e-5);
        const weights_reading quantized{.quantize = block_type::q4_1};
        CHECK(
            relative_distance(logits_of(load_weights(wide, read_model(wide), at::kFloat, at::kCPU, quantized).weights),
                              logits_of({made.expected})) < 1e-5);
    }
}

TEST_CASE("a GGUF file is loaded as the model that it is") {
    random_source random(8);
    auto config = wide_config(random, "llama");
    config.rope = {};
    config.window = 64;
    config.tied_head = true;
    const auto weights = random_weights(config);
    auto [file, expected, in_blocks] = make_gguf(config, weights);
    const auto modules = list_module_weights(config);
    const scratch_directory scratch;
    const auto path = scratch.path() / "model.gguf";
    write_file(path, file.bytes());
    CHECK(has_weights(path));
    const auto read = read_model(path);
    CHECK(read.in_blocks.numbers == in_blocks);
    CHECK(read.in_blocks.bytes == in_blocks / 32 * 20);
    CHECK(read.in_blocks.type == "q4_1");
    CHECK(count_weight_bytes(read, 4, std::nullopt) ==
          count_weight_bytes(config, 4, std::nullopt) - 4 * in_blocks + in_blocks / 32 * 20);
    CHECK(find_stop_tokens(path) == std::vector<std::int64_t>{2});
    CHECK(own_precision(path, read) == at::kFloat);
    const auto loaded = load_weights(path, read, at::kFloat, at::kCPU, {.digest = true});
    CHECK(loaded.weights.blocks.size() == modules.size());
    const auto batch = make_batch(random_sequences(random, config.vocab, 12));
    const auto found = causal_lm::from_weights(read, loaded.weights)->logits(batch.ids, nullptr, nullptr);
    CHECK(relative_distance(found, causal_lm::from_weights(config, expected)->logits(batch.ids, nullptr, nullptr)) <
          1e-5);
    CHECK(relative_distance(found, causal_lm::from_weights(config, weights)->logits(batch.ids, nullptr, nullptr)) >
          1e-3);
    // one number of a norm is another model, and none is worse
    auto norm = weights.at("model.norm.weight").clone();
    const auto rewrite = [&](float number) {
        norm[3] = number;
        file.remove_tensor("output_norm.weight");
        file.tensor("output_norm.weight", {64},
                    std::vector<float>(norm.data_ptr<float>(), norm.data_ptr<float>() + 64));
        write_file(path, file.bytes());
    };
    rewrite(0.125F);
    CHECK(load_weights(path, read, at::kFloat, at::kCPU, {.digest = true}).digest != loaded.digest);
    rewrite(std::numeric_limits<float>::quiet_NaN());
    CHECK(has(refusal([&] { load_weights(path, read, at::kFloat, at::kCPU); }),
              "model.gguf: tensor 'output_norm.weight' holds numbers that are not finite"));
}

TEST_CASE("an adapter is merged into a quantized base where a type is asked for") {
    const scratch_directory scratch;
    const auto base = scratch.path() / "base", adapter = scratch.path() / "adapter";
    std::filesystem::create_directory(base);
    nlohmann::ordered_json json{{"model_type", "llama"},    {"hidden_size", 64},          {"num_hidden_layers", 1},
                                {"num_attention_heads", 2}, {"intermediate_size", 128},   {"vocab_size", 11},
                                {"torch_dtype", "float16"}, {"tie_word_embeddings", true}};
    json["quantization_config"] = {{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}};
    write_file(base / "config.json", json.dump());
    const auto described = read_model_config(base);
    auto stored = random_weights(described);
    for (const auto& name : list_module_weights(described)) {
        const auto blocks = quantize(block_type::int8, stored.at(name));
        auto rows = at::empty({blocks.rows, 4 + blocks.columns}, at::kByte);
        std::copy(blocks.bytes.begin(), blocks.bytes.end(), rows.data_ptr<std::uint8_t>());
        const auto scales = rows.narrow(1, 0, 4).contiguous();
        stored[name.substr(0, name.rfind('.')) + ".SCB"] =
            at::from_blob(scales.data_ptr(), {blocks.rows}, at::kFloat).clone();
        stored[name] = rows.narrow(1, 4, blocks.columns).contiguous().view(at::kChar);
    }
    save_safetensors(base / "model.safetensors", stored);
    CHECK(read_model(base).in_blocks.type == "int8");
    const auto layout = make_layout(described, {2, 4, 0, {"q", "down"}});
    save_adapter(adapter, layout, 0.1 * at::randn({layout.dimension}), "base", described);
    CHECK(has(refusal([&] { merge(base, adapter, scratch.path() / "none"); }), "is quantized (int8)"));
    CHECK(!std::filesystem::exists(scratch.path() / "none"));
    const auto loaded = load_adapter(adapter, described);
    const auto ids = at::randint(11, {2, 5}, at::kLong);
    const auto expected = causal_lm::load(base, at::kFloat, at::kCPU)->logits(ids, &loaded.layout, &loaded.flat);
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
        const auto out = scratch.path() / (dtype == at::kFloat ? "wide" : "narrow");
        merge(base, adapter, out, dtype);
        const auto told = nlohmann::json::parse(read_file(out / "config.json"));
        CHECK(!told.contains("quantization_config"));
        CHECK(told.at("torch_dtype") == (dtype == at::kFloat ? "float32" : "bfloat16"));
        CHECK(own_precision(out, read_model(out)) == dtype);
        const auto merged = causal_lm::load(out, at::kFloat, at::kCPU)->logits(ids, nullptr, nullptr);
        CHECK(relative_distance(merged, expected) < (dtype == at::kFloat ? 1e-5 : 3e-2));
    }
}

TEST_CASE("what can't be quantized is refused by name") {
    random_source random(2);
    auto config = wide_config(random, "llama");
    config.inner = 100;
    const scratch_directory scratch;
    auto weights = random_weights(config);
    const auto load = [&](block_type type) {
        save_safetensors(scratch.path() / "model.safetensors", weights);
        return refusal([&] { load_weights(scratch.path(), config, at::kFloat, at::kCPU, {.quantize = type}); });
    };
    const auto line = load(block_type::nf4);
    CHECK(has(line, "down_proj.weight' has rows of 100 numbers, which don't fill nf4's blocks of 64"));
    CHECK(load(block_type::int8).empty());
    weights.at("model.layers.0.mlp.down_proj.weight").view({-1})[3] = std::numeric_limits<float>::infinity();
    CHECK(has(load(block_type::int8), "'model.layers.0.mlp.down_proj.weight' holds numbers that are not finite"));
}

}  // namespace rldp::models::test
