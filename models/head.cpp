#include "models/head.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.hpp"
#include "models/functions.hpp"
#include "models/kernels/products.hpp"

namespace rldp::models {

namespace {

// Rows whose logits are held at once, in parts of equal size: enough that reading the head's matrix is paid for, which
// a part of 83 rows is not (a step of GPT-2 small on two cores: 1329 ms in seven parts, 1185 ms in two), and no more
// than 64 MiB where that suffices.
std::int64_t rows_at_once(std::int64_t count, std::int64_t vocabulary, bool cuda) {
    const std::int64_t numbers = std::int64_t{1} << (cuda ? 26 : 24);
    const std::int64_t most = std::max<std::int64_t>(numbers / vocabulary, 256);
    const std::int64_t parts = (count + most - 1) / most;
    return parts == 0 ? 0 : (count + parts - 1) / parts;
}

struct rows_function : torch::autograd::Function<rows_function> {
    static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                              const predicted_positions& where) {
        ctx->save_for_backward({where.places});
        return x.index_select(0, where.rows);
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                   const torch::autograd::variable_list& gradients) {
        return {spread_out(gradients[0], {{}, {}, ctx->get_saved_variables()[0], {}, {}}), {}};
    }
};

}  // namespace

predicted_positions predicted(const at::Tensor& labels, at::Device device) {
    require(labels.is_cpu(), "labels lie on a device");
    const std::int64_t batch = labels.size(0), length = labels.size(1);
    const auto next = labels.narrow(1, 1, length - 1);
    const auto wanted = next.ge(0);
    const auto where = wanted.nonzero();
    const auto record = where.select(1, 0);
    const auto rows = record * length + where.select(1, 1);
    auto places = at::full({batch * length}, rows.size(0), at::kLong);
    places.index_copy_(0, rows, at::arange(rows.size(0), at::kLong));
    const auto there = [device](const at::Tensor& t) { return t.to(device, /*non_blocking=*/true); };
    return {there(rows), there(next.masked_select(wanted)), there(places), record, wanted.sum(1).view({batch})};
}

at::Tensor spread_out(const at::Tensor& values, const predicted_positions& where) {
    auto shape = values.sizes().vec();
    shape[0] = 1;
    return at::cat({values, at::zeros(shape, values.options())}).index_select(0, where.places);
}

at::Tensor take_rows(const at::Tensor& x, const predicted_positions& where) {
    return rows_function::apply(x, where);
}

token_losses head_losses(const at::Tensor& hidden, const weight_matrix& head, std::optional<double> cap,
                         const at::Tensor& targets, const at::Tensor& weights, bool keeps_d_logits) {
    const at::NoGradGuard no_grad;
    const std::int64_t count = hidden.size(0), step = rows_at_once(count, head.rows(), hidden.is_cuda());
    token_losses result{at::empty({count}, hidden.options().dtype(at::kFloat)), {}, {}};
    if (weights.defined()) result.d_hidden = at::empty_like(hidden);
    if (keeps_d_logits) result.d_logits = at::empty({count, head.rows()}, hidden.options());
    // A head in blocks is read twice for each part. Reading it once, with a running maximum, would save 1 to 4 % of
    // this function (q8_0 to q4_1, 256 rows, one thread) and round otherwise than a head of numbers.
    const auto all_rows = at::arange(std::min(step, count), targets.options());
    const auto minus_one = at::full({}, -1, hidden.options().dtype(at::kFloat));
    for (std::int64_t begin = 0; begin < count; begin += step) {
        const std::int64_t rows = std::min(step, count - begin);
        const auto part = [&](const at::Tensor& t) { return t.narrow(0, begin, rows); };
        const auto target = part(targets).unsqueeze(1);
        auto logits = soft_cap(head.apply(part(hidden)), cap);
        auto log_p = logits.to(at::kFloat, false, cap.has_value());
        if (!cap) logits.reset();
        at::_log_softmax_out(log_p, log_p, 1, false);
        part(result.nll).copy_(log_p.gather(1, target).squeeze(1).neg_());
        if (!weights.defined()) continue;
        // ∂nll/∂logits = softmax - onehot(target)
        auto d_logits = log_p.exp_();
        at::_index_put_impl_(d_logits, {all_rows.narrow(0, 0, rows), part(targets)}, minus_one, /*accumulate=*/true,
                             /*unsafe=*/true);
        if (cap) d_logits.sub_(d_logits * (logits.to(at::kFloat) / *cap).square());  // · (1 - tanh²)
        auto d_hidden = part(result.d_hidden);
        head.pull_back_into(d_hidden, d_logits.to(d_hidden.scalar_type()));
        d_hidden.mul_(part(weights).unsqueeze(1));
        if (keeps_d_logits) part(result.d_logits).copy_(d_logits.mul_(part(weights).unsqueeze(1)));
    }
    return result;
}

}  // namespace rldp::models
