#pragma once
#include "config/base/error.hpp"

namespace rldp::ranks {

/// Another rank is gone, or what arrived from it is not what it sent: the line names ranks and no record, so it may be
/// shown to anyone.
class peer_error : public error {
  public:
    explicit peer_error(const std::string& line) : error(errc::failed, line) {}
};

}  // namespace rldp::ranks
