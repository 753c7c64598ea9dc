#include "privacy/mechanism/clipping.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "privacy/mechanism/kernels.hpp"

namespace rldp::privacy {

namespace {

/// Columns that are worked on at a time: their sums stay in the first-level cache.
constexpr std::int64_t block_columns = 2048;
/// Elements that are held in float64 at a time, where rows are converted.
constexpr std::int64_t double_elements = std::int64_t{1} << 25;

/// Fewer numbers are not worth another thread, which on a busy machine is waited for.
constexpr std::int64_t numbers_of_a_thread = std::int64_t{1} << 16;

at::Tensor float_rows(const at::Tensor& gradients) {
    return gradients.to(at::kFloat).contiguous();
}

std::int64_t count_groups(const std::vector<segment>& segments) {
    std::size_t most = 0;
    for (const auto& part : segments) most = std::max(most, part.group + 1);
    return static_cast<std::int64_t>(most);
}

/// squares [b, n] on the CPU.
void host_squares(const at::Tensor& gradients, const std::vector<segment>& segments, at::Tensor& squares) {
    const auto rows = float_rows(gradients);
    at::parallel_for(0, rows.size(0), numbers_of_a_thread / rows.size(1) + 1,
                     [&](std::int64_t first, std::int64_t last) {
                         for (auto unit = first; unit < last; ++unit) {
                             const float* x = rows.data_ptr<float>() + unit * rows.size(1);
                             double* const out = squares.data_ptr<double>() + unit * squares.size(1);
                             for (const auto& part : segments) {
                                 out[part.group] += detail::squared_norm(x, part.size);
                                 x += part.size;
                             }
                         }
                     });
}

void device_squares(const at::Tensor& gradients, const std::vector<segment>& segments, at::Tensor& squares) {
    std::int64_t offset = 0;
    for (const auto& part : segments) {
        const auto norms =
            at::linalg_vector_norm(gradients.narrow(1, offset, part.size), 2, at::IntArrayRef{1}, false, at::kDouble);
        squares.select(1, static_cast<std::int64_t>(part.group)).add_(norms.square());
        offset += part.size;
    }
}

/// The one thing of a micro-batch that the host waits for; factors are made of it there, as on the CPU.
group_norms_result on_cpu(const group_norms_result& found) {
    const auto both = at::cat({found.norms, found.finite.to(at::kDouble).unsqueeze(1)}, 1).cpu();
    const auto groups = found.norms.size(1);
    return {both.narrow(1, 0, groups), both.select(1, groups).ne(0)};
}

/// What of a factor is left so that rounding towards zero does not make M's norm exceed C. A coordinate moves by at
/// most C·dev_j/per_unit, and Σ dev_j² is ‖M⁻¹‖_F² <= D·‖M⁻¹‖², so the norm by C·√D·condition/per_unit.
double rounded_factor(const geometry& shape) {
    const auto dimensions = static_cast<double>(shape.centre().numel());
    return shape.condition() > 1 ? 1 - std::sqrt(dimensions) * shape.condition() / per_unit : 1;
}

/// sum += Σ_b factor_b·x_b for the columns of one segment, in whole numbers.
void host_sum(const at::Tensor& rows, const at::Tensor& factors, std::int64_t offset, std::int64_t size,
              at::Tensor& sum) {
    const std::int64_t blocks = (size + block_columns - 1) / block_columns;
    const auto blocks_of_a_thread = numbers_of_a_thread / (block_columns * std::max<std::int64_t>(1, rows.size(0))) + 1;
    at::parallel_for(0, blocks, blocks_of_a_thread, [&](std::int64_t first, std::int64_t last) {
        for (auto at = offset + first * block_columns; at < std::min(offset + last * block_columns, offset + size);
             at += block_columns) {
            const auto width = std::min(block_columns, offset + size - at);
            for (std::int64_t unit = 0; unit < rows.size(0); ++unit) {
                detail::add_truncated(sum.data_ptr<std::int64_t>() + at,
                                      rows.data_ptr<float>() + unit * rows.size(1) + at,
                                      factors.data_ptr<double>()[unit], per_unit, width);
            }
        }
    });
}

/// Towards zero, at most per_unit.
at::Tensor whole_numbers(const at::Tensor& products) {
    return products.clamp(-per_unit, per_unit).trunc_().to(at::kLong);
}

void device_sum(const at::Tensor& rows, const at::Tensor& factors, std::int64_t offset, std::int64_t size,
                at::Tensor& sum) {
    const auto columns = std::max<std::int64_t>(1, double_elements / rows.size(0));
    for (auto at = offset; at < offset + size; at += columns) {
        const auto width = std::min(columns, offset + size - at);
        const auto products = rows.narrow(1, at, width).to(at::kDouble) * factors.unsqueeze(1);
        sum.narrow(0, at, width).add_(whole_numbers(products).sum(0));
    }
}

}  // namespace

group_norms_result group_norms(const at::Tensor& gradients, const std::vector<segment>& segments) {
    const at::NoGradGuard no_grad;
    require(gradients.dim() == 2 && gradients.size(1) == count_coordinates(segments),
            "sanitizer: gradients are not [units, coordinates]");
    auto squares = at::zeros({gradients.size(0), count_groups(segments)}, gradients.options().dtype(at::kDouble));
    const auto add_squares = gradients.is_cpu() ? host_squares : device_squares;
    add_squares(gradients, segments, squares);
    // Squares of finite floats can't overflow a double: a norm is finite exactly where the row is.
    const auto norms = squares.sqrt();
    const auto finite = norms.isfinite().all(1);
    return {norms.masked_fill(finite.logical_not().unsqueeze(1), 0), finite};
}

group_norms_result group_bounds(const gradient_parts& parts, const std::vector<segment>& segments) {
    const auto bounds = parts.norm_bounds();
    auto squares = at::zeros({parts.units(), count_groups(segments)}, at::kDouble);
    require(bounds.sizes() == at::IntArrayRef({parts.units(), std::ssize(parts.sizes())}),
            "sanitizer: bounds are not [units, parts]");
    std::size_t at = 0;
    std::int64_t room = segments.front().size;
    for (std::int64_t i = 0; i < std::ssize(parts.sizes()); ++i) {
        if (room == 0) {
            require(++at < segments.size(), "sanitizer: parts beyond the last segment");
            room = segments[at].size;
        }
        room -= parts.sizes()[static_cast<std::size_t>(i)];
        require(room >= 0, "sanitizer: a part lies across two segments");
        squares.select(1, static_cast<std::int64_t>(segments[at].group)).add_(bounds.select(1, i).square());
    }
    require(room == 0 && at + 1 == segments.size(), "sanitizer: parts do not cover the segments");
    const auto norms = squares.sqrt();
    const auto finite = norms.isfinite().all(1);
    return {norms.masked_fill(finite.logical_not().unsqueeze(1), 0), finite};
}

at::Tensor clip_factors(clip_rule rule, const at::Tensor& norms, const std::vector<double>& radii, double stabiliser) {
    const auto limits = at::tensor(radii, at::kDouble).to(norms.device(), /*non_blocking=*/true);
    constexpr double rounding = 1 - 1e-9;
    switch (rule) {
        case clip_rule::normalise:
            return limits / (norms + stabiliser) * rounding;
        case clip_rule::psac:
            return limits / (norms + stabiliser / (norms + stabiliser)) * rounding;
        case clip_rule::clip: {
            const auto ratios = limits / (norms + 1e-6);
            return at::where(ratios < 1, ratios * rounding, at::ones_like(ratios));
        }
        case clip_rule::batch_mean:
            break;
    }
    bug("sanitizer: a batch mean is not clipped unit by unit");
}

std::vector<double> sensitivities(clip_rule rule, const std::vector<double>& radii, double rounding_margin) {
    auto out = radii;
    for (double& each : out) each *= (rule == clip_rule::batch_mean ? 2 : 1) * (1 + rounding_margin);
    return out;
}

std::vector<segment> make_segments(const std::vector<std::int64_t>& sizes) {
    std::vector<segment> out;
    for (const auto size : sizes) out.push_back({size, out.size()});
    return out;
}

std::int64_t count_coordinates(const std::vector<segment>& segments) {
    std::int64_t sum = 0;
    for (const auto& part : segments) sum += part.size;
    return sum;
}

std::vector<std::int64_t> sizes_of_groups(const std::vector<segment>& segments) {
    std::vector<std::int64_t> sizes;
    for (const auto& part : segments) {
        require(part.size >= 1, "sanitizer: no segment may be empty");
        require(part.group < segments.size(), "sanitizer: a group without coordinates");
        if (part.group >= sizes.size()) sizes.resize(part.group + 1, 0);
        sizes[part.group] += part.size;
    }
    require(!sizes.empty() && std::all_of(sizes.begin(), sizes.end(), [](auto d) { return d >= 1; }),
            "sanitizer: at least one group is needed, and none may be empty");
    return sizes;
}

clipped_sum::clipped_sum(std::vector<segment> segments, step_terms terms, std::int64_t more)
    : segments_(std::move(segments)), terms_(std::move(terms)), grid_(terms_.radii), more_(more) {
    for (double& step : grid_) step /= terms_.rule == clip_rule::batch_mean ? mean_per_radius : per_unit;
    if (terms_.shape) shaped_grid_ = terms_.shape->deviations() * grid_.front();
}

at::Tensor& clipped_sum::sum_on(at::Device device) {
    if (!sum_.defined())
        sum_ = at::zeros({count_coordinates(segments_) + more_}, at::TensorOptions(device).dtype(at::kLong));
    return sum_;
}

clipped_sum::seen clipped_sum::add(const unit_gradients& batch) {
    const at::NoGradGuard no_grad;
    if (batch.parts) return add_parts(batch);
    auto gradients = batch.gradients;
    auto [norms, finite] = on_cpu(group_norms(gradients, segments_));
    const auto points = 1 + std::ssize(terms_.probes);
    require(batch.losses.numel() == gradients.size(0) * points, "sanitizer: losses must be [units, 1 + probes]");
    auto losses = batch.losses.to(at::kCPU, at::kDouble);
    losses = points == 1 ? losses.reshape({-1}) : losses.reshape({-1, points});
    auto dummies = batch.dummies;
    if (!finite.all().item<bool>()) {
        const auto whole = finite.nonzero().squeeze(1);
        dummies = whole.ge(gradients.size(0) - dummies).sum().item<std::int64_t>();
        gradients = gradients.index_select(0, whole.to(gradients.device(), /*non_blocking=*/true));
        norms = norms.index_select(0, whole);
        losses = losses.index_select(0, whole);
    }
    const auto units = gradients.size(0) - dummies;
    if (gradients.size(0) > 0) {
        units_ += units;
        require(units_ <= most_units, "sanitizer: more units in a step than a sum in whole numbers holds");
        sum_on(gradients.device());
        if (terms_.shape)
            add_shaped(gradients, units);
        else
            add_rows(gradients, norms, units);
    }
    return {norms.narrow(0, 0, units), losses.narrow(0, 0, units)};
}

at::Tensor clipped_sum::compute_weights(const at::Tensor& norms, std::int64_t units) const {
    auto out = terms_.rule == clip_rule::batch_mean ? at::ones_like(norms)
                                                    : clip_factors(terms_.rule, norms, terms_.radii, terms_.stabiliser);
    out.slice(0, units).zero_();
    return at::nan_to_num(out.div_(at::tensor(grid_, at::kDouble)), 0, 0, 0);
}

void clipped_sum::add_rows(const at::Tensor& gradients, const at::Tensor& norms, std::int64_t units) {
    const auto factors = compute_weights(norms, units).t().contiguous().to(gradients.device(), /*non_blocking=*/true);
    const auto rows = gradients.is_cpu() ? float_rows(gradients) : gradients;
    const auto add_segment = gradients.is_cpu() ? host_sum : device_sum;
    std::int64_t offset = 0;
    for (const auto& part : segments_) {
        add_segment(rows, factors[static_cast<std::int64_t>(part.group)], offset, part.size, sum_);
        offset += part.size;
    }
}

namespace {

/// ‖numbers‖², and sum += factor·numbers in whole numbers, in one go over what lies in the cache.
double host_add(const at::Tensor& numbers, double factor, std::int64_t* sum) {
    const std::int64_t count = numbers.numel(), blocks = (count + block_columns - 1) / block_columns;
    const float* const x = numbers.data_ptr<float>();
    std::vector<double> squares(static_cast<std::size_t>(blocks));
    at::parallel_for(0, blocks, numbers_of_a_thread / (2 * block_columns), [&](std::int64_t first, std::int64_t last) {
        for (auto block = first; block < last; ++block) {
            const auto at = block * block_columns, width = std::min(block_columns, count - at);
            squares[static_cast<std::size_t>(block)] = detail::squared_norm(x + at, width);
            detail::add_truncated(sum + at, x + at, factor, per_unit, width);
        }
    });
    return std::accumulate(squares.begin(), squares.end(), 0.0);
}

double device_add(const at::Tensor& numbers, double factor, at::Tensor sum) {
    const auto wide = numbers.to(at::kDouble);
    sum.add_(whole_numbers(wide * factor));
    return wide.square().sum().item<double>();
}

}  // namespace

// What a unit adds is C long at most, for its factor times the bound is, and the numbers that were really added are
// measured against the bound: what depends on others, or on an argument (docs/privacy.md §12), is not relied on.
clipped_sum::seen clipped_sum::add_parts(const unit_gradients& batch) {
    require(!terms_.shape && terms_.rule != clip_rule::batch_mean, "sanitizer: parts are clipped by their norms");
    const auto& parts = *batch.parts;
    const auto bounds = group_bounds(parts, segments_);
    const auto all = parts.units(), count = all - batch.dummies, groups = count_groups(segments_);
    const auto points = 1 + std::ssize(terms_.probes);
    require(batch.losses.numel() == all * points, "sanitizer: losses must be [units, 1 + probes]");
    auto wanted = std::vector<bool>(static_cast<std::size_t>(all));
    std::vector<std::int64_t> whole;
    for (std::int64_t unit = 0; unit < all; ++unit) {
        // Dummies are worked through like others; their factors are zero.
        wanted[static_cast<std::size_t>(unit)] = bounds.finite[unit].item<bool>();
        if (wanted[static_cast<std::size_t>(unit)] && unit < count) whole.push_back(unit);
    }
    units_ += std::ssize(whole);
    require(units_ <= most_units, "sanitizer: more units in a step than a sum in whole numbers holds");
    const auto factors = compute_weights(bounds.norms, count);

    std::vector<std::int64_t> ends;
    for (const auto& part : segments_) ends.push_back((ends.empty() ? 0 : ends.back()) + part.size);
    std::vector<double> squares(static_cast<std::size_t>(all * groups), 0);
    parts.show(wanted, [&](std::int64_t unit, std::int64_t offset, const at::Tensor& numbers) {
        const auto found = std::upper_bound(ends.begin(), ends.end(), offset);
        require(found != ends.end() && offset + numbers.numel() <= *found, "sanitizer: numbers across two segments");
        const auto group = static_cast<std::int64_t>(segments_[static_cast<std::size_t>(found - ends.begin())].group);
        const double factor = factors.data_ptr<double>()[unit * groups + group];
        auto& sum = sum_on(numbers.device());
        squares[static_cast<std::size_t>(unit * groups + group)] +=
            numbers.is_cpu() ? host_add(numbers, factor, sum.data_ptr<std::int64_t>() + offset)
                             : device_add(numbers, factor, sum.narrow(0, offset, numbers.numel()));
    });
    for (std::int64_t i = 0; i < all * groups; ++i)
        require(std::sqrt(squares[static_cast<std::size_t>(i)]) <= bounds.norms.data_ptr<double>()[i] * (1 + 1e-10),
                "sanitizer: a gradient is longer than the bound of its norm");
    const auto rows = at::tensor(whole, at::kLong);
    auto losses = batch.losses.to(at::kCPU, at::kDouble);
    losses = points == 1 ? losses.reshape({-1}) : losses.reshape({-1, points});
    return {bounds.norms.index_select(0, rows), losses.index_select(0, rows)};
}

void clipped_sum::add_shaped(const at::Tensor& gradients, std::int64_t units) {
    const auto centre = terms_.shape->centre().to(gradients.device(), /*non_blocking=*/true);
    const auto grid = shaped_grid_.to(gradients.device(), /*non_blocking=*/true);
    const double kept = rounded_factor(*terms_.shape);
    const auto rows = std::max<std::int64_t>(1, double_elements / gradients.size(1));
    for (std::int64_t first = 0; first < gradients.size(0); first += rows) {
        const auto some = gradients.narrow(0, first, std::min(rows, gradients.size(0) - first));
        auto centred = some.to(at::kDouble) - centre;
        const auto factors =
            clip_factors(terms_.rule, terms_.shape->norms(centred).unsqueeze(1), terms_.radii, terms_.stabiliser);
        // A norm that overflowed gives the factor 0 or NaN; such a unit, too, counts as zero.
        auto weights = at::nan_to_num(factors.squeeze(1), 0, 0, 0) * kept;
        weights.slice(0, std::clamp<std::int64_t>(units - first, 0, weights.size(0))).zero_();
        sum_.narrow(0, 0, grid.numel()).add_(whole_numbers(centred.mul_(weights.unsqueeze(1)).div_(grid)).sum(0));
    }
}

at::Tensor clipped_sum::numbers() {
    return sum_on(sum_.defined() ? sum_.device() : at::kCPU).to(at::kCPU);
}

std::vector<double> clipped_sum::steps(const at::Tensor& numbers, std::int64_t units) const {
    require(!terms_.shape, "sanitizer: under a geometry every coordinate has a step of its own");
    auto of_groups = grid_;
    if (terms_.rule == clip_rule::batch_mean) {
        for (double& step : of_groups) step /= static_cast<double>(std::max<std::int64_t>(1, units));
        const auto factors = mean_factors(numbers, of_groups);
        for (std::size_t i = 0; i < of_groups.size(); ++i) of_groups[i] *= factors[i];
    }
    std::vector<double> out;
    for (const auto& part : segments_) out.push_back(of_groups[part.group]);
    return out;
}

std::vector<double> clipped_sum::mean_factors(const at::Tensor& numbers, const std::vector<double>& steps) const {
    auto squares = at::zeros({1, count_groups(segments_)}, at::kDouble);
    std::int64_t offset = 0;
    for (const auto& part : segments_) {
        const auto mean = numbers.narrow(0, offset, part.size).to(at::kDouble) * steps[part.group];
        squares[0][static_cast<std::int64_t>(part.group)] += mean.square().sum();
        offset += part.size;
    }
    const auto factors = clip_factors(clip_rule::clip, squares.sqrt(), terms_.radii, 0);
    return {factors.data_ptr<double>(), factors.data_ptr<double>() + factors.numel()};
}

at::Tensor clipped_sum::decode(const at::Tensor& numbers, std::int64_t units) const {
    const at::NoGradGuard no_grad;
    auto sum = numbers.to(at::kDouble);
    if (terms_.shape) return sum.mul_(shaped_grid_);
    const auto of_segments = steps(numbers, units);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        sum.narrow(0, offset, segments_[i].size).mul_(of_segments[i]);
        offset += segments_[i].size;
    }
    return sum;
}

}  // namespace rldp::privacy
