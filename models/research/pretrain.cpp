#include "models/research/pretrain.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/types.h>

#include <torch/nn/utils/clip_grad.h>  // after torch/types.h, which it does not include
#include <torch/optim/adamw.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "models/causal_lm.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::models {

namespace {

using json = nlohmann::ordered_json;
using token_list = std::vector<std::int32_t>;

void validate(const pretrain_config& c) {
    const auto check = [](bool good, const std::string& what) {
        if (!good) refuse("pretrain: " + what);
    };
    check(c.width > 0 && c.layers > 0 && c.heads > 0, "width, layers and heads must be positive");
    check(c.width % c.heads == 0, fmt::format("width {} must be a multiple of heads {}", c.width, c.heads));
    check(c.window > 1, "window must be at least 2 tokens");
    check(c.texts >= 50, "texts must be at least 50, for every fiftieth is held out");
    check(c.steps > 0 && c.batch > 0, "steps and batch must be positive");
    check(std::isfinite(c.lr) && c.lr > 0, "lr must be a positive number");
}

json model_json(const pretrain_config& c) {
    const auto end = c.vocab - 1;
    return {{"activation_function", "gelu_new"},
            {"architectures", {"GPT2LMHeadModel"}},
            {"attn_pdrop", 0.0},
            {"bos_token_id", end},
            {"embd_pdrop", 0.0},
            {"eos_token_id", end},
            {"initializer_range", 0.02},
            {"layer_norm_epsilon", 1e-5},
            {"model_type", "gpt2"},
            {"n_embd", c.width},
            {"n_head", c.heads},
            {"n_inner", nullptr},
            {"n_layer", c.layers},
            {"n_positions", c.window},
            {"reorder_and_upcast_attn", false},
            {"resid_pdrop", 0.0},
            {"scale_attn_by_inverse_layer_idx", false},
            {"scale_attn_weights", true},
            {"tie_word_embeddings", true},
            {"torch_dtype", "float32"},
            {"use_cache", true},
            {"vocab_size", c.vocab}};
}

/// The same for causal_lm.
model_config make_shape(const pretrain_config& c) {
    model_config shape;
    shape.model_type = "gpt2";
    shape.vocab = c.vocab;
    shape.width = c.width;
    shape.layers = c.layers;
    shape.heads = shape.kv_heads = c.heads;
    shape.head_dim = c.width / c.heads;
    shape.inner = 4 * c.width;
    shape.window = c.window;
    shape.activation = "gelu_new";
    shape.bos = c.vocab - 1;
    shape.eos = {c.vocab - 1};
    return shape;
}

/// What transformers needs beside tokenizer.json.
json tokenizer_settings(const pretrain_config& c) {
    constexpr auto end = "<|endoftext|>";
    return {{"add_prefix_space", false},
            {"bos_token", end},
            {"clean_up_tokenization_spaces", false},
            {"eos_token", end},
            {"model_max_length", c.window},
            {"tokenizer_class", "GPT2TokenizerFast"},
            {"unk_token", end}};
}

void write_json(const std::filesystem::path& file, const json& value) {
    write_file(file, value.dump(2) + "\n");
}

/// Weights as GPT-2 starts: normal of 0.02, the projections into the residual stream smaller by sqrt(2·layers).
class initial_weights {
  public:
    explicit initial_weights(const pretrain_config& c)
        : generator_(at::detail::createCPUGenerator(static_cast<std::uint64_t>(c.seed))) {
        const double into_residual = 0.02 / std::sqrt(2.0 * static_cast<double>(c.layers));
        normal("transformer.wte.weight", {c.vocab, c.width}, 0.02);
        normal("transformer.wpe.weight", {c.window, c.width}, 0.01);
        for (std::int64_t layer = 0; layer < c.layers; ++layer) {
            const auto block = fmt::format("transformer.h.{}.", layer);
            norm(block + "ln_1", c.width);
            linear(block + "attn.c_attn", c.width, 3 * c.width, 0.02);
            linear(block + "attn.c_proj", c.width, c.width, into_residual);
            norm(block + "ln_2", c.width);
            linear(block + "mlp.c_fc", c.width, 4 * c.width, 0.02);
            linear(block + "mlp.c_proj", 4 * c.width, c.width, into_residual);
        }
        norm("transformer.ln_f", c.width);
        for (auto& [name, tensor] : weights) tensor.requires_grad_(true);
    }
    std::map<std::string, at::Tensor> weights;

