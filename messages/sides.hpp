#pragma once
// The door as a property of interfaces: what a typed actor takes and answers, searched for trusted values.
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "privacy/trusted.hpp"

namespace rldp::messages {

template <class T>
struct holds_trusted : privacy::is_trusted<std::decay_t<T>> {};
template <class T>
struct holds_trusted<std::vector<T>> : holds_trusted<T> {};
template <class T>
struct holds_trusted<std::optional<T>> : holds_trusted<T> {};

template <class Signature>
struct signature_sides;
template <class... In, class... Out>
struct signature_sides<caf::typed_mpi<caf::detail::type_list<In...>, caf::output_tuple<Out...>>> {
    static constexpr bool takes = (holds_trusted<In>::value || ...);
    static constexpr bool answers = (holds_trusted<Out>::value || ...);
};

template <class List>
struct interface_sides;
template <class... Signatures>
struct interface_sides<caf::detail::type_list<Signatures...>> {
    static constexpr bool takes = (signature_sides<Signatures>::takes || ...);
    static constexpr bool answers = (signature_sides<Signatures>::answers || ...);
};

/// No message to such an actor, and no answer of it, carries a trusted value: it may stand on the public side.
template <class Handle>
inline constexpr bool is_public =
    !interface_sides<typename Handle::signatures>::takes && !interface_sides<typename Handle::signatures>::answers;

/// Its answers carry none: a public actor may ask it.
template <class Handle>
inline constexpr bool answers_publicly = !interface_sides<typename Handle::signatures>::answers;

}  // namespace rldp::messages
