#include "actors/run/whole_parts.hpp"

#include <ATen/ATen.h>

#include <cstddef>
#include <utility>

namespace rldp::actors {

namespace {

class kept_parts final : public privacy::gradient_parts {
  public:
    explicit kept_parts(models::factored_gradients gradients) : gradients_(std::move(gradients)) {
        for (const auto& tensor : gradients_.tensors()) sizes_.push_back(tensor.size);
    }
    std::int64_t units() const override { return gradients_.units(); }
    const std::vector<std::int64_t>& sizes() const override { return sizes_; }
    at::Tensor norm_bounds() const override { return gradients_.norm_bounds(); }
    void show(const std::vector<bool>& wanted, const viewer& see) const override { gradients_.each(wanted, see); }

  private:
    models::factored_gradients gradients_;
    std::vector<std::int64_t> sizes_;
};

class joined_parts final : public privacy::gradient_parts {
  public:
    explicit joined_parts(std::vector<std::shared_ptr<const privacy::gradient_parts>> several)
        : several_(std::move(several)) {
        for (const auto& each : several_) units_ += each->units();
    }
    std::int64_t units() const override { return units_; }
    const std::vector<std::int64_t>& sizes() const override { return several_.front()->sizes(); }
    at::Tensor norm_bounds() const override {
        std::vector<at::Tensor> all;
        for (const auto& each : several_) all.push_back(each->norm_bounds());
        return at::cat(all);
    }
    void show(const std::vector<bool>& wanted, const viewer& see) const override {
        std::int64_t first = 0;
        for (const auto& each : several_) {
            const std::vector<bool> own(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                                        wanted.begin() + static_cast<std::ptrdiff_t>(first + each->units()));
            each->show(own, [&](std::int64_t unit, std::int64_t offset, const at::Tensor& numbers) {
                see(first + unit, offset, numbers);
            });
            first += each->units();
        }
    }

  private:
    std::vector<std::shared_ptr<const privacy::gradient_parts>> several_;
    std::int64_t units_ = 0;
};

}  // namespace

std::shared_ptr<const privacy::gradient_parts> as_parts(models::factored_gradients gradients) {
    return std::make_shared<kept_parts>(std::move(gradients));
}

std::shared_ptr<const privacy::gradient_parts> joined(
    std::vector<std::shared_ptr<const privacy::gradient_parts>> several) {
    return std::make_shared<joined_parts>(std::move(several));
}

}  // namespace rldp::actors