  private:
    void normal(const std::string& name, at::IntArrayRef shape, double deviation) {
        weights[name] = at::empty(shape).normal_(0, deviation, generator_);
    }
    /// Conv1D's layout: [in, out].
    void linear(const std::string& name, std::int64_t in, std::int64_t out, double deviation) {
        normal(name + ".weight", {in, out}, deviation);
        weights[name + ".bias"] = at::zeros({out});
    }
    void norm(const std::string& name, std::int64_t width) {
        weights[name + ".weight"] = at::ones({width});
        weights[name + ".bias"] = at::zeros({width});
    }
    at::Generator generator_;
};

/// All passages in one row, the end-of-text token after each.
token_list concatenate(const std::vector<std::string>& texts, const tokenizer& words, std::int32_t end) {
    token_list out;
    for (const auto& text : texts) {
        const auto ids = words.encode(text);
        out.insert(out.end(), ids.begin(), ids.end());
        out.push_back(end);
    }
    return out;
}

token_list window_at(const token_list& stream, std::size_t begin, std::size_t length) {
    const auto first = stream.begin() + static_cast<std::ptrdiff_t>(begin);
    return {first, first + static_cast<std::ptrdiff_t>(length)};
}

/// Linear warm-up over the first twentieth, then a half cosine down to a tenth (Loshchilov and Hutter 2017).
double learning_rate(const pretrain_config& c, std::int64_t step) {
    const auto warm = std::max<std::int64_t>(1, c.steps / 20);
    if (step < warm) return c.lr * static_cast<double>(step + 1) / static_cast<double>(warm);
    const double progress =
        static_cast<double>(step - warm) / static_cast<double>(std::max<std::int64_t>(1, c.steps - warm));
    return c.lr * (0.55 + 0.45 * std::cos(std::numbers::pi * progress));
}

/// AdamW on all weights; decay on matrices only.
torch::optim::AdamW make_optimizer(const std::map<std::string, at::Tensor>& weights, double lr) {
    std::vector<at::Tensor> matrices, vectors;
    for (const auto& [name, tensor] : weights) (tensor.dim() > 1 ? matrices : vectors).push_back(tensor);
    const auto options = [&](double decay) {
        return std::make_unique<torch::optim::AdamWOptions>(
            torch::optim::AdamWOptions(lr).betas({0.9, 0.98}).weight_decay(decay));
    };
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(matrices, options(0.1));
    groups.emplace_back(vectors, options(0));
    return torch::optim::AdamW(groups, torch::optim::AdamWOptions(lr));
}

void train(const pretrain_config& c, const token_list& stream, const model_config& shape,
           std::map<std::string, at::Tensor>& weights, const std::function<void(std::int64_t, double)>& progress) {
    const auto length = static_cast<std::size_t>(c.window);
    std::vector<at::Tensor> parameters;
    for (const auto& [name, tensor] : weights) parameters.push_back(tensor);
    auto optimizer = make_optimizer(weights, c.lr);
    std::mt19937_64 random(static_cast<std::uint64_t>(c.seed));
    for (std::int64_t step = 0; step < c.steps; ++step) {
        std::vector<token_list> windows;
        for (std::int64_t i = 0; i < c.batch; ++i)
            windows.push_back(window_at(stream, random() % (stream.size() - length + 1), length));
        for (auto& group : optimizer.param_groups()) group.options().set_lr(learning_rate(c, step));
        optimizer.zero_grad();
        const auto loss = causal_lm::from_weights(shape, weights)->training_loss(make_batch(windows));
        loss.backward();
        torch::nn::utils::clip_grad_norm_(parameters, 1.0);
        optimizer.step();
        progress(step, loss.item<double>());
    }
}

double perplexity(const pretrain_config& c, const token_list& stream, const causal_lm& model) {
    const auto length = static_cast<std::size_t>(c.window);
    double nll = 0, tokens = 0;
    for (std::size_t begin = 0; begin + 1 < stream.size(); begin += length) {
        const auto window = window_at(stream, begin, std::min(length, stream.size() - begin));
        if (window.size() < 2) break;
        const auto loss = model.losses(make_batch({window}), nullptr, nullptr);
        nll += loss.nll.sum().item<double>();
        tokens += loss.tokens.sum().item<double>();
    }
    return std::exp(nll / tokens);
}

}  // namespace

double pretrain(const pretrain_config& config, const std::filesystem::path& out,
                const std::function<void(std::int64_t, double)>& progress) {
    validate(config);
    std::vector<std::string> texts, held_out;
    for (auto& text : make_synthetic_text(config.texts, config.seed))
        ((texts.size() + held_out.size()) % 50 == 49 ? held_out : texts).push_back(std::move(text));
    const auto vocabulary = train_byte_level_bpe(texts, config.vocab);
    staged_directory made(out);
    const auto& directory = made.path();
    write_file(directory / "tokenizer.json", vocabulary);
    write_json(directory / "tokenizer_config.json", tokenizer_settings(config));
    const auto end = config.vocab - 1;
    const auto words = tokenizer::load(directory);
    const auto stream = concatenate(texts, *words, static_cast<std::int32_t>(end));
    if (stream.size() < static_cast<std::size_t>(config.window))
        refuse("pretrain: the texts are shorter than one window");

    initial_weights start(config);
    const auto shape = make_shape(config);
    train(config, stream, shape, start.weights, progress);
    for (auto& [name, tensor] : start.weights) tensor = tensor.detach();
    const auto result = perplexity(config, concatenate(held_out, *words, static_cast<std::int32_t>(end)),
                                   *causal_lm::from_weights(shape, start.weights));
    save_safetensors(directory / "model.safetensors", start.weights, {{"format", "pt"}});
    write_json(directory / "generation_config.json", {{"bos_token_id", end}, {"eos_token_id", end}});
    write_json(directory / "config.json", model_json(config));
    made.settle();
    return result;
}

}  // namespace rldp::models
