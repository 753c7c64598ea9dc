// Against numbers computed by transformers, PEFT and Opacus; tolerances are those their README suggests for float32.
#include <fmt/format.h>

#include <set>

#include "models/architecture/family.hpp"
#include "models/functions.hpp"
#include "models/torch_compat.hpp"
#include "models/weights.hpp"
#include "tests/models/quantized/known.hpp"
#include "tests/models/support.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

struct golden_case {
    fs::path directory;
    std::string name;  // case, case_promptmask, …
    nlohmann::json json;
    safetensors_file tensors;
    bool real;  // stories260K's logits have a range of 22

    at::Tensor operator[](const std::string& key) const { return tensors.tensor(key).clone(); }
    double logits_tolerance() const { return real ? 2e-4 : 5e-5; }
    token_batch batch() const { return {(*this)["input_ids"], (*this)["labels"]}; }
    // Padded positions are HF's own business.
    double difference(const at::Tensor& ours, const std::string& key) const {
        const auto real_positions = (*this)["attention_mask"].unsqueeze(-1);
        return largest_difference(ours * real_positions, (*this)[key] * real_positions);
    }
};

/// Of bases in blocks there is one here, as bitsandbytes 0.50 saved it (quantized/against_peft.py --write).
std::vector<golden_case> cases() {
    std::vector<golden_case> found;
    auto directories = golden_directories();
    directories.emplace_back("tests/fixtures/nf4-llama");
    for (const auto& directory : directories)
        for (const auto& entry : fs::directory_iterator(directory)) {
            const auto file = entry.path();
            if (!file.filename().string().starts_with("case") || file.extension() != ".json") continue;
            auto data = file;
            found.push_back({directory, file.stem(), read_json(file),
                             safetensors_file(data.replace_extension(".safetensors")),
                             directory.filename() == "stories260K"});
        }
    if (directories.size() == 1) WARN("skipped: no shared data");
    return found;
}

std::shared_ptr<const causal_lm> load(const fs::path& directory, at::ScalarType dtype = at::kFloat) {
    return causal_lm::load(directory, dtype, at::kCPU);
}

loaded_adapter read_test_adapter(const golden_case& c, const causal_lm& model) {
    return load_adapter(c.directory / c.json.at("adapter").get<std::string>(), model.config());
}

// Gradients that are exactly zero: fused attention computes its softmax anew, so that they come out as rounding.
constexpr double vanishing = RLDP_FUSED_ATTENTION ? 2e-5 : 1e-6;

// Norm of the error over the norm; absolute where the gradient vanishes.
void check_gradient(const at::Tensor& ours, const at::Tensor& expected) {
    for (std::int64_t i = 0; i < expected.size(0); ++i) {
        const auto error = (ours[i] - expected[i]).to(at::kDouble).norm().item<double>();
        const auto norm = expected[i].to(at::kDouble).norm().item<double>();
        CHECK(error <= (norm > 1e-6 ? 3e-5 * norm : vanishing));
    }
    CHECK(largest_difference(ours, expected) <= 5e-5);
}

at::Tensor norms(const at::Tensor& rows) {
    return rows.to(at::kDouble).norm(2, 1);
}

}  // namespace

TEST_CASE("golden: every family has a case", "[golden]") {
    std::set<std::string> seen;
    for (const auto& directory : golden_directories()) seen.insert(read_model_config(directory).model_type);
    for (const auto& row : families())
        if (!seen.count(std::string(row.model_type))) WARN("skipped: no shared data of " << row.model_type);
}

