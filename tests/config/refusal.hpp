#pragma once
// What a bad input is answered with.
#include <string>

#include "config/error.hpp"

/// The text of the bad_input that `act` throws; the empty string where it throws nothing.
template <class Act>
std::string refusal(Act&& act) {
    try {
        act();
    } catch (const rldp::error& failure) {
        if (failure.code() != rldp::errc::bad_input) return "not a bad_input: " + std::string(failure.what());
        return failure.what();
    }
    return {};
}
