#include "bench/step_kinds.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "actors/gradient.hpp"
#include "base/error.hpp"
#include "bench/timing.hpp"
#include "models/architecture/family.hpp"
#include "models/device.hpp"
#include "models/weights.hpp"
#include "tests/support/charges.hpp"

namespace rldp::bench {

namespace {

at::Tensor make_random_weight(const std::string& name, at::IntArrayRef shape, const at::TensorOptions& options) {
    const bool is_gain = shape.size() == 1 && name.ends_with(".weight");
    return is_gain ? at::ones(shape, options) : at::empty(shape, options).normal_(0, 0.02);
}

/// One tensor's numbers are there at a time, where they are quantized.
std::shared_ptr<const models::causal_lm> random_model(const step_shape& shape, const at::TensorOptions& options) {
    const auto config = make_shape(shape.model);
    const auto type = models::to_block_type(parse_named<quantization>(shape.quantize));
    const auto modules = models::list_module_weights(config);
    models::base_weights weights;
    at::manual_seed(1);
    for (const auto& [name, sizes] : models::base_tensors(config)) {
        auto numbers = make_random_weight(name, sizes, options);
        if (type && modules.contains(name))
            weights.blocks.emplace(
                name, models::weight_matrix(models::quantize_weight(*type, numbers, config.model_type == "gpt2", name),
                                            numbers.scalar_type()));
        else
            weights.numbers.emplace(name, std::move(numbers));
    }
    return models::causal_lm::from_weights(config, std::move(weights));
}

models::token_batch random_batch(const step_shape& shape, std::int64_t vocabulary) {
    const auto ids = at::randint(vocabulary, {shape.batch, shape.length}, at::kLong);
    return {ids, ids, {}};
}

privacy::sanitizer_config make_bench_sanitizer(const models::lora_layout& layout, std::int64_t bands) {
    std::vector<std::int64_t> sizes;
    for (const auto& pair : layout.pairs) sizes.push_back(pair.size);
    constexpr std::int64_t steps = 1000;  // of the run that the bands are for
    return {.segments = privacy::make_segments(sizes), .bands = privacy::make_bands(bands, steps)};
}

constexpr double learning_rate = 1e-4;

}  // namespace

models::model_config make_shape(const std::string& model) {
    models::model_config c;
    if (model == "gpt2-small") {
        c.model_type = "gpt2";
        c.vocab = 50257, c.width = 768, c.layers = 12, c.heads = c.kv_heads = 12, c.head_dim = 64, c.inner = 3072;
        c.window = 1024;
        c.activation = "gelu_new";
    } else if (model == "llama-3.2-1b") {
        c.model_type = "llama";
        c.vocab = 128256, c.width = 2048, c.layers = 16, c.heads = 32, c.kv_heads = 8, c.head_dim = 64, c.inner = 8192;
        c.window = 131072;
        c.activation = "silu";
        c.rope = {500000, "llama3", 32, 1, 4, 8192};
    } else if (model == "mistral-7b") {
        c.model_type = "mistral";
        c.vocab = 32000, c.width = 4096, c.layers = 32, c.heads = 32, c.kv_heads = 8, c.head_dim = 128, c.inner = 14336;
        c.window = 32768, c.sliding_window = 4096;
        c.tied_head = false;
        c.activation = "silu";
        c.rope = {10000};
    } else if (model == "smollm2-135m") {
        c.model_type = "llama";
        c.vocab = 49152, c.width = 576, c.layers = 30, c.heads = 9, c.kv_heads = 3, c.head_dim = 64, c.inner = 1536;
        c.window = 8192;
        c.activation = "silu";
        c.rope = {100000};
    } else if (model == "stories260k") {
        c.model_type = "llama";
        c.vocab = 512, c.width = 64, c.layers = 5, c.heads = 8, c.kv_heads = 4, c.head_dim = 8, c.inner = 172;
        c.window = 512;
        c.activation = "silu";
    } else {
        refuse(fmt::format("--model {}: unknown; use gpt2-small, smollm2-135m, llama-3.2-1b, mistral-7b or stories260k",
                           model));
    }
    return c;
}

std::map<std::string, at::Tensor> make_random_weights(const models::model_config& config,
                                                      const at::TensorOptions& options) {
    at::manual_seed(1);
    std::map<std::string, at::Tensor> weights;
    for (const auto& [name, shape] : models::base_tensors(config))
        weights[name] = make_random_weight(name, shape, options);
    return weights;
}

step_kinds::step_kinds(const step_shape& shape)
    : shape_(shape),
      options_(at::TensorOptions(at::Device(shape.device))
                   .dtype(models::use_precision(parse_named<precision>(shape.dtype), at::Device(shape.device)))),
      model_(random_model(shape, options_)),
      layout_(models::make_layout(model_->config(),
                                  {8, 16, shape.dropout, models::expand_targets(model_->config(), shape.targets)})),
      batch_(random_batch(shape, model_->config().vocab)),
      optimizer_(models::initial_adapter(layout_, 1).to(options_.device())),
      sanitizer_(make_bench_sanitizer(layout_, shape.bands), key_) {
    models::choose_threads(model_->config(), shape.threads);
}

models::dropout_source step_kinds::keyed_dropout() {
    const auto factory = actors::make_dropout(key_, seq_, layout_, options_.device());
    if (!factory) return {};
    std::vector<std::vector<std::int32_t>> records;
    const auto ids = batch_.ids.to(at::kInt).contiguous();
    const auto* next = ids.data_ptr<std::int32_t>();
    for (std::int64_t i = 0; i < shape_.batch; ++i, next += shape_.length)
        records.emplace_back(next, next + shape_.length);
    return factory(std::vector<models::token_span>(records.begin(), records.end()));
}

models::dropout_source step_kinds::ordinary_dropout() const {
    if (shape_.dropout == 0) return {};
    return [this](std::size_t, at::IntArrayRef sizes) {
        return at::empty(sizes, options_.dtype(at::kBool)).bernoulli_(1 - shape_.dropout);
    };
}

void step_kinds::forward() const {
    const auto adapter = optimizer_.parameters();
    model_->losses(batch_, &layout_, &adapter);
}

void step_kinds::ordinary() {
    const auto made = model_->summed_gradient(batch_, layout_, optimizer_.parameters(), ordinary_dropout());
    optimizer_.step(made.gradients[0] / shape_.batch, learning_rate);
}

void step_kinds::autograd() {
    const at::AutoGradMode recording(true);
    const auto adapter = optimizer_.parameters().detach().clone().requires_grad_();
    const auto logits = model_->logits(batch_.ids, &layout_, &adapter).narrow(1, 0, shape_.length - 1);
    const auto targets = batch_.labels.narrow(1, 1, shape_.length - 1).to(logits.device()).reshape({-1});
    at::cross_entropy_loss(logits.reshape({targets.size(0), -1}).to(at::kFloat), targets).backward();
    optimizer_.step(adapter.grad(), learning_rate);
}

void step_kinds::begin() {
    privacy::statistics_frame frame;
    frame.trackers.assign(layout_.pairs.size(), {0.05, 0.1, 0.2});
    privacy::step_terms terms;
    terms.radii.assign(layout_.pairs.size(), 0.1);
    terms.measured = privacy::measure_statistics(frame);
    terms.measurement_multiplier = privacy::measurement_multiplier(0.65, 0.02);
    sanitizer_.begin({testing::charged_at(++seq_, 0.65), terms});
}

void step_kinds::private_step() {
    begin();
    const auto made = model_->gradients(batch_, layout_, optimizer_.parameters(), keyed_dropout());
    sanitizer_.add({made.gradients, made.losses});
    optimizer_.step(sanitizer_.finish().gradient.to(options_.device()) / shape_.batch, learning_rate);
}

std::map<std::string, double> step_kinds::private_parts() {
    std::map<std::string, double> parts;
    const auto device = options_.device();
    parts["noise"] = measure_milliseconds(device, [&] { begin(); });
    models::record_gradients made;
    parts["gradients"] = measure_milliseconds(
        device, [&] { made = model_->gradients(batch_, layout_, optimizer_.parameters(), keyed_dropout()); });
    parts["clip and sum"] = measure_milliseconds(device, [&] { sanitizer_.add({made.gradients, made.losses}); });
    std::optional<privacy::release> out;
    parts["add noise and round"] = measure_milliseconds(device, [&] { out = sanitizer_.finish(); });
    parts["AdamW"] =
        measure_milliseconds(device, [&] { optimizer_.step(out->gradient.to(device) / shape_.batch, learning_rate); });
    return parts;
}

}  // namespace rldp::bench