TEST_CASE("golden: base logits, hidden states and losses", "[golden]") {
    for (const auto& c : cases()) {
        if (!c.tensors.contains("logits_base")) continue;
        INFO(c.directory << " " << c.name);
        const auto model = load(c.directory);
        CHECK(c.difference(model->logits(c["input_ids"], nullptr, nullptr), "logits_base") <= c.logits_tolerance());
        const auto states = model->hidden_states(c["input_ids"], nullptr, nullptr);
        REQUIRE(states.size() == static_cast<std::size_t>(model->config().layers) + 1);
        for (std::size_t i = 0; i < states.size(); ++i)
            CHECK(c.difference(states[i], "hidden_base." + std::to_string(i)) <= 5e-5);
        const auto loss = model->losses(c.batch(), nullptr, nullptr);
        CHECK(largest_difference(loss.nll / loss.tokens, c["loss_base"]) <= 1e-5);
    }
}

TEST_CASE("golden: adapted logits and losses", "[golden]") {
    for (const auto& c : cases()) {
        if (!c.tensors.contains("logits_lora")) continue;
        INFO(c.directory << " " << c.name);
        const auto model = load(c.directory);
        const auto adapter = read_test_adapter(c, *model);
        const auto logits = model->logits(c["input_ids"], &adapter.layout, &adapter.flat);
        CHECK(c.difference(logits, "logits_lora") <= c.logits_tolerance());
        const auto loss = model->losses(c.batch(), &adapter.layout, &adapter.flat);
        CHECK(largest_difference(loss.nll / loss.tokens, c["loss_lora"]) <= 1e-5);
    }
}

TEST_CASE("golden: per-record gradients, norms and clipped sums", "[golden]") {
    for (const auto& c : cases()) {
        if (!c.tensors.contains("nu")) continue;
        INFO(c.directory << " " << c.name);
        const auto model = load(c.directory);
        const auto [layout, flat] = read_test_adapter(c, *model);
        const auto result = model->gradients(c.batch(), layout, flat);
        CHECK(largest_difference(result.losses, c["loss_lora"]) <= 1e-5);
        const auto& pairs = c.json.at("pairs");
        REQUIRE(pairs.size() == layout.pairs.size());
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const lora_pair& pair = layout.pairs[p];
            const std::string name = pair.module;
            INFO(name);
            REQUIRE(pairs[p].at("name").get<std::string>() == name);
            const auto rows = result.gradients.narrow(1, pair.offset, pair.size);
            const std::int64_t split = layout.config.rank * pair.d_in, batch = rows.size(0);
            const auto a = rows.narrow(1, 0, split).reshape({batch, layout.config.rank, pair.d_in});
            const auto b = rows.narrow(1, split, pair.size - split).reshape({batch, pair.d_out, layout.config.rank});
            check_gradient(a, c["grad." + name + ".lora_A"]);
            check_gradient(b, c["grad." + name + ".lora_B"]);

            const auto index = static_cast<std::int64_t>(p);
            const auto nu = norms(rows), expected_nu = c["nu"][index];
            CHECK(((nu - expected_nu).abs() <= 2e-5 * expected_nu + vanishing).all().item<bool>());
            for (const std::string set : {"mixed", "extreme"}) {
                const auto coefficient = (c["radii." + set][index] / (nu + 1e-6)).clamp_max(1);
                CHECK(largest_difference(coefficient, c["clip_coef." + set][index]) <= 2e-5);
                const auto sum = (rows.to(at::kDouble) * coefficient.unsqueeze(1)).sum(0);
                const auto prefix = "clipped_sum." + set + "." + name;
                const auto expected = at::cat({c[prefix + ".lora_A"].flatten(), c[prefix + ".lora_B"].flatten()});
                CHECK(largest_difference(sum, expected) <= 5e-5);
            }
        }
    }
}

TEST_CASE("golden: numbers of a base in blocks, to the bit", "[golden]") {
    for (const auto& c : cases()) {
        if (!c.json.contains("weights")) continue;
        const auto config = read_model(c.directory);
        const auto weights = load_weights(c.directory, config, at::kFloat, at::kCPU).weights;
        const auto& known = c.json.at("weights");
        CHECK(weights.blocks.size() == known.size());
        for (const auto& [name, matrix] : weights.blocks) {
            INFO(c.directory << " " << name);
            const auto numbers = matrix.look_up(at::arange(matrix.rows()));
            CHECK(fmt::format("{:016x}", rldp::test::digest(numbers.data_ptr(), numbers.nbytes())) == known.at(name));
        }
    }
}

