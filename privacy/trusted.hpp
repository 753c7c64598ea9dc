#pragma once
// The one-way door. Records, draws, per-unit gradients and unnoised sums travel as trusted<T>, and only the actors named
// here can open one: opening takes a trusted_key, which nobody else can make. A leak is a compile error.
#include <type_traits>
#include <utility>

namespace rldp::actors {
struct loader_state;
struct gradient_state;
struct sanitizer_state;
struct auditor_state;
}  // namespace rldp::actors

namespace rldp::privacy {

/// Proof of standing on the trusted side.
class trusted_key {
  private:
    trusted_key() {}  // not defaulted: an aggregate could be made by anyone with {}
    friend struct rldp::actors::loader_state;
    friend struct rldp::actors::gradient_state;
    friend struct rldp::actors::sanitizer_state;
    friend struct rldp::actors::auditor_state;
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
