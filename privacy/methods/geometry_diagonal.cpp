#include "privacy/methods/geometry_diagonal.hpp"

#include <ATen/ATen.h>

#include <utility>

#include "config/base/require.hpp"

namespace rldp::privacy {

diagonal_geometry::diagonal_geometry(at::Tensor centre, at::Tensor scales)
    : centre_(std::move(centre)), scales_(std::move(scales)) {
    require(centre_.isfinite().all().item<bool>() && (scales_.isfinite() & (scales_ > 0)).all().item<bool>(),
            "clipping geometry: centre and scales are not all finite, or a scale is not positive");
}

at::Tensor diagonal_geometry::norms(const at::Tensor& centred) const {
    return at::linalg_vector_norm(centred / scales_.to(centred.device(), /*non_blocking=*/true), 2, at::IntArrayRef{1});
}

}  // namespace rldp::privacy
