#include "models/decoding/growing_texts.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "models/functions.hpp"
#include "models/kernels/rows.hpp"

namespace rldp::models {

namespace {

std::size_t at_index(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

}  // namespace

growing_texts::growing_texts(std::shared_ptr<const decoding_model> model, std::int64_t places, std::int64_t longest,
                             std::shared_ptr<const text_beginning> beginning)
    : model_(std::move(model)),
      beginning_(std::move(beginning)),
      begun_(beginning_ ? beginning_->tokens : 0),
      longest_(longest),
      value_stride_(count_value_stride(model_->config.head_dim)),
      head_floats_(page_keys * (model_->config.head_dim + value_stride_)),
      places_(at_index(places)) {
    require(longest_ >= 1 && longest_ <= model_->config.window, "texts lie in the model's window");
    if (!model_->frequencies.defined()) return;
    const auto positions = at::arange(longest_, at::kLong);
    const auto full = rotations(model_->frequencies, positions, at::TensorOptions(at::kFloat));
    const auto sliding = rotations(model_->sliding_frequencies, positions, at::TensorOptions(at::kFloat));
    cos_ = full.cos;
    sin_ = full.sin;
    sliding_cos_ = sliding.cos;
    sliding_sin_ = sliding.sin;
}

void growing_texts::restart(std::int64_t place) {
    auto& memory = places_.at(at_index(place));
    std::move(memory.pages.begin(), memory.pages.end(), std::back_inserter(free_pages_));
    memory = {};
}

std::int64_t growing_texts::length(std::int64_t place) const {
    return begun_ + places_.at(at_index(place)).tokens;
}

const float* growing_texts::logits(std::size_t i) const {
    const auto at = logits_of_.at(i);
    require(at >= 0, "logits that nobody wanted");
    return logits_.data_ptr<float>() + at * logits_.size(1);
}

/// Makes room for the tokens, and lists which pages each of them sees.
void growing_texts::list_rows(std::span<const piece> pieces) {
    const auto& config = model_->config;
    rows_.clear();
    seen_.clear();
    const auto see = [&](const std::vector<at::Tensor>& pages, std::int64_t keys) {
        for (std::size_t p = 0; keys > 0; ++p, keys -= page_keys)
            seen_.push_back({pages[p].data_ptr<float>(), std::min(keys, page_keys)});
    };
    for (const auto& one : pieces) {
        auto& memory = places_.at(at_index(one.place));
        for (const auto token : one.tokens) {
            if (token < 0 || token >= config.vocab)
                refuse(fmt::format("a token id is outside the model's vocabulary of {}", config.vocab));
            const auto own = memory.tokens++;
            require(begun_ + own < longest_, "a text is longer than its room");
            if (own % page_keys == 0) {
                if (free_pages_.empty())  // zeros: what nobody has written is read, and weighs nothing
                    free_pages_.push_back(at::zeros({config.layers * config.kv_heads * head_floats_}, at::kFloat));
                memory.pages.push_back(std::move(free_pages_.back()));
                free_pages_.pop_back();
            }
            const auto first = seen_.size();
            if (beginning_) see(beginning_->pages, begun_);
            see(memory.pages, own + 1);
            rows_.push_back({token, one.place, own, begun_ + own, first, seen_.size() - first});
        }
    }
}

void growing_texts::embed(float* x) const {
    const auto width = model_->config.width, stride = model_->layers.front().o.matrix.stride();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        float* const to = x + static_cast<std::int64_t>(i) * stride;
        model_->embedding.read_rows(rows_[i].token, 1, to);
        std::fill(to + width, to + stride, 0.0F);
        if (model_->embedding_scale != 1)
            for (std::int64_t c = 0; c < width; ++c) to[c] *= model_->embedding_scale;
        if (!model_->places.defined()) continue;
        const auto* place = model_->places.data_ptr<float>() + rows_[i].position * width;
        for (std::int64_t c = 0; c < width; ++c) to[c] += place[c];
    }
}

/// Of rows of x, `stride` floats apart, into [rows, width].
void growing_texts::norm(const decoding_model::norm& by, const float* x, std::int64_t stride, std::int64_t rows,
                         float* out) const {
    const auto width = by.gain.size(0);
    const auto epsilon = static_cast<float>(model_->config.norm_epsilon);
    float unused = 0;
    for (std::int64_t i = 0; i < rows; ++i, x += stride, out += width)
        if (by.offset.defined())
            normalise(x, by.gain.data_ptr<float>(), by.offset.data_ptr<float>(), epsilon, width, out);
        else
            scale_to_rms(x, by.gain.data_ptr<float>(), epsilon, out, &unused, 1, width);
}

void growing_texts::norm_heads(const decoding_model::norm& by, float* x, std::int64_t heads) const {
    const auto width = model_->config.head_dim;
    std::vector<float> out(at_index(width)), inverse(1);
    for (std::int64_t h = 0; h < heads; ++h, x += width) {
        scale_to_rms(x, by.gain.data_ptr<float>(), static_cast<float>(model_->config.norm_epsilon), out.data(),
                     inverse.data(), 1, width);
        std::copy(out.begin(), out.end(), x);
    }
}

/// from·matrixᵀ + offsets, [rows, stride].
at::Tensor growing_texts::multiply(const decoding_model::product& by, const float* from,
                                   std::int64_t from_stride) const {
    const auto rows = static_cast<std::int64_t>(rows_.size()), stride = by.matrix.stride();
    auto out = by.offsets.defined() ? at::empty({rows, stride}, at::kFloat) : at::zeros({rows, stride}, at::kFloat);
    auto* const to = out.data_ptr<float>();
    if (by.offsets.defined())
        for (std::int64_t i = 0; i < rows; ++i) {
            std::copy_n(by.offsets.data_ptr<float>(), by.matrix.rows(), to + i * stride);
            std::fill(to + i * stride + by.matrix.rows(), to + (i + 1) * stride, 0.0F);
        }
    by.matrix.add_product(from, from_stride, rows, to);
    return out;
}

/// x += the product, normed where there is a norm.
void growing_texts::add(const decoding_model::product& by, const decoding_model::norm& then, const float* from,
                        std::int64_t from_stride, float* x) {
    const auto rows = static_cast<std::int64_t>(rows_.size()), width = by.matrix.rows(), stride = by.matrix.stride();
    if (!then && !by.offsets.defined()) return by.matrix.add_product(from, from_stride, rows, x);
    auto sum = multiply(by, from, from_stride);
    auto step = stride;
    if (then) {
        const auto normed = at::empty({rows, width}, at::kFloat);
        norm(then, sum.data_ptr<float>(), stride, rows, normed.data_ptr<float>());
        sum = normed;
        step = width;
    }
    const auto* added = sum.data_ptr<float>();
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t c = 0; c < width; ++c) x[i * stride + c] += added[i * step + c];
}

