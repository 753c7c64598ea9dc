#include "models/head.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "models/functions.hpp"

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

}  // namespace

predicted_positions predicted(const at::Tensor& labels) {
    const std::int64_t batch = labels.size(0), length = labels.size(1);
    const auto next = labels.narrow(1, 1, length - 1);
    const auto wanted = next.ge(0);
    const auto where = wanted.nonzero();
    const auto record = where.select(1, 0);
    return {record * length + where.select(1, 1), next.masked_select(wanted), record, wanted.sum(1).view({batch})};
}

token_losses head_losses(const at::Tensor& hidden, const at::Tensor& head, std::optional<double> cap,
                         const at::Tensor& targets, const at::Tensor& weights, bool keeps_d_logits) {
    const at::NoGradGuard no_grad;
    const std::int64_t count = hidden.size(0), step = rows_at_once(count, head.size(0), head.is_cuda());
    token_losses result{at::empty({count}, hidden.options().dtype(at::kFloat)), {}, {}};
    if (weights.defined()) result.d_hidden = at::empty_like(hidden);
    if (keeps_d_logits) result.d_logits = at::empty({count, head.size(0)}, hidden.options());
    for (std::int64_t begin = 0; begin < count; begin += step) {
        const std::int64_t rows = std::min(step, count - begin);
        const auto part = [&](const at::Tensor& t) { return t.narrow(0, begin, rows); };
        const auto target = part(targets).unsqueeze(1);
        auto logits = soft_cap(at::mm(part(hidden), head.t()), cap);
        auto log_p = logits.to(at::kFloat, false, cap.has_value());
        if (!cap) logits.reset();
        at::_log_softmax_out(log_p, log_p, 1, false);
        part(result.nll).copy_(log_p.gather(1, target).squeeze(1).neg_());
        if (!weights.defined()) continue;
        // ∂nll/∂logits = softmax - onehot(target)
        auto d_logits = log_p.exp_();
        d_logits.scatter_add_(1, target, at::full_like(target, -1, d_logits.options()));
        if (cap) d_logits.sub_(d_logits * (logits.to(at::kFloat) / *cap).square());  // · (1 - tanh²)
        auto d_hidden = part(result.d_hidden);
        at::mm_out(d_hidden, d_logits.to(head.scalar_type()), head);
        d_hidden.mul_(part(weights).unsqueeze(1));
        if (keeps_d_logits) part(result.d_logits).copy_(d_logits.mul_(part(weights).unsqueeze(1)));
    }
    return result;
}

}  // namespace rldp::models
