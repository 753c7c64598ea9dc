#pragma once
// The one-way door. Records, draws, per-unit gradients and unnoised sums travel as trusted<T>. Opening one takes a
// trusted_key, and only privacy/trusted_side.hpp makes keys, a header that no translation unit of the public side can
// include: a leak is a compile error.
#ifdef RLDP_KNOWS_NO_TRUSTED_TYPE
#error "what shows runs to others must not know a trusted type (docs/privacy.md, section 7)"
#endif

#include <type_traits>
#include <utility>

namespace rldp::privacy {

/// Proof of standing on the trusted side.
class trusted_key {
  private:
    trusted_key() {}  // NOLINT(modernize-use-equals-default): an aggregate could be made by anyone with {}
    friend struct trusted_side;
};

/// A value derived from training units. Anyone may wrap and pass it on; only a holder of a trusted_key can look inside.
template <class T>
class trusted {
  public:
    trusted() = default;
    explicit trusted(T value) : value_(std::move(value)) {}
    const T& open(const trusted_key&) const& { return value_; }
    T&& open(const trusted_key&) && { return std::move(value_); }

  private:
    T value_{};
};

template <class T>
struct is_trusted : std::false_type {};
template <class T>
struct is_trusted<trusted<T>> : std::true_type {};

}  // namespace rldp::privacy