void growing_texts::keep(const row& of, std::size_t at, const float* k, const float* v) const {
    const auto d = model_->config.head_dim, heads = model_->config.kv_heads, slot = of.own % page_keys;
    auto* page = places_[at_index(of.place)].pages[at_index(of.own / page_keys)].data_ptr<float>() +
                 static_cast<std::int64_t>(at) * heads * head_floats_;
    for (std::int64_t h = 0; h < heads; ++h, page += head_floats_, k += d, v += d) {
        for (std::int64_t c = 0; c < d; ++c) page[c * page_keys + slot] = k[c];
        std::copy_n(v, d, page + d * page_keys + slot * value_stride_);
    }
}

/// Rotates queries and keys, keeps keys and values, and attends: out [rows, H·d].
void growing_texts::attend(std::size_t at, float* qkv, float* out) {
    const auto& config = model_->config;
    const auto& layer = model_->layers[at];
    const auto d = config.head_dim, group = config.heads / config.kv_heads, stride = layer.qkv.matrix.stride();
    const auto* cos = (layer.slides ? sliding_cos_ : cos_).defined()
                          ? (layer.slides ? sliding_cos_ : cos_).data_ptr<float>()
                          : nullptr;
    const auto* sin = cos != nullptr ? (layer.slides ? sliding_sin_ : sin_).data_ptr<float>() : nullptr;
    std::vector<float> turned(at_index((config.heads + config.kv_heads) * d));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        auto* const q = qkv + static_cast<std::int64_t>(i) * stride;
        auto* const k = q + config.heads * d;
        if (layer.q_norm) norm_heads(layer.q_norm, q, config.heads);
        if (layer.k_norm) norm_heads(layer.k_norm, k, config.kv_heads);
        if (cos != nullptr) {
            const auto angle = rows_[i].position * (d / 2);
            turn_heads(q, cos + angle, sin + angle, 1, turned.data(), config.heads + config.kv_heads, d / 2);
            std::copy(turned.begin(), turned.end(), q);
        }
        keep(rows_[i], at, k, k + config.kv_heads * d);
    }
    auto* const scratch = scratch_.data_ptr<float>();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const auto& of = rows_[i];
        const auto* q = qkv + static_cast<std::int64_t>(i) * stride;
        auto* const to = out + static_cast<std::int64_t>(i) * config.heads * d;
        decoded_head head{.width = d,
                          .value_stride = value_stride_,
                          .scale = layer.scale,
                          .cap = layer.cap,
                          .keys = 0,
                          .values = 0,
                          .first_seen = layer.window ? of.position + 1 - *layer.window : 0,
                          .pages = std::span(seen_).subspan(of.first_page, of.pages)};
        for (std::int64_t h = 0; h < config.heads; ++h) {
            head.keys = (static_cast<std::int64_t>(at) * config.kv_heads + h / group) * head_floats_;
            head.values = head.keys + d * page_keys;
            attend_decoded(head, q + h * d, to + h * d, scratch);
        }
    }
}