TEST_CASE("golden: rotary buffers", "[golden]") {
    for (const auto& c : cases()) {
        const auto config = read_model_config(c.directory);
        const auto check = [&](const model_config::rope_parameters& rope, const std::string& of) {
            INFO(c.directory << of);
            const auto ours = inverse_frequencies(rope, config.head_dim), expected = c["inv_freq" + of];
            CHECK(((ours - expected).abs() <= 1e-6 * expected.abs()).all().item<bool>());
            const auto tables = rotations(ours, at::arange(c["rope_cos" + of].size(0)), at::kFloat);
            CHECK(largest_difference(at::cat({tables.cos, tables.cos}, 1), c["rope_cos" + of]) <= 5e-6);
            CHECK(largest_difference(at::cat({tables.sin, tables.sin}, 1), c["rope_sin" + of]) <= 5e-6);
        };
        if (c.tensors.contains("inv_freq")) check(config.rope, "");
        if (!c.tensors.contains("inv_freq.full_attention")) continue;
        check(config.rope, ".full_attention");
        REQUIRE(config.sliding_rope);
        check(*config.sliding_rope, ".sliding_attention");
    }
}

TEST_CASE("golden: sharded, hub and version 4 layouts hold the same model", "[golden]") {
    for (const auto& c : cases()) {
        if (c.name != "case") continue;
        const auto expected = load(c.directory)->logits(c["input_ids"], nullptr, nullptr);
        const auto same = [&](const fs::path& directory) {
            INFO(directory);
            CHECK(at::equal(load(directory)->logits(c["input_ids"], nullptr, nullptr), expected));
        };
        for (const auto* layout : {"sharded", "hub_layout"})
            if (fs::exists(c.directory / layout)) same(c.directory / layout);
        if (!fs::exists(c.directory / "config_v4_layout.json")) continue;
        const scratch_directory scratch;
        fs::copy(c.directory / "config_v4_layout.json", scratch.path() / "config.json");
        fs::create_symlink(fs::absolute(c.directory / "model.safetensors"), scratch.path() / "model.safetensors");
        same(scratch.path());
    }
}

TEST_CASE("golden: a base in bfloat16", "[golden]") {
    for (const auto& c : cases()) {
        if (!c.tensors.contains("logits_base_f32compute")) continue;
        INFO(c.directory);
        const auto directory = c.directory / c.json.at("model_dir").get<std::string>();
        const auto wide = load(directory);
        const auto [layout, flat] = read_test_adapter(c, *wide);
        CHECK(c.difference(wide->logits(c["input_ids"], nullptr, nullptr), "logits_base_f32compute") <= 5e-5);
        CHECK(c.difference(wide->logits(c["input_ids"], &layout, &flat), "logits_lora_f32compute") <= 5e-5);

        // Arithmetic in bfloat16 is as far from float32 as HF's own, and gradients point the same way.
        const auto narrow = load(directory, at::kBFloat16);
        const auto logits = narrow->logits(c["input_ids"], nullptr, nullptr);
        CHECK(logits.scalar_type() == at::kBFloat16);
        CHECK(c.difference(logits.to(at::kFloat), "logits_base_f32compute") <= 0.42);
        const auto expected = wide->gradients(c.batch(), layout, flat).gradients;
        const auto gradients = narrow->gradients(c.batch(), layout, flat).gradients;
        CHECK(gradients.scalar_type() == at::kFloat);
        const auto cosine = (gradients * expected).sum(1) / (gradients.norm(2, 1) * expected.norm(2, 1));
        CHECK(cosine.min().item<double>() > 0.99);
    }
}

}  // namespace rldp::models::test