void growing_texts::compute_logits(std::span<const piece> pieces, const float* x) {
    const auto stride = model_->layers.front().o.matrix.stride(), width = model_->config.width;
    logits_of_.assign(pieces.size(), -1);
    std::vector<const float*> wanted;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        end += std::ssize(pieces[i].tokens);
        if (!pieces[i].wants_logits) continue;
        require(!pieces[i].tokens.empty(), "logits behind no token");
        logits_of_[i] = std::ssize(wanted);
        wanted.push_back(x + (end - 1) * stride);
    }
    if (wanted.empty()) return;
    const auto count = std::ssize(wanted);
    const auto last = at::empty({count, stride}, at::kFloat), normed = at::empty({count, width}, at::kFloat);
    for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(wanted[at_index(i)], stride, last.data_ptr<float>() + i * stride);
    norm(model_->last, last.data_ptr<float>(), stride, count, normed.data_ptr<float>());
    logits_ = at::zeros({count, model_->head.stride()}, at::kFloat);
    model_->head.add_product(normed.data_ptr<float>(), width, count, logits_.data_ptr<float>());
    if (model_->config.final_cap) {
        const auto cap = static_cast<float>(*model_->config.final_cap);
        logits_.div_(cap).tanh_().mul_(cap);
    }
}

void growing_texts::read(std::span<const piece> pieces) {
    const at::NoGradGuard no_grad;
    list_rows(pieces);
    const auto& config = model_->config;
    const auto rows = static_cast<std::int64_t>(rows_.size()), stride = model_->layers.front().o.matrix.stride();
    if (rows == 0) return logits_of_.assign(pieces.size(), -1);
    std::size_t pages = 0;
    for (const auto& one : rows_) pages = std::max(pages, one.pages);
    scratch_ = at::empty({static_cast<std::int64_t>(pages) * page_keys + value_stride_}, at::kFloat);
    const auto inner = config.inner, heads = config.heads * config.head_dim;
    auto hidden = at::empty({rows, stride}, at::kFloat);
    const auto normed = at::empty({rows, config.width}, at::kFloat), seen = at::empty({rows, heads}, at::kFloat),
               active = at::empty({rows, inner}, at::kFloat);
    auto* const x = hidden.data_ptr<float>();
    auto *const in = normed.data_ptr<float>(), *const attended = seen.data_ptr<float>(),
                *const act = active.data_ptr<float>();
    embed(x);
    for (std::size_t at = 0; at < model_->layers.size(); ++at) {
        const auto& layer = model_->layers[at];
        norm(layer.before_attention, x, stride, rows, in);
        auto qkv = multiply(layer.qkv, in, config.width);
        attend(at, qkv.data_ptr<float>(), attended);
        add(layer.o, layer.after_attention, attended, heads, x);
        norm(layer.before_mlp, x, stride, rows, in);
        const auto into = multiply(layer.into_mlp, in, config.width);
        const auto* from = into.data_ptr<float>();
        for (std::int64_t i = 0; i < rows; ++i, from += into.size(1))
            activate(model_->activation, from, model_->gated ? from + inner : nullptr, inner, act + i * inner);
        add(layer.out_of_mlp, layer.after_mlp, act, inner, x);
    }
    compute_logits(pieces, x);
}

text_beginning growing_texts::take_beginning() {
    auto& memory = places_.front();
    return {memory.tokens, std::move(memory.pages), {}};
}

std::shared_ptr<const text_beginning> read_beginning(std::shared_ptr<const decoding_model> model,
                                                     std::span<const std::int32_t> tokens) {
    require(!tokens.empty(), "a beginning of no tokens");
    constexpr std::size_t at_once = 256;
    const auto vocab = model->config.vocab;
    growing_texts text(std::move(model), 1, std::ssize(tokens));
    for (std::size_t from = 0; from < tokens.size(); from += at_once) {
        const auto count = std::min(at_once, tokens.size() - from);
        text.read(std::vector<growing_texts::piece>{{0, tokens.subspan(from, count), from + count == tokens.size()}});
    }
    const std::vector<float> logits(text.logits(0), text.logits(0) + vocab);
    auto out = text.take_beginning();
    out.logits = logits;
    return std::make_shared<const text_beginning>(std::move(out));
}

}  // namespace rldp::models
